# SPDX-License-Identifier: Apache-2.0
"""Managed processes: proc start, ls, logs, stop, wait, and logs. Cases I1, I3 and I8 of the field's troubles."""
import json
import re
import signal
import subprocess
import time

import pytest

from runner import still_runs, stop, wait_until

# Says that it is there long before it listens.
SERVER = "echo starting; sleep {delay}; exec nc -ll -p {port} -e echo hello"


def sh(script):
    return ["--", "sh", "-c", script]


def start(sb, session, *args):
    """proc start with these words; the id alone that it prints."""
    result = sb.run("proc", "start", *args)
    assert re.fullmatch(r"p\d+\n", result.text), result
    return result.text.strip()


def processes(sb, session):
    return {process["id"]: process for process in sb.json("proc", "ls", session)["processes"]}


def lines(result):
    return [json.loads(line) for line in result.out.splitlines()]


@pytest.fixture
def proc(shared, session):
    """start(*options, script) -> id in the shared session; what runs is stopped at the end."""
    def run(*args):
        *options, script = args
        return start(shared, session, *options, session, *sh(script))
    yield run
    running = [one["id"] for one in processes(shared, session).values() if one["status"] in ("running", "restarting") or one["leftRunning"]]
    if running:
        shared.run("proc", "stop", "--grace", "0s", session, *running)


def test_output_and_status_of_a_detached_process_are_kept(shared, session, proc):
    """I1."""
    process = proc("--name", "i1", "echo up; echo boom >&2; exit 3")
    assert shared.run("proc", "wait", session, "i1", status=3).err == b""
    logs = shared.run("proc", "logs", session, process)
    assert (logs.out, logs.err) == (b"up\n", b"boom\n")
    known = processes(shared, session)[process]
    assert (known["name"], known["status"], known["exitCode"], known["signal"]) == ("i1", "exited", 3, None)
    assert known["command"] == ["sh", "-c", "echo up; echo boom >&2; exit 3"] and known["endedAt"] >= known["startedAt"]
    assert re.search(rf"^{process} +i1 +exited 3 ", shared.run("proc", "ls", session).text, re.MULTILINE)


def test_a_process_outlives_a_caller_that_is_killed(shared, session, proc):
    """I3: the limit on the call is none on the process."""
    caller = shared.start("proc", "start", "--name", "i3", "--ready-log", "never", session, *sh("echo here; exec sleep 60"))
    assert re.fullmatch(rb"p\d+\n", caller.stdout.readline())
    still_runs(caller)
    stop(caller)
    assert wait_until(lambda: shared.run("proc", "logs", session, "i3").out == b"here\n")
    known = [one for one in processes(shared, session).values() if one["name"] == "i3" and one["status"] == "running"]
    assert len(known) == 1 and known[0]["pid"] > 1
    shared.run("proc", "stop", session, "i3")


def test_ready_when_it_serves_and_not_before(shared, session, proc):
    """I8."""
    started = shared.run("proc", "start", "--name", "server", "--ready-port", "8017", session, *sh(SERVER.format(delay=1, port=8017)))
    assert started.seconds >= 1
    assert shared.sh(session, "nc -w 9 127.0.0.1 8017 </dev/null").text == "hello\n"
    # Another one on that port is no sign of it: this one can't bind, and its last words are in the message.
    failed = shared.fails(1, "proc", "start", "--ready-port", "8017", session, *sh(SERVER.format(delay=0.2, port=8017)))
    assert "in use" in failed.errors and re.fullmatch(rb"p\d+\n", failed.out)
    shared.run("proc", "stop", session, "server")


