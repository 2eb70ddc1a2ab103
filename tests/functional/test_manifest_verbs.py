# SPDX-License-Identifier: Apache-2.0
"""`sandbox manifest`: offline, and one table behind the parser, explain, the starter and the JSON Schema."""
import json
import os
import re

import jsonschema
import pytest

import yaml12
from runner import ROOT, Sandbox, new_owner

GOOD = [*sorted((ROOT / "examples").glob("*.yaml")),
        *(ROOT / "tests/fuzz/corpus/manifest" / name for name in ("bom-crlf.yaml", "full.yaml", "json.json", "ticket.yaml"))]

# Manifests that the parser takes, for all that a schema might be too narrow for.
TAKEN = ["", "image: x", "image: 5", "user: 1000", "limits:", "labels:", "metadata: {a: 1, b: true}", "env: {A: 1.10, B: no, C: ''}",
         "env: {A: {fromEnv: B}, C: {fromFile: f}}", "network: false", "network: bridge\npublish: [80, \"81/tcp\"]",
         "workspace: project-42", "workspace: {mode: persistent, id: w, shared: true}", "workspace: ephemeral",
         "limits: {timeout: 0, memory: 67108864, cpus: 0.5, pids: 64}", "limits: {memory: 1.5 GiB, cpus: \"2\", maxFile: 64k}",
         "lifecycle: {ttl: 1h30m, idleTimeout: 0, autoDestroy: false}", "lifecycle: {ttl: 0.5h, autoDestroy: \"true\"}",
         "tmpfs: {/tmp: 64MB}", "directories: [a, {path: b, mode: \"0700\"}]", "directories: [{path: b, mode: 0700}]",
         "files: {a: text, b: {text: x, mode: 0644}, c: {fromDir: d, exclude: [.git]}, l: {symlink: a}}",
         "files: {r: {fromGit: \"https://x/y\", ref: main}}", "security: {dropCapabilities: [cap_net_raw], addCapabilities: []}",
         "checkpoint: {store: \"dir:\", retain: all}", "checkpoint: {retain: 3}", "export: {files: {a: ./a}, scan: [x, \"-\"]}",
         "policy: {exec: {maxTimeout: 5m}, files: {maxLines: 10}}"]

# And what both refuse: where, and the word that the parser's message has to have.
REFUSED = [("imge: x", 1, 1, "image"), ("limits: {memroy: 1GB}", 1, 10, "memory"), ("memory: 1GB", 1, 1, "limits"),
           ("network: host", 1, 10, "none"), ("network:\n  mode: none", 2, 3, "bridge"), ("limits: {memory: lots}", 1, 18, "size"),
           ("limits: {memory: 100}", 1, 18, "small"), ("limits: {pids: 0}", 1, 16, "from 1"), ("limits: {pids: many}", 1, 16, "number"),
           ("limits: {cpus: 0}", 1, 16, "from 0.01"), ("limits: {timeout: 30}", 1, 19, "unit"), ("lifecycle: {ttl: soon}", 1, 18, "duration"),
           ("limits: [1]", 1, 9, "map"), ("labels: [a]", 1, 9, "map"), ("labels: {a: [b]}", 1, 13, "text"), ("env: {A: }", 1, 7, "value"),
           ("env: {A: {fromEnv: B, fromFile: c}}", 1, 10, "one of"), ("env: {A: {from: B}}", 1, 11, "fromEnv"),
           ("publish: 80", 1, 10, "list"), ("publish: [0]", 1, 11, "port"), ("directories: {a: b}", 1, 14, "list"),
           ("directories: [{mode: \"0700\"}]", 1, 15, "path"), ("files: {a: {mode: 0644}}", 1, 12, "what is in it"),
           ("files: {a: {text: x, base64: eA==}}", 1, 22, "both"), ("files: {a: {text: x, mode: \"0888\"}}", 1, 28, "octal"),
           ("files: {a: [x]}", 1, 12, "list"), ("tmpfs: {/tmp: big}", 1, 15, "size"), ("tmpfs: {tmp: 64MB}", 1, 14, "absolute"),
           ("security: {readonlyRootfs: 1}", 1, 28, "true"), ("security: {readonlyRootfs: yes}", 1, 28, "true"),
           ("pull: sometimes", 1, 7, "missing"), ("version: 2", 1, 10, "version"), ("image: [x]", 1, 8, "list"),
           ("workspace: {mode: shared}", 1, 19, "ephemeral"), ("workspace: {nme: x}", 1, 13, "unknown"),
           ("checkpoint: {store: \"ftp:x\"}", 1, 21, "store"), ("checkpoint: {retain: 0}", 1, 22, "whole number"),
           ("policy: {exec: {allow: [x]}}", 1, 17, "policy"), ("export: {optional: a}", 1, 20, "list"),
           ("export: {scan: []}", 1, 16, "names none"), ("export: {scan: }", 1, 10, "names none")]


