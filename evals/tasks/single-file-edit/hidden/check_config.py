"""check_config.py BEFORE: exactly one line of config/services.ini differs, and it is the right one."""

import configparser
import re
import sys

before = sys.argv[1]
SECTION = "billing @ staging"


def read(root):
    with open(root + "/config/services.ini", "rb") as stream:
        text = stream.read()
    parser = configparser.ConfigParser()
    parser.read_string(text.decode("utf-8"))
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
# Bytes, so that line ends and blanks count.
old_lines, new_lines = old_text.split(b"\n"), new_text.split(b"\n")
changed = [new for old, new in zip(old_lines, new_lines) if old != new]
if len(old_lines) != len(new_lines) or len(changed) != 1:
    sys.exit("more than one line of config/services.ini was changed")
if not re.fullmatch(rb"timeout_ms *= *45000", changed[0]):
    sys.exit("the line is %r" % changed[0])
