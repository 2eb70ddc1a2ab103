# SPDX-License-Identifier: Apache-2.0
"""destroy: quick, idempotent, owner-scoped, and true about what is left."""
import os
import subprocess

import pytest

from fault_proxy import Drop
from runner import BASE, Sandbox, is_gone, new_owner, state_leftovers, stop


def test_everything_is_gone(sb, engine):
    session = sb.create("--name", "web")
    mounts = engine.session(session)["Mounts"]
    sb.destroy("web")
    assert is_gone(engine, {"sandbox.session": session})
    left = [m["Name"] for m in mounts if m["Type"] == "volume" and engine.volume(m["Name"])]
    assert [name for name in left if not name.startswith("sandbox-agent-")] == []
    assert state_leftovers(sb) == []


def test_destroy_is_idempotent(sb):
    session = sb.create("--name", "web")
    sb.destroy(session)
    sb.destroy(session)
    sb.destroy("web")
    assert sb.json("destroy", session) == {"destroyed": [], "alreadyGone": [session], "left": []}


def test_never_known_is_3(sb):
    (left,) = sb.fails(3, "--json", "destroy", "nosuch").json()["left"]
    assert left["session"] == "nosuch" and left["error"]["code"] == "not_found"
    sb.destroy("--ignore-missing", "nosuch")
    sb.destroy("-f", "--ignore-missing", "nosuch")


@pytest.mark.parametrize("arguments", [[""], [], ["--ignore-missing", ""]])
def test_empty_names_nothing(sb, arguments):
    """A trap's `destroy "$S"` after a failed create must not pass for success, nor destroy anything."""
    session = sb.create()
    error = sb.fails(2, "destroy", *arguments).errors
    assert sb.state_of(session) == "running"
    if "" in arguments:  # what the hint names does work
        assert "create --name NAME, and destroy --ignore-missing NAME" in error
        sb.destroy("--ignore-missing", "job-981")


def test_other_owners_are_not_found(sb):
    other = sb.run("--owner", "other", "create", "--image", BASE, "--name", "web").text.strip()
    result = sb.fails(3, "destroy", other)
    assert "--owner" in result.errors
    sb.fails(3, "destroy", "web")
    assert sb.run("--owner", "other", "exec", other, "echo", "alive").text == "alive\n"
    sb.destroy("--all")
    assert sb.run("--owner", "other", "exec", other, "echo", "alive").text == "alive\n"


def test_many_labels_and_all(sb):
    one, two = sb.create("--label", "a=1"), sb.create("--label", "a=1")
    three, four = sb.create("--label", "a=2"), sb.create()
    result = sb.json("destroy", "-l", "a=1")
    assert sorted(result["destroyed"]) == sorted([one, two]) and result["left"] == []
    sb.run("rm", "-f", three)
    assert sb.run("ps", "-q").lines() == [four]
    none = sb.destroy("-l", "a=9")
    assert none.err and none.status == 0
    sb.destroy("--all")
    assert sb.sessions() == []
    sb.destroy("--all")


def test_the_rest_goes_on_when_one_is_unknown(sb):
    one, two = sb.create(), sb.create()
    sb.fails(3, "destroy", one, "nosuch", two)
    assert sb.sessions() == []


@pytest.mark.alone
def test_busy_session_is_quick(sb, engine):
    """D3: TERM is ignored, output flows, children are everywhere; still soon."""
    session = sb.create()
    busy = sb.start("exec", session, "--", "sh", "-c", "trap '' TERM; yes & while :; do sleep 0.1; done")
    assert busy.stdout.read(2) == b"y\n"
    result = sb.destroy(session)
    assert result.seconds < (5 if engine.is_podman else 1.5), result  # Podman stops, with a second of grace, before it removes
    stop(busy)


def test_destroy_waits_for_no_exec(sb):
    session = sb.create()
    child = sb.start("exec", session, "sh", "-c", "echo up; sleep 60")
    assert child.stdout.readline() == b"up\n"
    sb.destroy(session)
    assert child.wait(timeout=60) == 125
    assert b"sandbox: error: " in child.stderr.read()


