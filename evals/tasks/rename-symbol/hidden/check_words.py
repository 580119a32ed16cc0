"""check_words.py BEFORE: where the word `load` still stands in the workspace, and whether what is not it was kept."""

import ast
import os
import re
import sys
from collections import Counter

before = sys.argv[1]
# The only places where the bare word means something else.
KEPT = {
    "decks/readers.py": ["json.load(stream)", "def load(self, ending)", "self.load(os.path"],
    "decks/storage.py": ["json.load(stream)"],
    "docs/usage.md": ["take a while to load"],
}
OLD = re.compile(r"(?<![A-Za-z0-9_])load(?![A-Za-z0-9_])")
# What tools leave behind.
NOT_LOOKED_AT = (".git", ".codey", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache", "node_modules")
# A test that the old name is gone has to name it.
IS_GONE = re.compile(
    r"assertFalse\(\s*hasattr\(|assertNotIn\(|assertNotHasAttr|not hasattr\(|not in \w+|assertIsNone\(\s*getattr\("
    r"|(?:assertRaises|raises)\w*\(\s*\(?(?:AttributeError|ImportError)"
)
OTHERS = re.compile(r"\b(?:load_all|load_tsv|loaded|loader)\b")


def texts(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in NOT_LOOKED_AT)
        for name in sorted(names):
            if name.endswith((".py", ".md", ".json", ".toml", ".cfg", ".txt")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as stream:
                    yield os.path.relpath(path, root).replace(os.sep, "/"), stream.read()


def without_tests_that_it_is_gone(text):
    """The lines of a test file without the functions that look for the old name."""
    lines = text.splitlines()
    try:
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    except SyntaxError:
        return lines
    for node in functions:
        where = slice(node.lineno - 1, node.end_lineno)
        if IS_GONE.search("\n".join(lines[where])):
            lines[where] = [""] * len(lines[where])
    return lines


now = dict(texts("."))
problems = []
for name, old in texts(before):
    if name not in now:
        problems.append("%s was removed" % name)
        continue
    for kept in KEPT.get(name, []):
        if kept not in now[name]:
            problems.append("%s: %r was renamed too" % (name, kept))
    was, has = Counter(OTHERS.findall(old)), Counter(OTHERS.findall(now[name]))
    # Tests may be added.
    if name != "CHANGELOG.md" and (was - has or (has - was and not name.startswith("tests/"))):
        problems.append("%s: another name was changed" % name)
for name, text in now.items():
    if name == "CHANGELOG.md":
        continue
    for kept in KEPT.get(name, []):
        text = text.replace(kept, "")
    lines = without_tests_that_it_is_gone(text) if name.startswith("tests/") else text.splitlines()
    for number, line in enumerate(lines, 1):
        if OLD.search(line):
            problems.append("%s:%d still says load: %s" % (name, number, line.strip()))
for name in ("README.md", "docs/usage.md", "docs/readers.md"):
    if "read_deck" not in now.get(name, ""):
        problems.append("%s does not name read_deck" % name)
if problems:
    print("; ".join(problems[:3]))
    sys.exit(1)
