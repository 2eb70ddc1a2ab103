# SPDX-License-Identifier: Apache-2.0
"""What the event log says of a session's life, what it never says, and the hooks that a config file runs on it."""
import json
import pathlib
import signal
import stat
import subprocess

import pytest

import runner
from runner import BASE, new_owner, wait_until
from test_exec import run_in_pty


def events(sb, *args, **kw):
    return [json.loads(line) for line in sb.run("--json", "events", *args, **kw).text.splitlines()]


def kinds(sb, *args):
    return [event["event"] for event in events(sb, *args)]


def test_a_life_is_told(sb, tmp_path):
    session = sb.create("--name", "web")
    sb.sh("web", "exit 3", status=3)
    (tmp_path / "in").write_text("12345")
    sb.run("cp", tmp_path / "in", "web:")
    sb.run("cp", "web:in", tmp_path / "out")
    sb.destroy("web")
    told = events(sb)
    assert [event["event"] for event in told] == ["session.created", "exec.started", "exec.ended", "file.written", "file.exported", "session.destroyed"]
    assert all(event["session"] == session and event["name"] == "web" and event["owner"] == sb.owner for event in told)
    assert [event["time"] for event in told] == sorted(event["time"] for event in told)
    created, started, ended, written, exported, _ = told
    assert created["image"] == BASE and created["expiresAt"] > created["time"]
    assert started["exec"] == ended["exec"] and started["command"] == ended["command"] == "sh -c exit 3"
    assert (ended["outcome"], ended["exitCode"]) == ("exited", 3) and ended["wallMs"] >= 0
    assert (written["path"], written["files"], written["bytes"]) == (".", 1, 5)
    assert (exported["path"], exported["bytes"]) == ("in", 5)
    text = sb.run("events").text.splitlines()
    assert len(text) == 6 and all("web" in line for line in text) and "exit 3 after" in text[2]
    assert text[3].endswith(". (1 file, 5 bytes)"), text


def test_every_way_of_cp_is_told(sb, tmp_path):
    one, two = sb.create(), sb.create()
    sb.sh(one, "echo x >f")
    sb.run("cp", f"{one}:f", f"{two}:g")
    archive = sb.run("cp", f"{two}:g", "-").out
    sb.run("cp", "-", f"{two}:.", input=archive)
    assert kinds(sb, one)[-1] == "file.exported"
    assert kinds(sb, two)[-3:] == ["file.written", "file.exported", "file.written"]


def test_neither_output_nor_input_nor_environment_is_kept(sb):
    session = sb.create("-e", "SECRET=s3cr3t-one")
    sb.run("exec", "-i", "-e", "OTHER=s3cr3t-two", session, "--", "sh", "-c", 'cat; echo "$SECRET $OTHER"', input="s3cr3t-three")
    sb.json("exec", session, "--", "sh", "-c", 'echo "$SECRET"')
    sb.destroy(session)
    logs = list(sb.state_dir.rglob("*.jsonl"))
    assert logs and not [path for path in logs if b"s3cr3t" in path.read_bytes()]
    assert stat.S_IMODE((sb.state_dir / "events.jsonl").stat().st_mode) & 0o077 == 0


def test_how_execs_end(sb):
    session = sb.create()
    sb.run("exec", "--timeout", "200ms", session, "sleep", "60", status=124)
    sb.run("exec", session, "--", "sh", "-c", "kill -9 $$", status=137)
    sb.run("exec", session, "/no/such", status=127)
    ended = events(sb, "--kind", "exec.ended", session)
    assert [(event["outcome"], event.get("exitCode")) for event in ended] == [("timed_out", 124), ("signaled", 137), ("start_failed", 127)]
    shown = sb.json("inspect", session)["lastExecs"]
    assert shown == ended
    assert "timed_out" in sb.run("inspect", session).text


def test_inspect_shows_the_last_ones(sb):
    session = sb.create()
    for number in range(12):
        sb.sh(session, f"exit {number}", status=number)
    last = sb.json("inspect", session)["lastExecs"]
    assert [event["exitCode"] for event in last] == list(range(12))[-len(last):] and 5 <= len(last) <= 12


