# SPDX-License-Identifier: Apache-2.0
"""exec: streams, status, time-outs, signals, results. Cases A and B of the field's troubles."""
import base64
import fcntl
import json
import os
import pty
import resource
import select
import stat
import signal
import struct
import subprocess
import termios
import time

import pytest

from runner import stop, wait_until

MIB = 1 << 20


# Streams.

def test_streams_stay_apart(shared, session):
    result = shared.sh(session, "echo out; echo err >&2")
    assert (result.out, result.err) == (b"out\n", b"err\n")


def test_every_byte_passes(shared, session):
    data = bytes(range(256)) * 4096
    assert shared.run("exec", "-i", session, "cat", input=data).out == data


def test_output_that_looks_like_a_frame_header(shared, session):
    result = shared.sh(session, r"printf '\001\000\000\000\000\000\000\005hello'")
    assert result.out == b"\x01\0\0\0\0\0\0\x05hello"


@pytest.mark.parametrize("data,command,expected", [
    (b"abc", ["wc", "-c"], b"3\n"),
    (b"", ["cat"], b""),
    (b"x\n", ["sh", "-c", "cat >/dev/null; echo after"], b"after\n"),
])
def test_stdin_ends(shared, session, data, command, expected):
    """B2: end of file is passed on, and the reply still comes."""
    assert shared.run("exec", "-i", session, "--", *command, input=data).out == expected


def test_without_i_stdin_is_empty(shared, session):
    assert shared.run("exec", session, "cat", input=b"ignored").out == b""


def test_big_stdin(shared, session):
    result = shared.run("exec", "-i", session, "--", "sh", "-c", "cat >/tmp/f; wc -c </tmp/f; rm /tmp/f", input=bytes(50 * MIB))
    assert result.text.strip() == str(50 * MIB)


def test_reader_that_stops_early(shared, session):
    """B4: a command that does not read its input to the end is not an error."""
    result = shared.run("exec", "-i", session, "--", "head", "-n1", input=b"y\n" * (10 * MIB), timeout=30)
    assert (result.out, result.err) == (b"y\n", b"")


def test_stream_to_a_slow_reader_is_whole(shared, session):
    """B5."""
    child = shared.start("exec", session, "--", "head", "-c", str(200 * MIB), "/dev/zero", stderr=subprocess.DEVNULL)
    time.sleep(2)
    count = 0
    while chunk := child.stdout.read(MIB):
        count += len(chunk)
    assert (count, child.wait(timeout=60)) == (200 * MIB, 0)


def test_short_outputs_are_never_lost(shared, session):
    for number in range(100):
        assert shared.run("exec", session, "echo", number).text == f"{number}\n"


def test_background_child_does_not_hold_exec(shared, session):
    """B1: exec ends with the leader; the child lives on and may go on writing."""
    result = shared.sh(session, "(until [ -e /tmp/go ]; do sleep 0.2; echo late; done; echo yes >/tmp/lived) & echo hi")
    assert result.out == b"hi\n"
    shared.sh(session, "touch /tmp/go")
    wait_until(lambda: shared.sh(session, "cat /tmp/lived", status=None).status == 0, what="the background child's end")


def test_reader_goes_away(shared, session):
    """B14: `exec S yes | head -1` ends the remote tree."""
    child = shared.start("exec", session, "yes", "B14")
    assert child.stdout.readline() == b"B14\n"
    child.stdout.close()
    assert child.wait(timeout=60) == 141
    assert child.stderr.read() == b""
    assert "yes B14" not in shared.processes(session)


def test_sigpipe_works_inside(shared, session):
    assert shared.sh(session, "yes | head -1").text == "y\n"


def test_stdout_closed_from_the_start(shared, session):
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *shared.argv("exec", session, "echo", "x")],
                          env=shared.environ(), capture_output=True, timeout=20)
    assert done.returncode != 0


# Status.