def test_a_ready_time_out_tells_the_last_state_and_leaves_the_process(shared, session, proc):
    late = shared.fails(124, "proc", "start", "--name", "late", "--ready-log", "serving", "--ready-port", "8018", "--ready-timeout", "300ms",
                        session, *sh("echo 'still\33[31m loading'; exec sleep 60"))
    assert "8018" in late.errors and '"serving"' in late.errors and "loading" in late.errors and "\33" not in late.errors
    assert processes(shared, session)[late.text.strip()]["status"] == "running"
    document = shared.run("--json", "proc", "start", "--ready-log", "x", "--ready-timeout", "100ms", session, "sleep", "60", status=124).json()
    assert document["ready"] is False and document["status"] == "running" and document["error"]["code"] == "timed_out"
    assert shared.json("proc", "start", "--ready-log", "ok", session, *sh("echo ok; sleep 60"))["ready"] is True
    assert shared.json("proc", "start", session, "sleep", "60")["ready"] is None
    full = shared.fails(7, "proc", "start", session, "true")
    assert "4 managed processes" in full.errors


def test_what_cannot_be_started_leaves_nothing(shared, session, proc):
    before = processes(shared, session)
    assert shared.fails(127, "proc", "start", session, "no-such-program").out == b""
    assert shared.fails(126, "proc", "start", session, "/etc/passwd").out == b""
    assert "cannot enter" in shared.fails(1, "proc", "start", "-w", "nowhere", session, "true").errors
    assert shared.run("--json", "proc", "start", session, "nosuch", status=127).json()["error"]["code"] == "command_not_found"
    assert processes(shared, session) == before
    shared.fails(2, "proc", "start", "--name", "p1", session, "true")
    shared.fails(2, "proc", "start", "--name", "A b", session, "true")
    shared.fails(2, "proc", "start", "--restart", "always", session, "true")
    shared.fails(2, "proc", "start", "--ready-port", "0", session, "true")
    shared.fails(2, "proc", "start", "--ready-timeout", "5s", session, "true")
    shared.fails(3, "proc", "start", "nosuch", "true")
    shared.fails(3, "proc", "logs", session, "nosuch")
    shared.fails(3, "proc", "logs", session, "../../etc")
    shared.fails(125, "proc", "wait", session, "nosuch")


def test_environment_and_directory(shared, session, proc, tmp_path):
    (tmp_path / "vars").write_text("FROM_FILE=1\n")
    shared.run("proc", "start", "--name", "env", "-e", "A=b c", "-e", "HERE", "--env-file", tmp_path / "vars", "-w", "/tmp", session,
               *sh('echo "$A/$HERE/$FROM_FILE/$PWD"'), env={"HERE": "there"})
    shared.run("proc", "wait", session, "env")
    assert shared.run("proc", "logs", session, "env").text == "b c/there/1//tmp\n"


def test_stop_takes_the_whole_tree_and_tells_the_truth(shared, session, proc):
    proc("--name", "tree", "--ready-log", "up", "trap '' TERM; setsid sh -c \"trap '' TERM; sleep 71.5\" & (setsid sleep 71.5 &); echo up; sleep 71.5")
    result = shared.json("proc", "stop", "--grace", "200ms", session, "tree")
    assert [one["status"] for one in result["stopped"]] == ["stopped"] and result["left"] == []
    assert not [line for line in shared.processes(session) if "71.5" in line]
    again = shared.run("proc", "stop", session, "tree")
    assert again.out == b""
    mixed = shared.run("--json", "proc", "stop", session, "tree", "nosuch", status=3).json()
    assert len(mixed["stopped"]) == 1 and mixed["left"][0]["process"] == "nosuch"
    proc("--name", "term", "--ready-log", "up", "trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done")
    waiter = shared.start("proc", "wait", session, "term")
    shared.run("proc", "stop", session, "term")
    assert waiter.wait(timeout=30) == 9


def test_a_daemonised_leader_is_reported(shared, session, proc):
    process = proc("--name", "daemon", "setsid sh -c 'while :; do sleep 0.1; done' & exit 0")
    waited = shared.run("proc", "wait", session, "daemon")
    assert "left" in waited.errors and "proc stop" in waited.errors
    known = processes(shared, session)[process]
    assert known["status"] == "exited" and known["exitCode"] == 0 and known["leftRunning"] >= 1
    assert "already" not in shared.run("proc", "start", "--name", "other", session, "true").errors
    shared.run("proc", "stop", session, "daemon")
    assert processes(shared, session)[process]["leftRunning"] == 0


