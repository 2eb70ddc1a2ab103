# SPDX-License-Identifier: Apache-2.0
"""The ten laws of the design, each by its number, as far as today's verbs reach."""
import os
import random
import signal
import subprocess
import time

import pytest

from fault_proxy import Answer, Drop, Edit, Fail
from runner import BASE, has_ended, is_gone, leftovers, remove_leftovers, state_leftovers, stop, wait_until


def test_law_1_intent_before_effect_pointer_last(sb, engine):
    """Whatever exists in the engine has a row at every instant, and a crash leaves what gc finds and finishes."""
    randomly = random.Random(1)
    for _ in range(15):
        child = sb.start("create", "--image", BASE)
        time.sleep(randomly.uniform(0.01, 0.35))
        stop(child)
        in_engine = {c["Labels"]["sandbox.session"] for c in engine.containers({"sandbox.instance": sb.instance})
                     if c["Labels"]["sandbox.role"] == "session"} if sb.instance else set()
        assert in_engine <= {row["id"] for row in sb.sessions("--all")}
    sb.run("destroy", "--all", timeout=120)
    sb.run("gc", "--grace", "0s", timeout=120)
    assert leftovers(engine, sb.instance) == [] and sb.sessions() == [] and state_leftovers(sb) == []


def test_law_2_labels_can_rebuild_the_state(sb, engine):
    session = sb.create("--name", "web", "--label", "job=1")
    kept = sb.create("--workspace", "kept")
    keys = {"sandbox.instance", "sandbox.session", "sandbox.owner", "sandbox.role", "sandbox.expires"}
    container = engine.session(session)
    labels = container["Config"]["Labels"]
    assert keys <= set(labels) and labels["sandbox.label.job"] == "1" and labels["sandbox.session"] == session
    for mount in container["Mounts"]:
        if mount["Type"] == "volume" and mount["Destination"] == "/workspace":
            assert keys <= set(engine.volume(mount["Name"])["Labels"])
    (volume,) = [v for v in engine.volumes({"sandbox.instance": sb.instance, "sandbox.workspace": "kept"})]
    assert keys - {"sandbox.session"} <= set(volume["Labels"]) and volume["Labels"]["sandbox.expires"] == "never"
    # A lost state directory is not a licence to delete: within their grace the objects stay.
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (sb.state_dir / name).unlink(missing_ok=True)
    sb.run("gc", timeout=60)
    assert engine.inspect(container["Id"]) and engine.session(kept) and engine.volume(volume["Name"])
    remove_leftovers(engine, sb.instance)  # nobody knows them any more


@pytest.mark.long
def test_law_3_did_not_answer_is_never_gone(through, proxy, engine):
    """Away, in trouble, or another engine at the same address: nothing of it means that a session is gone."""
    session = through.create()
    real = engine.identity
    troubles = {
        "away": [(Drop(), None)],
        "in trouble": [(Fail(500), "/containers|/volumes")],
        "a gateway's 404": [(Fail(404, "page not found"), "/containers|/volumes")],
        "another engine": [(Edit(lambda data: data.replace(real, b"X" * len(real))), "/info"), (Answer(b"[]"), "/containers/json"),
                           (Fail(404, "No such container"), "/containers/[^/]+")],
    }
    for trouble, rules in troubles.items():
        for fault, path in rules:
            proxy.rule(fault, path=path)
        result = through.run("destroy", session, status=None, timeout=60)
        assert result.status in (1, 5), (trouble, result)
        through.run("gc", "--grace", "0s", status=None, timeout=60)
        proxy.reset()
        (row,) = through.sessions("--all")
        assert row["id"] == session and row["state"] not in ("lost", "destroyed", "expired"), (trouble, row)
        assert engine.session(session)["State"]["Running"], trouble


def test_law_4_operation_locks_die_with_their_holder(sb):
    session = sb.create()
    for verb in (["destroy", session], ["gc"], ["create", "--image", BASE]):
        child = sb.start(*verb)
        time.sleep(0.03)
        stop(child)
        # Nothing says "busy" for a holder that is dead.
        assert sb.run("gc", "--grace", "0s", timeout=30).status == 0
    sb.destroy(session, timeout=30)


def test_law_5_a_scope_is_never_empty_by_accident(sb, make_sandbox):
    other_instance = make_sandbox()
    foreign = other_instance.create("--name", "web")
    mine = sb.create("--name", "web")
    prefixed = sb.create("--name", "web-2")
    theirs = sb.run("--owner", "other", "create", "--image", BASE).text.strip()
    sb.fails(2, "destroy")
    sb.fails(2, "destroy", "")
    sb.fails(3, "destroy", "we")
    sb.fails(3, "destroy", mine[:6])
    sb.fails(125, "exec", theirs, "true")
    sb.destroy("web")
    sb.destroy("--all")
    sb.run("gc", "--grace", "0s")
    assert sb.state_of(prefixed) == "destroyed"
    assert sb.run("--owner", "other", "exec", theirs, "echo", "alive").text == "alive\n"
    assert other_instance.run("exec", foreign, "echo", "alive").text == "alive\n"
    other_instance.destroy("--all")


