# SPDX-License-Identifier: Apache-2.0
"""pause and resume, stop and start: sessions that live on, over both channels, and what is left when a change is cut off."""
import json
import random
import subprocess
import time

import pytest

from fault_proxy import Drop, Withhold
from runner import BASE, expire, is_gone, leftovers, still_runs, stop, wait_until

KEEP = ("--set", "lifecycle.autoDestroy=false")


@pytest.fixture(params=["socket", "bridge"])
def channel(request):
    return request.param


def container_of(engine, session):
    return engine.session(session)["Id"]


def frozen(engine, session):
    return engine.session(session)["State"]["Paused"]


def changes(document):
    return {one["id"]: (one["state"], one["changed"]) for one in document["sessions"]}


# --- pause and resume ----------------------------------------------------------------------------------------------

def test_pause_freezes_and_resume_thaws(sb, engine, channel):
    session = sb.create("--channel", channel, "--name", "web")
    sb.sh(session, "(while :; do date +%s%N >ticks; sleep 0.05; done) >/dev/null 2>&1 &")
    assert sb.run("pause", "web").out == b""
    assert sb.state_of(session) == "paused" and frozen(engine, session)
    refused = sb.fails(125, "exec", "web", "true")
    assert "is paused" in refused.errors and f"sandbox resume {session}" in refused.errors
    again = sb.run("pause", "web")
    assert again.status == 0 and "paused before" in again.errors
    assert sb.run("resume", "web").out == b"" and sb.state_of(session) == "running"
    before = sb.sh(session, "cat ticks").text
    wait_until(lambda: sb.sh(session, "cat ticks").text != before, what="a tick")
    assert "was not paused" in sb.run("unpause", "web").errors


@pytest.mark.parametrize("user", [(), ("-u", "nobody")])
def test_a_time_out_holds_for_the_call_although_all_is_frozen(sb, engine, channel, user):
    """Law 7 as far as it goes: what is frozen ends when it is thawed, and the caller does not wait for that."""
    session = sb.create("--channel", channel)
    child = sb.start("--json", "exec", "--timeout", "3s", *user, session, "--", "sh", "-c", "touch /tmp/up; sleep 77.5")
    wait_until(lambda: sb.sh(session, "test -e /tmp/up", status=None).status == 0, what="the command")
    sb.run("pause", session)
    out, err = child.communicate(timeout=60)
    document = json.loads(out)
    assert child.returncode == 124 and document["outcome"] == "timed_out" and document["timedOut"] and document["error"]["code"] == "timed_out"
    assert 3000 <= document["wallMs"] < 8000 and b"is paused" in err and b"sandbox resume" in err, (document, err)
    assert frozen(engine, session)
    sb.run("resume", session)
    wait_until(lambda: not [line for line in sb.processes(session) if "77.5" in line], what="its end")


def test_one_that_is_refused_in_a_paused_session_is_no_time_out(sb, channel):
    session = sb.create("--channel", channel)
    sb.run("pause", session)
    assert "is paused" in sb.fails(125, "exec", "--timeout", "200ms", session, "true").errors


def test_by_label_what_is_over_is_not_meant(sb):
    """Nobody has named it; it waits for whoever clears it away."""
    one, over, kept = (sb.create("-l", "a=b", *more) for more in ((), (), KEEP))
    expire(sb, over)
    expire(sb, kept)
    for verb in ("pause", "resume"):
        assert list(changes(sb.json(verb, "-l", "a=b"))) == [one]
    assert [line["id"] for line in sb.json("stats", "-l", "a=b")["sessions"]] == [one]
    assert sorted(changes(sb.json("extend", "-l", "a=b", "1h"))) == sorted([one, kept])
    waiter = sb.start("--json", "wait", "--timeout", "100ms", "-l", "a=b")
    out, _ = waiter.communicate(timeout=30)
    assert over in out.decode() and waiter.returncode == 124
    sb.destroy("-l", "a=b")
    assert sb.sessions() == []


def test_what_is_at_work_waits(sb, engine, channel):
    session = sb.create("--channel", channel)
    child = sb.start("exec", session, "--", "sh", "-c", "echo up; sleep 1; echo done")
    assert child.stdout.readline() == b"up\n"
    sb.run("pause", session)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=3)
    sb.run("resume", session)
    assert child.communicate(timeout=30)[0] == b"done\n" and child.returncode == 0


