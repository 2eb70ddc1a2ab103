# SPDX-License-Identifier: Apache-2.0
"""How run, with, exec and shell end where somebody stands in the way: a paused session, a reader that stalls, a client or a caller that is gone."""
import json
import os
import re
import signal
import subprocess

import pytest

from runner import is_gone, still_runs, stop, wait_until
from tmux import Tmux


def started(sb, *args, **kw):
    """An exec or run that has said "up"."""
    child = sb.start(*args, **kw)
    assert child.stdout.readline() == b"up\n"
    return child


def ended(child, seconds=60):
    _, err = child.communicate(timeout=seconds)
    return child.returncode, err.decode()


@pytest.fixture
def paused(sb, engine):
    """A session, and what pauses and resumes its container."""
    session = sb.create()
    container = engine.session(session)["Id"]
    return session, lambda: engine.pause(container), lambda: engine.unpause(container)


def session_of_run(sb):
    return sb.json("ps")["sessions"][0]["id"]


def holds_back(pid, number):
    mask = re.search(r"SigBlk:\s*(\w+)", open(f"/proc/{pid}/status").read())[1]
    return int(mask, 16) >> (number - 1) & 1


def runs(sb, session, word):
    """Whether `sleep WORD` runs, and not only the shell that is going to start it."""
    return any(line.endswith(f"sleep {word}") and "sh -c" not in line for line in sb.run("exec", session, "ps").lines())


# A paused session.

def test_a_signal_ends_another_users_exec_in_a_paused_session(sb, paused, tmp_path):
    session, pause, _ = paused
    running = started(sb, "exec", "--result", tmp_path / "r", "-u", "1234", session, "sh", "-c", "echo up; sleep 60")
    pause()
    running.send_signal(signal.SIGTERM)
    assert ended(running) == (143, "")
    assert json.loads((tmp_path / "r").read_text())["error"]["code"] == "interrupted"


def test_another_users_exec_that_nobody_can_end_says_that_the_session_is_paused(sb, paused):
    session, pause, _ = paused
    running = started(sb, "exec", "-u", "1234", "--timeout", "1s", session, "sh", "-c", "echo up; sleep 60")
    pause()
    status, errors = ended(running)
    assert status == 124 and "sandbox resume ends its processes" in errors and "unpause" not in errors


@pytest.mark.parametrize("user", [[], ["-u", "1234"]], ids=["own", "another"])
def test_a_ttl_that_ends_in_a_paused_session_ends_the_exec(sb, engine, user):
    session = sb.create("--ttl", "8s")
    running = started(sb, "exec", *user, session, "sh", "-c", "echo up; sleep 60")
    engine.pause(engine.session(session)["Id"])
    status, errors = ended(running, 30)
    assert status == 124 and "expired" in errors


def test_an_extended_session_is_waited_for(sb, engine):
    session = sb.create("--ttl", "4s")
    running = started(sb, "exec", session, "sh", "-c", "echo up; sleep 6; exit 7")
    sb.run("extend", session, "1h")
    assert ended(running)[0] == 7


def test_a_paused_run_ends_with_its_ttl_and_leaves_nothing(sb, engine):
    running = started(sb, "run", "--image", sb.base_image, "--ttl", "8s", "--", "sh", "-c", "echo up; sleep 60")
    session = session_of_run(sb)
    engine.pause(engine.session(session)["Id"])
    assert ended(running, 40)[0] == 124
    assert is_gone(engine, {"sandbox.session": session})


def test_a_paused_run_over_its_time_out_gives_no_advice_for_a_session_that_is_gone(sb, engine):
    running = started(sb, "run", "--image", sb.base_image, "--timeout", "2s", "--", "sh", "-c", "echo up; sleep 60")
    session = session_of_run(sb)
    engine.pause(engine.session(session)["Id"])
    status, errors = ended(running)
    assert status == 124 and "time-out" in errors and "resume" not in errors
    assert is_gone(engine, {"sandbox.session": session})


def abandoned(sb, engine):
    """The session of a run that was paused and then killed."""
    running = started(sb, "run", "--image", sb.base_image, "--", "sh", "-c", "echo up; sleep 60")
    session = session_of_run(sb)
    engine.pause(engine.session(session)["Id"])
    stop(running)
    return session


def test_gc_takes_the_session_of_a_run_that_was_killed(sb, engine):
    session = abandoned(sb, engine)
    plan = sb.json("gc", "--dry-run")["items"]
    assert [(item["action"], item["id"], item["why"]) for item in plan] == [("end_session", session, "abandoned")]
    assert not is_gone(engine, {"sandbox.session": session})
    assert [(item["why"], item["done"]) for item in sb.json("gc")["items"]] == [("abandoned", True)]
    assert is_gone(engine, {"sandbox.session": session}) and sb.state_of(session) == "destroyed"
    assert "was killed" in sb.fails(125, "exec", session, "true").errors


def test_why_a_session_has_ended_whose_run_was_killed(sb, engine):
    session = abandoned(sb, engine)
    engine.unpause(engine.session(session)["Id"])
    wait_until(lambda: not engine.containers({"sandbox.session": session}), what="the agent's own end")
    assert "was killed" in sb.fails(125, "exec", session, "true").errors


def test_a_signal_before_the_exec_begins_leaves_no_file_and_is_written(sb, paused, tmp_path):
    session, pause, _ = paused
    pause()
    waiting = sb.start("exec", "--result", tmp_path / "r", session, "true")
    wait_until(lambda: holds_back(waiting.pid, signal.SIGTERM))
    waiting.send_signal(signal.SIGTERM)
    assert ended(waiting) == (143, "")
    assert os.listdir(tmp_path) == ["r"] and json.loads((tmp_path / "r").read_text())["error"]["code"] == "interrupted"


