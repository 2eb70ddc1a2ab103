# SPDX-License-Identifier: Apache-2.0
"""Bad input gets the right status, one clear line and a hint, and loses nothing."""
import json
import os
import pathlib
import socket
import subprocess
import tempfile

import pytest

from runner import BASE, Sandbox, is_gone, remove_leftovers


@pytest.fixture
def open_directory():
    """A directory that every user may write in."""
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        os.chmod(path, 0o777)
        yield pathlib.Path(path)


def manifest_error(sb, text, status=2):
    result = sb.fails(status, "create", "-f", "-", input=text)
    assert sb.sessions() == []
    return result.errors


@pytest.mark.parametrize("text,words", [
    ("version: 1\nimage: x\nlimits: {tiemout: 5s}\n", ["3:", "tiemout", "timeout"]),          # L6
    ("version: 1\nimage: x\nmemory: 64MB\n", ["memory"]),                                       # wrong parent
    ("version: 1\nimage: x\nenv: [A, B]\n", ["env"]),                                           # a list where a map is meant
    ("version: 1\nimage: x\nimage: y\n", ["3:", "image"]),                                      # a key twice
    ("version: 1\nimage: x\n---\nversion: 1\n", ["document"]),
    ("version: 2\nimage: x\n", ["version"]),
    ("version: 1\n", ["image"]),
    ("version: 1\nimage: [x\n", ["2:"]),                                                         # not YAML
    ("version: 1\nimage: x\nfiles: {../up: x}\n", ["../up"]),
    ("version: 1\nimage: x\nfiles: {/abs: x}\n", ["/abs"]),
    ("version: 1\nimage: x\nfiles: {a: {text: x, mode: '0888'}}\n", ["0888"]),                   # L3
    ("version: 1\nimage: x\nfiles: {a: {text: x, mode: 0x1a4}}\n", ["0x1a4"]),
    ("version: 1\nimage: x\nfiles: {a: {base64: '%%%'}}\n", ["base64"]),                         # L8
    ("version: 1\nimage: x\nenv: {A: null}\n", ["A"]),
    ("version: 1\nimage: x\nlifecycle: {ttl: 30}\n", ["30"]),
    ("version: 1\nimage: x\nlifecycle: {ttl: 0}\n", ["ttl"]),                                    # G4
    ("version: 1\nimage: x\nlimits: {memory: lots}\n", ["lots"]),
    ("version: 1\nimage: x\nlimits: {timeout: 2h}\nlifecycle: {ttl: 1h}\n", ["timeout"]),
    ("version: 1\nimage: x\nnetwork: host\n", ["host"]),
    ("version: 1\nimage: x\nworkdir: relative\n", ["workdir"]),
    ("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c]\n", []),
])
def test_broken_manifests(shared, text, words):
    errors = manifest_error(shared, text)
    for word in words:
        assert word in errors, errors


def test_manifest_error_points_with_a_caret(shared, tmp_path):
    (tmp_path / "m.yaml").write_text("version: 1\nimage: x\nlimits:\n  memroy: 64MB\n")
    errors = shared.fails(2, "create", "-f", tmp_path / "m.yaml").errors
    assert "m.yaml:4:3" in errors and "^" in errors and "memory" in errors


def test_manifest_error_json(shared):
    error = shared.fails_json(2, "create", "-f", "-", input="version: 1\nimage: x\nbogus: 1\n")
    assert error["code"] == "manifest_invalid" and "bogus" in error["message"] and error["retryable"] is False


def test_missing_manifest(shared, tmp_path):
    result = shared.run("create", "-f", tmp_path / "nosuch.yaml", status=None)
    assert result.status in (1, 2, 3) and "nosuch.yaml" in result.errors


def test_host_paths_may_not_leave_the_folder(sb, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "in/m.yaml").write_text(f"version: 1\nimage: {BASE}\nfiles: {{a: {{fromFile: ../secret}}}}\n")
    result = sb.run("create", "-f", tmp_path / "in/m.yaml", status=None)
    assert result.status in (2, 6) and "--allow-path" in result.errors, result
    session = sb.create("-f", tmp_path / "in/m.yaml", "--allow-path", tmp_path, image=BASE)
    assert sb.run("exec", session, "cat", "a").text == "secret"


