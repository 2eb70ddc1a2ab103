# SPDX-License-Identifier: Apache-2.0
"""ps and inspect: the truth now, from row, engine and agent; looking never counts as activity."""
import time

import pytest

from runner import BASE, wait_until


def test_ps_json(sb):
    session = sb.create("--name", "web", "--label", "job=1", "--ttl", "10m", "--idle-timeout", "5m")
    (row,) = sb.sessions()
    assert row["id"] == session and row["name"] == "web" and row["owner"] == sb.owner
    assert row["state"] == "running" and row["image"] == BASE and row["labels"] == {"job": "1"}
    assert row["network"] == "none" and row["workspace"]["mode"] == "ephemeral"
    assert 0 <= row["ageMs"] < 60_000
    assert 9 * 60_000 < row["timeLeftMs"] <= 10 * 60_000
    assert 4 * 60_000 < row["idleLeftMs"] <= 5 * 60_000
    assert row["processes"] == 0


def test_ps_table_and_quiet(sb):
    session = sb.create("--name", "web")
    table = sb.run("ps").text
    assert session in table and "web" in table and "running" in table and BASE in table
    assert sb.run("ls").text.splitlines()[0].split() == table.splitlines()[0].split()
    assert sb.run("ps", "-q").text == f"{session}\n"


def test_empty_ps_says_for_whom_and_where(sb):
    result = sb.run("ps")
    assert sb.owner in result.errors and str(sb.state_dir) in result.errors
    assert sb.json("ps") == {"sessions": []}


def test_labels_select(sb):
    one = sb.create("--label", "job=1", "--label", "x=y")
    two = sb.create("--label", "job=2")
    assert sb.run("ps", "-q", "-l", "job=1").lines() == [one]
    assert sb.run("ps", "-q", "-l", "job=1", "-l", "x=y").lines() == [one]
    assert sb.run("ps", "-q", "-l", "job=1", "-l", "x=n").lines() == []
    assert set(sb.run("ps", "-q").lines()) == {one, two}
    none = sb.run("ps", "-l", "job=3")
    assert none.status == 0 and none.err


def test_owners_do_not_see_each_other(sb):
    mine = sb.create()
    other = sb.run("--owner", "other", "create", "--image", BASE).text.strip()
    assert sb.run("ps", "-q").lines() == [mine]
    assert set(sb.run("ps", "-q", "--all-owners").lines()) == {mine, other}
    result = sb.fails(3, "inspect", other)
    assert "--owner" in result.errors


def test_inspect(sb, engine):
    session = sb.create("--name", "web", "-e", "SECRET", env={"SECRET": "hunter2"})
    document = sb.json("inspect", "web")
    container = engine.session(session)
    assert document["container"]["id"] == container["Id"]
    assert document["engine"]["id"] == engine.id and document["engine"]["endpoint"] == engine.url
    assert document["state"] == "running" and document["id"] == session
    assert "hunter2" not in str(document)
    assert session in sb.run("inspect", session).text


def test_inspect_unknown(sb):
    assert sb.fails_json(3, "inspect", "nosuch")["code"] == "not_found"


def test_killed_behind_our_back_is_lost(sb, engine):
    session = sb.create("--name", "web")
    engine.remove(engine.session(session)["Id"])
    assert sb.state_of(session) == "lost"
    assert sb.sessions()[0]["state"] == "lost"
    result = sb.fails(125, "exec", "web", "true")
    assert "lost" in result.errors or "gone" in result.errors


def test_engine_pause_shows(sb, engine):
    session = sb.create()
    container = engine.session(session)["Id"]
    engine.pause(container)
    assert sb.run("ps", timeout=20).text.count("paused") == 1
    engine.unpause(container)
    assert sb.state_of(session) == "running"


def test_running_processes_are_counted(sb):
    session = sb.create()
    sb.sh(session, "sleep 60 >/dev/null 2>&1 & sleep 61 >/dev/null 2>&1 &")
    assert sb.sessions()[0]["processes"] == 2


def test_looking_is_no_activity(sb):
    session = sb.create("--idle-timeout", "3s")
    deadline = time.monotonic() + 12
    while time.monotonic() < deadline and sb.state_of(session) == "running":
        sb.run("ps")
        time.sleep(0.2)
    assert sb.state_of(session) != "running"
    assert time.monotonic() < deadline


def test_exec_is_activity(sb):
    session = sb.create("--idle-timeout", "30s")
    time.sleep(1.5)
    before = sb.sessions()[0]["idleLeftMs"]
    sb.run("exec", session, "true")
    assert sb.sessions()[0]["idleLeftMs"] > before


def test_closed_sessions_are_shown_on_request(sb):
    session = sb.create()
    sb.destroy(session)
    assert sb.sessions() == []
    (row,) = sb.sessions("--all")
    assert row["id"] == session and row["state"] == "destroyed"
    assert sb.state_of(session) == "destroyed"


def test_expired_shows_as_expired(sb):
    """G4."""
    session = sb.create("--ttl", "3s")
    wait_until(lambda: sb.state_of(session) == "expired", what="the expired state")
    result = sb.fails(125, "exec", session, "true")
    assert "expired" in result.errors


@pytest.mark.alone
def test_ps_of_many_is_one_look(sb):
    sessions = {sb.create() for _ in range(6)}
    result = sb.run("ps", "-q")
    assert set(result.lines()) == sessions and result.seconds < 2
