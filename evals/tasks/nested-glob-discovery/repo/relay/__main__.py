import sys

from .settings import SettingsError, read


def main(files):
    status = 0
    for file in files:
        try:
            with open(file, encoding="utf-8") as lines:
                settings = read(lines.read())
            how = "TLS" if settings["transport"] == "tls" else "the clear"
            print(f"{file}: {settings['name']} sends in {how} to {settings['server']}:{settings['port']}")
        except (KeyError, OSError, SettingsError) as error:
            print(f"{file}: {error}", file=sys.stderr)
            status = 1
    return status


sys.exit(main(sys.argv[1:]))