def test_an_owner_sees_its_own(sb, make_sandbox):
    other = runner.Sandbox(sb.state_dir, new_owner())
    session = sb.create("--name", "mine")
    assert kinds(other) == [] and kinds(other, "--all-owners") == ["session.created"]
    assert kinds(sb, "mine") == kinds(sb, session) == ["session.created"]
    assert kinds(sb, "nosuch") == []


def test_an_expired_session_and_what_gc_takes(sb, engine):
    session = sb.create("--ttl", "3s")
    wait_until(lambda: not engine.containers({"sandbox.session": session}), what="the session's own end")
    sb.run("gc", "--grace", "0s")
    told = events(sb, session)[-1]
    assert told["event"] == "session.expired"
    # When it expired, and not only when that was noticed; the lines of the log stay in the order in which they were written.
    assert told["expiredAt"] == events(sb, session)[0]["expiresAt"]
    seconds = len("2026-11-30T12:09:55")  # the one has no fraction
    assert told["expiredAt"][:seconds] <= told["time"][:seconds]
    assert f"ttl, at {told['expiredAt']}" in sb.run("events", session).text
    assert [event["event"] for event in events(sb, session, "--since", told["time"])] == ["session.expired"]
    assert f"expired at {told['expiredAt']}" in sb.run("exec", session, "true", status=125).errors
    engine.create_volume(f"{session}-left", {"sandbox.instance": sb.instance, "sandbox.session": "s000000000000", "sandbox.owner": sb.owner,
                                             "sandbox.role": "workspace"})
    sb.run("gc", "--grace", "0s")
    taken = events(sb, "--kind", "gc.removed")
    assert [(event["id"], event["why"]) for event in taken] == [(f"{session}-left", "orphan")]


def test_since(sb):
    session = sb.create()
    created = events(sb)[0]["time"]
    assert kinds(sb, "--since", "1h") == kinds(sb, "--since", created) == ["session.created"]
    assert kinds(sb, "--since", "2099-01-01T00:00:00Z") == []
    for wrong in ("yesterday", "", "-5m", "2026-13-01T00:00:00Z"):
        assert "--since" in sb.fails(2, "events", "--since", wrong).errors
    assert "exec.ended" in sb.fails(2, "events", "--kind", "exec").errors
    sb.destroy(session)


def test_a_session_of_which_nothing_is_known_is_named(sb):
    """A mistyped name must not look like a session to which nothing happens."""
    sb.create("--name", "known")
    quiet = sb.run("events", "known", "nosuch", "--kind", "session.destroyed")
    assert quiet.out == b"" and quiet.errors == f'sandbox: nothing is recorded of a session "nosuch" of owner {sb.owner}\n'
    assert "no such events" in sb.run("events", "known", "--kind", "session.destroyed").errors
    assert sb.run("--quiet", "events", "nosuch").errors == ""
    follower = sb.start("events", "-f", "nosuch", stderr=subprocess.PIPE)
    assert b'"nosuch"' in follower.stderr.readline()
    follower.kill()
    follower.communicate()


def test_follow_tells_at_once_and_ends_with_its_reader(sb):
    session = sb.create()
    following = sb.start("--json", "events", "-f", stdout=subprocess.PIPE)
    # It has begun when it tells of something: what was before it started is not told.
    def tell():
        sb.sh(session, "true")
        return json.loads(following.stdout.readline())
    seen = [tell()]
    sb.destroy(session)
    while seen[-1]["event"] != "session.destroyed":
        seen.append(json.loads(following.stdout.readline()))
    assert "session.created" not in [event["event"] for event in seen]
    following.stdout.close()
    assert following.wait(timeout=60) == 128 + signal.SIGPIPE


def test_no_state_no_events_and_none_is_made(make_sandbox):
    fresh = make_sandbox()
    assert fresh.run("events").text == ""