def test_nobody_idles_in_a_freezer(sb, channel):
    """Paused for longer than the idle time-out: nothing ends it there, and resuming starts the time anew."""
    session = sb.create("--idle-timeout", "5s", "--channel", channel)
    sb.run("pause", session)
    time.sleep(7)  # longer than the idle time-out is the point
    sb.run("gc")
    sb.run("resume", session)
    left = sb.json("inspect", session)["idleLeftMs"]
    assert left is not None and left > 0
    assert sb.sh(session, "echo alive").text == "alive\n"


def test_an_end_that_was_moved_meanwhile_holds(sb, engine, channel):
    session = sb.create("--ttl", "10s", "--channel", channel)
    sb.run("pause", session)
    sb.run("extend", session, "1h")
    time.sleep(12)  # past the end that the agent knows
    sb.run("gc")
    sb.run("resume", session)
    assert sb.sh(session, "sleep 2; echo alive").text == "alive\n"
    assert sb.json("inspect", session)["timeLeftMs"] > 3_500_000
    sb.run("extend", session, "1s")
    wait_until(lambda: is_gone(engine, {"sandbox.session": session}), what="its new end")


def test_g4_an_expired_one_is_not_resumed(sb, engine, channel):
    session = sb.create("--channel", channel, "--name", "late")
    sb.run("pause", session)
    expire(sb, session)
    for words in (("resume", "late"), ("extend", "late", "1h")):
        assert "expired" in sb.fails(3, *words).errors
    assert frozen(engine, session)
    sb.run("gc")
    assert is_gone(engine, {"sandbox.session": session})
    assert "expired" in sb.fails(3, "resume", "late").errors and "expired" in sb.fails(3, "pause", "late").errors


def test_a_bare_extend_of_a_paused_one(sb):
    session = sb.create()
    sb.run("pause", session)
    assert "resumed" in sb.run("extend", session).errors
    assert sb.state_of(session) == "paused"


def test_several_by_label_and_what_is_not_there(sb):
    one, two, other = sb.create("-l", "a=b"), sb.create("-l", "a=b"), sb.create()
    assert changes(sb.json("pause", "-l", "a=b")) == {one: ("paused", True), two: ("paused", True)}
    assert sb.state_of(other) == "running"
    document = sb.run("--json", "pause", one, other, "nosuch", status=3).json()
    assert changes(document) == {one: ("paused", False), other: ("paused", True)}
    assert [(left["session"], left["error"]["code"]) for left in document["left"]] == [("nosuch", "not_found")]
    assert changes(sb.json("resume", one, two, one)) == {one: ("running", True), two: ("running", True)}
    assert "nothing matched" in sb.run("resume", "-l", "a=c").errors
    sb.fails(2, "pause"), sb.fails(2, "pause", ""), sb.fails(2, "pause", one, "-l", "a=b"), sb.fails(3, "--owner", "x", "pause", one)


def test_a_resume_that_was_killed_is_made_good(sb, channel):
    """The container was thawed and the agent told nothing: doing it again tells it."""
    session = sb.create("--idle-timeout", "30s", "--channel", channel)
    sb.run("pause", session)
    sb.run("extend", session, "5h")
    for n in range(6):
        child = sb.start("resume", session)
        time.sleep(n * 0.01)
        stop(child)
    sb.run("resume", session)
    assert sb.state_of(session) == "running" and sb.json("inspect", session)["timeLeftMs"] > 17_000_000
    assert sb.sh(session, "echo alive").text == "alive\n"


def test_a_paused_one_is_destroyed(sb, engine):
    session = sb.create()
    sb.run("pause", session)
    sb.destroy(session)
    assert is_gone(engine, {"sandbox.session": session})


# --- stop and start ------------------------------------------------------------------------------------------------

def test_files_stay_and_processes_go(sb, engine, channel):
    session = sb.create(*KEEP, "--channel", channel, "--name", "kept", manifest={"env": {"GREETING": "hello"}})
    end = sb.json("inspect", session)["expiresAt"]
    sb.sh(session, "echo kept >f; echo root >/var/tmp/g; sleep 300 >/dev/null 2>&1 &")
    assert sb.run("stop", "kept").out == b"" and sb.state_of(session) == "stopped"
    again = sb.run("stop", "kept")
    assert "stopped before" in again.errors
    refused = sb.fails(125, "exec", "kept", "true")
    assert "is stopped" in refused.errors and "sandbox start" in refused.errors
    assert sb.run("start", "kept").out == b"" and sb.state_of(session) == "running"
    assert sb.sh(session, "cat f /var/tmp/g; echo $GREETING").text == "kept\nroot\nhello\n"
    assert not [line for line in sb.processes(session) if "sleep 300" in line]
    document = sb.json("inspect", session)
    assert document["expiresAt"] == end and document["channel"] == channel
    assert "runs already" in sb.run("start", "kept").errors
    sb.run("cp", "kept:f", "-"), sb.run("diff", "kept")


