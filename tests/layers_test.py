#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every #include below src/ and fails on one that points up or sideways, and on a heavy header that spread."""
import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parents[1] / "src"
# What a layer may include besides itself.
BELOW = {
    "util": set(),
    "agent": {"util"},
    "domain": {"util"},
    "engine": {"util"},
    "channel": {"util"},
    "state": {"util"},
    "app": {"domain", "engine", "channel", "state", "util"},
    "cli": {"app", "domain", "engine", "channel", "state", "util"},
}
# Single headers that cross: the protocol that both ends of the channel share, and the agent that is put into the engine.
ALSO = {"channel": {"agent/wire.hpp", "agent/messages.hpp", "agent/files_messages.hpp", "agent/secret.hpp", "agent/version.hpp"},
        "app": {"agent/embedded.hpp", "agent/version.hpp"},
        "cli": {"agent/embedded.hpp", "agent/wire.hpp", "agent/version.hpp"}}
# Costly to include: each stays in few files, and in no header.
HEAVY = {"nlohmann/json.hpp": {"engine", "domain", "state", "app", "cli"}, "yaml-cpp/": {"domain"}, "sqlite3.h": {"state"}, "CLI/": {"cli"},
         "httplib.h": {"engine"}}


def problems():
    for path in sorted(SRC.rglob("*.[ch]pp")):
        layer = path.relative_to(SRC).parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
            if not include:
                continue
            local, system = include.groups()
            where = f"{path.relative_to(SRC.parent)}:{number}: {line.strip()}"
            if local:
                target = local.split("/")[0]
                if target != layer and target not in BELOW[layer] and local not in ALSO.get(layer, ()):
                    yield f"{where}: {layer} must not include {target}"
            for heavy, layers in HEAVY.items():
                if system and system.startswith(heavy) and layer not in layers:
                    yield f"{where}: {heavy} stays in {', '.join(sorted(layers))}"
    for layer in BELOW:
        if not (SRC / layer).is_dir():
            yield f"src/{layer} is missing"


if __name__ == "__main__":
    found = list(problems())
    print("\n".join(found))
    sys.exit(bool(found))
