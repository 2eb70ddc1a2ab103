# SPDX-License-Identifier: Apache-2.0
"""Persistent workspaces: they outlive sessions, one session writes at a time, and they are never taken for new."""
import hashlib
import json
import os
import pathlib
import signal
import time

import pytest
from fault_proxy import Fail
from runner import BASE, held, state_leftovers, wait_until


def test_outlives_its_session(sb):
    first = sb.create("--workspace", "project-42")
    sb.sh(first, "echo kept >file")
    sb.destroy(first)
    second = sb.create("--workspace", "project-42")
    assert sb.run("exec", second, "cat", "file").text == "kept\n"
    document = sb.json("inspect", second)
    assert document["workspace"] == {**document["workspace"], "mode": "persistent", "id": "project-42"}


def test_ephemeral_ones_are_fresh(sb):
    first = sb.create()
    sb.sh(first, "echo x >file")
    assert sb.run("exec", sb.create(), "ls").text == ""


def test_one_session_at_a_time(sb):
    first = sb.create("--workspace", "p")
    error = sb.fails_json(4, "create", "--image", BASE, "--workspace", "p")
    assert first in error["message"]
    assert sb.run("exec", first, "echo", "alive").text == "alive\n"
    sb.destroy(first)
    sb.create("--workspace", "p")


def test_race_for_one_workspace(sb):
    children = [sb.start("create", "--image", BASE, "--workspace", "p") for _ in range(4)]
    outcomes = sorted((child.communicate(timeout=60), child.returncode)[1] for child in children)
    assert outcomes == [0, 4, 4, 4]
    (row,) = sb.sessions()
    assert sb.run("exec", row["id"], "echo", "ok").text == "ok\n"


def test_owners_have_their_own(sb):
    sb.sh(sb.create("--workspace", "p"), "echo mine >file")
    other = sb.run("--owner", "other", "create", "--image", BASE, "--workspace", "p").text.strip()
    assert sb.run("--owner", "other", "exec", other, "ls").text == ""


def test_destroy_on_session_destroy(sb, engine):
    session = sb.create(manifest={"workspace": {"mode": "persistent", "id": "p", "destroyOnSessionDestroy": True}})
    sb.destroy(session)
    assert sb.json("workspace", "ls")["workspaces"] == []
    assert not [v for v in engine.volumes({"sandbox.instance": sb.instance}) if v["Labels"]["sandbox.role"] == "workspace"]


def test_create_false_wants_an_existing_one(sb):
    manifest = {"workspace": {"mode": "persistent", "id": "p", "create": False}}
    text = json.dumps({"version": 1, "image": BASE, **manifest})
    sb.fails(3, "create", "-f", "-", input=text)
    sb.destroy(sb.create("--workspace", "p"))
    sb.create(manifest=manifest)


def test_volume_gone_is_an_error_not_a_new_one(sb, engine):
    session = sb.create("--workspace", "p")
    volume = sb.json("inspect", session)["volume"]
    sb.destroy(session)
    engine.remove_volume(volume)
    result = sb.fails(3, "create", "--image", BASE, "--workspace", "p")
    assert "p" in result.errors
    assert engine.volume(volume) is None
    sb.run("workspace", "rm", "p")
    sb.create("--workspace", "p")


def test_a_foreign_volume_of_that_name_is_refused(sb, engine):
    session = sb.create("--workspace", "p")
    volume = sb.json("inspect", session)["volume"]
    sb.destroy(session)
    sb.run("workspace", "rm", "p")
    engine.create_volume(volume, {"somebody": "else"})
    try:
        result = sb.run("create", "--image", BASE, "--workspace", "p", status=None)
        assert result.status in (3, 4, 6), result
        assert engine.volume(volume)["Labels"] == {"somebody": "else"}
    finally:
        engine.remove_volume(volume)


def test_ls_inspect_rm(sb, engine):
    session = sb.create("--workspace", "p", "--label", "tenantId=acme")
    (row,) = sb.json("workspace", "ls")["workspaces"]
    assert row["id"] == "p" and row["owner"] == sb.owner
    assert "p" in sb.run("workspace", "ls").text
    assert sb.json("workspace", "inspect", "p")["id"] == "p"
    sb.fails(4, "workspace", "rm", "p")
    assert sb.run("exec", session, "echo", "alive").text == "alive\n"
    sb.destroy(session)
    sb.run("workspace", "rm", "p")
    assert sb.json("workspace", "ls")["workspaces"] == []
    sb.fails(3, "workspace", "rm", "p")
    sb.fails(3, "workspace", "inspect", "p")


