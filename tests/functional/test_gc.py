# SPDX-License-Identifier: Apache-2.0
"""gc: what it takes, what it leaves alone, and that it can run any time, twice, beside anything."""
import time

from fault_proxy import Fail
from runner import BASE, expire, has_ended, is_gone, leftovers, state_leftovers, wait_until, write_row


def test_silent_when_there_is_nothing(sb):
    sb.create()
    result = sb.run("gc")
    assert (result.out, result.err) == (b"", b"")
    document = sb.json("gc")
    assert (document["dryRun"], document["items"], document["warnings"]) == (False, [], [])


def test_takes_the_expired(sb, engine):
    session = sb.create("--ttl", "3s")
    wait_until(lambda: not engine.containers({"sandbox.session": session}), what="the TTL inside the container")
    items = sb.json("gc")["items"]
    assert [(i["id"], i["why"], i["done"]) for i in items] == [(session, "expired", True)]
    assert sb.state_of(session) == "expired" and is_gone(engine, {"sandbox.session": session})
    assert state_leftovers(sb) == []


def frozen_and_overdue(sb, engine):
    """As if its TTL had ended since it was paused."""
    session = sb.create()
    engine.pause(engine.session(session)["Id"])
    expire(sb, session)
    return session


def test_a_wall_clock_that_is_set_ends_nothing_early_and_keeps_nothing(sb, engine):
    """Deadlines are kept on the clock since the boot, in the agent and here; the wall clock counts for a row of another boot alone."""
    session = sb.create("--name", "web")
    write_row(sb, session, "expires_ms", 1)  # as if the clock had jumped ahead
    assert sb.json("gc")["items"] == []
    other = sb.create()  # takes what is overdue along
    assert sb.sh(session, "echo alive").text == "alive\n"
    assert sb.json("inspect", session)["timeLeftMs"] > 3_000_000
    assert session in sb.run("__complete", "--", "inspect", session[:3]).text
    for row in (session, other):
        engine.pause(engine.session(row)["Id"])
    write_row(sb, session, "expires_ms", int(time.time() * 1000) + 3_600_000)
    write_row(sb, session, "expires_boot_ms", 1)  # as if it had been put back
    write_row(sb, other, "boot_id", "another boot")
    write_row(sb, other, "expires_ms", 1)
    assert sorted((item["id"], item["why"], item["done"]) for item in sb.json("gc")["items"]) == sorted([(session, "expired", True), (other, "expired", True)])


def test_takes_what_the_engine_froze(sb, engine):
    """Law 9: a paused container cannot keep its own deadline."""
    session = frozen_and_overdue(sb, engine)
    sb.run("gc")
    assert is_gone(engine, {"sandbox.session": session})


def test_takes_the_dead_and_their_volumes(sb, engine):
    session = sb.create()
    engine.call("DELETE", f"/containers/{engine.session(session)['Id']}", query={"force": "true"})
    items = sb.json("gc")["items"]
    assert (session, "dead") in [(i["id"], i["why"]) for i in items]
    assert is_gone(engine, {"sandbox.session": session})


def test_leaves_the_living_alone(sb):
    session = sb.create("--ttl", "1h")
    sb.run("gc", "--grace", "0s")
    assert sb.run("exec", session, "echo", "alive").text == "alive\n"


def orphan(sb, engine, session="sdeadbeef0000"):
    labels = {"sandbox.instance": sb.instance, "sandbox.session": session, "sandbox.owner": sb.owner, "sandbox.role": "session"}
    container = engine.create({"Image": BASE, "Cmd": ["true"], "Labels": labels, "HostConfig": {"NetworkMode": "none"}})
    engine.create_volume(f"orphan-{session}-{sb.instance}", {**labels, "sandbox.role": "workspace"})
    return container


def test_orphans_after_their_grace(sb, engine):
    sb.sessions()  # makes the instance
    orphan(sb, engine)
    assert sb.json("gc")["items"] == [] and len(leftovers(engine, sb.instance)) == 2
    dry = sb.json("gc", "--dry-run", "--grace", "0s")
    assert dry["dryRun"] is True and {i["why"] for i in dry["items"]} == {"orphan"}
    assert len(leftovers(engine, sb.instance)) == 2
    items = sb.json("gc", "--grace", "0s")["items"]
    assert len(items) == 2 and all(i["done"] for i in items)
    assert leftovers(engine, sb.instance) == []


