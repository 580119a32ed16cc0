"""Installs the program `codey` in a task's container and lets it do the task there."""

import json
import shlex
import tempfile
from pathlib import Path
from typing import Annotated, Any, override

from pydantic import Field

from harbor.agents.agent_auth_resolution import ModelConnectionSpec, ProviderAccess
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed import base
from harbor.agents.installed.base import BaseInstalledAgent, ErrorPattern, with_prompt_template
from harbor.agents.options import Cli, InstalledAgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.model_api_format import ModelApiFormat

PROGRAM = "/usr/local/bin/codey"
# In the folder of the agent's logs. The checkers of exported tasks read both.
EVENTS = "codey.jsonl"
ANSWER = "answer.txt"
# Codey's own log: what it says when it ends without events.
ERRORS = "codey.stderr"
COMPLETED, LIMIT_REACHED = 0, 4
# CODEY_API by Harbor's name for it.
APIS = {
    ModelApiFormat.OPENAI_CHAT_COMPLETIONS: "openai",
    ModelApiFormat.OPENAI_RESPONSES: "responses",
    ModelApiFormat.ANTHROPIC_MESSAGES: "anthropic",
}
# What Harbor may try again or count apart, by the code in the last event.
FAILURES = {
    "auth": base.AgentAuthenticationError,
    "rate_limit": base.ApiRateLimitError,
    "quota": base.ApiUsageLimitError,
    "overloaded": base.ApiOverloadedError,
    "server_error": base.ApiInternalServerError,
    "network": base.NetworkConnectionError,
    "stalled": base.ApiResponseStalledError,
    "context_overflow": base.ContextWindowExceededError,
    "output_limit": base.OutputTokenExceededError,
    "model_not_found": base.ModelNotFoundError,
    "refusal": base.AgentSafetyRefusalError,
}


class CodeyOptions(InstalledAgentOptions):
    binary: str | None = Field(
        default=None, description="The program: a file on this machine, or a URL that the container can reach."
    )
    max_turns: Annotated[int | None, Cli("--max-turns")] = Field(
        default=None, ge=1, description="Responses that the model may take."
    )


class Codey(BaseInstalledAgent):
    """Runs `codey -p` without approvals: the container is what confines it."""

    capabilities = AgentCapabilities(base_url=True)
    options_model = CodeyOptions
    options: CodeyOptions
    MODEL_CONNECTION = ModelConnectionSpec(
        agent_provider_access=ProviderAccess(
            api_key_candidate_names=["CODEY_API_KEY"], base_url_candidate_names=["CODEY_BASE_URL"]
        ),
        supported_api_formats=list(APIS),
        default_api_format_by_provider={
            "anthropic": ModelApiFormat.ANTHROPIC_MESSAGES,
            "default": ModelApiFormat.OPENAI_CHAT_COMPLETIONS,
        },
        api_key_destination_names={"default": "CODEY_API_KEY"},
        base_url_destination_names={"default": "CODEY_BASE_URL"},
        inject_default_base_url=True,
    )
    # Only Codey's own word counts: a model's text may hold any of the usual phrases. In a text the quotes are escaped.
    ERROR_PATTERNS = [
        ErrorPattern(rf'"outcome":\{{"kind":"failed","code":"{code}"', error) for code, error in FAILURES.items()
    ]

    @staticmethod
    @override
    def name() -> str:
        return "codey"

    @override
    def get_version_command(self) -> str | None:
        return "codey --version"

    @override
    def parse_version(self, stdout: str) -> str:
        return stdout.strip().removeprefix("codey ")

    @override
    async def install(self, environment: BaseEnvironment) -> None:
        binary = self.options.binary
        if binary is None:
            if await self.is_requested_version_installed(environment):
                return
            raise ValueError("the image has no codey of that version; pass --ak binary=FILE or --ak binary=URL")
        if binary.startswith(("http://", "https://")):
            await self.ensure_system_dependencies(environment, ("curl", "ca_certificates"))
            await self.exec_as_root(environment, f"curl -fsSL -o {PROGRAM} {shlex.quote(binary)}")
        else:
            if not Path(binary).is_file():
                raise ValueError(f"there is no program {binary}; build it with `cargo build --release -p codey`")
            await environment.upload_file(binary, PROGRAM)
        await self.exec_as_root(environment, f"chmod 755 {PROGRAM}")
        # Fails where the program was built for another machine or a newer C library.
        result = await self.exec_as_agent(environment, f"{PROGRAM} --version")
        installed = self.parse_version(result.stdout or "")
        if self._version not in (None, installed):
            raise ValueError(f"{binary} is codey {installed}, and {self._version} was asked for")

    @override
    @with_prompt_template
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        result = await environment.exec(command=self._command(instruction), env=self._env())
        end = _last(result.stdout or "", "run_end")
        if end is not None:
            with tempfile.TemporaryDirectory(prefix="codey-harbor-") as folder:
                answer = Path(folder) / ANSWER
                answer.write_text(end["text"], encoding="utf-8")
                await environment.upload_file(answer, str(self.environment_logs_dir / ANSWER))
        # At a limit it did what it could, and the task's checker says whether that is enough. All else (2: it was
        # started wrong or could ask nobody) is a failure of this run and no verdict on the agent.
        if result.return_code not in (COMPLETED, LIMIT_REACHED):
            raise self._classify_exec_error("codey -p", result)

    def _command(self, instruction: str) -> str:
        logs = shlex.quote(str(self.environment_logs_dir))
        flags = f"--mode json --always-approve --sandbox off {self.build_cli_flags()}".strip()
        # The folder of notes is none of the task's, unless it came with it.
        return (
            f"test -e .codey; had=$?; "
            f"codey -p {flags} -- {shlex.quote(instruction)} </dev/null >{logs}/{EVENTS} 2>{logs}/{ERRORS}; code=$?; "
            f"cp -R .codey/sessions {logs}/ 2>/dev/null; [ $had -eq 0 ] || rm -rf .codey; "
            f"tail -n 1 {logs}/{EVENTS}; tail -n 5 {logs}/{ERRORS} >&2; exit $code"
        )

    def _env(self) -> dict[str, str]:
        connection = self.model_connection
        if not connection.execution_base_url:
            raise ValueError(
                "no model to ask; pass --model PROVIDER/MODEL with the provider's key set, or --base-url URL with --model"
            )
        env = {
            "CODEY_API": APIS[connection.model_api_format or ModelApiFormat.OPENAI_CHAT_COMPLETIONS],
            "CODEY_BASE_URL": connection.execution_base_url,
            **connection.env,
        }
        if self.model_name:
            env["CODEY_MODEL"] = connection.model_id or self.model_name
        return env

    @override
    def populate_context_post_run(self, context: AgentContext) -> None:
        try:
            events = (self.logs_dir / EVENTS).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        # A run that was ended from outside has no end, and its last figures are those of the last request.
        usage, end = _last(events, "usage"), _last(events, "run_end")
        tokens = end["usage"] if end else usage["session"] if usage else None
        if tokens is None:
            return
        cached = tokens["cache_read"]
        context.n_input_tokens = tokens["input"] + cached + tokens["cache_write"]
        context.n_cache_tokens = cached
        context.n_output_tokens = tokens["output"]
        context.cost_usd = (end or usage)["cost_usd"]
        if end:
            context.metadata = {"outcome": end["outcome"], "turns": end["turns"]}


def _last(events: str, kind: str) -> dict[str, Any] | None:
    """The last event of a kind; lines that were cut off in the middle are none."""
    for line in reversed(events.splitlines()):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and event.get("type") == kind:
            return event
    return None