@pytest.mark.parametrize("status", [0, 1, 3, 124, 125, 126, 127, 130, 200, 255])
def test_status_passes_through(shared, session, status):
    shared.sh(session, f"exit {status}", status=status)


@pytest.mark.parametrize("number", [6, 9, 11, 15])
def test_signal_is_128_plus_n(shared, session, number):
    shared.sh(session, f"kill -{number} $$; sleep 5", status=128 + number)


def test_status_after_closed_streams(shared, session):
    """B8."""
    shared.sh(session, "exec >&- 2>&-; sleep 1; exit 7", status=7)


@pytest.mark.parametrize("argv,status,words", [
    (["/etc"], 126, "/etc"),
    (["/etc/passwd"], 126, "/etc/passwd"),
    (["nosuch-command"], 127, "nosuch-command"),
    (["/nosuch/path"], 127, "/nosuch/path"),
    (["cd", "/tmp"], 127, "sh -c"),
])
def test_command_that_cannot_start(shared, session, argv, status, words):
    """C1, C4."""
    result = shared.fails(status, "exec", session, "--", *argv)
    assert words in result.errors


def test_own_failures_are_125(shared, session):
    shared.fails(125, "exec", "nosuch", "true")
    shared.fails(125, "exec", session)
    shared.fails(125, "exec", "--no-such-option", session, "true")
    shared.fails(125, "exec", "--timeout", "-1s", session, "true")
    shared.fails(125, "--engine", "unix:///nonexistent.sock", "exec", "nosuch", "true")


def test_json_tells_own_failure_from_the_commands(shared, session):
    assert shared.json("exec", session, "sh", "-c", "exit 125", status=125)["error"] is None
    assert shared.json("exec", "nosuch", "true", status=125)["error"]["code"] == "not_found"
    assert shared.json("exec", session, "nosuch-command", status=127)["error"]["code"] == "command_not_found"
    assert shared.json("exec", session, "/etc", status=126)["error"]["code"] == "not_executable"


# Time-outs and the process tree.

def test_timeout_ends_the_work(shared, session):
    """A1: the work ends, not only the caller."""
    result = shared.sh(session, "echo begun; sleep 2; touch /tmp/late", "--timeout", "500ms", status=124)
    assert result.out == b"begun\n" and result.seconds < 10
    assert len(result.errors.splitlines()) == 1 and "time-out" in result.errors
    time.sleep(2)
    shared.sh(session, "test -e /tmp/late", status=1)


def test_timeout_takes_escapees(shared, session):
    """A2: setsid, double forks and a trap on TERM."""
    script = """setsid sleep 6101 & (setsid sh -c 'sleep 6102 & sleep 6103' &) ; (trap '' TERM; sleep 6104; sleep 6105) & sleep 6106"""
    result = shared.sh(session, script, "--timeout", "500ms", status=124)
    assert result.seconds < 20
    assert not [line for line in shared.processes(session) if "sleep 610" in line]


def test_timeout_when_a_supervisor_is_killed(shared, session):
    result = shared.sh(session, "setsid sleep 6201 & kill -9 $PPID; sleep 6202", timeout=20, status=None)
    assert result.status == 125, result
    wait_until(lambda: not [line for line in shared.processes(session) if "sleep 620" in line], what="the orphans' end")
    assert shared.json("exec", session, "sh", "-c", "kill -9 $PPID; sleep 5", status=None)["outcome"] == "aborted"


