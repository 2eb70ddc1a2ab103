# SPDX-License-Identifier: Apache-2.0
"""extend and wait: when sessions end, who may move that, and who hears of it."""
import datetime
import json
import subprocess
import time

import pytest

from fault_proxy import Drop
from runner import BASE, expire, held, is_gone, still_runs, stop, wait_until

KEEP = ("--set", "lifecycle.autoDestroy=false")


@pytest.fixture(params=["socket", "bridge"])
def channel(request):
    return request.param


def seconds_to(text):
    return (datetime.datetime.fromisoformat(text.strip().replace("Z", "+00:00")) - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


def container_of(engine, session):
    return engine.session(session)["Id"]


def wait_gone(engine, session):
    wait_until(lambda: is_gone(engine, {"sandbox.session": session}), what=f"the end of {session}")


# --- extend --------------------------------------------------------------------------------------------------------

def test_the_end_moves_and_is_printed_alone(sb, channel):
    session = sb.create("--ttl", "1h", "--channel", channel, "--name", "web")
    for ttl, seconds in (("3h", 10800), ("10m", 600)):
        result = sb.run("extend", "web", ttl)
        assert abs(seconds_to(result.text) - seconds) < 30 and result.text.count("\n") == 1, result
        assert result.text.strip() == sb.json("inspect", session)["expiresAt"]
        assert ("sooner" in result.errors) == (ttl == "10m"), result
    document = sb.json("extend", session, "2h")
    (one,) = document["sessions"]
    assert document["left"] == [] and one["id"] == session and one["state"] == "running" and abs(one["timeLeftMs"] - 7_200_000) < 30_000


def test_g2_what_was_renewed_lives_past_its_first_end(sb, engine, channel):
    """The label keeps the first value; gc from another process looks at the row, the agent was told."""
    session = sb.create("--ttl", "8s", "--channel", channel)
    sb.run("extend", session, "1h")
    until = time.monotonic() + 10
    while time.monotonic() < until:
        sb.run("gc", "--grace", "0s")
        time.sleep(0.5)
    assert sb.sh(session, "echo alive").text == "alive\n" and sb.state_of(session) == "running"
    sb.run("extend", session, "1s")
    wait_gone(engine, session)


def test_g1_a_quiet_exec_is_no_idleness(sb, engine, channel):
    session = sb.create("--idle-timeout", "4s", "--channel", channel)
    child = sb.start("exec", session, "--", "sh", "-c", "sleep 8; echo done")
    while child.poll() is None:
        sb.run("gc")
        time.sleep(0.5)
    assert child.wait() == 0 and child.stdout.read() == b"done\n"
    wait_gone(engine, session)


def test_bare_extend_renews_the_idle_time_and_leaves_the_end(sb, channel):
    session = sb.create("--idle-timeout", "1h", "--ttl", "2h", "--channel", channel)

    def idle_left():
        return sb.json("inspect", session)["idleLeftMs"]
    before = wait_until(lambda: (left := idle_left()) is not None and left <= 3_599_000 and left)
    end = sb.json("inspect", session)["expiresAt"]
    assert sb.run("extend", session).text.strip() == end == sb.json("inspect", session)["expiresAt"]
    assert idle_left() > before
    assert [event for event in sb.run("--json", "events", session).lines() if "extended" in event] == []


def test_several_and_by_label(sb):
    one, two, other = sb.create("--name", "one", "-l", "a=b"), sb.create("--name", "two", "-l", "a=b"), sb.create("--name", "other")
    lines = [line.split() for line in sb.run("extend", "one", "two", "2h").lines()]
    assert [line[0] for line in lines] == [one, two] and all(abs(seconds_to(line[1]) - 7200) < 30 for line in lines)
    assert {line.split()[0] for line in sb.run("extend", "-l", "a=b", "3h").lines()} == {one, two}
    assert {line.split()[0] for line in sb.run("extend", "-l", "a=b").lines()} == {one, two}
    assert sb.json("inspect", other)["timeLeftMs"] <= 3_600_000
    nothing = sb.run("extend", "-l", "a=c", "1h")
    assert nothing.out == b"" and "nothing matched" in nothing.errors
    result = sb.fails(3, "extend", "one", "nosuch", "1h")
    assert result.lines()[0].startswith(one) and "nosuch" in result.errors
    assert "do not go together" in sb.fails(2, "extend", "one", "-l", "a=b", "1h").errors
    sb.fails(2, "extend", "one", "--all-owners", "1h")
    sb.fails(3, "--owner", "somebody", "extend", "one", "1h")


def test_what_is_no_duration(sb):
    session = sb.create("--name", "1h")
    assert sb.json("extend", "1h")["sessions"][0]["id"] == session  # alone it is a name
    assert sb.json("extend", "1h", "2h")["sessions"][0]["timeLeftMs"] > 7_000_000
    for words in (("1h", "0"), ("1h", "30"), ("1h", "366d"), ("1h", "--ttl", "soon"), ("1h", "--ttl", "-1s"), ("", "1h"), ()):
        sb.fails(2, "extend", *words)
    sb.fails(3, "extend", "1h", "soon")
    assert sb.json("inspect", session)["timeLeftMs"] > 7_000_000


def test_what_was_meant_is_said(sb):
    sb.create("--name", "web")
    sb.create("--name", "30")
    before = sb.json("inspect", "web")["timeLeftMs"]
    assert "sandbox extend web 1h" in sb.fails(2, "extend", "1h", "web").errors
    for words in (("web", "-5m"), ("web", "--", "-5m"), ("web", "--ttl=-5m"), ("web", "+5m")):
        said = sb.fails(2, "extend", *words)
        assert "sandbox extend SESSION 5m" in said.errors, said
    assert len(sb.json("extend", "30", "web")["sessions"]) == 2  # names
    assert sb.json("inspect", "web")["timeLeftMs"] <= before


def test_a_ceiling_bounds_it(sb, tmp_path):
    (tmp_path / "config.yaml").write_text("ceilings: {lifecycle: {ttl: 2h}}\n")
    session = sb.create("--ttl", "1h")
    assert "ceiling" in sb.fails(6, "--config", tmp_path / "config.yaml", "extend", session, "3h").errors
    assert sb.json("inspect", session)["timeLeftMs"] <= 3_600_000
    sb.run("--config", tmp_path / "config.yaml", "extend", session, "2h")


def test_an_agent_that_cannot_be_told_leaves_the_end_as_it_was(through, proxy):
    session = through.create("--ttl", "1h", "--channel", "bridge")
    before = through.json("inspect", session)["expiresAt"]
    proxy.rule(Drop(), method="POST", path="/exec")
    through.fails(5, "extend", session, "5h")
    proxy.reset()
    assert through.json("inspect", session)["expiresAt"] == before


def test_one_that_has_ended_says_so(sb, engine):
    session = sb.create("--ttl", "1s", "--name", "short")
    wait_gone(engine, session)
    assert "expired" in sb.fails(3, "extend", "short", "1h").errors
    sb.run("gc")
    assert "expired" in sb.fails(3, "extend", "short", "1h").errors and "expired" in sb.fails(3, "extend", session).errors
    gone = sb.create("--name", "gone")
    sb.destroy(gone)
    assert "destroyed" in sb.fails(3, "extend", "gone", "1h").errors
    assert not list((sb.state_dir / "locks").glob(f"*{gone}*"))


def test_while_another_command_changes_it(sb):
    session = sb.create()
    with held(sb.state_dir / "locks" / session):
        child = sb.start("extend", session, "2h")
        still_runs(child)
    assert child.wait(timeout=30) == 0


def test_a_killed_extend_leaves_a_session_that_works(sb):
    session = sb.create()
    for n in range(12):
        child = sb.start("extend", session, "2h")
        time.sleep(n * 0.004)
        stop(child)
    assert seconds_to(sb.run("extend", session, "1h").text) > 3500 and sb.sh(session, "echo alive").text == "alive\n"


def test_events_tell_the_new_end(sb):
    session = sb.create()
    end = sb.run("extend", session, "2h").text.strip()
    (event,) = [json.loads(line) for line in sb.run("--json", "events", "--kind", "session.extended").lines()]
    assert event["session"] == session and event["expiresAt"] == end
    assert end in sb.run("events", "--kind", "session.extended").text


# --- wait ----------------------------------------------------------------------------------------------------------

def said(sb, *words, **kw):
    return [json.loads(line) for line in sb.run("--json", "wait", *words, **kw).lines()]


def test_wait_tells_of_a_destroy(sb, channel):
    session = sb.create("--name", "web", "--channel", channel)
    child = sb.start("wait", "web")
    still_runs(child)
    sb.destroy(session)
    out, _ = child.communicate(timeout=30)
    assert child.returncode == 0 and b"destroyed" in out and sb.owner.encode() in out and out.count(b"\n") == 1, out
    assert sb.run("wait", "web").text == out.decode()  # a tombstone tells at once
    assert [one["outcome"] for one in said(sb, session)] == ["destroyed"]


def test_wait_tells_of_the_end_of_time(sb, engine, channel):
    session = sb.create("--ttl", "3s", "--channel", channel)
    (one,) = said(sb, session)
    assert one["outcome"] == "ttl" and "expired" in one["what"] and one["id"] == session and one["error"] is None
    assert is_gone(engine, {"sandbox.session": session})


def test_whoever_waits_keeps_it_from_idling(sb, engine, channel):
    session = sb.create("--idle-timeout", "4s", "--channel", channel)
    child = sb.start("wait", session)
    wait_until(lambda: sb.json("inspect", session)["operations"] == 1, what="the hold")
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=7)
    assert sb.state_of(session) == "running"
    stop(child)
    wait_gone(engine, session)


