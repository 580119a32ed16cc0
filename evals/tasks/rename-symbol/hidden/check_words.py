"""check_words.py BEFORE: where the word `load` still stands in the workspace, and whether what is not it was kept."""

import os
import re
import sys

before = sys.argv[1]
# The only places where the bare word means something else.
KEPT = {
    "decks/readers.py": ["json.load(stream)", "def load(self, ending)", "self.load(os.path"],
    "decks/storage.py": ["json.load(stream)"],
    "docs/usage.md": ["take a while to load"],
}
OLD = re.compile(r"(?<![A-Za-z0-9_])load(?![A-Za-z0-9_])")
OTHERS = re.compile(r"\b(?:load_all|load_tsv|loaded|loader)\b")


def texts(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (".git", "__pycache__"))
        for name in sorted(names):
            if name.endswith((".py", ".md", ".json", ".toml", ".cfg", ".txt")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as stream:
                    yield os.path.relpath(path, root).replace(os.sep, "/"), stream.read()


now = dict(texts("."))
problems = []
for name, old in texts(before):
    if name not in now:
        problems.append("%s was removed" % name)
        continue
    for kept in KEPT.get(name, []):
        if kept not in now[name]:
            problems.append("%s: %r was renamed too" % (name, kept))
    if name != "CHANGELOG.md" and sorted(OTHERS.findall(old)) != sorted(OTHERS.findall(now[name])):
        problems.append("%s: another name was changed" % name)
for name, text in now.items():
    if name == "CHANGELOG.md":
        continue
    for kept in KEPT.get(name, []):
        text = text.replace(kept, "")
    for number, line in enumerate(text.splitlines(), 1):
        if OLD.search(line):
            problems.append("%s:%d still says load: %s" % (name, number, line.strip()))
for name in ("README.md", "docs/usage.md", "docs/readers.md"):
    if "read_deck" not in now.get(name, ""):
        problems.append("%s does not name read_deck" % name)
if problems:
    print("; ".join(problems[:3]))
    sys.exit(1)
