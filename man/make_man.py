#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the man pages: prose from this directory, everything that is a table from the binary itself.

  make_man.py --pages                          the pages there are: one for each PAGE.md here
  make_man.py CLI.json PAGE.md OUTPUT          CLI.json is what `sandbox __dump-cli` prints

A page of a command (sandbox-exec.1) gets NAME, SYNOPSIS and OPTIONS from the table, one of a family (sandbox-workspace.1) its
COMMANDS; the prose has all else. Prose is a small part of Markdown:

  # NAME - one line         where no command has one
  ## SECTION, ### part      paragraphs, "- " lists, fenced code, a term and below it ":   what it is"
  `literal`, *variable*     sandbox-exec(1) becomes a reference
  @options @keys @statuses @codes @variables @globals @commands      the table of that name
"""
import json
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
DATE = "2026-11-30"  # of the last change to what the pages say
MANUALS = {"1": "User Commands", "5": "File Formats"}
SPECIAL = {"\\": r"\e", "-": r"\-", "~": r"\(ti", "^": r"\(ha", "`": r"\(ga", "'": r"\(aq", '"': r"\(dq"}


def literal(text):
    """Text that a reader may copy: every character stays itself."""
    return "".join(SPECIAL.get(c, c) for c in text)


def bold(text):
    return rf"\fB{literal(text)}\fR"


def italic(text):
    return rf"\fI{literal(text)}\fR"


def inline(text):
    """One run of prose, with its literals, variables and references."""
    out = []
    for part in re.split(r"(`[^`]+`|\*[^*]+\*|\bsandbox(?:-[a-z]+)*\([15]\))", text):
        if part.startswith("`"):
            out.append(bold(part[1:-1]))
        elif part.startswith("*") and len(part) > 2:
            out.append(italic(part[1:-1]))
        elif re.fullmatch(r"sandbox(?:-[a-z]+)*\([15]\)", part):
            name, section = part[:-3], part[-3:]
            out.append(bold(name) + section)
        else:
            out.append(part.replace("\\", r"\e"))
    return "".join(out)


def flowing(text):
    """Lines of running text, none of which roff could take for a request."""
    lines = textwrap.wrap(inline(" ".join(text.split())), 78, break_long_words=False, break_on_hyphens=False)
    return [rf"\&{line}" if line[0] in ".'" else line for line in lines]


def tagged(head, text):
    return [".TP", head, *flowing(text)]


def code(lines):
    shown = [literal(line) for line in lines]
    return [".PP", ".RS 4", ".nf", *(rf"\&{line}" if line[:1] in (".", "") else line for line in shown), ".fi", ".RE"]


def sentence(text):
    """A summary of the tables as a sentence; they have no capital and no full stop."""
    return text[0].upper() + text[1:] + "."


class Tables:
    """What the binary says of itself, as roff."""

    def __init__(self, cli):
        self.cli = cli

    def commands_of(self, word):
        return [c for c in self.cli["commands"] if c["name"].split()[0] == word]

    def option_lines(self, options):
        lines = []
        for option in options:
            value = " " + italic(option["value"]) if option["value"] else ""
            letter = f"{bold('-' + option['letter'])}, " if option["letter"] else ""
            text = sentence(option["help"])
            if option["repeatable"]:
                text += " May be repeated."
            lines += tagged(f"{letter}{bold('--' + option['name'])}{value}", text)
        return lines

    def options(self, command):
        note = flowing("Global options are in sandbox(1); they may stand before or after the command.")
        return [*self.option_lines(command["options"]), ".PP", *note]

    def globals(self):
        return self.option_lines(self.cli["globalOptions"])

    def commands(self):
        lines, group = [], None
        for command in self.cli["commands"]:
            if command["group"] != group:
                group = command["group"]
                lines.append(f".SS {group.capitalize()}")
            page = "sandbox-" + command["name"].split()[0]
            alias = f" ({bold(command['alias'])})" if command["alias"] else ""
            lines += tagged(bold("sandbox " + command["name"]) + alias, f"{sentence(command['summary'])} See {page}(1).")
        return lines

    def statuses(self):
        lines = []
        for one in self.cli["exitStatuses"]:
            where = " Where a command runs." if one["commandsOnly"] else ""
            lines += tagged(bold(str(one["status"])), sentence(one["help"]) + where)
        return lines

    def codes(self):
        lines = []
        for code_row in self.cli["errorCodes"]:
            retry = ", retryable" if code_row["retryable"] else ""
            lines += tagged(f"{bold(code_row['name'])} ({code_row['status']}{retry})", sentence(code_row["help"]))
        return lines

    def variables(self):
        return [line for one in self.cli["environment"] for line in tagged(bold(one["name"]), sentence(one["help"]))]

    def keys(self):
        lines = []
        for key in self.cli["manifestKeys"]:
            kind = key["choices"].replace("|", " or ") if key["choices"] else key["type"]
            facts = [f"Default: `{key['default']}`."] if key["default"] else []
            facts.append(f"Flag: `{key['flag'] if key['path'] != 'labels' else '--label'}`." if key["flag"] else f"Reached by `--set {key['path']}=`*VALUE*.")
            lines += tagged(f"{bold(key['path'])} ({kind})", " ".join([sentence(key["help"]), *facts]))
        return lines

    def synopsis(self, command):
        words = re.split(r"([A-Z][A-Z_]+)", command["usage"])
        usage = "".join(italic(w) if re.fullmatch(r"[A-Z][A-Z_]+", w) else literal(w) for w in words)
        return f"{bold('sandbox ' + command['name'])} {usage}".rstrip()


class Page:
    def __init__(self, tables, source):
        self.tables = tables
        self.name, self.section = source.name.removesuffix(".md").rsplit(".", 1)
        self.prose = source.read_text(encoding="utf-8").splitlines()
        word = self.name.removeprefix("sandbox-")
        self.family = tables.commands_of(word) if self.section == "1" and word != self.name else []

    def roff(self):
        version = self.tables.cli["version"]
        lines = [".\\\" Made by man/make_man.py; the prose is in man/, the tables are in the binary.",
                 f'.TH {self.name.upper()} {self.section} "{DATE}" "sandbox {version}" "{MANUALS[self.section]}"',
                 ".nh", ".ad l"]
        lines += self.head()
        lines += self.body()
        # A heading begins a paragraph of its own.
        kept = [line for before, line in zip(["", *lines], lines) if line != ".PP" or not before.startswith((".SH", ".SS"))]
        return "\n".join(kept) + "\n"

    def is_single(self):
        return len(self.family) == 1 and " " not in self.family[0]["name"]

    def head(self):
        title = next((line.partition(" - ")[2] for line in self.prose if line.startswith("# ")), None)
        title = title or (self.family[0]["summary"] if self.family else "")
        assert title, f"{self.name} has no line for NAME"
        lines = [".SH NAME", rf"{literal(self.name)} \- {inline(title)}"]
        if self.family:
            lines.append(".SH SYNOPSIS")
            for number, command in enumerate(self.family):
                lines += [*([".br"] if number else []), self.tables.synopsis(command)]
        return lines

    def tables_of_family(self):
        if self.is_single():
            return [".SH OPTIONS", *self.tables.options(self.family[0])]
        lines = [".SH COMMANDS"]
        for command in self.family:
            lines += [f".SS {self.tables.synopsis(command)}", *flowing(sentence(command["summary"])),
                      *self.tables.option_lines(command["options"])]
        return lines

    def body(self):
        """The prose, with the command's tables behind its DESCRIPTION."""
        lines, is_described = [], False
        for block in self.blocks():
            if block[0].startswith("## "):
                if is_described and self.family:
                    lines += self.tables_of_family()
                is_described = block[0] == "## DESCRIPTION"
            lines += self.render(block)
        return lines

    def blocks(self):
        """Paragraphs, lists, headings, fenced code and tables, each as its lines."""
        block, fenced = [], False
        for line in self.prose:
            if line.startswith("# "):
                continue
            if fenced:
                block.append(line)
                if line == "```":
                    yield block
                    block, fenced = [], False
            elif line.startswith("```"):
                if block:
                    yield block
                block, fenced = [line], True
            elif not line.strip() or line.startswith(("#", "@")):
                if block:
                    yield block
                block = []
                if line.strip():
                    yield [line]
            else:
                block.append(line)
        assert not fenced, f"{self.name}: a fence is not closed"
        if block:
            yield block

    def render(self, block):
        first = block[0]
        if first.startswith("```"):
            return code(block[1:-1])
        if first.startswith("### "):
            return [f".SS {inline(first[4:])}"]
        if first.startswith("## "):
            return [f".SH {first[3:]}"]
        if first.startswith("@"):
            return getattr(self.tables, first[1:])()
        if len(block) > 1 and block[1].startswith(":   "):
            return tagged(inline(first), " ".join([block[1][4:], *block[2:]]))
        if first.startswith("- "):
            items = re.split(r"^- ", "\n".join(block), flags=re.MULTILINE)[1:]
            return [line for item in items for line in [r".IP \(bu 2", *flowing(item)]]
        return [".PP", *flowing(" ".join(block))]


def main(arguments):
    if arguments == ["--pages"]:
        print("\n".join(sorted(path.name.removesuffix(".md") for path in HERE.glob("sandbox*.[15].md"))))
        return
    cli, source, output = map(pathlib.Path, arguments)
    page = Page(Tables(json.loads(cli.read_text(encoding="utf-8"))), source)
    output.write_text(page.roff(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
