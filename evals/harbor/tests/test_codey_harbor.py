"""What of the exchange with Harbor can be tested without containers.

    python -m unittest discover -s evals/harbor/tests -v

CODEY_HARBOR_TASKS names a folder of exported tasks, CODEY_BINARY the program; what needs one that is not set is skipped.
"""

import asyncio
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from types import SimpleNamespace

# Harbor's price list is asked for at import, and this needs no network.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
PACKAGE = Path(__file__).parent.parent
sys.path.insert(0, str(PACKAGE))
try:
    import harbor  # noqa: F401
except ImportError as error:
    print(f"SKIPPED, nothing was tested: {error}. Install it with `pip install ./evals/harbor` (Python 3.12 or newer).")
    raise unittest.SkipTest("harbor is not installed") from None

from codey_harbor import Codey
from harbor.agents.installed.acp import AcpAgent
from harbor.agents.installed.base import AgentAuthenticationError, NonZeroAgentExitCodeError
from harbor.models.agent.context import AgentContext
from harbor.models.task.task import Task

TASKS = os.environ.get("CODEY_HARBOR_TASKS")
BINARY = os.environ.get("CODEY_BINARY")


def reply(text):
    """A response of a Chat Completions server."""
    chunks = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]},
        {
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 40}},
        },
    ]
    return "".join(f"data: {json.dumps({'id': '1', 'model': 'm', **chunk})}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


class Server(http.server.ThreadingHTTPServer):
    """A model that always says the same, or fails with a status."""

    def __init__(self, status, body):
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.body, self.requests = status, body.encode(), []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.headers.get("Authorization"), json.loads(body)["model"]))
        self.send_response(self.server.status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


class Machine:
    """An environment that is this machine: the container's paths are folders of it."""

    default_user = None

    def __init__(self, folder):
        self.paths = {name: folder / name.strip("/").replace("/", "-") for name in ("/usr/local/bin", "/logs/agent")}
        self.workspace = folder / "workspace"
        for path in (*self.paths.values(), self.workspace):
            path.mkdir()

    def here(self, text):
        for name, path in self.paths.items():
            text = text.replace(name, str(path))
        return text.replace("/installed-agent", str(self.workspace.parent / "installed"))

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        path = f"{self.paths['/usr/local/bin']}:{os.environ['PATH']}"
        variables = {"PATH": path, "HOME": str(self.workspace.parent), **(env or {})}
        done = await asyncio.to_thread(
            subprocess.run,
            ["bash", "-c", self.here(command)],
            cwd=self.workspace,
            env=variables,
            capture_output=True,
            text=True,
        )
        return SimpleNamespace(stdout=done.stdout, stderr=done.stderr, return_code=done.returncode)

    async def upload_file(self, source_path, target_path):
        Path(self.here(target_path)).write_bytes(Path(source_path).read_bytes())


class Exports(unittest.TestCase):
    @unittest.skipUnless(TASKS, "CODEY_HARBOR_TASKS is not set: no exported task was checked")
    def test_harbor_accepts_every_exported_task(self):
        folders = sorted(Path(TASKS).iterdir())
        self.assertTrue(folders)
        for folder in folders:
            with self.subTest(folder.name):
                self.assertTrue(Task.is_valid_dir(folder))
                task = Task(folder)
                self.assertEqual(task.config.schema_version, "1.4")
                # What it does not know it drops without a word.
                written = set(task.config.model_dump(mode="json", exclude_unset=True))
                self.assertEqual(written, {"schema_version", "metadata", "agent", "verifier", "environment"})
                self.assertIsNotNone(task.paths.discovered_solve_path)


class Acp(unittest.TestCase):
    def test_harbor_accepts_the_entry(self):
        with tempfile.TemporaryDirectory() as logs:
            agent = AcpAgent(logs_dir=Path(logs), registry_entry_path=PACKAGE / "acp/agent.json")
        self.assertEqual(agent.to_agent_info().name, "codey")


class Connection(unittest.TestCase):
    def check(self, expected, model=None, env=None, **options):
        agent = Codey(logs_dir=Path("unused"), model_name=model, extra_env=env or {}, **options)
        self.assertEqual(agent._env(), expected)

    def test_a_known_provider_brings_its_address_and_protocol(self):
        env = {"ANTHROPIC_API_KEY": "k"}
        expected = {"CODEY_API": "anthropic", "CODEY_API_KEY": "k", "CODEY_MODEL": "m"}
        expected["CODEY_BASE_URL"] = "https://api.anthropic.com"
        self.check(expected, "anthropic/m", env)

    def test_any_server_can_be_named(self):
        expected = {"CODEY_API": "responses", "CODEY_API_KEY": "k", "CODEY_BASE_URL": "http://h/v1", "CODEY_MODEL": "m"}
        options = {"base_url": "http://h/v1", "model_api_key_name": "K", "model_api_format": "openai_responses"}
        self.check(expected, "openai/m", {"K": "k"}, **options)

    def test_codeys_own_variables_do(self):
        expected = {"CODEY_API": "openai", "CODEY_BASE_URL": "http://h/v1", "CODEY_MODEL": "m"}
        self.check(expected, "m", {"CODEY_BASE_URL": "http://h/v1"})

    def test_no_model_is_an_error_that_says_what_to_do(self):
        with self.assertRaisesRegex(ValueError, "no model to ask; pass --model"):
            Codey(logs_dir=Path("unused"))._env()


@unittest.skipUnless(BINARY, "CODEY_BINARY is not set: no run was made")
class Run(unittest.TestCase):
    def run_codey(self, status, body, **options):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        server = Server(status, body)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.server, self.machine = server, Machine(Path(folder.name))
        self.logs = self.machine.paths["/logs/agent"]
        self.context = AgentContext()
        env = {"CODEY_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "CODEY_API_KEY": "key"}
        agent = Codey(logs_dir=self.logs, model_name="m", extra_env=env, binary=BINARY, **options)

        async def both():
            await agent.setup(self.machine)
            await agent.run("it's \"one\" $line", self.machine, self.context)

        try:
            asyncio.run(both())
        finally:
            agent.populate_context_post_run(self.context)
        return agent

    def test_a_run_leaves_its_answer_its_events_and_its_figures(self):
        agent = self.run_codey(200, reply("All is well."))
        self.assertEqual((self.logs / "answer.txt").read_text(), "All is well.")
        self.assertIn("it's \\\"one\\\" $line", (self.logs / "codey.jsonl").read_text())
        self.assertTrue(list((self.logs / "sessions").iterdir()))
        self.assertEqual(list(self.machine.workspace.iterdir()), [])
        self.assertEqual(self.server.requests, [("Bearer key", "m")])
        self.assertRegex(agent.version(), r"^\d+\.\d+\.\d+")
        figures = self.context.model_dump(include={"n_input_tokens", "n_cache_tokens", "n_output_tokens", "metadata"})
        expected = {"n_input_tokens": 100, "n_cache_tokens": 40, "n_output_tokens": 5}
        self.assertEqual(figures, {**expected, "metadata": {"outcome": {"kind": "completed"}, "turns": 1}})

    def test_a_failing_server_is_harbors_error_for_it(self):
        with self.assertRaises(AgentAuthenticationError):
            self.run_codey(401, '{"error": {"message": "no"}}')

    def test_a_wrong_start_is_a_failure(self):
        with self.assertRaisesRegex(NonZeroAgentExitCodeError, r"exit 2[\s\S]*codey: "):
            self.run_codey(200, reply("-"), max_turns=2**40)

    def test_another_version_than_asked_for_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "and 9.9.9 was asked for"):
            self.run_codey(200, reply("-"), version="9.9.9")