def test_an_orphan_with_the_pid_of_a_bridge_that_ended(sb, engine):
    """What a killed supervisor leaves is ended, whoever had its pid before."""
    session = sb.create("--channel", "bridge")
    init = str(engine.inspect(engine.session(session)["Id"])["State"]["Pid"])
    # A worker that outlives its client, and with it the bridge: its background child goes on. The bridge is the one that nothing here started.
    told = sb.sh(session, """sleep 6300 & for p in /proc/[0-9]*; do grep -qs '^PPid:.0$' $p/status && echo ${p#/proc/}; done; true""").text.split()
    (bridge,) = [pid for pid in told if pid != "1"]
    wait_until(lambda: not sb.sh(session, f"test -e /proc/{bridge}", status=None).status == 0, 10, "the bridge's end")
    orphan = f"""read last; while :; do sleep 6301 & [ $! -eq {bridge} ] && break; kill $!; [ $! -gt {bridge} ] && exit 3; done
        echo up >up; kill -9 $PPID; sleep 6302"""
    child = sb.start("exec", "-i", session, "sh", "-c", orphan, stdin=subprocess.PIPE)
    enter = ["nsenter", "--target", init, "--pid", "sh", "-c", f"echo {int(bridge) - 5} >/proc/sys/kernel/ns_last_pid"]
    wait_until(lambda: "read last" in "".join(sb.processes(session)), 10, "the shell")
    subprocess.run(enter, check=True)
    child.communicate(b"go\n", timeout=60)
    assert child.returncode == 125 and sb.sh(session, "cat up").text == "up\n"  # what it prints may go with the supervisor
    wait_until(lambda: not [line for line in sb.processes(session) if "sleep 6301" in line or "sleep 6302" in line], 10, "the orphans' end")
    assert "sleep 6300" in sb.processes(session)


@pytest.mark.parametrize("value", ["-1s", "abc", "NaN", "1e99s", "30", ""])
def test_bad_timeouts_are_usage_errors(shared, session, value):
    """A6. A bare number has no unit: the hint shows one."""
    shared.fails(125, "exec", "--timeout", value, session, "true")


def test_timeout_zero_is_none_and_fractions_work(shared, session):
    shared.run("exec", "--timeout", "0", session, "true")
    shared.run("exec", "--timeout", "0.3s", session, "sleep", "5", status=124)


def test_timeout_in_json(shared, session):
    result = shared.json("exec", "--timeout", "300ms", session, "--", "sh", "-c", "echo partial; sleep 9", status=124)
    assert result["outcome"] == "timed_out" and result["timedOut"] is True and result["oom"] is False
    assert result["stdout"]["text"] == "partial\n"
    assert result["error"]["code"] == "timed_out"


def test_timeout_default_from_the_manifest(sb):
    session = sb.create(manifest={"limits": {"timeout": "300ms"}})
    sb.run("exec", session, "sleep", "5", status=124)
    sb.run("exec", "--timeout", "5s", session, "sleep", "0.6")


@pytest.mark.parametrize("sig,status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_are_passed_on(shared, session, sig, status):
    """A3."""
    child = shared.start("exec", session, "sh", "-c", f"echo up; setsid sleep 63{int(sig):02} & sleep 63{int(sig):02}")
    assert child.stdout.readline() == b"up\n"
    child.send_signal(sig)
    assert child.wait(timeout=60) == status
    assert not [line for line in shared.processes(session) if "sleep 63" in line]


def test_the_command_may_handle_the_signal(shared, session):
    child = shared.start("exec", session, "sh", "-c", "trap 'echo caught; exit 0' TERM; echo up; while :; do sleep 0.05; done")
    assert child.stdout.readline() == b"up\n"
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=60)
    assert (out, child.returncode) == (b"caught\n", 143)


@pytest.mark.alone
def test_second_signal_forces(shared, session):
    child = shared.start("exec", session, "sh", "-c", "trap '' TERM INT; echo up; while :; do sleep 0.1; done")
    assert child.stdout.readline() == b"up\n"
    child.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    started = time.monotonic()
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=60) == 143 and time.monotonic() - started < 1


def test_signal_reaches_while_output_is_blocked(shared, session):
    child = shared.start("exec", session, "yes", "blocked")
    assert select.select([child.stdout], [], [], 20)[0]
    time.sleep(0.5)  # the pipe is full now and nobody reads
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=60) == 143
    assert "yes blocked" not in shared.processes(session)


