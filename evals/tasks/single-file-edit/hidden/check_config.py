"""check_config.py BEFORE: exactly one line of config/services.ini differs, and it is the right one."""

import configparser
import sys

before = sys.argv[1]
SECTION = "billing @ staging"


def read(root):
    with open(root + "/config/services.ini", encoding="utf-8", newline="") as stream:
        text = stream.read()
    parser = configparser.ConfigParser()
    parser.read_string(text)
    return text, {title: dict(parser[title]) for title in parser}


old_text, old = read(before)
try:
    new_text, new = read(".")
except (OSError, configparser.Error, UnicodeDecodeError) as error:
    sys.exit("config/services.ini cannot be read: %s" % str(error).splitlines()[0])
timeout = new.get(SECTION, {}).get("timeout_ms")
if timeout != "45000":
    sys.exit("timeout_ms of [%s] is %s" % (SECTION, timeout))
old[SECTION]["timeout_ms"] = timeout
for title in sorted(set(old) | set(new)):
    if old.get(title) != new.get(title):
        sys.exit("[%s] was changed too" % title)
old_lines = old_text.splitlines()
new_lines = new_text.splitlines()
changed = [i for i, pair in enumerate(zip(old_lines, new_lines)) if pair[0].rstrip() != pair[1].rstrip()]
if len(old_lines) != len(new_lines) or len(changed) != 1:
    sys.exit("more than one line of config/services.ini was changed")
