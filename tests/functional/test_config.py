# SPDX-License-Identifier: Apache-2.0
"""Config files: defaults and ceilings, what beats what, and the three names of one key (flag, manifest path, config path)."""
import json
import re
import shutil
import subprocess

import pytest

import yaml12
from runner import BASE, ROOT, Sandbox, new_owner


@pytest.fixture
def cli(tmp_path):
    """Without an engine and a state directory, which `config show` does not need."""
    sandbox = Sandbox(tmp_path / "state", new_owner(), engine_url="unix:///nonexistent.sock")
    yield sandbox
    assert not (tmp_path / "state").exists()


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def shown(cli, *args, **kw):
    document = cli.json("config", "show", *args, **kw)
    return {value["key"]: (value["value"], value["origin"]) for value in document["values"]}


def tree(path, value):
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def test_long_values_are_cut_and_json_has_all(cli, tmp_path):
    (tmp_path / "m.yaml").write_text("image: x\nfiles: {long: " + "x" * 500 + "}\n")
    shown = cli.run("config", "show", "-f", tmp_path / "m.yaml")
    assert "xxx..." in shown.text and max(map(len, shown.lines())) < 200
    assert "x" * 500 in cli.run("--json", "config", "show", "-f", tmp_path / "m.yaml").text


def test_flag_manifest_user_config_built_in(cli, tmp_path):
    config = write(tmp_path / "config/sandbox/config.yaml", "defaults:\n  limits:\n    memory: 64MB\n    pids: 11\n    cpus: 0.25\n")
    manifest = write(tmp_path / "m.yaml", "image: x\nlimits:\n  memory: 65MB\n  pids: 12\n")
    values = shown(cli, "-f", manifest, "--memory", "66MB")
    assert values["limits.memory"] == ("66MB", "--memory")
    assert values["limits.pids"] == ("12", f"{manifest}:4")
    assert values["limits.cpus"] == ("0.25", f"{config}:5")
    assert values["limits.maxProcesses"] == ("4", None)
    text = cli.run("config", "show", "-f", manifest, "--memory", "66MB").text
    assert re.search(rf"^limits\.pids +12 +{manifest}:4$", text, re.M) and re.search(r"^limits\.maxProcesses +4 +built-in$", text, re.M)


def test_a_named_config_is_read_instead_of_the_users(cli, tmp_path):
    write(tmp_path / "config/sandbox/config.yaml", "defaults: {limits: {memory: 64MB, pids: 11}}\n")
    named = write(tmp_path / "named.yaml", "defaults: {limits: {memory: 32MB}}\n")
    for values in (shown(cli, "--config", named), shown(cli, env={"SANDBOX_CONFIG": str(named)})):
        assert values["limits.memory"] == ("32MB", f"{named}:1") and values["limits.pids"] == ("256", None)
    assert cli.json("config", "show", "--config", named)["configs"] == [str(named)]
    assert "none.yaml" in cli.fails(2, "config", "show", "--config", tmp_path / "none.yaml").errors
    assert cli.json("config", "show", "--config", "/dev/null")["ceilings"] == []


def test_the_system_config_lies_below_and_its_ceilings_hold(cli, tmp_path):
    """/etc is another one in a mount namespace of the test's own."""
    etc = write(tmp_path / "etc/sandbox/config.yaml", "defaults: {limits: {pids: 5, memory: 10MB}}\nceilings: {limits: {memory: 64MB}}\n")
    user = write(tmp_path / "config/sandbox/config.yaml", "defaults: {limits: {memory: 20MB}}\nceilings: {limits: {memory: 128MB}}\n")
    script = f'mount --bind {tmp_path}/etc /etc && exec "$@"'

    def run(*args):
        return subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *cli.argv("--json", "config", "show", *args)],
                              env=cli.environ(), capture_output=True, timeout=60)
    document = json.loads(run().stdout)
    values = {value["key"]: (value["value"], value["origin"]) for value in document["values"]}
    assert document["configs"] == ["/etc/sandbox/config.yaml", str(user)] and etc.exists()
    assert values["limits.pids"] == ("5", "/etc/sandbox/config.yaml:1") and values["limits.memory"] == ("20MB", f"{user}:1")
    over = run("--memory", "100MB")
    assert over.returncode == 6 and b"/etc/sandbox/config.yaml:2" in over.stderr
    named = run("--config", "/dev/null")
    assert json.loads(named.stdout)["configs"] == ["/etc/sandbox/config.yaml", "/dev/null"]
    assert run("--config", "/dev/null", "--memory", "100MB").returncode == 6


