# SPDX-License-Identifier: Apache-2.0
"""What is said of managed processes where the plain answer would mislead: ends, losses, holes, interruptions."""
import json
import re
import signal

import pytest

from runner import wait_until
from test_exec import run_in_pty
from test_proc import lines, proc, processes, sh, start  # noqa: F401 (proc is a fixture)

KILLED = "echo up; while [ ! -e /tmp/kill ]; do sleep 0.05; done; kill -9 $PPID; sleep 60"


def test_stop_says_that_it_ended_what_was_left(shared, session, proc):
    proc("--name", "daemon", "setsid sh -c 'while :; do sleep 0.1; done' & exit 0")
    shared.run("proc", "wait", session, "daemon")
    taken = shared.fails(4, "proc", "start", "--name", "daemon", session, "true")
    assert "has ended (p" in taken.errors and f"sandbox proc stop {session} daemon" in taken.errors
    said = shared.run("proc", "stop", session, "daemon").errors
    assert re.search(r"daemon had ended already \(exited 0\), and \d+ process(es)? that it had left running (was|were) ended", said), said
    again = shared.run("proc", "stop", session, "daemon").errors
    assert "daemon had ended already (exited 0)" in again and "left" not in again
    proc("--name", "daemon", "exec sleep 60")
    taken = shared.fails(4, "proc", "start", "--name", "daemon", session, "true")
    assert "runs already (p" in taken.errors and "sandbox proc stop" in taken.errors
    assert shared.run("proc", "stop", session, "daemon").err == b""
    assert "(stopped SIGTERM)" in shared.run("proc", "stop", session, "daemon").errors
    assert shared.run("--quiet", "proc", "stop", session, "daemon").err == b""


def test_what_could_not_be_started_uses_up_no_id(shared, session, proc):
    first = proc("true")
    for words in (["no-such-program"], ["/etc/passwd"]):
        shared.run("proc", "start", session, *words, status=None)
    shared.fails(1, "proc", "start", "-w", "nowhere", session, "true")
    assert proc("true") == f"p{int(first[1:]) + 1}"


def test_a_lost_log_is_told(sb):
    session = sb.create()
    victim = start(sb, session, "--name", "victim", "--ready-log", "up", session, *sh(KILLED))
    silent = start(sb, session, "--name", "silent", session, *sh(KILLED.replace("echo up; ", "")))
    follower = sb.start("--json", "logs", "-f", session)
    first = json.loads(follower.stdout.readline())
    assert (first["process"], first["text"]) == (victim, "up\n")
    sb.sh(session, "touch /tmp/kill")
    wait_until(lambda: {one["status"] for one in processes(sb, session).values()} == {"aborted"}, what="their end")
    out, err = follower.communicate(timeout=30)
    # Of the one that had been heard from, that is an error; nothing is missing of the other for sure.
    assert follower.returncode == 1 and b"victim printed is lost" in err and b"silent printed is lost" in err
    assert [line["process"] for line in map(json.loads, out.splitlines()) if line.get("lost")] == [silent]
    seen = sb.run("logs", session)
    assert seen.out == b"" and seen.errors.count("is lost") == 2 and "has printed anything" not in seen.errors
    told = lines(sb.run("--json", "logs", session))
    assert [(one["process"], one["lost"]) for one in told] == [(victim, True), (silent, True)]
    sb.fails(1, "proc", "logs", session, "victim")


def test_nothing_printed_is_said_only_where_it_is_so(sb):
    session = sb.create()
    nothing = f'no managed process of "{session}" has printed anything\n'
    assert sb.run("logs", session).errors == f"sandbox: {nothing}"
    start(sb, session, "--name", "quiet", session, "true")
    sb.run("proc", "wait", session, "quiet")
    assert sb.run("logs", "--since", "1h", session).errors == f"sandbox: {nothing}"
    start(sb, session, "--name", "web", session, "echo", "hello")
    sb.run("proc", "wait", session, "web")
    assert "printed anything since then" in sb.run("logs", "--since", "2100-01-01T00:00:00Z", session).errors
    assert sb.run("logs", "--tail", "0", session).err == b"" and sb.run("logs", session).text == "web | hello\n"
    failed = sb.fails(1, "proc", "start", "--ready-log", "never", session, *sh("echo; echo; echo"))
    assert "empty lines" in failed.errors
    assert "printed nothing" in sb.fails(1, "proc", "start", "--ready-log", "never", session, "true").errors