def test_gc_takes_retained_ones_only_when_asked(sb):
    session = sb.create("--workspace", "old", "--label", "a=1")
    sb.destroy(session)
    sb.destroy(sb.create("--workspace", "other"))
    used = sb.create("--workspace", "used")
    time.sleep(1.1)
    sb.run("gc", "--grace", "0s")
    assert len(sb.json("workspace", "ls")["workspaces"]) == 3
    sb.run("gc", "--workspaces", "--older-than", "1h")
    assert len(sb.json("workspace", "ls")["workspaces"]) == 3
    sb.run("gc", "--workspaces", "--older-than", "1s", "-l", "a=1")
    assert {w["id"] for w in sb.json("workspace", "ls")["workspaces"]} == {"other", "used"}
    sb.run("gc", "--workspaces", "--older-than", "1s")
    assert [w["id"] for w in sb.json("workspace", "ls")["workspaces"]] == ["used"]
    assert sb.run("exec", used, "echo", "alive").text == "alive\n"


def test_workspaces_need_an_age(sb):
    sb.fails(2, "gc", "--workspaces")


def test_non_root_user_keeps_access(sb, image):
    first = sb.create("--workspace", "p", image=image("uid-1000"))
    sb.sh(first, "echo x >file")
    sb.destroy(first)
    second = sb.create("--workspace", "p", image=image("uid-1000"))
    assert sb.sh(second, "echo y >>file; cat file").text == "x\ny\n"


def shared(sb):
    return sb.run("create", "--image", BASE, "--workspace", "p", "--set", "workspace.shared=true", status=None)


def test_shared_sessions_stand_side_by_side(sb):
    first, second = shared(sb), shared(sb)
    assert (first.status, second.status) == (0, 0)
    sb.sh(first.text.strip(), "echo x >file")
    assert sb.run("exec", second.text.strip(), "cat", "file").text == "x\n"
    sb.fails(4, "create", "--image", BASE, "--workspace", "p")


def test_shared_does_not_join_an_exclusive_one(sb):
    alone = sb.create("--workspace", "p")
    assert shared(sb).status == 4
    sb.destroy(alone)
    assert shared(sb).status == 0


def test_a_killed_create_leaves_a_workspace_that_its_user_can_write(sb, image):
    """The volume counts as made only once it was handed over to the session's user."""
    for within in (0.1, 0.16, 0.22, 0.28, 0.34, 0.4):
        child = sb.start("create", "--image", image("uid-1000"), "--workspace", "p")
        time.sleep(within)  # a random instant is what is tested
        child.kill()
        child.communicate()
        sb.run("destroy", "--all")
        sb.run("gc", "--grace", "0s")
        session = sb.create("--workspace", "p", image=image("uid-1000"))
        sb.sh(session, f"echo x >file-{within}")
        sb.destroy(session)
        sb.run("workspace", "rm", "p")


@pytest.mark.parametrize("name", ["uid-1000", "owned-workdir", "root-owned-workdir"])
def test_a_workspace_that_was_left_empty_stays_as_it_was_left(sb, image, name):
    first = sb.create("--workspace", "p", image=image(name))
    sb.sh(first, "rm -rf -- *")
    left = sb.sh(first, "stat -c '%u:%g %a' .").text
    sb.destroy(first)
    second = sb.create("--workspace", "p", image=image(name))
    assert sb.sh(second, "ls -A; stat -c '%u:%g %a' .").text == left
    sb.sh(second, "echo x >file")
    sb.destroy(second)
    sb.run("workspace", "rm", "p")