def test_lost_client_ends_the_tree(shared, session):
    child = shared.start("exec", session, "sh", "-c", "echo up; setsid sleep 6401 & sleep 6402")
    assert child.stdout.readline() == b"up\n"
    stop(child)
    wait_until(lambda: not [line for line in shared.processes(session) if "sleep 640" in line], what="the tree's end")


def test_no_zombies(shared, session):
    """D2: PID 1 reaps what it inherits."""
    script = "for i in $(seq 100); do (sleep 0.01 &) ; done; sleep 0.5; grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l"
    assert shared.sh(session, script).text == "0\n"


# Environment, directory, size.

def test_environment_and_directory(shared, session):
    result = shared.run("exec", "-e", "A=1 2", "-e", "B=x\ny", "-e", "C=", "-w", "/tmp", session, "--", "sh", "-c", 'echo "$A|$B|$C|$PWD"')
    assert result.text == "1 2|x\ny||/tmp\n"


def test_relative_directory_is_below_the_workdir(shared, session):
    shared.run("exec", session, "mkdir", "-p", "sub/dir")
    assert shared.run("exec", "-w", "sub/dir", session, "pwd").text == "/workspace/sub/dir\n"
    result = shared.fails(125, "exec", "-w", "nosuch", session, "pwd")
    assert "nosuch" in result.errors


def test_name_only_env_takes_the_callers(shared, session):
    assert shared.run("exec", "-e", "FROM_CALLER", session, "--", "sh", "-c", 'echo "$FROM_CALLER"', env={"FROM_CALLER": "v"}).text == "v\n"
    shared.fails(125, "exec", "-e", "=x", session, "true")


def test_execs_do_not_share_environment(shared, session):
    shared.run("exec", "-e", "ONCE=1", session, "true")
    assert shared.sh(session, 'echo "[$ONCE]"').text == "[]\n"


def test_big_argument_and_environment(shared, session):
    """E11: what the kernel takes goes through; what it does not is said before or as such."""
    assert shared.run("exec", session, "--", "sh", "-c", 'echo ${#1}', "_", "x" * 100_000).text == "100000\n"
    assert shared.run("exec", "-e", "BIG=" + "x" * 100_000, session, "--", "sh", "-c", "echo ${#BIG}").text == "100000\n"


def test_empty_and_odd_arguments_are_kept(shared, session):
    """C3."""
    show = ["sh", "-c", 'for a in "$@"; do printf "<%s>" "$a"; done', "_"]
    assert shared.run("exec", session, "--", *show, "", "a b", "--", "--timeout", "-x", "*").text == "<><a b><--><--timeout><-x><*>"
    assert shared.run("exec", session, *show, "--json", "-i").text == "<--json><-i>"
    assert shared.run("exec", session, "printf", "%s", "").out == b""


def test_non_utf8_arguments(shared, session):
    assert shared.run("exec", session, "printf", "%s", b"\xff\xfe").out == b"\xff\xfe"


# Terminals.

def run_in_pty(sandbox, *args, feed=None, size=(31, 97), until=None, seconds=60):
    """Runs the binary on a pseudo-terminal; returns (status, output, the terminal's end state restored?)."""
    pid, master = pty.fork()
    if pid == 0:
        os.execve(sandbox.argv()[0], sandbox.argv(*args), sandbox.environ({"TERM": "xterm-256color"}))
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    output, deadline, fed = b"", time.monotonic() + seconds, feed is None
    while time.monotonic() < deadline:
        if select.select([master], [], [], 0.1)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            output += data
        if not fed and (until is None or until in output):
            feed(master, pid)
            fed = True
    else:
        os.kill(pid, signal.SIGKILL)
        pytest.fail(f"did not end: {output!r}")
    os.close(master)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), output


def test_tty(shared, session):
    status, output = run_in_pty(shared, "exec", "-it", session, "sh", "-c",
                                "test -t 0 && test -t 1 && stty size && echo $TERM && exit 4",
                                size=(31, 97))
    assert status == 4 and b"xterm-256color" in output
    # The size is set after the fork: either the first or the resized one is right.
    assert b"31 97" in output or b"0 0" in output or b"24 80" in output