def test_it_lives_as_long_as_it_would_have(sb, engine, channel):
    """The end is an absolute time: a stop does not add to it, and the agent that is started keeps it."""
    session = sb.create(*KEEP, "--ttl", "15s", "--channel", channel)
    sb.run("stop", session)
    sb.run("start", session)
    wait_until(lambda: sb.state_of(session) == "stopped", 60, what="its end")
    refused = sb.fails(3, "start", session)
    assert "expired" in refused.errors and "sandbox extend" in refused.errors
    assert "expired" in sb.fails(125, "exec", session, "true").errors
    sb.run("extend", session, "1h")
    sb.run("start", session)
    assert sb.sh(session, "echo alive").text == "alive\n"


def test_one_that_stopped_by_itself_starts_again(sb, engine, channel):
    session = sb.create(*KEEP, "--idle-timeout", "1s", "--channel", channel)
    wait_until(lambda: sb.state_of(session) == "stopped", what="its idle time-out")
    assert "sandbox start" in sb.fails(4, "extend", session).errors
    sb.run("start", session)
    child = sb.start("exec", session, "sleep", "300")
    wait_until(lambda: sb.json("inspect", session)["operations"] == 1, what="the exec")
    engine.kill(container_of(engine, session))
    child.wait(timeout=60)
    wait_until(lambda: sb.state_of(session) == "stopped", what="the crash")
    sb.run("start", session)
    assert sb.sh(session, "echo alive").text == "alive\n"


def test_one_that_would_not_be_kept_is_not_stopped(sb):
    session = sb.create("--name", "web")
    refused = sb.fails(4, "stop", "web")
    assert "autoDestroy" in refused.errors and f"sandbox destroy {session}" in refused.errors
    assert sb.sh(session, "echo alive").text == "alive\n" and sb.run("start", "web").status == 0


def test_an_exec_ends_with_its_session(sb, channel):
    session = sb.create(*KEEP, "--channel", channel)
    child = sb.start("exec", session, "--", "sh", "-c", "echo up; sleep 300")
    assert child.stdout.readline() == b"up\n"
    sb.run("stop", session)
    assert child.wait(timeout=60) == 125


def test_a_paused_one_is_stopped_and_not_started(sb, channel):
    session = sb.create(*KEEP, "--channel", channel)
    sb.run("pause", session)
    assert "sandbox resume" in sb.fails(4, "start", session).errors
    sb.run("stop", session)
    assert sb.state_of(session) == "stopped"
    for verb in ("pause", "resume"):
        assert "sandbox start" in sb.fails(4, verb, session).errors
    assert "sandbox start" in sb.fails(4, "extend", session).errors
    sb.run("start", session)
    assert sb.sh(session, "echo alive").text == "alive\n"


def test_references_are_looked_up_again(sb, tmp_path, engine):
    (tmp_path / "token").write_text("from file\n")
    manifest = {"env": {"A": {"fromEnv": "A_SECRET"}, "B": {"fromFile": str(tmp_path / "token")}, "C": "literal"}}
    session = sb.create(*KEEP, "--allow-path", str(tmp_path), manifest=manifest, env={"A_SECRET": "first"})
    sb.run("stop", session)
    refused = sb.fails(2, "start", session)
    assert "A_SECRET" in refused.errors and "sandbox start" in refused.errors and sb.state_of(session) == "stopped"
    (tmp_path / "token").write_text("from file 2\n")
    sb.run("start", session, env={"A_SECRET": "second"})
    assert sb.sh(session, 'echo "$A,$B,$C"').text == "second,from file 2,literal\n"
    sb.run("stop", session)
    (tmp_path / "token").unlink()
    (tmp_path / "token").symlink_to("/etc/hostname")
    assert "token" in sb.fails(2, "start", session, env={"A_SECRET": "x"}).errors
    sb.run("start", "--allow-path", "/etc", session, env={"A_SECRET": "x"})
    shown = json.dumps(engine.session(session)) + (sb.state_dir / f"sessions/{session}/manifest.json").read_text()
    assert "second" not in shown and "from file 2" not in shown