@pytest.mark.parametrize("text,line,column,word", [
    ("default: {}", 1, 1, "defaults"), ("limits: {pids: 1}", 1, 1, "unknown"), ("defaults: {limits: {memroy: 1GB}}", 1, 21, "memory"),
    ("defaults:\n  limits: {memory: lots}", 2, 20, "size"), ("ceilings: {image: x}", 1, 19, "ceiling"),
    ("ceilings: {sessions: none}", 1, 22, "number"), ("ceilings: {session: 5}", 1, 12, "sessions"), ("- a", 1, 1, "map"), ("a: [", 1, 5, "")])
def test_a_config_is_read_as_strictly_as_a_manifest(cli, tmp_path, text, line, column, word):
    config = write(tmp_path / "c.yaml", text + "\n")
    errors = cli.fails(2, "config", "show", "--config", config).errors
    assert re.search(rf"^sandbox: error: {config}:{line}:{column}: ", errors) and word in errors and "^" in errors


def test_an_unreadable_config_is_not_passed_over(cli, tmp_path):
    (tmp_path / "config/sandbox/config.yaml").mkdir(parents=True)
    assert "config.yaml" in cli.fails(1, "config", "show").errors


CEILINGS = {"limits.timeout": ("1m", "2m"), "limits.maxOutput": ("1MB", "2MB"), "limits.maxFile": ("1MB", "2MB"),
            "limits.memory": ("64MB", "65MB"), "limits.cpus": ("1", "1.5"), "limits.pids": ("64", "65"), "limits.maxProcesses": ("1", "2"),
            "network": ("none", "bridge"), "security.readonlyRootfs": ("true", "false"), "security.noNewPrivileges": ("true", "false"),
            "security.dropCapabilities": ("[ALL]", "[CHOWN]"), "security.addCapabilities": ("[CHOWN]", "[SYS_ADMIN]"),
            "security.seccomp": ("default", "unconfined"), "security.runtime": ("runsc", "runc"), "lifecycle.ttl": ("1h", "2h"),
            "lifecycle.idleTimeout": ("10m", "11m"), "lifecycle.autoDestroy": ("true", "false")}


@pytest.mark.parametrize("path", CEILINGS)
def test_a_ceiling_is_told_with_its_place_and_the_right_value(cli, tmp_path, path):
    most, too_much = (yaml12.load(value) for value in CEILINGS[path])
    config = write(tmp_path / "c.yaml", "ceilings:\n  " + json.dumps(tree(path, most))[1:-1].strip() + "\n")
    manifest = write(tmp_path / "m.yaml", json.dumps({"image": "x", **tree(path, too_much)}))
    assert shown(cli, "--config", config, "--set", f"{path}={CEILINGS[path][0]}")
    for args in (["-f", manifest], ["--image", "x", "--set", f"{path}={CEILINGS[path][1]}"]):
        result = cli.fails(6, "create", "--dry-run", "--config", config, *args)
        hint = next(line for line in result.errors.splitlines() if line.startswith("hint: "))
        assert f"{config}:2" in result.errors and path in hint and CEILINGS[path][0] in hint, result
    assert cli.fails_json(6, "create", "--dry-run", "--config", config, "-f", manifest)["code"] == "denied"
    assert shown(cli, "--config", config), "a built-in default is never over a ceiling"


