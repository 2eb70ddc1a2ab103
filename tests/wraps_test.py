#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds that every dependency() of meson.build has a wrap to fall back to, and that each wrap is pinned.

  python3 tests/wraps_test.py [SOURCE_ROOT]

A wrap names what it provides, comes over https, and carries the SHA-256 of what it downloads. What is laid over it from packagefiles is here,
is of the wrap's version, and overrides the dependencies that the wrap promises.
"""

import configparser
import pathlib
import re
import sys
import tempfile

# What Meson has itself.
BUILT_IN = {"threads"}
HASH = re.compile(r"[0-9a-f]{64}")
# What Meson would read beside these is not for us to trust: another hash, a patch that nobody has seen.
KEYS = {"directory", "source_url", "source_fallback_url", "source_filename", "source_hash", "patch_directory"}


def dependencies(root):
    """The names that dependency() is called with, as Meson compares them."""
    text = (root / "meson.build").read_text(encoding="utf-8")
    text += "".join(path.read_text(encoding="utf-8") for folder in ("src", "tests") for path in sorted((root / folder).rglob("meson.build")))
    return {name.lower() for name in re.findall(r"(?<![\w.])dependency\(\s*'([^']+)'", text)} - BUILT_IN


def provided(parser):
    if not parser.has_section("provide"):
        return set()
    section = dict(parser["provide"])
    names = {name.strip().lower() for name in section.pop("dependency_names", "").split(",") if name.strip()}
    return names | {name for name in section if name != "program_names"}


def check_overlay(root, name, wrap, names):
    path = root / "subprojects/packagefiles" / wrap["patch_directory"] / "meson.build"
    if not path.is_file():
        yield f"{name}: {path.relative_to(root)} is missing"
        return
    text = path.read_text(encoding="utf-8")
    version = re.search(r"^project\([^)]*version: '([^']+)'", text, re.MULTILINE)
    digits = "".join(f"{int(part):02}" for part in version[1].split("."))[1:] + "00" if version else None  # as sqlite writes 3.40.1
    if not version or not any(word in wrap["directory"] for word in (version[1], digits)):
        yield f"{name}: {path.relative_to(root)} is not of the version in {wrap['directory']}"
    overridden = {word.lower() for word in re.findall(r"override_dependency\('([^']+)'", text)}
    if not names <= overridden:
        yield f"{name}: {path.relative_to(root)} overrides {sorted(overridden)}, not {sorted(names)}"


def check_wrap(root, path):
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(path, encoding="utf-8")
    name, names = path.name, provided(parser)
    if not parser.has_section("wrap-file"):
        yield f"{name}: not a [wrap-file]"
        return
    wrap = parser["wrap-file"]
    if not names:
        yield f"{name}: has no [provide]"
    for key in sorted({"directory", "source_url", "source_filename", "source_hash"} - set(wrap)):
        yield f"{name}: no {key}"
    for key in sorted(set(wrap) - KEYS):
        yield f"{name}: {key} is not for a wrap of ours"
    if "source_hash" in wrap and not HASH.fullmatch(wrap["source_hash"]):
        yield f"{name}: source_hash is no SHA-256"
    for key, value in wrap.items():
        if key.endswith("_url") and not value.startswith("https://"):
            yield f"{name}: {key} is not https"
    if "patch_directory" in wrap and "directory" in wrap:
        yield from check_overlay(root, name, wrap, names)


def problems(root):
    found, all_names = [], set()
    for path in sorted((root / "subprojects").glob("*.wrap")):
        found += check_wrap(root, path)
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(path, encoding="utf-8")
        all_names |= provided(parser)
    needed = dependencies(root)
    if not needed:
        found.append("meson.build: no dependency()")
    found += [f"{name}: no wrap provides it" for name in sorted(needed - all_names)]
    found += [f"{name}: a wrap provides it, nothing needs it" for name in sorted(all_names - needed)]
    return found


GOOD = {"directory": "z-1.2", "source_url": "https://z.org/z-1.2.tar.gz", "source_filename": "z-1.2.tar.gz", "source_hash": "0" * 64, "patch_directory": "z"}
# What each rule must find, lest a broken rule pass everything: what is other than in GOOD, and words of the complaint.
FIXTURES = [
    ({"source_url": "http://z.org/z-1.2.tar.gz"}, "source_url is not https"),
    ({"source_fallback_url": "ftp://z.org/z-1.2.tar.gz"}, "source_fallback_url is not https"),
    ({"source_hash": "0" * 63}, "no SHA-256"),
    ({"source_hash": None}, "no source_hash"),
    ({"source_url": None}, "no source_url"),
    ({"patch_url": "https://z.org/patch.zip"}, "patch_url is not for"),
    ({"directory": "z-1.3"}, "not of the version"),
    ({"patch_directory": "y"}, "is missing"),
    ({"provide": ""}, "has no [provide]"),
    ({"provide": "dependency_names = y"}, "z: no wrap provides it"),
    ({"provide": "dependency_names = z, y"}, "y: a wrap provides it"),
    ({"provide": "dependency_names = z, y"}, "overrides ['z'], not ['y', 'z']"),
]


def found_with(change):
    fields = {**GOOD, "provide": "dependency_names = z", **change}
    provide = fields.pop("provide")
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        overlay = root / "subprojects/packagefiles/z"
        overlay.mkdir(parents=True)
        (root / "meson.build").write_text("z = dependency('Z', static: true)\nz = z.partial_dependency('no')\nt = dependency('threads')\n")
        (overlay / "meson.build").write_text("project('z', 'c', version: '1.2')\nmeson.override_dependency('z', z)\n")
        lines = [f"{key} = {value}" for key, value in fields.items() if value is not None]
        (root / "subprojects/z.wrap").write_text("\n".join(["[wrap-file]", *lines, f"[provide]\n{provide}\n" if provide else ""]))
        return problems(root)


def self_test():
    if found_with({}):
        yield f"self-test: a good wrap was refused: {found_with({})}"
    for change, words in FIXTURES:
        found = found_with(change)
        if not any(words in problem for problem in found):
            yield f"self-test: {change} was not refused by \"{words}\": {found}"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = list(self_test()) + problems(root)
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
