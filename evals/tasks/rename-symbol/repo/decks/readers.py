"""Finds the function that reads a file, see docs/readers.md."""

import importlib
import json
import os

CONFIG = os.path.join(os.path.dirname(__file__), os.pardir, "config", "readers.json")


class Readers:
    def __init__(self, config=CONFIG):
        with open(config, encoding="utf-8") as stream:
            self.names = json.load(stream)["readers"]
        self.loaded = {}

    def load(self, ending):
        """Import the reader for an ending (this is about functions, not about decks)."""
        if ending not in self.loaded:
            module, function = self.names[ending].split(":")
            self.loaded[ending] = getattr(importlib.import_module(module), function)
        return self.loaded[ending]

    def open(self, path):
        return self.load(os.path.splitext(path)[1])(path)