def test_one_that_has_stopped_and_is_kept_has_ended(sb):
    session = sb.create("--idle-timeout", "1s", *KEEP)
    wait_until(lambda: sb.state_of(session) == "stopped", what="its idle time-out")
    (one,) = said(sb, session)
    assert one["outcome"] == "stopped"


def test_wait_tells_of_a_crash(sb, engine, channel):
    session = sb.create("--channel", channel)
    child = sb.start("--json", "wait", session)
    wait_until(lambda: sb.json("inspect", session)["operations"] == 1, what="the hold")
    engine.kill(container_of(engine, session))
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0 and json.loads(out)["outcome"] == "lost", out


def test_wait_for_a_paused_one(sb, engine, channel):
    session = sb.create("--channel", channel)
    sb.run("pause", session)
    child = sb.start("--json", "wait", session)
    still_runs(child)
    sb.run("resume", session)
    wait_until(lambda: sb.json("inspect", session)["operations"] == 1, what="the hold")
    sb.destroy(session)
    out, _ = child.communicate(timeout=60)
    assert json.loads(out)["outcome"] == "destroyed"


def test_a_timeout_is_124(sb):
    session = sb.create("--name", "web")
    assert 'session "web" did not end within' in sb.fails(124, "wait", "--timeout", "300ms", "web").errors
    (one,) = said(sb, "--timeout", "1ms", session, status=124)
    assert one["outcome"] is None and one["error"]["code"] == "timed_out"