@pytest.fixture(scope="module")
def cli(tmp_path_factory):
    """Without an engine and without a state directory: what these verbs promise to need."""
    folder = tmp_path_factory.mktemp("offline")
    sandbox = Sandbox(folder / "state", new_owner(), engine_url="unix:///nonexistent.sock")
    yield sandbox
    assert not (folder / "state").exists()


@pytest.fixture(scope="module")
def schema(cli):
    document = json.loads(cli.run("manifest", "schema").text)
    jsonschema.Draft7Validator.check_schema(document)
    return jsonschema.Draft7Validator(document)


def image_added(text):
    return text if re.search("^image:|^imge", text, re.M) else f"{text}\nimage: x\n"


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
def test_schema_takes_the_examples(cli, schema, path):
    cli.run("manifest", "check", path)
    assert not [error.message for error in schema.iter_errors(yaml12.load(path.read_text(encoding="utf-8-sig")))]


@pytest.mark.parametrize("text", TAKEN)
def test_schema_takes_what_the_parser_takes(cli, schema, text):
    cli.run("manifest", "check", "-", input=image_added(text))
    assert not [error.message for error in schema.iter_errors(yaml12.load(text))]


@pytest.mark.parametrize("text,line,column,word", REFUSED, ids=[case[0] for case in REFUSED])
def test_schema_refuses_what_the_parser_refuses(cli, schema, text, line, column, word):
    problems = cli.run("--json", "manifest", "check", "-", input=image_added(text), status=2).json()["files"][0]["problems"]
    assert [(p["file"], p["line"], p["column"]) for p in problems] == [("-", line, column)]
    assert word in problems[0]["message"] + (problems[0]["hint"] or "")
    assert list(schema.iter_errors(yaml12.load(text)))