def test_a_file_of_a_value_is_found_from_anywhere(sb, tmp_path):
    (tmp_path / "token").write_text("first\n")
    session = sb.create(*KEEP, manifest={"env": {"A": {"fromFile": "token"}}}, cwd=tmp_path)
    sb.run("stop", session)
    (tmp_path / "token").write_text("second\n")
    sb.run("start", session, cwd="/")
    assert sb.sh(session, "echo $A").text == "second\n"


def test_a_bridges_secret_is_a_new_one(sb):
    session = sb.create(*KEEP, "--channel", "bridge")
    secret = sb.state_dir / f"sessions/{session}/secret"
    before = secret.read_bytes()
    sb.run("stop", session)
    sb.run("start", session)
    assert secret.read_bytes() != before and len(before) == 32 and sb.sh(session, "echo alive").text == "alive\n"


def test_stopped_ones_keep_name_workspace_and_time(sb, engine):
    session = sb.create(*KEEP, "--name", "kept", "--workspace", "w")
    sb.run("stop", session)
    assert "kept" in sb.fails(4, "create", "--image", BASE, "--name", "kept").errors
    sb.fails(4, "create", "--image", BASE, "--workspace", "w")
    sb.run("gc", "--grace", "0s")
    assert sb.state_of(session) == "stopped"
    sb.run("start", session)
    sb.run("stop", session)
    expire(sb, session)
    sb.run("gc")
    assert is_gone(engine, {"sandbox.session": session}) and "expired" in sb.fails(3, "start", "kept").errors


def test_a_start_that_fails_leaves_it_stopped(through, proxy, engine):
    session = through.create(*KEEP, "--channel", "bridge")
    through.sh(session, "echo kept >f")
    through.run("stop", session)
    proxy.rule(Drop(), method="POST", path="/exec")
    through.run("start", session, status=5)
    proxy.reset()
    wait_until(lambda: through.state_of(session) == "stopped", what="the roll-back")
    through.run("start", session)
    assert through.sh(session, "cat f").text == "kept\n"


@pytest.mark.parametrize("verb,path", [("stop", "/stop"), ("start", "/start")])
def test_killed_right_after_the_engines_part(through, proxy, engine, channel, verb, path):
    session = through.create(*KEEP, "--channel", channel)
    through.sh(session, "echo kept >f")
    if verb == "start":
        through.run("stop", session)
    call = Withhold()
    proxy.rule(call, method="POST", path=path)
    child = through.start(verb, session)
    assert call.done.wait(30), path
    stop(child)
    proxy.reset()
    through.run("gc", "--grace", "0s")
    if verb == "stop":
        assert through.state_of(session) == "stopped"
    through.run("start", session)
    assert through.sh(session, "cat f").text == "kept\n"
    through.run("stop", session)
    assert through.state_of(session) == "stopped"


def test_killed_at_any_instant(sb, engine):
    """Whatever died half-way, the next command works, and a destroy leaves nothing."""
    randomly = random.Random(11)
    session = sb.create(*KEEP)
    sb.sh(session, "echo kept >f")
    for _ in range(24):
        child = sb.start(randomly.choice(["stop", "start", "pause", "resume"]), session)
        time.sleep(randomly.uniform(0, 0.3))
        stop(child)
    if sb.state_of(session) == "paused":
        sb.run("resume", session)
    sb.run("start", session)
    assert sb.sh(session, "cat f").text == "kept\n"
    sb.run("stop", session)
    sb.destroy(session)
    assert leftovers(engine, sb.instance) == []


def test_events_of_each(sb):
    session = sb.create(*KEEP)
    for verb in ("pause", "pause", "resume", "stop", "start"):
        sb.run(verb, session)
    events = [json.loads(line) for line in sb.run("--json", "events", session).lines()]
    assert [event["event"] for event in events] == ["session.created", "session.paused", "session.resumed", "session.stopped", "session.started"]
    assert events[-1]["expiresAt"] == sb.json("inspect", session)["expiresAt"]
    assert "session.paused" in sb.run("events", session).text


def test_while_another_command_changes_it(sb):
    """Two changes of one session come one after the other, whatever they are."""
    session = sb.create(*KEEP)
    children = [sb.start(verb, session) for verb in ("pause", "resume", "stop", "start", "extend", "pause", "resume")]
    for child in children:
        assert child.wait(timeout=120) in (0, 3, 4), child.stderr.read()
    if sb.state_of(session) == "paused":
        sb.run("resume", session)
    sb.run("start", session)
    assert sb.sh(session, "echo alive").text == "alive\n"