def test_symlink_out_of_the_folder_is_no_way_out(sb, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("the-secret")
    (tmp_path / "in/link").symlink_to("../secret")
    (tmp_path / "in/m.yaml").write_text(f"version: 1\nimage: {BASE}\nfiles: {{a: {{fromFile: link}}}}\n")
    result = sb.run("create", "-f", tmp_path / "in/m.yaml", status=None)
    if result.status == 0:
        assert "the-secret" not in sb.sh(result.text.strip(), "cat a 2>/dev/null; true").text
    else:
        assert result.status in (1, 2, 6)


@pytest.mark.parametrize("name", ["../x", "a/b", "A", "", "-x", ".", "x" * 64, "é", "a\nb", "a b", "..", "x:y"])
def test_bad_names(shared, engine, name):
    """F10: one rule at every entry."""
    result = shared.run("create", "--image", BASE, f"--name={name}", status=None)
    assert result.status == 2, result
    assert all(line.isprintable() for line in result.errors.splitlines())
    shared.fails(2, "create", "--image", BASE, f"--workspace={name}")
    assert is_gone(engine, {"sandbox.owner": shared.owner})


@pytest.mark.parametrize("flags", [
    ["--memory", "-1"], ["--cpus", "0"], ["--cpus", "abc"], ["--pids", "-5"], ["--ttl", "-1s"], ["--ttl", "0"], ["--idle-timeout", "x"],
    ["--network", "host"], ["--label", "=x"], ["-e", "=x"], ["--set", "nosuch.key=1"], ["--set", "novalue"],
    ["--workdir", "relative"], ["--pull", "sometimes"],
])
def test_bad_flags(shared, engine, flags):
    shared.fails(2, "create", "--image", BASE, *flags)
    assert is_gone(engine, {"sandbox.owner": shared.owner})


def test_set_knows_the_near_key(shared):
    assert "limits.memory" in shared.fails(2, "create", "--image", BASE, "--set", "limits.memroy=1MB").errors


def test_engine_down(sb, tmp_path):
    """Each reason has its own hint, and the endpoint is named."""
    missing = sb.fails_json(5, "--engine", f"unix://{tmp_path}/none.sock", "create", "--image", BASE)
    assert missing["code"] == "engine_unreachable" and missing["retryable"] is True and "none.sock" in missing["message"]
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(tmp_path / "dead.sock"))
    dead.close()
    refused = sb.fails_json(5, "--engine", f"unix://{tmp_path}/dead.sock", "create", "--image", BASE)
    assert missing["hint"] != refused["hint"]
    assert sb.sessions() == [] or all(row["state"] != "running" for row in sb.sessions())


def test_docker_host_is_honoured_and_never_replaced(sb, tmp_path):
    """J2."""
    result = sb.fails(5, "create", "--image", BASE, env={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert "none.sock" in result.errors
    for bad in ("garbage", "ftp://x", "ssh://host"):
        result = sb.run("create", "--image", BASE, env={"DOCKER_HOST": bad}, status=None)
        assert result.status in (2, 5) and "DOCKER_HOST" in result.errors or bad.split(":")[0] in result.errors


def test_permission_denied_at_the_socket(sb, engine, open_directory):
    """Another hint than for a missing socket: the docker group."""
    state = open_directory / "state"
    code = ("import os,sys; os.setgid(65534); os.setuid(65534); os.execve(sys.argv[1], sys.argv[1:], "
            f"{{'SANDBOX_STATE_DIR': {str(state)!r}, 'SANDBOX_ENGINE': {engine.url!r}, 'HOME': '/tmp'}})")
    if os.stat(engine.path).st_mode & 0o006:
        pytest.fail("the engine's socket is open to everybody: this test cannot see the difference")
    done = subprocess.run(["/usr/bin/python3", "-c", code, *sb.argv("create", "--image", BASE)], capture_output=True, timeout=30)
    assert done.returncode == 5, done
    assert b"ermission" in done.stderr and b"hint: " in done.stderr


def test_a_state_directory_that_cannot_be_made(sb):
    """Nothing was looked for, so it is no "not found"."""
    result = sb.fails(1, "--state-dir", "/proc/nosuch", "ps")
    assert "cannot make the state directory /proc/nosuch" in result.errors and "--state-dir" in result.errors


def test_full_disk_under_the_state(sb, engine, tmp_path):
    """The row cannot be written, so nothing is made."""
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", small], check=True)
    try:
        full = Sandbox(small, sb.owner + "-full")
        (small / "filler").write_bytes(b"")
        with open(small / "filler", "ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        result = full.run("create", "--image", BASE, status=None)
        assert result.status in (1, 7), result
        assert result.errors.startswith("sandbox: error: ")
        assert is_gone(engine, {"sandbox.owner": full.owner})
    finally:
        subprocess.run(["umount", small], check=True)


def test_broken_state_file_is_set_aside(sb, engine):
    """F11; and a lost state is no licence to delete what runs (law 2)."""
    session = sb.create("--name", "web")
    instance = sb.instance
    for wal in sb.state_dir.glob("state.db-*"):
        wal.unlink()
    (sb.state_dir / "state.db").write_bytes(b"this is no database" * 100)
    result = sb.run("ps")
    assert "state.db" in result.errors
    assert list(sb.state_dir.glob("state.db.broken*")) and sb.instance == instance
    sb.run("gc", "--grace", "0s")
    assert engine.session(session)["State"]["Running"]
    remove_leftovers(engine, instance)


def test_long_socket_paths(sb, tmp_path):
    """A state directory deeper than a unix socket's address may be long."""
    deep = tmp_path / ("d" * 100) / ("e" * 100) / "state"
    deep.parent.mkdir(parents=True)
    sandbox = Sandbox(deep, sb.owner)
    session = sandbox.create()
    assert sandbox.run("exec", session, "echo", "ok").text == "ok\n"
    sandbox.destroy("--all")


def test_huge_manifest_value(shared):
    text = json.dumps({"version": 1, "image": BASE, "files": {"big": "x" * 3_000_000}})
    session = shared.run("create", "-f", "-", input=text).text.strip()
    assert shared.run("exec", session, "stat", "-c", "%s", "big").text == "3000000\n"
    shared.destroy(session)


def test_control_bytes_in_arguments_do_not_reach_the_terminal(shared):
    result = shared.run("inspect", "x\x1b[31m\x07", status=None)
    assert result.status in (2, 3) and "\x1b" not in result.errors and "\x07" not in result.errors


def test_json_errors_everywhere(shared):
    for arguments, status in [(["inspect", "nosuch"], 3), (["workspace", "inspect", "nosuch"], 3),
                              (["create"], 2), (["nosuchverb"], 2), (["gc", "--grace", "x"], 2)]:
        error = shared.fails_json(status, *arguments)
        assert error["message"], arguments