def test_a_full_disk_costs_events_and_nothing_else(make_sandbox, engine, tmp_path):
    """The log stands on a device of its own that is always full."""
    sb = make_sandbox()
    session = sb.create()
    log = sb.state_dir / "events.jsonl"
    log.unlink()
    log.symlink_to("/dev/full")
    assert sb.sh(session, "echo fine").text == "fine\n"
    sb.destroy(session)
    runner.close(sb, engine)


# --- hooks ---------------------------------------------------------------------------------------------------------

def configure(sb, hooks, **more):
    path = sb.state_dir.parent / "config/sandbox/config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": hooks, **more}))
    return path


def test_a_hook_gets_its_event_before_the_command_is_over(sb, tmp_path):
    configure(sb, {kind: ["sh", "-c", f'echo "$SANDBOX_EVENT" >>{tmp_path}/kinds; cat >>{tmp_path}/events; echo said']
                   for kind in ("session.created", "exec.started", "exec.ended", "session.destroyed")})
    session = sb.create()
    result = sb.sh(session, "echo result; exit 5", status=5)
    assert result.text == "result\n" and result.errors == "said\nsaid\n"
    assert (tmp_path / "kinds").read_text().split() == ["session.created", "exec.started", "exec.ended"]
    sb.destroy(session)
    assert [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()] == events(sb)


def test_a_hook_that_fails_changes_no_status(sb, tmp_path):
    config = configure(sb, {"exec.ended": ["sh", "-c", "exit 7"], "exec.started": ["/no/such/hook"]})
    session = sb.create()
    result = sb.sh(session, "true")
    assert f"{config}:1" in result.errors and "status 7" in result.errors and "/no/such/hook" in result.errors
    assert all(line.startswith("sandbox: warning: ") for line in result.errors.splitlines())


def test_what_a_hook_does_runs_no_hooks(sb, tmp_path):
    session = sb.create()
    configure(sb, {"exec.ended": ["sh", "-c", f'echo ran >>{tmp_path}/runs; "{runner.binary()}" exec {session} true']})
    assert sb.sh(session, "true").errors == ""
    assert (tmp_path / "runs").read_text() == "ran\n"
    assert kinds(sb, session).count("exec.ended") == 2


def test_hooks_of_two_files_are_both_run_the_hosts_first(sb, tmp_path):
    (tmp_path / "etc/sandbox").mkdir(parents=True)
    (tmp_path / "etc/sandbox/config.yaml").write_text(f"hooks: {{session.created: [sh, -c, 'echo host >>{tmp_path}/ran']}}")
    configure(sb, {"session.created": ["sh", "-c", f"echo user >>{tmp_path}/ran"]})
    script = f'mount --bind {tmp_path}/etc /etc && exec "$@"'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *sb.argv("create", "--image", BASE)],
                          env=sb.environ(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ran").read_text() == "host\nuser\n"


@pytest.mark.parametrize("hooks,word", [({"exec.end": ["true"]}, "exec.ended"), ({"exec.ended": "true"}, "list"), ({"exec.ended": []}, "command"), (["true"], "map")])
def test_a_wrong_hook_is_told_with_its_place(sb, hooks, word):
    config = configure(sb, hooks)
    shown = sb.fails(2, "config", "show").errors
    assert f"{config}:1:" in shown and word in shown


def test_a_wrong_hook_does_not_silence_the_others(sb, tmp_path):
    """It is said once in each call that runs hooks, with what was meant; doctor has each as a problem."""
    config = configure(sb, {"exec.end": ["true"], "session.created": "true", "exec.ended": ["sh", "-c", f"echo ran >>{tmp_path}/runs"]})
    made = sb.run("create", "--image", BASE)
    result = sb.sh(made.text.strip(), "true")
    assert (tmp_path / "runs").read_text() == "ran\n"
    for said in (made.errors, result.errors):
        assert said.count("a hook is left out") == 2 and f"{config}:1:" in said, said
        assert 'no event is called "exec.end"; did you mean "exec.ended"?' in said
    findings = [one for one in sb.run("--json", "doctor", "--quick", status=1).json()["findings"] if one["check"] == "config"]
    assert [one["status"] for one in findings] == ["problem", "problem"], findings
    assert any('did you mean "exec.ended"?' in one["what"] for one in findings)


def test_a_config_that_cannot_be_read_is_told_of_once(sb, tmp_path):
    session = sb.create()
    (tmp_path / "bad.yaml").write_text("nosuch: 1\n")
    assert sb.run("--config", tmp_path / "bad.yaml", "exec", session, "true").errors.count("no hooks are run") == 1


def test_config_show_lists_hooks(sb):
    config = configure(sb, {"exec.ended": ["logger", "-t", "sandbox"]})
    assert sb.json("config", "show")["hooks"] == [{"event": "exec.ended", "command": ["logger", "-t", "sandbox"], "origin": f"{config}:1"}]
    assert "logger -t sandbox" in sb.run("config", "show").text


def test_a_signal_ends_the_hook_and_not_what_was_done(sb, tmp_path):
    """The id is out and the lock is free before the hook runs; a signal then ends the hook, with what it has started."""
    configure(sb, {"session.created": ["sh", "-c", f"trap '' TERM; sleep 300 & echo $! >{tmp_path}/child; echo started; wait; sleep 300"]})
    child = sb.start("create", "--image", BASE)
    session = child.stdout.readline().decode().strip()
    assert child.stderr.readline() == b"started\n"
    assert sb.sh(session, "echo free").text == "free\n"
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=60) == 0 and b"hooks were left out" in child.stderr.read()
    pid = (tmp_path / "child").read_text().strip()
    wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), what="the end of what the hook started")
    configure(sb, {})
    sb.destroy(session)