def test_restart_on_failure(shared, session, proc):
    process = proc("--name", "flaky", "--restart", "on-failure:3", "n=$(cat /tmp/n 2>/dev/null || echo 0); echo $((n+1)) >/tmp/n; echo try $n; test $n -ge 2")
    shared.run("proc", "wait", session, "flaky")
    assert shared.run("proc", "logs", session, "flaky").text == "try 0\ntry 1\ntry 2\n"
    known = processes(shared, session)[process]
    assert (known["restarts"], known["maxRestarts"], known["exitCode"]) == (2, 3, 0)
    shared.sh(session, "rm /tmp/n")


def test_a_killed_keeper_is_told_as_aborted(shared, session, proc):
    process = proc("--name", "victim", "--ready-log", "up", "setsid sleep 72.5 & echo up; while [ ! -e /tmp/kill ]; do sleep 0.05; done; kill -9 $PPID; sleep 72.5")
    waiter = shared.start("--json", "proc", "wait", session, "victim")
    follower = shared.start("proc", "logs", "-f", session, "victim")
    assert follower.stdout.readline() == b"up\n"
    shared.sh(session, "touch /tmp/kill")
    assert waiter.wait(timeout=30) == 125 and json.load(waiter.stdout)["status"] == "aborted"
    assert follower.wait(timeout=30) == 1 and b"keeper" in follower.stderr.read()
    assert not [line for line in shared.processes(session) if "72.5" in line]
    shared.sh(session, "rm /tmp/kill")
    assert processes(shared, session)[process]["status"] == "aborted"
    assert "keeper" in shared.fails(1, "proc", "logs", session, process).errors


def test_wait_passes_the_status_on(shared, session, proc):
    proc("--name", "slow", "exec sleep 60")
    assert "has not ended" in shared.fails(124, "proc", "wait", "--timeout", "200ms", session, "slow").errors
    waiter = shared.start("proc", "wait", session, "slow")
    still_runs(waiter)
    shared.run("proc", "stop", session, "slow")
    assert waiter.wait(timeout=30) == 128 + signal.SIGTERM
    document = shared.run("--json", "proc", "wait", session, "slow", status=143).json()
    assert document["status"] == "stopped" and document["signal"] == 15 and document["error"] is None
    assert re.search(r" slow +stopped SIGTERM ", shared.run("proc", "ls", session).text)


# Logs.

def test_a_reader_that_comes_back_misses_and_repeats_nothing(shared, session, proc):
    process = proc("--name", "count", "i=0; while [ $i -lt 300 ]; do echo out $i; echo err $i >&2; i=$((i+1)); test $((i % 50)) = 0 && sleep 0.1; done")
    seen, after = [], 0
    for _ in range(20):
        reader = shared.start("--json", "proc", "logs", "-f", "--after", after, session, process)
        line = reader.stdout.readline()
        stop(reader)
        if not line:
            break
        seen.append(json.loads(line))
        after = seen[-1]["next"]
    rest = lines(shared.run("--json", "proc", "logs", "-f", "--after", after, session, process))
    seen += rest
    assert all(one["process"] == process and one["name"] == "count" for one in seen)
    assert all(first["next"] == second["offset"] for first, second in zip(seen, seen[1:])) and seen[0]["offset"] == 0
    for stream, word in (("stdout", "out"), ("stderr", "err")):
        assert "".join(one["text"] for one in seen if one["stream"] == stream) == "".join(f"{word} {i}\n" for i in range(300))
    assert shared.run("proc", "logs", "--after", seen[-1]["next"], session, process).out == b""
    shared.fails(4, "proc", "logs", "--after", seen[-1]["next"] + 1, session, process)