def test_authorize_is_asked_on_every_reopen_and_may_refuse(sb, tmp_path):
    config = sb.state_dir.parent / "config/sandbox/config.yaml"
    config.parent.mkdir(parents=True)
    asked, verdict = tmp_path / "asked", tmp_path / "verdict"
    verdict.write_text("exit 0")
    config.write_text(json.dumps({"authorize": ["sh", "-c", f'cat >>{asked}; echo "$SANDBOX_WORKSPACE" >&2; . {verdict}']}))
    sb.destroy(sb.create("--workspace", "p"))
    assert not asked.exists()  # nobody's yet
    second = sb.create("--workspace", "p", "--name", "web", "-l", "job=7")
    (question,) = [json.loads(line) for line in asked.read_text().splitlines()]
    assert question == {"workspace": "p", "owner": sb.owner, "session": second, "name": "web", "image": BASE, "labels": {"job": "7"}}
    sb.sh(second, "echo kept >f")
    sb.destroy(second)
    verdict.write_text("exit 3")
    refused = sb.fails(6, "create", "--image", BASE, "--workspace", "p")
    assert "status 3" in refused.errors and '"p"' in refused.errors
    config.write_text(json.dumps({"authorize": ["/no/such/program"]}))
    assert sb.fails_json(6, "create", "--image", BASE, "--workspace", "p")["code"] == "denied"
    assert sb.sessions() == [] and state_leftovers(sb) == []
    config.unlink()
    third = sb.create("--workspace", "p")
    assert sb.sh(third, "cat f").text == "kept\n"
    sb.destroy(third)
    sb.run("workspace", "rm", "p")


def test_a_volume_that_took_a_workspaces_name_is_not_removed(sb, engine):
    """Law 5 also on the way out: what was put there behind our back is somebody's."""
    sb.destroy(sb.create("--workspace", "kept"))
    name = sb.json("workspace", "inspect", "kept")["volume"]
    engine.remove_volume(name)
    engine.create_volume(name, {"mine": "yes"})
    try:
        assert name in sb.run("workspace", "rm", "-y", "kept", status=4).errors
        sb.run("gc", "--workspaces", "--older-than", "0s", status=None)
        assert engine.volume(name)
    finally:
        engine.remove_volume(name)
        sb.run("workspace", "rm", "-y", "kept")


def test_the_last_of_those_that_share_a_workspace_takes_it_along(sb):
    shared = ["--workspace", "team", "--set", "workspace.shared=true"]
    first = sb.create(*shared)
    second = sb.create(*shared, "--set", "workspace.destroyOnSessionDestroy=true")
    errors = sb.fails(4, "workspace", "rm", "-y", "team").errors
    assert any(f'workspace "team" is in use by session {one}' in errors for one in (first, second))
    assert sb.destroy(second).errors == ""
    sb.sh(first, "echo precious >kept")
    sb.destroy(first)  # which asked for nothing to be taken
    sb.run("gc", "--grace", "0s")
    again = sb.create(*shared, "--set", "workspace.destroyOnSessionDestroy=true")
    assert sb.sh(again, "cat kept").text == "precious\n"
    sb.destroy(again)
    assert sb.json("workspace", "ls")["workspaces"] == []


def test_whoever_reopens_a_workspace_after_a_crash_finds_what_was_in_it(sb, engine):
    crashed = sb.create("--workspace", "p", "--set", "workspace.destroyOnSessionDestroy=true")
    sb.sh(crashed, "echo precious >kept")
    engine.remove(sb.json("inspect", crashed)["container"]["id"])
    heir = sb.create("--workspace", "p")
    assert sb.sh(heir, "cat kept").text == "precious\n"
    assert sb.state_of(crashed) == "expired"
    sb.destroy(heir)
    sb.run("workspace", "rm", "-y", "p")


def lost_holder(sb, engine):
    """A lost session that would take its workspace along, and the session that has the workspace now."""
    config = sb.state_dir.parent / "config/sandbox/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"ceilings": {"sessions": 1}}))
    lost = sb.create("--workspace", "team", "--set", "workspace.destroyOnSessionDestroy=true")
    engine.remove(sb.json("inspect", lost)["container"]["id"])
    sb.destroy(sb.create())  # a place under the ceiling is what makes anybody look
    assert sb.state_of(lost) == "lost"
    holder = sb.create("--workspace", "team")
    sb.sh(holder, "echo precious >kept")
    return lost, holder


def test_a_lost_session_is_destroyed_while_another_has_its_workspace(sb, engine):
    lost, holder = lost_holder(sb, engine)
    assert sb.destroy(lost).errors == ""
    assert sb.sh(holder, "cat kept").text == "precious\n"
    sb.destroy(holder)
    assert [row["id"] for row in sb.json("workspace", "ls")["workspaces"]] == ["team"]
    sb.run("workspace", "rm", "-y", "team")


def test_gc_ends_a_lost_session_and_leaves_the_workspace_to_who_used_it_since(sb, engine):
    lost, holder = lost_holder(sb, engine)
    sb.destroy(holder)
    sb.run("gc", "--grace", "0s")
    assert sb.state_of(lost) in ("expired", "destroyed")
    again = sb.create("--workspace", "team")
    assert sb.sh(again, "cat kept").text == "precious\n"
    sb.destroy(again)
    sb.run("workspace", "rm", "-y", "team")


