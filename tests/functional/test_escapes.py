# SPDX-License-Identifier: Apache-2.0
"""Law 7 against commands that are built to outlive it."""
import pathlib
import signal
import subprocess

import pytest

from runner import has_ended, is_gone, wait_until

SOURCE = pathlib.Path(__file__).parents[1] / "support/escapee.cpp"


@pytest.fixture(scope="module")
def escapee(tmp_path_factory):
    program = tmp_path_factory.mktemp("escapee") / "escapee"
    subprocess.run(["g++", "-static", "-pthread", "-O1", SOURCE, "-o", program], check=True)
    return program


def survivors(sb, session):
    """Whatever bears the program's name, zombies with living threads included."""
    return sb.sh(session, "grep -ls escapee /proc/[0-9]*/comm || true").text


@pytest.mark.parametrize("how", ["thread", "chain", "limits"])
def test_a_time_out_ends_it(sb, escapee, how):
    session = sb.create()
    sb.run("cp", escapee, f"{session}:escapee")
    result = sb.run("exec", "--timeout", "1s", session, "./escapee", how, status=124)
    assert "were ended" in result.errors and survivors(sb, session) == ""


@pytest.mark.parametrize("how", ["thread", "chain", "limits"])
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["TERM", "client killed"])
def test_a_lost_or_ended_client_ends_it(sb, escapee, how, end):
    session = sb.create()
    sb.run("cp", escapee, f"{session}:escapee")
    child = sb.start("exec", session, "./escapee", how)
    assert child.stdout.readline() == b"up\n"
    child.send_signal(end)
    assert child.wait(timeout=60) == (143 if end == signal.SIGTERM else -9)
    if end == signal.SIGKILL:  # nobody is told when the rest is over; a session without processes says it
        wait_until(lambda: survivors(sb, session) == "", 30, "the end of what a killed client had started")
    assert survivors(sb, session) == ""


def test_a_session_whose_agent_is_disarmed_ends(sb, escapee, engine):
    """A command can take files from PID 1, but no deadline: the session ends with the next thing that PID 1 is to do."""
    session = sb.create()
    sb.run("cp", escapee, f"{session}:escapee")
    child = sb.start("exec", session, "./escapee", "init")
    assert child.stdout.readline() == b"up\n"
    sb.run("ps")
    wait_until(lambda: has_ended(engine, {"sandbox.session": session}), 30, "the end of a session whose agent was disarmed")
    assert child.wait(timeout=60) == 125
    sb.run("gc")
    assert is_gone(engine, {"sandbox.session": session})