def test_never_touches_strangers(sb, make_sandbox, engine):
    """F8: neither unlabelled things nor another instance's."""
    sb.sessions()
    other = make_sandbox()
    session = other.create()
    stranger = engine.create({"Image": BASE, "Cmd": ["true"], "HostConfig": {"NetworkMode": "none"}})
    engine.create_volume(f"stranger-{sb.instance}")
    try:
        sb.run("gc", "--grace", "0s", "--workspaces", "--older-than", "0s")
        assert engine.inspect(stranger) and engine.volume(f"stranger-{sb.instance}")
        assert other.run("exec", session, "echo", "alive").text == "alive\n"
    finally:
        engine.remove(stranger)
        engine.remove_volume(f"stranger-{sb.instance}")
        other.destroy("--all")


def test_whole_instance_and_owner_narrows(sb, engine):
    mine = sb.create("--ttl", "3s")
    other = sb.run("--owner", "other", "create", "--image", BASE, "--ttl", "3s").text.strip()
    wait_until(lambda: not engine.containers({"sandbox.instance": sb.instance}), what="the end of both")
    narrowed = sb.json("--owner", sb.owner, "gc")["items"]
    assert other not in [i["id"] for i in narrowed]
    rest = sb.run("gc", env={"SANDBOX_OWNER": None}).status
    assert rest == 0 and is_gone(engine, {"sandbox.session": mine}) and is_gone(engine, {"sandbox.session": other})


def test_overdue_items_go_with_create_and_destroy(sb, engine):
    overdue = frozen_and_overdue(sb, engine)
    session = sb.create()
    assert is_gone(engine, {"sandbox.session": overdue})
    again = frozen_and_overdue(sb, engine)
    sb.destroy(session)
    assert is_gone(engine, {"sandbox.session": again})


def test_two_at_once(sb, engine):
    session = sb.create("--ttl", "3s")
    wait_until(lambda: not engine.containers({"sandbox.session": session}), what="its end")
    children = [sb.start("gc") for _ in range(4)]
    for child in children:
        _, err = child.communicate(timeout=60)
        assert child.returncode == 0, err


def test_running_exec_is_not_idle(sb):
    """G1: a long quiet command is activity; a gc loop beside it takes nothing."""
    session = sb.create("--idle-timeout", "4s")
    child = sb.start("exec", session, "sh", "-c", "sleep 6; echo done")
    while child.poll() is None:
        sb.run("gc")
        time.sleep(0.3)
    assert child.stdout.read() == b"done\n" and child.returncode == 0


def test_idle_ends_a_session_with_nobody_looking(sb, engine):
    session = sb.create("--idle-timeout", "1s")
    wait_until(lambda: has_ended(engine, {"sandbox.session": session}), what="the idle time-out")
    assert sb.state_of(session) == "lost"
    sb.run("gc")
    assert sb.sessions() == [] and is_gone(engine, {"sandbox.session": session})


def test_engine_down(sb):
    session = sb.create("--ttl", "1h")
    sb.run("--engine", "unix:///nonexistent.sock", "gc", status=None)
    assert sb.run("exec", session, "echo", "alive").text == "alive\n"




def test_what_cannot_be_removed_holds_up_one_create_only(sb, engine):
    """One that an engine fails to remove, for half a minute if it wants, is gc's to try again."""
    overdue = sb.create("--ttl", "3s")
    mount = next(m for m in engine.session(overdue)["Mounts"] if m["Destination"] == "/workspace")
    holder = engine.create({"Image": BASE, "Cmd": ["true"], "HostConfig": {
        "NetworkMode": "none", "Mounts": [{"Type": "volume", "Source": mount["Name"], "Target": "/w"}]}})
    wait_until(lambda: is_gone(engine, {"sandbox.session": overdue}) or not engine.containers({"sandbox.session": overdue}), what="its end")
    sb.create()
    assert "volume" in sb.json("inspect", overdue)["reason"]
    engine.remove(holder)
    sb.create()
    assert overdue in [row["id"] for row in sb.sessions()]
    sb.run("gc")
    assert overdue not in [row["id"] for row in sb.sessions()] and not engine.volume(mount["Name"])


def test_one_container_that_the_engine_cannot_tell_of_keeps_none_of_the_others(through, proxy, engine):
    through.destroy(through.create())
    labels = {"sandbox.instance": through.instance, "sandbox.role": "session", "sandbox.expires": "2099-01-01T00:00:00Z"}
    ids = []
    for session in ("s00000000000a", "s00000000000b"):
        body = {"Image": BASE, "Cmd": ["true"], "Labels": {**labels, "sandbox.session": session, "sandbox.owner": through.owner}}
        ids.append(engine.create(body))
    proxy.rule(Fail(500), method="GET", path=f"^/containers/{ids[0]}/json")
    result = through.run("gc", "--grace", "0s", status=5)
    assert "is left alone" in result.errors
    assert [container["Id"] for container in engine.containers(labels)] == [ids[0]]
    proxy.reset()
    through.run("gc", "--grace", "0s")
    assert engine.containers(labels) == []
