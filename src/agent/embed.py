# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ file that puts the stripped agents into the sandbox binary.

usage: embed.py OUTPUT (ARCHITECTURE FILE)...
"""
import hashlib
import os
import sys


def quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def main() -> None:
    output, *pairs = sys.argv[1:]
    agents = list(zip(pairs[::2], pairs[1::2]))
    lines = ["// Made by src/agent/embed.py.", '#include "agent/embedded.hpp"', "", "#include <array>", ""]
    rows = []
    for architecture, path in agents:
        with open(path, "rb") as file:
            content = file.read()
        symbol = "sandbox_agent_" + architecture
        lines += [
            f'asm(".section .rodata\\n.balign 16\\n.global {symbol}\\n{symbol}:\\n"',
            f'    ".incbin \\"{quoted(quoted(os.path.abspath(path)))}\\"\\n.previous\\n");',
            f"extern \"C\" const char {symbol}[];",
        ]
        digest = hashlib.sha256(content).hexdigest()
        rows.append(f'    EmbeddedAgent{{"{architecture}", {{{symbol}, {len(content)}}}, "{digest}"}},')
    lines += ["", "namespace sandbox::agent {", "", "std::span<const EmbeddedAgent> embedded_agents() {"]
    lines += [f"    static const std::array<EmbeddedAgent, {len(agents)}> agents{{", *rows, "    };"]
    lines += ["    return agents;", "}", "", "} // namespace sandbox::agent", ""]
    with open(output, "w", encoding="ascii") as file:
        file.write("\n".join(lines))


main()