def test_tail_since_and_timestamps(shared, session, proc):
    process = proc("echo one; echo two; echo three; printf four")
    shared.run("proc", "wait", session, process)
    everything = b"one\ntwo\nthree\nfour"
    tail = shared.run("proc", "logs", "--tail", "2", session, process)
    assert (tail.out, tail.err) == (b"three\nfour", b"")
    assert shared.run("proc", "logs", "-n", "0", session, process).out == b""
    assert shared.run("proc", "logs", "--tail", "all", session, process).out == everything
    assert shared.run("proc", "logs", "--since", "1h", session, process).out == everything
    assert shared.run("proc", "logs", "--since", "2100-01-01T00:00:00Z", session, process).out == b""
    stamped = shared.run("proc", "logs", "-t", session, process)
    assert re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (one|two|three|four)\n){4}", stamped.text)
    shared.fails(2, "proc", "logs", "--tail", "-1", session, process)
    shared.fails(2, "proc", "logs", "--after", "x", session, process)


def test_bytes_that_are_no_text_and_characters_that_are_cut(shared, session, proc):
    process = proc(r"printf 'a\303'; sleep 0.3; printf '\244b'; sleep 0.3; printf '\377\0'; sleep 0.3; printf '\342\202'")
    shared.run("proc", "wait", session, process)
    found = lines(shared.run("--json", "proc", "logs", session, process))
    text = "".join(one.get("text", "?") for one in found)
    assert text.startswith("aäb") and text.count("?") == 2
    assert all(first["next"] == second["offset"] for first, second in zip(found, found[1:]))
    assert shared.run("proc", "logs", session, process).out == b"a\303\244b\377\0\342\202"


def test_the_log_is_bounded_and_says_what_is_missing(sb):
    session = sb.create("--max-output", "4KB")
    sb.run("proc", "start", "--name", "loud", session, *sh("echo first >&2; head -c 100000 /dev/zero | tr '\\0' x; echo end"))
    sb.run("proc", "wait", session, "loud")
    logs = sb.run("proc", "logs", session, "loud")
    assert len(logs.out) == 4000 and logs.out.endswith(b"xend\n")
    # Which of two pipes is read first nobody knows, so "first" may stand within the hole.
    assert b"first\n" in logs.err and sum(map(int, re.findall(rb"(\d+) bytes of older output were dropped here", logs.err))) == 96004
    document = lines(sb.run("--json", "proc", "logs", session, "loud"))
    assert sum(one.get("droppedBytes", 0) for one in document) == 96004 and document[-1]["next"] == 100010
    assert "end" in sb.run("logs", "--tail", "1", session).text


def test_all_processes_as_one(shared, session, proc):
    marker = f"all-{time.monotonic_ns()}"
    proc("--name", "one", f"echo {marker} first; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo {marker} third")
    follower = shared.start("logs", "-f", session, stdout=subprocess.PIPE)
    proc("--name", "two", f"echo {marker} second >&2; touch /tmp/go; printf '{marker} cut'")
    out, err = follower.communicate(timeout=60)
    assert follower.returncode == 0
    out, err = (text.decode(errors="replace").splitlines() for text in (out, err))
    assert [line for line in out if marker in line and line.startswith("one")] == [f"one | {marker} first", f"one | {marker} third"]
    assert f"two | {marker} cut" in out and f"two | {marker} second" in err
    whole = [one for one in lines(shared.run("--json", "logs", session)) if marker in one.get("text", "")]
    assert [one["text"].split()[1] for one in whole if one["name"] == "one"] == ["first", "third"]
    assert [one["time"] for one in whole] == sorted(one["time"] for one in whole)
    shared.sh(session, "rm /tmp/go")


# The session.

@pytest.mark.parametrize("channel", ["socket", "bridge"])
def test_a_process_alone_is_no_activity(sb, channel):
    session = sb.create("--channel", channel, "--idle-timeout", "1h")
    sb.run("proc", "start", "--name", "plain", session, "sleep", "600")

    def operations():
        return sb.json("inspect", session)["operations"]
    wait_until(lambda: operations() == 0)
    for words in (["proc", "wait", session, "plain"], ["proc", "logs", "-f", session, "plain"], ["logs", "-f", session]):
        looker = sb.start(*words)
        wait_until(lambda: operations() == 1)
        stop(looker)
        wait_until(lambda: operations() == 0)
    left = sb.json("inspect", session)["idleLeftMs"]
    sb.run("proc", "ls", session)
    sb.run("proc", "logs", session, "plain")
    sb.run("logs", session)
    assert sb.json("inspect", session)["idleLeftMs"] <= left
    sb.run("proc", "start", "--name", "kept", "--keep-alive", session, "sleep", "600")
    wait_until(lambda: operations() == 1)
    sb.run("proc", "stop", session, "kept")
    wait_until(lambda: operations() == 0)


