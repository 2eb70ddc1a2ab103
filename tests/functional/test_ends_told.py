# SPDX-License-Identifier: Apache-2.0
"""Ends that nobody sees, and what is said of them: overdue, frozen, stopped by itself, half started, and by a clock that was set."""
import datetime
import json
import signal
import time

import pytest

from runner import BASE, expire, held, is_gone, wait_until, write_row
from test_proc import processes, sh, start

KEEP = ("--set", "lifecycle.autoDestroy=false")


def wall_ms(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000


def ends(sb, *words):
    return [json.loads(line) for line in sb.run("--json", "wait", *words).lines()]


# --- names and leases ----------------------------------------------------------------------------------------------

def test_reuse_takes_none_that_has_stopped_by_itself(sb):
    session = sb.create(*KEEP, "--idle-timeout", "1s", "--name", "web")
    wait_until(lambda: sb.state_of(session) == "stopped", what="its idle time-out")
    refused = sb.fails(4, "create", "--image", BASE, *KEEP, "--idle-timeout", "1s", "--name", "web", "--reuse")
    assert "is stopped" in refused.errors and "sandbox start web" in refused.errors
    sb.run("start", session)


def test_the_name_and_the_lease_of_every_overdue_one_are_free(sb, engine):
    """Law 9, however many are overdue: a create takes along only some, but always the one in its way."""
    made = [sb.create(*KEEP, "--name", f"z{i}", "--workspace", f"w{i}") for i in range(6)]
    sb.run("pause", "z5")
    for session in made:
        expire(sb, session)
    for session in made[4:]:
        write_row(sb, session, "expires_ms", 2)  # four others come first
    last = sb.create("--name", "z5", "--workspace", "w4", "--reuse")
    assert last != made[5] and sb.state_of(made[5]) == "expired" and sb.json("inspect", made[5])["reason"] == "ttl"
    assert sb.state_of(made[4]) == "expired"


# --- clocks that are set -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("off", [-5 * 3_600_000, 5 * 3_600_000], ids=["set forward", "set back"])
def test_the_end_is_told_by_the_clock_as_it_is_now(sb, off):
    session = sb.create("--name", "web", "--ttl", "2h")
    write_row(sb, session, "expires_ms", int(time.time() * 1000) + 7_200_000 + off)
    document = sb.json("inspect", session)
    assert abs(wall_ms(document["expiresAt"]) - time.time() * 1000 - 7_200_000) < 60_000
    sb.run("exec", "--timeout", "90m", session, "true")
    other = sb.create()  # takes what is overdue along, and this is not
    assert sb.state_of(session) == "running"
    sb.run("pause", session)
    write_row(sb, session, "expires_ms", int(time.time() * 1000) + off)
    write_row(sb, session, "expires_boot_ms", int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000))
    sb.destroy(other)
    assert sb.state_of(session) == "expired", "what is over is taken along by the clock of the boot"
    (end,) = ends(sb, session)
    assert end["outcome"] == "ttl" and abs(wall_ms(end["endedAt"]) - time.time() * 1000) < 60_000
    (event,) = [json.loads(line) for line in sb.run("--json", "events", "--kind", "session.expired", session).lines()]
    assert event["reason"] == "ttl" and abs(wall_ms(event["expiredAt"]) - time.time() * 1000) < 60_000


# --- what does not run ---------------------------------------------------------------------------------------------

def test_a_frozen_one_that_is_over_has_ended(sb):
    session = sb.create("--name", "web")
    sb.run("pause", session)
    waiter = sb.start("--json", "wait", session)
    expire(sb, session)
    out, _ = waiter.communicate(timeout=30)
    told = json.loads(out)
    assert waiter.returncode == 0 and told["outcome"] == "ttl" and "is paused: the next create, destroy or gc" in told["what"]
    refused = sb.fails(125, "exec", session, "true")
    assert "expired" in refused.errors and "sandbox destroy" in refused.errors and "sandbox resume" not in refused.errors


def test_wait_names_the_idle_time_out(sb, engine):
    session = sb.create("--idle-timeout", "1s")
    wait_until(lambda: is_gone(engine, {"sandbox.session": session}), what="its idle time-out")
    (end,) = ends(sb, session)
    assert end["outcome"] == "lost" and "(idle time-out, a crash" in end["what"]


def test_who_looks_on_hears_that_it_was_stopped(sb):
    session = sb.create(*KEEP, "--name", "web")
    start(sb, session, "--name", "p", session, *sh("echo up; exec sleep 300"))
    follower = sb.start("proc", "logs", "-f", session, "p")
    assert follower.stdout.readline() == b"up\n"
    sb.run("stop", session)
    _, err = follower.communicate(timeout=30)
    if follower.returncode != 0:  # the process has ended as well, and its reader may have heard that first
        assert b"crash" not in err and (b"is stopped" in err or b"is being stopped" in err), err
    assert "is stopped" in sb.fails(125, "proc", "wait", session, "p").errors