def test_a_hook_may_end_the_session_that_it_is_told_of(sb, tmp_path):
    configure(sb, {"session.created": ["sh", "-c", f"""'{runner.binary()}' destroy "$(sed 's/.*"session":"\\([^"]*\\)".*/\\1/')" """]})
    assert sb.run("create", "--image", BASE).errors == ""
    assert sb.sessions() == []


def test_an_interrupt_while_a_start_is_told_of_starts_nothing(sb):
    session = sb.create()
    configure(sb, {"exec.started": ["sh", "-c", "echo started; sleep 300"]})
    child = sb.start("exec", session, "touch", "ran")
    assert child.stderr.readline() == b"started\n"
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60) in (-signal.SIGINT, 130)
    configure(sb, {})
    assert sb.sh(session, "ls").text == ""


def test_a_hook_has_no_terminal(sb):
    configure(sb, {"session.created": ["sh", "-c", "if (: </dev/tty) 2>/dev/null; then echo terminal; else echo none; fi"]})
    assert sb.run("create", "--image", BASE).errors == "none\n"


def test_a_hook_of_a_start_has_a_terminal_of_whole_lines(sb, engine):
    """`exec -it` takes the terminal when the command begins: a hook before it prints lines, and what fails before leaves it as it was."""
    session = sb.create()
    configure(sb, {"exec.started": ["sh", "-c", "echo told; stty -a </proc/$PPID/fd/0"]})
    status, output = run_in_pty(sb, "exec", "-it", session, "true")
    assert status == 0 and b"told\r\n" in output and b" icanon" in output and b"\nopost" in output, output
    engine.remove(engine.session(session)["Id"])
    status, output = run_in_pty(sb, "exec", "-it", session, "true")
    assert status == 125 and b" icanon" in output and output.endswith(b"\r\n"), output


def test_a_log_that_cannot_be_read_is_an_error(sb, tmp_path):
    sb.create()
    log = sb.state_dir / "events.jsonl"
    log.rename(tmp_path / "log")
    log.symlink_to(tmp_path / "log")
    assert "events.jsonl" in sb.fails(1, "events").errors
    log.unlink()


def test_a_hook_that_was_killed_is_told(sb):
    configure(sb, {"session.created": ["sh", "-c", "kill -9 $$"]})
    assert "signal 9" in sb.run("create", "--image", BASE).errors
