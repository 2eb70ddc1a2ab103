# SPDX-License-Identifier: Apache-2.0
"""YAML as editors read it (1.2, core schema): `no` is text and 22:22 is no number, unlike in PyYAML's own 1.1.

    yaml12.load("a: no") == {"a": "no"}
"""
import re

import yaml


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}


for _tag, _pattern, _first in [
        ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
        ("int", r"[-+]?[0-9]+", list("-+0123456789")),
        ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+0123456789."))]:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)
_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))  # 0644 is 644 here, and no octal
_Loader.add_constructor("tag:yaml.org,2002:binary", lambda loader, node: node.value)


def load(text):
    value = yaml.load(text, _Loader)
    return {} if value is None else value