def test_a_half_started_one_is_said_to_be_one(sb, engine):
    session = sb.create(*KEEP, "--name", "web")
    sb.run("stop", session)
    engine.start(engine.session(session)["Id"])
    try:
        refused = sb.fails(125, "exec", session, "true")
        assert "half started" in refused.errors and f"sandbox start {session}" in refused.errors
        with held(sb.state_dir / "locks" / session):
            assert "is being stopped or started" in sb.fails(125, "exec", session, "true").errors
    finally:
        sb.run("start", session)
    assert sb.sh(session, "echo alive").text == "alive\n"


# --- extend --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text", ["1hr", "99999d"])
def test_what_is_meant_as_a_duration_is_no_session(sb, text):
    session = sb.create("--name", "web")
    refused = sb.run("extend", "web", text, status=2)
    assert refused.out == b"" and "no session" not in refused.errors and text in refused.errors
    sb.create("--name", "1hr")
    assert len(sb.run("extend", session, "1hr").lines()) == 2


# --- managed processes ---------------------------------------------------------------------------------------------

STUBBORN = "trap '' TERM; echo up; while :; do sleep 0.1; done"


def stops(sb, session):
    return [json.loads(line) for line in sb.run("--json", "events", "--kind", "process.stopped", session).lines()]


def test_a_stop_that_nobody_waited_for_is_in_the_events(sb):
    session = sb.create()
    process = start(sb, session, "--name", "deaf", "--ready-log", "up", session, *sh(STUBBORN))
    stopper = sb.start("proc", "stop", "--grace", "60s", session, "deaf")
    wait_until(lambda: holds_signals(stopper.pid), what="the stop")
    stopper.send_signal(signal.SIGINT)
    stopper.communicate(timeout=30)
    assert stopper.returncode == 130
    (event,) = stops(sb, session)
    assert (event["process"], event["outcome"]) == (process, "stopping") and "exitCode" not in event
    assert f"deaf ({process}) (stopping)" in sb.run("events", session).text
    sb.run("proc", "stop", "--grace", "0s", session, "deaf")
    assert stops(sb, session)[-1]["outcome"] == "stopped"


def holds_signals(pid):
    """Whether the process holds back SIGINT, as it does while it waits."""
    with open(f"/proc/{pid}/status") as file:
        blocked = next(line.split()[1] for line in file if line.startswith("SigBlk:"))
    return int(blocked, 16) & 1 << (signal.SIGINT - 1)


def test_a_wait_that_is_cut_short_leaves_its_result(sb, tmp_path):
    session = sb.create()
    process = start(sb, session, "--name", "web", session, *sh("exec sleep 300"))
    result = tmp_path / "result.json"
    waiter = sb.start("--json", "proc", "wait", "--result", result, session, "web")
    wait_until(lambda: holds_signals(waiter.pid), what="the wait")
    waiter.send_signal(signal.SIGINT)
    out, _ = waiter.communicate(timeout=30)
    assert waiter.returncode == 130 and json.loads(out)["error"]["code"] == "interrupted"
    assert json.loads(result.read_text()) == json.loads(out)
    late = sb.run("--json", "proc", "wait", "--timeout", "100ms", session, "web", status=124).json()
    assert late["error"]["code"] == "timed_out" and late.pop("error")
    assert late == processes(sb, session)[process] and late["status"] == "running"


def test_stop_goes_on_with_the_others(sb):
    session = sb.create()
    made = [start(sb, session, "--name", name, session, *sh("exec sleep 300")) for name in "abc"]
    sb.run("pause", session)
    document = sb.run("--json", "proc", "stop", session, *"abc", status=5).json()
    assert document["stopped"] == [] and [one["process"] for one in document["left"]] == ["a", "b", "c"]
    sb.run("resume", session)
    document = sb.run("--json", "proc", "stop", session, "a", "nosuch", "b", status=3).json()
    assert [one["id"] for one in document["stopped"]] == made[:2]
    assert [one["id"] for one in sb.json("proc", "stop", session, "c")["stopped"]] == made[2:]


def test_a_killed_keeper_is_told_as_one(sb):
    session = sb.create()
    start(sb, session, "--name", "deaf", "--ready-log", "up", session,
          *sh("trap 'kill -9 $PPID' TERM; echo up; while :; do sleep 0.1; done"))
    said = sb.run("proc", "stop", "--grace", "60s", session, "deaf").errors
    assert "deaf was aborted" in said and "by itself" not in said
    assert "what deaf printed is lost" in sb.fails(1, "proc", "logs", session, "deaf").errors


def test_logs_of_one_process_are_where_the_hint_says(sb):
    assert "sandbox proc logs SESSION PROCESS" in sb.fails(2, "logs", "web", "p1").errors
