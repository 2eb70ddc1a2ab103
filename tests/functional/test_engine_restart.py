# SPDX-License-Identifier: Apache-2.0
"""The engine is killed and restarted under us (F14): errors come soon, nothing hangs, nothing leaks."""
import signal
import subprocess

import pytest

from runner import BASE, leftovers, wait_until


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM])
def test_mid_exec(private_sb, private_engine, sig):
    sb = private_sb
    session = sb.create("--name", "web")
    child = sb.start("exec", session, "sh", "-c", "echo up; sleep 300")
    assert child.stdout.readline() == b"up\n"
    private_engine.restart(sig)
    assert child.wait(timeout=60) == 125
    assert b"sandbox: error: " in child.stderr.read()
    wait_until(lambda: sb.state_of(session) == "lost", 20, "the lost state")
    sb.fails(125, "exec", session, "true", timeout=30)
    sb.destroy(session, timeout=60)
    assert leftovers(private_engine.api, sb.instance) == []
    again = sb.create("--name", "web")
    assert sb.run("exec", again, "echo", "ok").text == "ok\n"


def test_gc_takes_what_a_crash_left(private_sb, private_engine):
    """FACTS of engines: after a kill -9 the container goes and its volume stays."""
    sb = private_sb
    sb.create()
    sb.create("--workspace", "kept")
    private_engine.restart()
    wait_until(lambda: all(row["state"] == "lost" for row in sb.sessions()), 20, "the lost state")
    sb.run("gc", timeout=60)
    left = leftovers(private_engine.api, sb.instance)
    assert len(left) == 1 and "workspace" in left[0], left  # the persistent one
    session = sb.create("--workspace", "kept")
    sb.destroy(session)


def test_down_is_not_gone(private_sb, private_engine):
    """Law 3, with a real engine: while it is away nothing is concluded, afterwards everything goes on."""
    sb = private_sb
    session = sb.create("--name", "web")
    private_engine.kill()
    sb.fails(5, "destroy", session, timeout=60)
    gc = sb.run("gc", status=None, timeout=60)
    assert gc.status in (0, 5)
    assert [row["id"] for row in sb.sessions()] == [session]
    private_engine.start()
    sb.destroy(session, timeout=60)


def test_another_engine_at_the_same_address(private_sb, private_engine, engine):
    """Law 3: the answer of another engine is "unreachable", not "all lost"."""
    sb = private_sb
    session = sb.create()
    sb.run("--engine", engine.url, "gc", "--grace", "0s", status=None)
    assert sb.run("exec", session, "echo", "alive").text == "alive\n"


def test_create_while_the_engine_dies(private_sb, private_engine):
    sb = private_sb
    children = [sb.start("create", "--image", BASE) for _ in range(4)]
    private_engine.restart()
    for child in children:
        try:
            _, err = child.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            pytest.fail("create hangs after the engine died")
        assert child.returncode == 0 or b"sandbox: error: " in err
    sb.run("destroy", "--all", status=None, timeout=120)
    sb.run("gc", "--grace", "0s", timeout=120)
    assert leftovers(private_engine.api, sb.instance) == []