def test_tty_input_and_resize(shared, session):
    def feed(master, pid):
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.kill(pid, signal.SIGWINCH)
        os.write(master, b"until stty size | grep ^4; do sleep 0.1; done; exit 5\n")
    status, output = run_in_pty(shared, "exec", "-it", session, "sh", "-c", "echo ready; exec sh", feed=feed, until=b"ready")
    assert status == 5 and b"40 120" in output, output


def test_tty_control_c_is_a_byte(shared, session):
    status, output = run_in_pty(shared, "exec", "-it", session, "sh", "-c", "trap 'echo int; exit 9' INT; echo ready; while :; do sleep 0.1; done",
                                feed=lambda master, pid: os.write(master, b"\x03"), until=b"ready")
    assert status == 9 and b"int" in output


def test_tty_signal_from_elsewhere(shared, session):
    """A4."""
    status, _ = run_in_pty(shared, "exec", "-it", session, "sh", "-c", "echo ready; sleep 6501",
                           feed=lambda master, pid: os.kill(pid, signal.SIGTERM), until=b"ready")
    assert status in (143, -signal.SIGTERM)
    wait_until(lambda: "sleep 6501" not in shared.processes(session), what="the command's end")


def test_terminal_is_restored(shared, session):
    """A5: whatever ends the session, the caller's terminal is as it was."""
    script = """before=$(stty -a); "$@"; after=$(stty -a); [ "$before" = "$after" ] && echo SAME || echo CHANGED"""
    pid, master = pty.fork()
    if pid == 0:
        os.execve("/bin/sh", ["sh", "-c", script, "sh", *shared.argv("exec", "-it", session, "sh", "-c", "echo ready; sleep 6601")],
                  shared.environ())
    output, killed, deadline = b"", False, time.monotonic() + 15
    while time.monotonic() < deadline:
        try:
            output += os.read(master, 4096)
        except OSError:
            break
        if b"ready" in output and not killed:
            killed = True
            shared.run("exec", session, "sh", "-c", "kill -9 $(pidof sleep)", status=None)
    os.waitpid(pid, 0)
    os.close(master)
    assert b"SAME" in output, output


def test_no_tty_by_default(shared, session):
    """B11."""
    assert b"\r" not in shared.run("exec", session, "echo", "x").out
    shared.run("exec", session, "test", "-t", "1", status=1)


def test_t_without_a_terminal_is_a_clear_error(shared, session):
    """B12."""
    result = shared.fails(125, "exec", "-it", session, "true")
    assert "-t" in result.errors


# Results.

def test_json_result(shared, session):
    result = shared.json("exec", session, "--", "sh", "-c", "echo out; echo err >&2; exit 3", status=3)
    assert result["outcome"] == "exited" and result["exitCode"] == 3 and result["timedOut"] is False and result["oom"] is False
    assert result["stdout"] == {"text": "out\n", "encoding": "utf-8", "bytes": 4, "droppedBytes": 0, "truncated": False}
    assert result["stderr"]["text"] == "err\n"
    assert result["wallMs"] >= 0 and result["userCpuMs"] >= 0 and result["peakMemoryBytes"] > 0