def test_every_ordered_key_is_in_the_table_above(cli, tmp_path):
    """The list that the error gives is made from the table of keys."""
    config = write(tmp_path / "c.yaml", "ceilings: {image: x}\n")
    listed = re.search(r"^hint: ceilings: (.*)$", cli.fails(2, "config", "show", "--config", config).errors, re.M)[1].split(", ")
    assert set(listed) == {"sessions", "sessionsPerOwner", *CEILINGS}


def test_one_name_in_three_places(cli, tmp_path):
    """The walk: each key said by a manifest, a config and a flag (or --set) means the same, and is told with its origin."""
    needs = {"publish": {"network": "bridge"}, "workspace": {}, "checkpoint.durable": {"checkpoint": {"store": "s3://bucket/x"}}}
    for key in cli.json("manifest", "explain")["keys"]:
        path, example = key["key"], yaml12.load(key["example"])
        if path == "version" or (path.startswith("workspace.") and path != "workspace.id"):
            continue
        needed = {"image": "x", **needs.get(path, {})}
        manifest = write(tmp_path / "m.yaml", json.dumps({**needed, **tree(path, example)}))
        config = write(tmp_path / "c.yaml", json.dumps({"defaults": {**needed, **tree(path, example)}}))
        flag = ["--set", f"{path}={key['example'].strip(chr(34))}"]
        if key["flag"] and not isinstance(example, (dict, list)):
            flag = [key["flag"], key["example"].strip('"')]
        prefix = "workspace" if path == "workspace" else path
        said = [{name: value for name, value in values.items() if name.startswith(prefix) and value[1]}
                for values in (shown(cli, "--config", "/dev/null", "-f", manifest), shown(cli, "--config", config),
                               shown(cli, "--config", "/dev/null", *flag))]
        # A path in a file is joined to the file's folder, and a flag's to the working directory.
        values = [{name: value.replace(f"{tmp_path}/", "") for name, (value, _) in one.items()} for one in said]
        assert values[0] and values[0] == values[1] == values[2], (path, said)
        origins = [{origin for _, origin in one.values()} for one in said]
        assert origins[0] == {f"{manifest}:1"} and origins[1] == {f"{config}:1"} and all(o.startswith("--") for o in origins[2]), path


def test_create_keeps_to_the_config(sb, engine, tmp_path):
    config = write(sb.state_dir.parent / "config/sandbox/config.yaml",
                   f"defaults:\n  image: {BASE}\n  labels: {{from: config}}\n  files: {{a.txt: {{fromFile: seed.txt}}}}\n"
                   "ceilings:\n  limits: {memory: 64MB}\n  network: none\n")
    write(config.parent / "seed.txt", "seeded")
    session = sb.run("create").text.strip()
    assert engine.session(session)["HostConfig"]["Memory"] == 64_000_000
    assert sb.run("exec", session, "cat", "a.txt").text == "seeded"
    assert sb.json("inspect", session)["labels"] == {"from": "config"}
    for args in (["--memory", "65MB"], ["--network", "bridge"]):
        assert str(config) in sb.fails(6, "create", *args).errors
    assert len(sb.sessions()) == 1
    config.write_text("ceilings: {limits: {timeout: 1m}}\n")
    assert str(config) in sb.fails(125, "exec", "--timeout", "61s", session, "true").errors
    sb.run("exec", "--timeout", "60s", session, "true")
    shutil.rmtree(config.parent)


def test_example_is_that_of_the_readme_and_holds(cli):
    example = ROOT / "examples/config/config.yaml"
    block = next(text for text in re.findall(r"^```yaml\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL) if text.startswith("defaults:"))
    assert [line for line in example.read_text().splitlines() if not line.startswith("#")] == block.splitlines()
    values = shown(cli, env={"SANDBOX_CONFIG": str(example)})
    assert values["limits.memory"][0] in ("256MB", 256000000) and str(example) in str(values["limits.memory"][1]), values["limits.memory"]