@pytest.mark.alone
def test_paused_session(sb, engine):
    session = sb.create()
    engine.pause(engine.session(session)["Id"])
    assert sb.destroy(session).seconds < 3
    assert is_gone(engine, {"sandbox.session": session})


def test_container_removed_behind_our_back(sb, engine):
    session = sb.create()
    engine.call("DELETE", f"/containers/{engine.session(session)['Id']}", query={"force": "true"})  # without v=1
    sb.destroy(session)
    assert is_gone(engine, {"sandbox.session": session})


def test_volume_held_by_a_stranger_is_named(sb, engine):
    """F5: destroy says what is left and by whom, is not 0, and a later one finishes."""
    session = sb.create()
    mount = next(m for m in engine.session(session)["Mounts"] if m["Destination"] == "/workspace")
    stranger = engine.create({"Image": BASE, "Cmd": ["sleep", "60"], "HostConfig": {
        "NetworkMode": "none", "Mounts": [{"Type": "volume", "Source": mount["Name"], "Target": "/w"}]}}, name=f"stranger-{session}")
    try:
        result = sb.fails(1, "destroy", session, timeout=90)
        assert f"stranger-{session}" in result.errors or stranger[:12] in result.errors
    finally:
        engine.remove(stranger)
    sb.destroy(session)
    assert is_gone(engine, {"sandbox.session": session})


def test_engine_down_is_5_and_loses_nothing(through, proxy):
    session = through.create()
    proxy.rule(Drop())
    (left,) = through.fails(5, "--json", "destroy", session).json()["left"]
    assert left["error"]["code"] == "engine_unreachable" and left["error"]["retryable"] is True
    proxy.reset()
    assert through.run("exec", session, "echo", "alive").text == "alive\n"


def test_a_session_is_destroyed_on_the_engine_that_made_it(sb):
    """--engine is for new sessions: a row remembers where its own is."""
    session = sb.create()
    sb.run("--engine", "unix:///nonexistent.sock", "destroy", session)
    assert sb.sessions() == []


def test_parallel_destroys_of_one(sb, engine):
    session = sb.create()
    children = [sb.start("destroy", session) for _ in range(5)]
    for child in children:
        _, err = child.communicate(timeout=60)
        assert child.returncode == 0, err
    assert is_gone(engine, {"sandbox.session": session})


def test_name_is_free_again(sb):
    first = sb.create("--name", "web")
    sb.destroy("web")
    second = sb.create("--name", "web")
    assert first != second and sb.json("inspect", "web")["id"] == second


def test_on_a_full_disk_sessions_go_on_and_can_be_ended_and_none_be_made(engine, base, tmp_path):
    """What is kept for that is for destroy and gc alone; looking and working in a session writes nothing that it needs."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], check=True)
    try:
        sb = Sandbox(disk / "state", new_owner())
        sessions = [sb.create(), sb.create()]
        with open(disk / "filler", "wb", buffering=0) as filler, pytest.raises(OSError):
            while True:
                filler.write(bytes(4096))
        assert "o space" in sb.fails(7, "create", "--image", BASE).errors
        assert os.path.exists(sb.state_dir / "reserve")
        assert {row["id"] for row in sb.sessions()} == set(sessions)
        assert sb.json("inspect", sessions[0])["state"] == "running"
        assert sb.run("exec", sessions[0], "--", "sh", "-c", "echo kept >f; echo done").out == b"done\n"
        sb.run("cp", f"{sessions[0]}:f", tmp_path / "f")
        assert (tmp_path / "f").read_text() == "kept\n"
        assert sb.run("diff", sessions[0]).out == b"A f\n"
        sb.run("workspace", "ls")
        sb.destroy(*sessions)
        assert all(is_gone(engine, {"sandbox.session": session}) for session in sessions)
        (disk / "filler").unlink()
        sb.run("gc", "--grace", "0s")
        assert sb.sessions() == [] and engine.containers({"sandbox.instance": sb.instance}) == []
    finally:
        subprocess.run(["umount", disk], check=True)
