"""Reads config/services.ini."""

import configparser
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "config", "services.ini")
ENVIRONMENTS = ("production", "staging", "development")


class Service:
    def __init__(self, url, timeout, connect_timeout, retries):
        self.url = url
        self.timeout = timeout  # seconds, like the next one
        self.connect_timeout = connect_timeout
        self.retries = retries


def load(environment, path=PATH):
    """The services of an environment by their names."""
    if environment not in ENVIRONMENTS:
        raise ValueError("no such environment: %s" % environment)
    parser = configparser.ConfigParser()
    with open(path, encoding="utf-8") as stream:
        parser.read_file(stream)
    services = {}
    for title in parser.sections():
        name, _, where = title.partition(" @ ")
        if where == environment:
            services[name] = _service(title, parser[title])
    return services


def _service(title, section):
    timeout = section.getint("timeout_ms")
    connect_timeout = section.getint("connect_timeout_ms")
    if not 100 <= timeout <= 120000:
        raise ValueError("%s: timeout_ms must be 100 to 120000, not %d" % (title, timeout))
    if connect_timeout > timeout:
        raise ValueError("%s: connect_timeout_ms is more than timeout_ms" % title)
    return Service(section["url"], timeout / 1000, connect_timeout / 1000, section.getint("retries"))
