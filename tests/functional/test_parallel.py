# SPDX-License-Identifier: Apache-2.0
"""Many at once: creates and destroys against a looping gc, and readers while the state is written."""
import pathlib
import subprocess
import threading

import pytest

from runner import BASE, Sandbox, leftovers, state_leftovers


class GcLoop:
    """Runs gc over and over beside the test; what it says on stderr is kept."""

    def __init__(self, sb, *options):
        self._sb, self._options, self._stop, self.results = sb, options, threading.Event(), []

    def __enter__(self):
        self._thread = threading.Thread(target=self._loop)
        self._thread.start()
        return self

    def _loop(self):
        while not self._stop.is_set():
            self.results.append(self._sb.run("gc", *self._options, status=None, timeout=120))

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


@pytest.mark.alone
def test_50_creates_against_a_looping_gc(sb, engine):
    with GcLoop(sb) as loop:
        children = [sb.start("create", "--image", BASE, "--name", f"n{i}", "--memory", "32MB") for i in range(50)]
        outcomes = [(child.communicate(timeout=300), child.returncode) for child in children]
    failed = [(out, status) for out, status in outcomes if status != 0]
    assert not failed, failed[:3]
    assert len({out[0] for out, _ in outcomes}) == 50
    assert all(result.status == 0 for result in loop.results), loop.results
    assert {row["state"] for row in sb.sessions()} == {"running"} and len(sb.sessions()) == 50
    for number in range(0, 50, 7):
        assert sb.run("exec", f"n{number}", "echo", "ok").text == "ok\n"
    sb.run("destroy", "--all", timeout=200)
    assert leftovers(engine, sb.instance) == [] and state_leftovers(sb) == []


@pytest.mark.alone
def test_20_whole_lives_at_once(sb, engine):
    """F11."""
    script = """for i in 1 2 3; do
        s=$("$0" create --image "$1") && [ "$("$0" exec "$s" echo "$2-$i")" = "$2-$i" ] && "$0" destroy "$s" || exit 1
    done"""
    children = [subprocess.Popen(["sh", "-c", script, sb.argv()[0], BASE, str(n)], env=sb.environ(), stderr=subprocess.PIPE) for n in range(20)]
    with GcLoop(sb) as loop:
        for child in children:
            _, err = child.communicate(timeout=300)
            assert child.returncode == 0, err
    assert all(result.status == 0 for result in loop.results), loop.results
    assert leftovers(engine, sb.instance) == [] and sb.sessions() == [] and state_leftovers(sb) == []


@pytest.mark.alone
def test_parallel_execs_of_one_session(shared, session):
    children = [shared.start("exec", session, "sh", "-c", f"sleep 0.3; echo {n}; exit {n}") for n in range(40)]
    for number, child in enumerate(children):
        out, err = child.communicate(timeout=60)
        assert (out, child.returncode) == (f"{number}\n".encode(), number), err


def test_instances_of_one_engine_leave_each_others_agent_alone(sb, engine, tmp_path):
    """A volume that is filled is not written again: containers run from it."""
    sb.create()
    (name,) = {mount["Name"] for container in engine.containers({"sandbox.instance": sb.instance})
               for mount in engine.inspect(container["Id"])["Mounts"] if mount.get("Name", "").startswith("sandbox-agent-")}
    program = pathlib.Path(engine.volume(name)["Mountpoint"]) / "sandbox-agent"
    before = program.stat().st_ino
    others = [Sandbox(tmp_path / f"state{i}", sb.owner) for i in range(6)]
    try:
        children = [other.start("create", "--image", BASE) for other in others]
        assert [child.wait(timeout=120) for child in children] == [0] * len(others), [child.stderr.read() for child in children]
        sb.create()
        assert program.stat().st_ino == before
    finally:
        for other in others:
            other.run("destroy", "--all", timeout=120)