def seeded(tmp_path):
    """A manifest of a shared workspace that takes a while to be filled."""
    (tmp_path / "big").write_bytes(os.urandom(256 << 20))
    manifest = tmp_path / "m.json"
    manifest.write_text(json.dumps({"version": 1, "image": BASE, "workspace": {"mode": "persistent", "id": "p", "shared": True},
                                    "files": {"big": {"fromFile": "big"}}}))
    return manifest


def stopped_while_planting(sb, engine, maker):
    volume = wait_until(lambda: sb.instance and engine.volumes({"sandbox.instance": sb.instance, "sandbox.role": "workspace"}))[0]
    folder = pathlib.Path(volume["Mountpoint"])
    wait_until(lambda: any(folder.iterdir()), every=0.002, what="the first bytes of a seed")
    maker.send_signal(signal.SIGSTOP)


def interrupted(maker):
    maker.send_signal(signal.SIGINT)
    maker.send_signal(signal.SIGCONT)
    maker.communicate(timeout=60)
    assert maker.returncode == 130


def is_kept(sb):
    again = sb.create("--workspace", "p")
    assert sb.sh(again, "cat kept").text == "precious\n"
    sb.destroy(again)
    sb.run("workspace", "rm", "-y", "p")


def test_a_failed_first_create_leaves_a_workspace_that_another_used_meanwhile(sb, engine, tmp_path):
    """Its seeds are planted when the workspace is open to others that share it."""
    maker = sb.start("create", "-f", seeded(tmp_path))
    stopped_while_planting(sb, engine, maker)
    other = shared(sb).text.strip()
    sb.sh(other, "echo precious >kept")
    sb.destroy(other)
    interrupted(maker)
    is_kept(sb)


def test_a_failed_first_create_leaves_a_workspace_that_an_older_session_used(sb, engine, tmp_path):
    """Who came first is told by the workspace's lock, and not by when the sessions' rows were written."""
    sb.destroy(sb.create())
    name = hashlib.sha256(f"{len(sb.owner)}:{sb.owner}p".encode()).hexdigest()[:32]
    with held(sb.state_dir / "locks" / f".workspace-{name}"):
        older = sb.start("create", "--image", BASE, "--workspace", "p", "--set", "workspace.shared=true")
        wait_until(sb.sessions)
        older.send_signal(signal.SIGSTOP)
        maker = sb.start("create", "-f", seeded(tmp_path))
        wait_until(lambda: len(sb.sessions()) == 2)
    stopped_while_planting(sb, engine, maker)
    older.send_signal(signal.SIGCONT)
    session = older.communicate(timeout=60)[0].decode().strip()
    assert older.returncode == 0
    sb.sh(session, "echo precious >kept")
    sb.destroy(session)
    interrupted(maker)
    is_kept(sb)


def test_a_signal_ends_a_create_that_waits_to_clear_a_names_holder(sb, engine):
    """Whose workspace goes with it, for which somebody else's lock is waited."""
    holder = sb.create("--name", "web", "--workspace", "p", "--set", "workspace.destroyOnSessionDestroy=true")
    engine.remove(sb.json("inspect", holder)["container"]["id"])
    (lock,) = (sb.state_dir / "locks").glob(".workspace-*")
    with held(lock):
        heir = sb.start("create", "--image", BASE, "--name", "web")
        wait_until(lambda: sb.state_of(holder) == "destroying")
        heir.send_signal(signal.SIGINT)
        _, err = heir.communicate(timeout=60)
        assert heir.returncode == 130, err
    sb.create("--name", "web")  # nothing says that the holder could not be ended
    assert sb.json("workspace", "ls")["workspaces"] == []


def test_a_volume_whose_row_was_lost_is_no_new_one(through, proxy):
    """Even without a repair: a create that fails must not take it for its own."""
    session = through.create("--workspace", "w")
    through.sh(session, "echo kept >f")
    through.destroy(session)
    for path in through.state_dir.glob("state.db*"):
        path.unlink()
    proxy.rule(Fail(500), method="POST", path="/containers/[^/]+/start", times=1)
    through.fails(1, "create", "--image", BASE, "--workspace", "w")
    assert through.run("exec", through.create("--workspace", "w"), "cat", "f").text == "kept\n"