def test_check_tells_all(cli, tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text("imge: x\nlimits: {memory: lots, pids: 0}\nenv: {A: , B: {from: x}}\nfiles:\n  a: {mode: 0644}\n  ../b: x\n"
                    "publish: [0, 99999]\npolicy: {exec: {maxTimeout: 5}}\nlifecycle: {ttl: 400d}\n")
    other = tmp_path / "n.yaml"
    other.write_text("image: x\nnetwork: hots\n")
    result = cli.fails(2, "manifest", "check", path, other, tmp_path / "none.yaml")
    places = re.findall(rf"^sandbox: error: {tmp_path}/(\w)\.yaml:(\d+):(\d+): ", result.errors, re.M)
    assert [(name, int(line)) for name, line, _ in places] == [
        ("m", 1), ("m", 2), ("m", 2), ("m", 3), ("m", 3), ("m", 5), ("m", 6), ("m", 7), ("m", 7), ("m", 8), ("m", 9), ("n", 2)]
    lines = result.errors.splitlines()
    at = next(i for i, line in enumerate(lines) if "lots" in line)
    assert lines[at + 1] == "  limits: {memory: lots, pids: 0}" and lines[at + 2] == "  " + " " * 17 + "^"
    assert "none.yaml" in result.errors and "did you mean" in result.errors
    document = cli.run("--json", "manifest", "check", path, other, status=2).json()
    assert not document["valid"] and [len(f["problems"]) for f in document["files"]] == [11, 1]
    assert document["error"]["code"] == "manifest_invalid"


def test_check_notes_what_is_not_there_yet(cli, tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text("image: x\nfiles: {a: {fromFile: later}, b: {fromDir: sub}}\n")
    (tmp_path / "sub").mkdir()
    checked = cli.run("manifest", "check", path)
    assert [line for line in checked.errors.splitlines() if "note:" in line] == [
        f"sandbox: note: as things are here, create would refuse {path}: files.a: {tmp_path}/later: No such file or directory"]
    (tmp_path / "later").touch()
    assert "note:" not in cli.run("manifest", "check", path).errors


@pytest.mark.parametrize("key, path, hint", [("fromDir", "/etc", "/etc"), ("fromGit", "/etc/x", "/etc/x"), ("fromFile", "/etc/hosts", "/etc"),
                                             ("fromArchive", "../up/a.tar", "up")])
def test_the_hint_opens_no_more_than_it_takes(cli, tmp_path, key, path, hint):
    manifest = tmp_path / "m.yaml"
    manifest.write_text(f"image: x\nfiles: {{a: {{{key}: {path}}}}}\n")
    wanted = tmp_path.parent / hint
    assert f"hint: --allow-path {wanted} lets" in cli.fails(2, "manifest", "check", manifest).errors


def test_check_of_good_ones(cli, tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text("image: x\nfiles: {a: {fromFile: ../b}}\n")
    assert "--allow-path" in cli.fails(2, "manifest", "check", path).errors
    assert cli.run("manifest", "check", "--allow-path", tmp_path.parent, path).text == ""
    assert cli.run("--json", "manifest", "check", "--allow-path", tmp_path.parent, path).json()["valid"] is True
    assert cli.run("--quiet", "manifest", "check", "-", input="image: x").errors == ""
    assert "no image" in cli.fails(2, "manifest", "check", "-", input="pull: never").errors


def test_init_passes_check_and_runs(cli, sb, tmp_path):
    cli.run("manifest", "init", cwd=tmp_path)
    path = tmp_path / "sandbox.yaml"
    assert re.match(r"# yaml-language-server: \$schema=/\S+/manifest\.schema\.json\n", path.read_text())
    cli.run("manifest", "check", path)
    session = sb.create("-f", path)
    assert sb.run("exec", session, "true").status == 0


def test_init_replaces_nothing_unasked(cli, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("image: mine\n")
    assert "--force" in cli.fails(4, "manifest", "init", path).errors and path.read_text() == "image: mine\n"
    cli.run("manifest", "init", "--force", path)
    pipe, link = path.with_name("pipe"), path.with_name("link")
    os.mkfifo(pipe)
    link.symlink_to(path)
    for other in (pipe, link, path.parent):
        assert "no regular file" in cli.fails(4, "manifest", "init", "--force", other).errors
    assert pipe.is_fifo() and link.is_symlink()
    pipe.unlink()
    link.unlink()
    assert cli.run("manifest", "init", "-").text == path.read_text() and [p.name for p in tmp_path.iterdir()] == ["mine.yaml"]


def test_everything_in_the_starter_holds(cli, schema):
    """What is commented out holds too, alone and all of it at once."""
    text = cli.run("manifest", "init", "-").text
    all_of_it = "\n".join(re.sub(r"^(\s*)# (?=\s*\w+:( |$))", r"\1", line) for line in text.splitlines())
    assert "\nsecurity:" in all_of_it and "\n  memory:" in all_of_it
    cli.run("manifest", "check", "-", input=all_of_it)
    assert not [error.message for error in schema.iter_errors(yaml12.load(all_of_it))]


def test_explain(cli, tmp_path):
    text = cli.run("manifest", "explain", "limits.memory").text
    assert all(word in text for word in ("Memory of the whole session", "size", "1GiB", "--memory", "limits: {memory: 512MB}"))
    path = tmp_path / "m.yaml"
    path.write_text("image: x\nlimits:\n  memory: 256MB\nenv: {TOKEN: hidden}\n")
    assert f"256MB (from {path}:3)" in cli.run("manifest", "explain", "-f", path, "limits.memory").text
    assert "none (by default)" in cli.run("manifest", "explain", "-f", path, "network").text
    shown = cli.run("manifest", "explain", "-f", path, "env").text
    assert "env.TOKEN" in shown and "hidden" not in shown
    assert "fromDir" in cli.run("manifest", "explain", "files.src.fromDir").text
    section = cli.run("manifest", "explain", "lifecycle").text
    assert all(key in section for key in ("lifecycle.ttl", "lifecycle.idleTimeout", "lifecycle.autoDestroy"))
    document = cli.json("manifest", "explain", "-f", path, "limits.memory")
    assert document["flag"] == "--memory" and document["values"] == [{"key": "limits.memory", "value": "256MB", "origin": f"{path}:3"}]


@pytest.mark.parametrize("wrong,right", [("limits.memroy", "limits.memory"), ("memory", "limits.memory"), ("idleTimeout", "lifecycle.idleTimeout"),
                                         ("netwrok", "network"), ("environment", "env"), ("memroy", "limits.memory")])
def test_explain_did_you_mean(cli, wrong, right):
    assert f'did you mean "{right}"' in cli.fails(2, "manifest", "explain", wrong).errors


def test_every_key_is_explained_and_its_example_holds(cli, schema):
    keys = cli.json("manifest", "explain")["keys"]
    assert len(keys) > 50
    needs = {"publish": "network: bridge", "checkpoint.durable": ""}
    for key in keys:
        text = cli.run("manifest", "explain", key["key"]).text
        if key["key"] == "workspace":
            continue
        example = re.search(r"^  example +(.*)$", text, re.M)[1]
        if key["key"].startswith("workspace.") and key["key"] != "workspace.id":
            example = example.replace("{", "{id: w, ", 1)
        manifest = f"{example}\n{needs.get(key['key'], '')}\n"
        cli.run("manifest", "check", "-", input=image_added(manifest))
        assert not [error.message for error in schema.iter_errors(yaml12.load(manifest))], manifest
