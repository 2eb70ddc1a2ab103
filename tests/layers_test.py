#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the #include lines below src/ and fails on what the design forbids.

  python3 tests/layers_test.py [SOURCE_ROOT]

Includes point down and never to a sibling; heavy headers reach few .cpp files, through whatever header; every file
starts with its licence, every header has #pragma once, and no header includes itself in a circle.
"""

import pathlib
import re
import sys
import tempfile
import textwrap

# What both ends of the channel share, and what `version` tells of the agents in the binary.
AGENT_PROTOCOL = ["agent/wire.hpp", "agent/messages.hpp", "agent/files_messages.hpp", "agent/files_request.hpp", "agent/managed_messages.hpp",
                  "agent/ports_messages.hpp", "agent/tcp_relay.hpp", "agent/secret.hpp", "agent/version.hpp"]
AGENT_IDENTITY = ["agent/embedded.hpp", "agent/wire.hpp", "agent/version.hpp"]

# A layer and what it may include besides itself: a layer, or one header of it.
LAYERS = {
    "util": [],
    "agent": ["util"],
    "domain": ["util"],
    "engine": ["util"],
    "state": ["util"],
    "checkpoint": ["util"],
    "channel": ["util", *AGENT_PROTOCOL],
    "app": ["domain", "engine", "channel", "state", "checkpoint", "util", "agent/embedded.hpp", "agent/version.hpp"],
    "cli": ["app", "domain", "engine", "channel", "state", "checkpoint", "util", *AGENT_IDENTITY],
    "mcp": ["app", "domain", "engine", "channel", "state", "checkpoint", "util"],
    "serve": ["app", "domain", "engine", "channel", "state", "checkpoint", "util"],
}

# How many .cpp files of a layer a heavy header may reach, directly or through our own headers. Each costs 2 to 15
# seconds of compile time a file; a layer that is not named may have none.
HEAVY = {
    "CLI/": {"cli": 2},
    "httplib.h": {"engine": 2, "serve": 2},
    "yaml-cpp/": {"domain": 2, "cli": 1},
    "sqlite3.h": {"state": 1},
    "nlohmann/json": {"domain": 3, "engine": 6, "state": 1, "app": 4, "cli": 7, "checkpoint": 4, "mcp": 6, "serve": 4},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LICENCE = "// SPDX-License-Identifier: Apache-2.0"


class Tree:
    """The sources and their include lines; paths are relative to src/."""

    def __init__(self, source):
        self.source = source
        self.lines = {}
        for path in sorted(source.rglob("*")):
            if path.suffix in (".cpp", ".hpp"):
                self.lines[path.relative_to(source).as_posix()] = path.read_text(encoding="utf-8").splitlines()
        self.includes = {path: list(self._includes_of(path)) for path in self.lines}

    def _includes_of(self, path):
        for number, line in enumerate(self.lines[path], 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(2), match.group(1) == '"'

    def ours(self, path):
        """The files of ours that `path` includes, as paths below src/."""
        return [name for _, name, _ in self.includes[path] if name in self.lines]

    def reached(self, path):
        """`path` and all files of ours that it includes, at any depth."""
        seen, waiting = set(), [path]
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                waiting += self.ours(current)
        return seen


def layer_of(path):
    return path.split("/", 1)[0] if "/" in path else ""


def is_allowed(layer, included):
    target = layer_of(included)
    return target == layer or any(entry in (target, included) for entry in LAYERS[layer])


def check_directions(tree):
    for path in tree.lines:
        layer = layer_of(path)
        if layer == "":
            continue  # src/main.cpp, where the program begins, sees everything
        if layer not in LAYERS:
            yield f"{path}: a layer that tests/layers_test.py does not know"
            continue
        for number, name, is_quoted in tree.includes[path]:
            if name in tree.lines and not is_quoted:
                yield f"{path}:{number}: \"{name}\" is ours: write it in quotes"
            elif is_quoted and name not in tree.lines and not (tree.source / name).exists() and layer_of(name) not in LAYERS:
                yield f"{path}:{number}: \"{name}\" does not start at src/"
            elif layer_of(name) in LAYERS and is_quoted and not is_allowed(layer, name):
                yield f"{path}:{number}: {layer} must not include \"{name}\""


def check_heavy(tree):
    for heavy, limits in HEAVY.items():
        users = {}
        for path in tree.lines:
            if not path.endswith(".cpp"):
                continue
            names = {name for part in tree.reached(path) for _, name, _ in tree.includes[part]}
            if any(name.startswith(heavy) for name in names):
                users.setdefault(layer_of(path), []).append(path)
        for layer, paths in users.items():
            limit = limits.get(layer, 0)
            if len(paths) > limit:
                yield f"{layer}: {heavy} reaches {len(paths)} files, {limit} at most: {', '.join(paths)}"


def check_first_lines(tree):
    for path, lines in tree.lines.items():
        if not lines or lines[0] != LICENCE:
            yield f"{path}:1: the first line must be {LICENCE}"
        if path.endswith(".hpp") and "#pragma once" not in lines:
            yield f"{path}: no #pragma once"


def check_cycles(tree):
    for path in tree.lines:
        for number, name, _ in tree.includes[path]:
            if path.endswith(".hpp") and name in tree.lines and path in tree.reached(name):
                yield f"{path}:{number}: \"{name}\" includes this file again"


def problems(source):
    tree = Tree(source)
    if not tree.lines:
        return [f"{source}: no sources"]
    return [p for check in (check_directions, check_heavy, check_first_lines, check_cycles) for p in check(tree)]


# What each rule must find, lest a broken rule pass everything: file, text, and words of the complaint.
FIXTURES = [
    ("util/a.cpp", '#include "domain/b.hpp"', "util must not include"),
    ("domain/a.cpp", '#include "engine/b.hpp"', "domain must not include"),
    ("engine/a.hpp", '#pragma once\n#  include "app/b.hpp"', "engine must not include"),
    ("agent/a.cpp", '#include "domain/b.hpp"', "agent must not include"),
    ("channel/a.cpp", '#include "agent/supervisor.hpp"', "channel must not include"),
    ("app/a.cpp", '#include "agent/wire.hpp"', "app must not include"),
    ("app/a.cpp", '#include "cli/b.hpp"', "app must not include"),
    ("cli/a.cpp", '#include "mcp/b.hpp"', "cli must not include"),
    ("cli/a.cpp", '#include "a.hpp"', "does not start at src/"),
    ("nolayer/a.cpp", "", "does not know"),
    ("util/a.cpp", "#include <util/ok.hpp>", "in quotes"),
    ("cli/a.cpp", "#include <sqlite3.h>", "reaches 1 files, 0 at most"),
    ("cli/a.cpp", '#include "state/heavy.hpp"', "reaches 1 files, 0 at most"),
    ("util/a.hpp", "int x;", "no #pragma once"),
    ("util/a.hpp", '#pragma once\n#include "util/a.hpp"', "includes this file again"),
]
HARMLESS = [
    ("channel/a.cpp", '#include "agent/wire.hpp"\n#include "util/ok.hpp"\n#include <map>'),
    ("app/a.cpp", '#include "agent/embedded.hpp"\n#include "domain/x.hpp"'),
    ("state/a.cpp", "#include <sqlite3.h>"),
    ("main.cpp", '#include "cli/a.hpp"'),
]


def found_in(files):
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory)
        for path, text in files:
            target = source / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(f"{LICENCE}\n{text}\n", encoding="utf-8")
        return problems(source)


def self_test():
    common = [("util/ok.hpp", "#pragma once"), ("state/heavy.hpp", "#pragma once\n#include <sqlite3.h>")]
    for path, text, words in FIXTURES:
        found = found_in(common + [(path, text)])
        if not any(words in problem for problem in found):
            yield f"self-test: {path} with {text!r} was not refused by \"{words}\": {found}"
    for path, text in HARMLESS:
        found = found_in(common + [(path, text)])
        if found:
            yield f"self-test: {path} with {text!r} was refused: {found}"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = list(self_test()) + problems(root / "src")
    for problem in found:
        print(textwrap.shorten(problem, 400), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