def blocks(child, number):
    status = open(f"/proc/{child.pid}/status").read()
    return int(re.search(r"SigBlk:\s*(\w+)", status)[1], 16) & (1 << (number - 1))


@pytest.mark.parametrize("sign,status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_start_tells_what_runs(shared, session, proc, sign, status):
    child = shared.start("--json", "proc", "start", "--name", "late", "--ready-log", "never", session, "sleep", "60")
    wait_until(lambda: blocks(child, sign), what="the waiting")
    child.send_signal(sign)
    out, _ = child.communicate(timeout=30)
    document = json.loads(out)
    assert child.returncode == status and document["ready"] is False and document["error"]["code"] == "interrupted"
    assert (document["name"], document["status"]) == ("late", "running") and processes(shared, session)[document["id"]]["status"] == "running"
    shared.run("proc", "stop", session, document["id"])


def test_a_hole_ends_a_line(sb):
    session = sb.create("--max-output", "4KB")
    loud = start(sb, session, "--name", "loud", session, *sh("printf before >&2; while [ ! -e /tmp/one ]; do sleep 0.05; done; "
                                                             "head -c 100000 /dev/zero | tr '\\0' x; while [ ! -e /tmp/two ]; do sleep 0.05; done; echo after >&2"))

    def offset():
        told = lines(sb.run("--json", "proc", "logs", session, loud))
        return told[-1]["next"] if told else 0
    wait_until(lambda: offset() == 6)
    sb.sh(session, "touch /tmp/one")
    wait_until(lambda: offset() == 100_006)
    sb.sh(session, "touch /tmp/two")
    sb.run("proc", "wait", session, loud)
    for words, before, after in (([], "loud | before", "loud | after"), (["-t"], "before", "after")):
        verb = ["proc", "logs", *words, session, loud] if words else ["logs", session]
        err = sb.run(*verb).errors.splitlines()
        assert [line.endswith(before) for line in err].count(True) == 1 and [line.endswith(after) for line in err].count(True) == 1, err


def test_a_terminal_gets_the_bytes_as_exec_gives_them(shared, session, proc):
    """Colours are for it. --json is for who does not want them."""
    text = b"\x1b[31mred\x1b[0m"
    script = r"printf '\033[31mred\033[0m\n'"
    process = proc("--name", "colour", script)
    shared.run("proc", "wait", session, process)
    for words in (["exec", session, "--", "sh", "-c", script], ["proc", "logs", session, process], ["logs", session]):
        assert text in run_in_pty(shared, *words)[1], words
    assert b"\x1b" not in shared.run("--json", "proc", "logs", session, process).out


def test_wait_writes_its_result(shared, session, proc, tmp_path):
    proc("--name", "three", "exit 3")
    result = tmp_path / "result.json"
    waited = shared.run("proc", "wait", "--result", result, session, "three", status=3)
    document = json.loads(result.read_text())
    assert waited.out == b"" and (document["name"], document["exitCode"], document["error"]) == ("three", 3, None)
    assert document == shared.run("--json", "proc", "wait", session, "three", status=3).json()
    shared.run("proc", "wait", "--result", result, session, "nosuch", status=125)
    document = json.loads(result.read_text())
    assert document["id"] is None and document["error"]["code"] == "not_found"
    shared.fails(125, "proc", "wait", "--result", "-", session, "three")


def test_events_tell_who_was_started_and_stopped(shared, session, proc):
    web = proc("--name", "web", "exec sleep 60")
    proc("--name", "short", "exit 0")
    shared.run("proc", "wait", session, "short")
    shared.run("proc", "start", session, "no-such-program", status=127)
    shared.run("proc", "stop", session, "short", web)
    told = [json.loads(line) for line in shared.run("--json", "events", "--kind", "process.started", "--kind", "process.stopped", session).lines()]
    told = [event for event in told if event.get("processName") in ("web", "short")][-3:]
    assert [(event["event"], event["processName"]) for event in told] == [("process.started", "web"), ("process.started", "short"), ("process.stopped", "web")]
    assert told[0]["process"] == told[2]["process"] == web and told[0]["command"] == "sh -c exec sleep 60"
    assert (told[2]["outcome"], told[2]["signal"]) == ("stopped", signal.SIGTERM)
    assert f"web ({web}): sh -c exec sleep 60" in shared.run("events", session).text