def test_several_are_told_as_they_end(sb):
    one, two = sb.create("--name", "one", "-l", "a=b"), sb.create("--name", "two", "-l", "a=b")
    child = sb.start("--json", "wait", "-l", "a=b")
    still_runs(child)
    sb.destroy("two")
    assert json.loads(child.stdout.readline())["id"] == two
    sb.destroy("one")
    assert json.loads(child.stdout.readline())["id"] == one and child.wait(timeout=30) == 0
    result = sb.fails(3, "wait", "one", "nosuch")
    assert "one" in result.text and "nosuch" in result.errors
    ended, unknown, strange = said(sb, "one", "nosuch", "s0123456789ab", status=3)
    assert ended["outcome"] == "destroyed" and set(unknown) == set(strange) == set(ended)
    assert (unknown["id"], unknown["name"], unknown["outcome"]) == (None, "nosuch", None) and unknown["error"]["code"] == "not_found"
    assert (strange["id"], strange["name"]) == ("s0123456789ab", None)


def test_nobody_who_reads_ends_it(sb):
    session = sb.create()
    child = sb.start("wait", session)
    still_runs(child)
    child.stdout.close()
    assert child.wait(timeout=30) == 141
    sb.fails(2, "wait")
    sb.fails(2, "wait", "--timeout", "5", session)


def test_a_row_past_its_end_is_waited_for_until_it_is_gone(sb):
    session = sb.create()
    child = sb.start("--json", "wait", session)
    still_runs(child)
    expire(sb, session)
    sb.run("gc")
    out, _ = child.communicate(timeout=30)
    assert json.loads(out)["outcome"] == "ttl"


# --- a lost row ----------------------------------------------------------------------------------------------------

def lose_rows(sb):
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (sb.state_dir / name).unlink(missing_ok=True)


def test_an_extended_one_outlives_its_lost_row(sb, channel):
    """Its label has the first end, which is over; its agent has the one that holds."""
    session = sb.create("--ttl", "8s", "--channel", channel)
    sb.run("extend", session, "1h")
    time.sleep(9)  # past the first end
    lose_rows(sb)
    sb.run("gc", "--grace", "0s")
    sb.run("doctor", "--quick", "--repair", status=None)
    assert sb.json("inspect", session)["timeLeftMs"] > 3_500_000
    sb.run("gc", "--grace", "0s")
    assert sb.sh(session, "echo alive").text == "alive\n"


def test_an_exec_may_take_as_long_as_the_session_lives_now(shared):
    session = shared.create("--ttl", "1m")
    assert "sandbox extend" in shared.fails(125, "exec", "--timeout", "10m", session, "true").errors
    shared.run("extend", session, "1h")
    shared.run("exec", "--timeout", "10m", session, "true")
    shared.destroy(session)