def test_a_killed_exec_leaves_no_half_result(shared, session, tmp_path):
    running = started(shared, "exec", "--result", tmp_path / "r", session, "sh", "-c", "echo up; sleep 60")
    assert os.listdir(tmp_path) == []
    stop(running)
    assert os.listdir(tmp_path) == []


# A client that is gone, and a command that has stopped or killed its supervisor.

@pytest.mark.parametrize("attack", ["kill -STOP $PPID", "kill -9 $PPID"])
def test_another_users_command_does_not_outlive_a_killed_client(shared, session, attack):
    number = f"77{os.getpid() % 1000:03}"
    # It says nothing: what a stopped supervisor has not passed on yet would be waited for in vain.
    running = shared.start("exec", "-u", "1235", session, "sh", "-c", f"{attack}; exec sleep {number}")
    wait_until(lambda: runs(shared, session, number) or running.poll() is not None)
    stop(running)
    wait_until(lambda: not runs(shared, session, number), 20)


def test_another_users_command_ends_when_a_paused_session_is_resumed(sb, paused):
    session, pause, resume = paused
    running = sb.start("exec", "--timeout", "5s", "-u", "1237", session, "sh", "-c", "kill -STOP $PPID; exec sleep 7373")
    wait_until(lambda: runs(sb, session, "7373"))
    pause()
    assert ended(running)[0] == 124
    resume()
    wait_until(lambda: not runs(sb, session, "7373"), 20)


def test_what_another_users_command_leaves_in_the_background_lives_on(shared, session):
    shared.run("exec", "-u", "1236", session, "sh", "-c", "setsid sleep 7474 >/dev/null 2>&1 &")
    shared.run("exec", "-u", "1236", session, "sleep", "6")  # longer than a lost client is waited for
    assert runs(shared, session, "7474")


# A reader that stalls.

@pytest.mark.parametrize("command", [["yes"], ["head", "-c", "300000", "/dev/zero"]], ids=["endless", "long"])
def test_a_reader_that_stalls_does_not_lengthen_a_time_out(shared, session, tmp_path, command):
    running = shared.start("exec", "--timeout", "1s", "--result", tmp_path / "r", session, *command)
    assert running.wait(timeout=30) == 124  # its pipe is full, and nobody reads
    assert "nobody read its output" in running.stderr.read().decode()
    assert json.loads((tmp_path / "r").read_text())["outcome"] == "timed_out"
    running.stdout.close()


def test_a_slow_reader_gets_all(shared, session):
    running = shared.start("exec", session, "sh", "-c", "head -c 3000000 /dev/zero; echo end")
    still_runs(running)
    out, _ = running.communicate(timeout=30)
    assert running.returncode == 0 and len(out) == 3000004


# The status of a shell.

@pytest.mark.parametrize("name, status", [("nosuch", 127), ("/etc/passwd", 126)])
def test_a_shell_that_cannot_be_started(shared, session, name, status):
    with Tmux(shared.argv("shell", "--shell", name, session), shared.environ()) as screen:
        assert screen.status() == status
        assert name in screen.screen()


def test_the_ttl_ends_under_a_shell(sb):
    session = sb.create("--ttl", "5s")
    with Tmux(sb.argv("shell", session), sb.environ()) as screen:
        screen.wait_for("workspace")
        assert screen.status() == 124
        assert "expired" in screen.screen()


# The caller of with.

def test_with_says_that_its_caller_is_gone(sb, engine, tmp_path):
    with open(tmp_path / "err", "wb") as errors:
        caller = subprocess.Popen(["sh", "-c", '"$@" & echo $!; read line', "sh", *sb.argv("with", "--image", sb.base_image, "--", "sh", "-c", "echo up; exec sleep 60")],
                                  env=sb.environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        assert {caller.stdout.readline().strip().isdigit(), caller.stdout.readline() == b"up\n"} == {True}
        caller.stdin.close()
        caller.stdout.read()
        caller.wait()
    wait_until(lambda: b"caller is gone" in (tmp_path / "err").read_bytes())
    assert b"hint: " in (tmp_path / "err").read_bytes() and b"nohup" in (tmp_path / "err").read_bytes()
    wait_until(lambda: sb.json("ps")["sessions"] == [])


def test_the_guard_of_with_keeps_no_directory_busy(sb, tmp_path):
    (tmp_path / "d").mkdir()
    running = started(sb, "with", "--image", sb.base_image, "--", "sh", "-c", "echo up; exec sleep 60", cwd=tmp_path / "d")

    def guards():
        children = open(f"/proc/{running.pid}/task/{running.pid}/children").read().split()
        return [os.readlink(f"/proc/{pid}/cwd") for pid in children if open(f"/proc/{pid}/comm").read() == "sandbox-guard\n"]
    wait_until(lambda: guards() == ["/"], what="the guard in /")
    running.send_signal(signal.SIGTERM)
    assert ended(running)[0] == 143


# Messages.

def test_no_image_is_said_without_taking_a_word_for_one(sb):
    errors = sb.fails(125, "run", "--", "make", "test").errors
    assert "--image NAME -- make test" in errors and "-f MANIFEST" in errors
    assert "--image NAME -- ./nosuch.sh" in sb.fails(125, "with", "./nosuch.sh").errors
    assert "--image NAME -- ./steps.sh -x" in sb.fails(125, "with", "--", "./steps.sh", "-x").errors
    assert "--image node:22 -- node -v" in sb.fails(125, "run", "node:22", "node", "-v").errors


def test_a_result_that_cannot_be_written_is_named(shared, session):
    assert "--result /dev/full: " in shared.run("exec", "--result", "/dev/full", session, "true", status=None).errors