def test_json_usage_is_measured(shared, session):
    result = shared.json("exec", session, "--", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.2")
    assert result["wallMs"] >= 200 and result["userCpuMs"] >= 20


def test_json_signal(shared, session):
    """A7 (a): a KILL of one's own is not an OOM."""
    result = shared.json("exec", session, "--", "sh", "-c", "kill -9 $$", status=137)
    assert result["outcome"] == "signaled" and result["oom"] is False and result["signal"] in (9, "SIGKILL", "KILL")


def test_json_oom(sb):
    """A7 (b)."""
    session = sb.create("--memory", "64MiB")
    result = sb.json("exec", session, "--", "sh", "-c", "head -c 500000000 /dev/zero | tail | wc -c")
    assert result["oom"] is True, result
    single = sb.json("exec", session, "--", "sh", "-c", "exec tail /dev/zero", status=137)
    assert single["outcome"] == "oom"
    plain = sb.run("exec", session, "--", "tail", "/dev/zero", status=137)
    assert "memory" in plain.errors and len(plain.errors.splitlines()) <= 2
    assert sb.sh(session, "echo alive").text == "alive\n"


def test_json_output_that_is_no_utf8(shared, session):
    """B9."""
    result = shared.json("exec", session, "--", "printf", r"\376\303")
    assert result["stdout"]["encoding"] == "base64" and base64.b64decode(result["stdout"]["base64"]) == b"\xfe\xc3"


def test_json_code_point_over_a_chunk_border(shared, session):
    for count in (4095, 8191, 32767, 65535 - 2000):
        result = shared.json("exec", session, "--", "sh", "-c", f"head -c {count} /dev/zero | tr '\\0' a; printf '\\303\\251'")
        assert result["stdout"]["text"] == "a" * count + "\u00e9"


def test_json_truncated_inside_a_code_point_is_valid(sb):
    session = sb.create("--max-output", "1001B")
    result = sb.json("exec", session, "--", "sh", "-c", "i=0; while [ $i -lt 1000 ]; do printf '\\303\\251'; i=$((i+1)); done")
    assert result["stdout"]["truncated"] is True and result["stdout"]["bytes"] == 2000


def test_json_output_is_bounded(shared, session):
    """B10: any amount of output, little memory, the true status and the true count."""
    child = shared.start("--json", "exec", session, "--", "sh", "-c", "yes | head -c 200000000; exit 6", preexec_fn=lambda:
                         resource.setrlimit(resource.RLIMIT_AS, (300 * MIB, 300 * MIB)) if "asan" not in shared.argv()[0] else None)
    out, err = child.communicate(timeout=120)
    result = json.loads(out)
    assert child.returncode == 6 and result["stdout"]["truncated"] is True, err
    assert result["stdout"]["bytes"] == 200_000_000 and len(out) < 200_000
    assert result["stdout"]["droppedBytes"] >= 200_000_000 - 64_000


def test_raw_stream_is_never_cut(sb):
    session = sb.create("--max-output", "1KB")
    assert len(sb.sh(session, "yes | head -c 1000000").out) == 1_000_000


def test_result_file_beside_untouched_streams(shared, session, tmp_path):
    path = tmp_path / "r.json"
    result = shared.run("exec", "--result", path, session, "--", "sh", "-c", "echo out; exit 5", status=5)
    assert result.out == b"out\n"
    document = json.loads(path.read_text())
    assert document["exitCode"] == 5 and document["outcome"] == "exited" and document["error"] is None


def test_result_file_is_written_for_own_failures(shared, tmp_path):
    path = tmp_path / "r.json"
    shared.fails(125, "exec", "--result", path, "nosuch", "true")
    document = json.loads(path.read_text())
    assert document["error"]["code"] == "not_found" and document["error"]["retryable"] is False


def test_result_to_a_descriptor(shared, session):
    read, write = os.pipe()
    child = shared.start("exec", "--result", f"/dev/fd/{write}", session, "true", pass_fds=[write])
    os.close(write)
    assert child.wait(timeout=60) == 0
    with os.fdopen(read) as file:
        assert json.loads(file.read())["exitCode"] == 0


# Sessions that are not there any more.

def test_exec_in_a_destroyed_session_says_so(sb):
    session = sb.create()
    sb.destroy(session)
    result = sb.fails(125, "exec", session, "true")
    assert "destroyed" in result.errors


def test_killed_container_ends_exec(sb, engine):
    session = sb.create()
    child = sb.start("exec", session, "sh", "-c", "echo up; sleep 60")
    assert child.stdout.readline() == b"up\n"
    engine.kill(engine.session(session)["Id"])
    assert child.wait(timeout=60) == 125
    assert b"sandbox: error: " in child.stderr.read()


def test_exec_in_a_paused_session_fails_soon(sb, engine):
    session = sb.create()
    container = engine.session(session)["Id"]
    engine.pause(container)
    try:
        result = sb.fails(125, "exec", session, "true", timeout=30)
        assert "paused" in result.errors
        assert sb.state_of(session) == "paused"
    finally:
        engine.unpause(container)
    sb.run("exec", session, "true")


@pytest.mark.alone
def test_full_pid_table_is_our_error(sb):
    """D10: a fork bomb is held, exec says why, and destroy needs no exec."""
    session = sb.create("--pids", "24")
    bomb = sb.start("exec", session, "--", "sh", "-c", "for i in $(seq 60); do sleep 30 & done 2>/dev/null; wait")
    time.sleep(1)
    result = sb.run("exec", session, "true", status=None, timeout=20)
    assert result.status in (0, 125), result
    assert sb.destroy(session).seconds < 3
    stop(bomb)


def test_result_into_a_device_or_a_pipe_replaces_nothing(shared, session, tmp_path):
    device = tmp_path / "null"
    os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    shared.run("exec", "--result", str(device), session, "true")
    assert stat.S_ISCHR(device.stat().st_mode)
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_text("old")
    link.symlink_to(target)
    shared.run("exec", "--result", str(link), session, "true")
    assert link.is_symlink() and json.loads(target.read_text())["exitCode"] == 0


def test_a_result_that_has_no_place_is_said_before_anything_runs(shared, session, tmp_path):
    result = shared.fails(125, "exec", "--result", str(tmp_path / "no" / "r.json"), session, "touch", "/tmp/ran")
    assert "--result" in result.errors
    shared.run("exec", session, "test", "-e", "/tmp/ran", status=1)


def test_a_frozen_session_holds_up_neither_a_time_out_nor_a_signal(sb, engine):
    session = sb.create()
    timed = sb.start("exec", "--timeout", "1s", session, "sh", "-c", "echo up; sleep 60")
    ended = sb.start("exec", session, "sh", "-c", "echo up; sleep 60")
    assert timed.stdout.readline() == ended.stdout.readline() == b"up\n"
    container = engine.session(session)["Id"]
    engine.pause(container)
    ended.send_signal(signal.SIGTERM)
    assert ended.wait(timeout=60) == 143
    assert timed.wait(timeout=60) == 124
    assert sb.run("exec", session, "true", status=125).seconds < 20


@pytest.mark.parametrize("is_link", [False, True], ids=["itself", "by a link"])
def test_result_goes_to_a_descriptor_without_replacing_its_file(shared, session, tmp_path, is_link):
    """Others hold the file too, and go on writing."""
    log = tmp_path / "log"
    with open(log, "wb", buffering=0) as held:
        held.write(b"before\n")
        name = f"/dev/fd/{held.fileno()}"
        if is_link:
            (tmp_path / "link").symlink_to(name)
            name = tmp_path / "link"
        child = shared.start("exec", "--result", name, session, "true", pass_fds=[held.fileno()])
        assert child.wait(timeout=60) == 0
        held.write(b"after\n")
    lines = log.read_bytes().splitlines()
    assert lines[0] == b"before" and json.loads(lines[1])["exitCode"] == 0 and lines[2] == b"after"


def test_result_keeps_the_mode_of_its_file(shared, session, tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")
    path.chmod(0o600)
    shared.run("exec", "--result", path, session, "true")
    assert path.stat().st_mode & 0o777 == 0o600 and json.loads(path.read_text())["exitCode"] == 0
    assert "/dev/fd" in shared.fails(125, "exec", "--result", "-", session, "true").errors


def test_a_fraction_of_a_second_is_said(shared, session):
    assert "time-out of 1.5s" in shared.run("exec", "--timeout", "1.5s", session, "sleep", "60", status=124).errors