def test_law_6_what_comes_out_is_hostile(sb, engine, tmp_path):
    """Names, links, bytes and sizes from inside change nothing outside, and no descriptor of the host goes in."""
    session = sb.create("--max-file", "1MB")
    sb.sh(session, r"""mkdir t && cd t && ln -s /etc etc && ln -s ../../../.. up && printf x >"$(printf 'a\033[31mb\nc')" """)
    sb.run("cp", f"{session}:t", tmp_path / "t")
    assert os.readlink(tmp_path / "t/etc") == "/etc" and sorted(os.listdir(tmp_path)) == ["t"]
    sb.sh(session, "head -c 3000000 /dev/zero >huge")
    sb.fails(7, "cp", f"{session}:huge", tmp_path / "huge")
    failed = sb.run("cp", f"{session}:t/a\x1b[31mb\nc/nosuch", tmp_path / "x", status=None)
    assert failed.status != 0 and "\x1b" not in failed.errors and len(failed.errors.splitlines()) <= 2
    descriptors = sb.sh(session, "ls -l /proc/self/fd").text
    assert "socket" not in descriptors and "/dev/pts" not in descriptors
    writable_binds = [m for m in engine.session(session)["Mounts"] if m["Type"] == "bind" and m["RW"]]
    assert writable_binds == []


def test_law_7_a_timeout_ends_the_work(sb):
    session = sb.create()
    tree = "setsid sleep 7001 & (setsid sh -c 'sleep 7002 & sleep 7003' &); (trap '' TERM HUP INT; setsid sleep 7004) & sleep 7005"
    sb.sh(session, tree, "--timeout", "400ms", status=124)
    assert not [line for line in sb.processes(session) if "sleep 700" in line]
    for sig, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)):
        child = sb.start("exec", session, "sh", "-c", "echo up; " + tree)
        assert child.stdout.readline() == b"up\n"
        child.send_signal(sig)
        assert child.wait(timeout=60) == status
        seconds = 30 if sig == signal.SIGKILL else 0.01
        wait_until(lambda: not [line for line in sb.processes(session) if "sleep 700" in line], seconds, f"the tree's end after {sig}")


def test_law_8_a_cut_stream_is_never_success(sb, engine):
    for how in ("kill", "remove"):
        session = sb.create()
        child = sb.start("exec", session, "sh", "-c", "echo up; exec cat /dev/zero", stdout=subprocess.PIPE)
        assert child.stdout.read(3) == b"up\n"
        copy = sb.start("cp", f"{session}:/dev/zero", str(sb.state_dir.parent / f"cut-{how}"))
        container = engine.session(session)["Id"]
        engine.kill(container) if how == "kill" else engine.remove(container)
        while child.stdout.read(1 << 20):
            pass
        assert child.wait(timeout=60) == 125
        assert copy.wait(timeout=60) != 0 and not (sb.state_dir.parent / f"cut-{how}").exists()


def test_law_9_the_backstop_needs_no_one(sb, engine):
    ttl = sb.create("--ttl", "10s")
    idle = sb.create("--idle-timeout", "2s")
    busy = sb.start("exec", ttl, "sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done")
    assert busy.stdout.readline() == b"up\n"
    wait_until(lambda: has_ended(engine, {"sandbox.session": ttl}) and has_ended(engine, {"sandbox.session": idle}), 30,
               "the end of container and volume with no host process alive")
    assert busy.wait(timeout=60) == 124  # its time was over, if not by --timeout
    sb.run("gc")
    assert is_gone(engine, {"sandbox.session": ttl}) and is_gone(engine, {"sandbox.session": idle})


def test_law_9_whatever_the_boot_clock_of_the_caller(sb, engine):
    """An engine may run under another kernel: how long a session lives must not hang on whose clock counts from when."""
    ahead = ["unshare", "--time", "--boottime", "100000", "--", *sb.argv("create", "--image", BASE, "--ttl", "8s")]
    session = subprocess.run(ahead, env=sb.environ(), capture_output=True, check=True, timeout=60).stdout.decode().strip()
    assert sb.run("exec", session, "echo", "lives").text == "lives\n"
    wait_until(lambda: has_ended(engine, {"sandbox.session": session}), what="the end of a session made by a host long up")


def test_law_10_destroy_tells_the_truth(sb, engine):
    session = sb.create()
    mount = next(m for m in engine.session(session)["Mounts"] if m["Destination"] == "/workspace")
    holder = engine.create({"Image": BASE, "Cmd": ["true"], "HostConfig": {
        "NetworkMode": "none", "Mounts": [{"Type": "volume", "Source": mount["Name"], "Target": "/w"}]}})
    try:
        result = sb.run("--json", "destroy", session, status=None, timeout=90)
        assert result.status == 1 and result.json()["left"][0]["session"] == session
        assert engine.volume(mount["Name"])
        assert session in [row["id"] for row in sb.sessions()]
    finally:
        engine.remove(holder)
    assert sb.json("destroy", session) == {"destroyed": [session], "alreadyGone": [], "left": []}
    assert is_gone(engine, {"sandbox.session": session})