@pytest.mark.parametrize("channel", ["socket", "bridge"])
def test_the_end_of_the_session_is_told(sb, channel):
    session = sb.create("--channel", channel, "--ttl", "4s")
    sb.run("proc", "start", "--name", "web", "--restart", "on-failure:9", session, *sh("trap 'exit 1' TERM; echo up; while :; do sleep 0.1; done"))
    waiter = sb.start("proc", "wait", session, "web")
    out, err = waiter.communicate(timeout=60)
    assert waiter.returncode == 124 and b"expired" in err
    wait_until(lambda: sb.run("proc", "ls", session, status=None).status == 3)


def test_pause_and_older_sessions(sb, engine):
    session = sb.create()
    sb.run("proc", "start", "--name", "web", session, "sleep", "600")
    container = sb.json("inspect", session)["container"]["id"]
    engine.pause(container)
    try:
        sb.fails(5, "proc", "ls", session)
    finally:
        engine.unpause(container)
    assert processes(sb, session)["p1"]["status"] == "running"
    sb.destroy(session)
    sb.fails(3, "proc", "ls", session)


def test_a_follower_that_nobody_reads_holds_no_session(shared, session, proc):
    proc("--name", "quiet", "echo up; exec sleep 60")
    for words in (["proc", "logs", "-f", session, "quiet"], ["logs", "-f", session], ["--json", "logs", "-f", session]):
        follower = shared.start(*words)
        assert follower.stdout.readline()
        follower.stdout.close()
        assert follower.wait(timeout=30) == 128 + signal.SIGPIPE


def test_whoever_joins_is_heard_from_its_first_word(shared, session, proc):
    proc("--name", "first", "echo old; sleep 30")
    following = shared.start("logs", "-f", "--tail", "0", session)
    try:
        time.sleep(1.5)  # it has looked for others once
        proc("--name", "join", "for i in 1 2 3; do echo line$i; done; sleep 30")
        seen = [following.stdout.readline().decode() for _ in range(3)]
        assert [line.split()[-1] for line in seen] == ["line1", "line2", "line3"]
    finally:
        following.terminate()
        following.communicate(timeout=20)


def test_a_log_that_is_read_is_not_given_up_for_others(sb):
    session = sb.create("--max-output", "2MB")
    big = start(sb, session, "--name", "big", session, *sh("head -c 1500000 /dev/zero | tr '\\0' x"))
    wait_until(lambda: processes(sb, session)[big]["status"] == "exited")
    reading = sb.start("proc", "logs", session, "big", bufsize=0)
    assert reading.stdout.read(1) == b"x"
    for _ in range(20):
        sb.run("proc", "start", session, "true")
    out, err = reading.communicate(timeout=60)
    assert reading.returncode == 0 and len(out) + 1 >= 1_500_000, err


def test_what_could_not_be_ended_has_no_status(sb):
    session = sb.create("--user", "0", "--set", "security.addCapabilities=[SETUID,SETGID]")
    name = start(sb, session, "--name", "u", session, "--", "su", "-s", "/bin/sh", "nobody", "-c", "exec sleep 40")
    sb.run("proc", "stop", "--grace", "500ms", session, name, status=1)
    assert "could not be ended" in sb.fails(125, "proc", "wait", session, name).errors


def test_a_failure_of_its_own_is_not_blamed_on_memory(sb):
    session = sb.create("--memory", "64MB")
    name = start(sb, session, session, *sh("sleep 3; exit 1"))
    sb.run("exec", session, "sh", "-c", "head -c 200000000 /dev/zero | tail", status=137)
    assert "memory" not in sb.run("proc", "wait", session, name, status=1).errors
