# SPDX-License-Identifier: Apache-2.0
"""stats: what sessions use, as the engine and the kernel count it."""
import json
import os
import pty
import time

import pytest

from runner import still_runs, stop, wait_until

QUICK = ("--interval", "500ms")


def stats(sb, *words):
    return {one["id"]: one for one in sb.json("stats", *QUICK, *words)["sessions"]}


@pytest.fixture(params=["socket", "bridge"])
def channel(request):
    return request.param


def test_a_busy_session_shows_what_it_does(sb, channel):
    idle = sb.create("--channel", channel)
    busy = sb.create("--channel", channel, "--memory", "256MB", "--pids", "40", "--name", "busy", "--network", "bridge")
    child = sb.start("exec", busy, "--", "sh", "-c", "head -c 3000000 /dev/zero >f; ln f g; mkdir -p .git; echo 12345 >.git/h; echo up; while :; do :; done")
    assert child.stdout.readline() == b"up\n"
    try:
        found = wait_until(lambda: (one := stats(sb))[busy]["cpuPercent"] > 10 and one, what="a busy processor")
        assert found[busy]["memoryLimitBytes"] == 256_000_000 and 0 < found[busy]["memoryBytes"] < 256_000_000
        assert found[busy]["pidsLimit"] == 40 and 2 <= found[busy]["pids"] <= 40
        assert found[busy]["diskBytes"] == 3_000_006 and found[idle]["diskBytes"] == 0
        assert found[busy]["networkInBytes"] is not None and found[idle]["networkInBytes"] is None
        assert found[idle]["cpuPercent"] is not None and found[idle]["cpuPercent"] < found[busy]["cpuPercent"]
        assert found[busy]["state"] == "running" and found[busy]["stateKnown"] is True
        text = sb.run("stats", *QUICK, "busy").lines()
        assert text[0].split()[:3] == ["ID", "NAME", "STATE"] and len(text) == 2 and "busy" in text[1] and "2.9 MiB" in text[1] and "%" in text[1], text
    finally:
        stop(child)


def test_looking_is_no_activity(sb, channel):
    session = sb.create("--idle-timeout", "1h", "--channel", channel)

    def idle_left():
        return sb.json("inspect", session)["idleLeftMs"]
    before = wait_until(lambda: (left := idle_left()) is not None and left <= 3_599_000 and left)
    assert stats(sb, session)[session]["diskBytes"] == 0
    assert idle_left() <= before


def test_what_does_not_run_is_shown_as_such(sb):
    paused, stopped = sb.create("--name", "p"), sb.create("--name", "s", "--set", "lifecycle.autoDestroy=false")
    sb.run("pause", paused), sb.run("stop", stopped)
    found = stats(sb)
    assert found[stopped]["state"] == "stopped" and found[stopped]["memoryBytes"] is None and found[stopped]["diskBytes"] is None
    assert found[paused]["state"] == "paused" and found[paused]["memoryBytes"] > 0 and found[paused]["diskBytes"] is None
    sb.run("resume", paused)


def test_selection(sb):
    one, two = sb.create("-l", "a=b"), sb.create()
    assert set(stats(sb)) == {one, two} and set(stats(sb, "-l", "a=b")) == {one} and set(stats(sb, two)) == {two}
    document = sb.run("--json", "stats", *QUICK, one, "nosuch", status=3).json()
    assert [row["id"] for row in document["sessions"]] == [one] and document["left"][0]["error"]["code"] == "not_found"
    assert sb.json("--owner", "nobody", "stats")["sessions"] == []
    assert "no sessions" in sb.run("--owner", "nobody", "stats").errors
    sb.fails(2, "stats", "--interval", "1ms"), sb.fails(2, "stats", "--interval", "2"), sb.fails(2, "stats", one, "-l", "a=b")
    sb.destroy(two)
    assert "destroyed" in sb.fails(3, "stats", two).errors


def test_following_gives_lines_and_ends_with_what_was_named(sb):
    session = sb.create("--name", "web")
    child = sb.start("--json", "stats", "-f", "--interval", "200ms", "web")
    lines = [json.loads(child.stdout.readline()) for _ in range(3)]
    assert all(line["id"] == session and line["time"] for line in lines) and lines[0]["time"] < lines[1]["time"] < lines[2]["time"]
    sb.destroy(session)
    child.stdout.read()
    assert child.wait(timeout=30) == 0


def test_following_all_goes_on_and_ends_with_its_reader(sb):
    child = sb.start("stats", "-f", "--interval", "200ms")
    still_runs(child)
    session = sb.create()
    assert session.encode() in child.stdout.readline() + child.stdout.readline()
    child.stdout.close()
    assert child.wait(timeout=30) == 141


def test_a_terminal_is_drawn_anew(sb):
    session = sb.create()
    leader, follower = pty.openpty()
    child = sb.start("stats", "-f", "--interval", "200ms", session, stdout=follower)
    os.close(follower)
    text = b""
    while text.count(b"\x1b[H\x1b[2J") < 2:
        text += os.read(leader, 4096)
    stop(child)
    os.close(leader)


def test_a_workspace_that_is_too_large_to_look_at_is_left_out(sb, engine):
    """And a session whose agent does not answer holds nobody up."""
    session = sb.create()
    engine.kill(engine.session(session)["Id"], "STOP")
    try:
        started = time.monotonic()
        found = stats(sb)[session]
        assert found["state"] == "running" and found["memoryBytes"] > 0 and found["diskBytes"] is None and time.monotonic() - started < 20
    finally:
        engine.kill(engine.session(session)["Id"], "CONT")


def test_an_engine_that_does_not_answer_is_no_absence(through, proxy):
    from fault_proxy import Drop
    session = through.create()
    proxy.rule(Drop())
    (one,) = through.json("stats", *QUICK)["sessions"]
    assert one["id"] == session and one["stateKnown"] is False and one["memoryBytes"] is None
    assert session in through.run("stats", *QUICK).errors  # nobody has named it: a word, and no failure
    through.run("stats", *QUICK, session, status=5)
