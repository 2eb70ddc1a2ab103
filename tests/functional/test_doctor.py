# SPDX-License-Identifier: Apache-2.0
"""doctor and `inspect --effective`: what they find, what they leave alone, and that they leave nothing."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

import runner
from fault_proxy import Delay, Drop, Fail, Mute
from runner import BASE, expire, is_gone, leftovers, state_leftovers, wait_until, write_row
from test_endpoints import User, home  # noqa: F401 - a fixture

SECTIONS = ["config", "state", "engine", "limits", "trial", "leftovers", "sessions"]
ENFORCED = {"enforced_memory", "enforced_cpus", "enforced_pids", "enforced_readonly_rootfs", "enforced_network_none",
            "enforced_capabilities", "enforced_no_new_privileges", "enforced_seccomp"}


def doctor(sb, *args, status=0, **kw):
    """The findings by the names of their checks; and the document."""
    document = sb.run("--json", "doctor", *args, status=status, timeout=120, **kw).json()
    assert document["healthy"] is (status == 0)
    return {one["check"]: one for one in document["findings"]}, document


def aspects(sb, session):
    return {one["aspect"]: one for one in sb.json("inspect", "--effective", session)["effective"]["aspects"]}


def is_nothing_left(sb, engine):
    return leftovers(engine, sb.instance) == [] and sb.sessions("--all") == [] and state_leftovers(sb) == []


# --- a machine where all is well -----------------------------------------------------------------------------------

def test_a_healthy_machine(sb, engine):
    found, document = doctor(sb)
    assert [one["status"] for one in found.values()].count("problem") == 0
    assert list(dict.fromkeys(one["section"] for one in document["findings"])) == SECTIONS
    assert found["engine_version"]["status"] == ("warning" if engine.is_podman else "ok"), found["engine_version"]
    for check in ("engine_reachable", "engine_clock", "image", "trial_session", "channel_socket", "channel_bridge", "trial_cleanup"):
        assert found[check]["status"] == "ok", found[check]
    assert {check: found[check]["status"] for check in ENFORCED} == dict.fromkeys(ENFORCED, "ok")
    assert "64MiB" in found["enforced_memory"]["what"] and "0.5" in found["enforced_cpus"]["what"] and "32" in found["enforced_pids"]["what"]
    limits = next(one for one in document["checklist"] if one["item"] == "limits_enforced")
    assert limits["state"] == "done"
    assert is_nothing_left(sb, engine) and sb.run("--json", "events").lines() == []


def test_what_is_not_ok_has_a_fix(sb):
    _, document = doctor(sb, "--quick")
    assert all(one["fix"] for one in document["findings"] if one["status"] in ("warning", "problem"))
    assert {one["state"] for one in document["checklist"]} <= {"done", "open", "unknown"}


def test_for_people_lines_are_short_and_the_checklist_comes_last(sb):
    result = sb.run("doctor", "--quick")
    assert max(len(line) for line in result.lines() if not line.strip().startswith("fix: ")) <= 80, result
    heads = [line for line in result.lines() if line and not line.startswith(" ")]
    assert heads == [*SECTIONS, "checklist for production"]
    boxes = result.text.split("checklist for production\n")[1]
    assert len(re.findall(r"^  \[[x ?]\] ", boxes, re.MULTILINE)) == 14
    assert re.fullmatch(r"sandbox: problems: 0, warnings: \d+, not known: \d+\n", result.errors)


def test_quiet_names_only_what_is_wrong(sb):
    result = sb.run("--quiet", "--engine", "unix:///nonexistent.sock", "doctor", status=1)
    assert "the socket does not exist" in result.text and "checklist" not in result.text and "  ok " not in result.text
    assert result.err == b""


@pytest.mark.parametrize("shape", ["scratch", "uid-1000"])
def test_an_image_of_your_own(sb, image, engine, shape):
    found, _ = doctor(sb, "--image", image(shape))
    assert found["trial_session"]["status"] == "ok" and {found[check]["status"] for check in ENFORCED} == {"ok"}
    assert is_nothing_left(sb, engine)


def test_an_image_that_is_not_there(sb, engine):
    found, _ = doctor(sb, "--image", "nosuch/image:v1", status=1)
    assert found["image"]["status"] == "problem" and "nosuch/image:v1" in found["image"]["fix"]
    assert found["trial_session"]["status"] == "unknown" and "for want of an image" in found["trial_session"]["what"]
    assert "enforced_memory" not in found and engine.image("nosuch/image:v1") is None


def test_the_image_of_the_config_is_tried_first(sb, image, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(f"defaults:\n  image: {image('scratch')}\nceilings:\n  limits:\n    memory: 1GiB\n")
    found, document = doctor(sb, env={"SANDBOX_CONFIG": str(config)})
    assert image("scratch") in found["trial_session"]["what"] and str(config) in found["config"]["what"]
    assert next(one for one in document["checklist"] if one["item"] == "ceilings")["state"] == "done"


# --- it changes nothing --------------------------------------------------------------------------------------------

def test_quick_makes_no_state_and_asks_only(through, proxy):
    found, _ = doctor(through, "--quick")
    assert "is not there yet" in found["state_directory"]["what"] and not through.state_dir.exists()
    assert {method for method, _ in proxy.calls} == {"GET"}
    assert "--quick" in found["trial_session"]["what"] and found["trial_session"]["status"] == "unknown"


def test_what_is_overdue_is_told_and_left(sb, engine):
    """Even the throw-away session takes nothing along, as a create would."""
    overdue = sb.create()
    engine.pause(engine.session(overdue)["Id"])
    expire(sb, overdue)
    found, _ = doctor(sb)
    assert found["strays"]["status"] == "warning" and found["strays"]["fix"] == "sandbox gc"
    assert found["strays"]["details"] == [f"end_session {overdue} (expired)"] and "1 expired" in found["strays"]["what"]
    assert engine.session(overdue) and overdue in [row["id"] for row in sb.sessions()]
    sb.run("gc")
    assert doctor(sb, "--quick")[0]["strays"]["what"] == "gc would take nothing"


def test_looking_is_no_activity(sb):
    session = sb.create("--idle-timeout", "1h")
    before = wait_until(lambda: (left := sb.json("inspect", session)["idleLeftMs"]) is not None and left < 3600_000 and left)
    sb.run("inspect", "--effective", session)
    doctor(sb, "--quick")
    doctor(sb)
    assert sb.json("inspect", session)["idleLeftMs"] < before


@pytest.mark.parametrize("sign,status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_nothing(through, proxy, engine, sign, status):
    proxy.rule(Delay(1), path="/exec/[^/]+/start")
    child = through.start("doctor")
    wait_until(lambda: engine.containers({"sandbox.label.doctor": "trial", "sandbox.owner": through.owner}), 60, "the throw-away session")
    child.send_signal(sign)
    child.communicate(timeout=60)
    assert child.returncode == status
    proxy.reset()
    assert is_nothing_left(through, engine)


@pytest.fixture
def stuck(through, proxy):
    """A doctor whose engine never answers to the first look into the throw-away session."""
    proxy.rule(Mute(), path="/exec/[^/]+/start")
    child = through.start("--json", "doctor")
    wait_until(lambda: any(re.search("/exec/[^/]+/start", target) for _, target in proxy.calls), 60, "the look into it")
    yield child
    runner.stop(child)


def test_killed_it_leaves_what_ends_itself(stuck, through, proxy, engine):
    trial = engine.containers({"sandbox.label.doctor": "trial", "sandbox.owner": through.owner})[0]
    runner.stop(stuck)
    assert trial["Labels"]["sandbox.expires"] and engine.inspect(trial["Id"])["HostConfig"]["AutoRemove"]
    proxy.reset()
    assert [row["labels"] for row in through.sessions()] == [{"doctor": "trial"}]
    through.run("destroy", "--all", "-f")
    assert is_gone(engine, {"sandbox.instance": through.instance})


def test_an_engine_that_is_stuck_is_told_in_time(stuck, through, proxy, engine):
    out, _ = stuck.communicate(timeout=60)
    found = {one["check"]: one for one in json.loads(out)["findings"]}
    assert stuck.returncode == 1 and found["channel_bridge"]["status"] == "problem"
    assert {found[check]["status"] for check in ENFORCED} == {"unknown"}
    assert found["trial_cleanup"]["status"] == "ok"
    proxy.reset()
    assert is_nothing_left(through, engine)


# --- an engine with troubles ---------------------------------------------------------------------------------------

def test_an_engine_that_does_not_answer(sb):
    sb.create()
    found, document = doctor(sb, status=1, env={"SANDBOX_ENGINE": "unix:///nonexistent.sock"})
    assert found["engine_reachable"]["status"] == "problem"
    assert "the socket does not exist" in found["engine_reachable"]["what"] and "systemctl start docker" in found["engine_reachable"]["fix"]
    # The rest is checked: the session's own engine does answer.
    assert found["state_readable"]["what"].endswith("1 open session") and found["session_isolation"]["status"] == "ok"
    assert found["trial_session"]["status"] == "unknown" and len(document["checklist"]) == 14


def test_a_socket_that_one_may_not_use(engine, base, home):  # noqa: F811
    found, _ = doctor(User(home, []), status=1)
    assert "permission denied" in found["engine_reachable"]["what"] and "docker group" in found["engine_reachable"]["fix"]


def test_a_member_of_the_docker_group(engine, base, home):  # noqa: F811
    user = User(home, [os.stat(engine.path).st_gid])
    found, _ = doctor(user)
    assert found["trial_cleanup"]["status"] == "ok" and {found[check]["status"] for check in ENFORCED} == {"ok"}
    assert leftovers(engine, user.instance) == []


def test_whichever_question_fails_is_a_finding(through, proxy):
    """Nothing is thrown half-way, and the rest is told."""
    through.create()
    proxy.reset()
    doctor(through, "--quick")
    total = len(proxy.calls)
    assert total > 5
    for number in range(1, total + 1):
        for fault in (Fail(500), Drop()):
            proxy.reset()
            proxy.rule(fault, nth=number)
            document = through.run("--json", "doctor", "--quick", status=None).json()
            assert len(document["checklist"]) == 14 and [one["section"] for one in document["findings"]][-1] == "sessions", (number, fault)


@pytest.mark.parametrize("path", ["/containers/create", "/containers/[^/]+/start", "/exec/[^/]+/start"])
def test_a_session_that_cannot_be_made(through, proxy, engine, path):
    through.destroy(through.create())  # the agent's volume is there
    proxy.rule(Fail(500, "this engine is ill"), method="POST", path=path)
    found, _ = doctor(through, status=1)
    assert "this engine is ill" in "".join(one["what"] for one in found.values() if one["status"] == "problem")
    proxy.reset()
    assert leftovers(engine, through.instance) == [] and through.sessions() == []


def test_rows_of_an_engine_that_is_gone(through, proxy, engine):
    session = through.create()
    proxy.rule(Drop())
    found, _ = doctor(through, "--quick", env={"SANDBOX_ENGINE": engine.url})
    assert found["row_engines"]["status"] == "warning" and found["session_isolation_unknown"]["status"] == "unknown"
    proxy.reset()
    assert through.run("exec", session, "echo", "alive").text == "alive\n"


# --- state ---------------------------------------------------------------------------------------------------------

def move(sb):
    """As if the directory came from another machine."""
    path = sb.state_dir / "instance"
    path.write_text(re.sub(r"^machine=.*$", "machine=" + "0123456789abcdef" * 2, path.read_text(), flags=re.MULTILINE))


def test_a_state_of_another_machine(sb):
    session = sb.create("--name", "web")
    instance = sb.instance
    move(sb)
    found, _ = doctor(sb, status=1)
    assert "--repair" in found["state_machine"]["fix"] and found["trial_session"]["status"] == "unknown"
    _, document = doctor(sb, "--repair")
    assert document["repairs"] == [{"what": "the state is this machine's from now on", "done": True, "error": None, "warning": None}]
    assert sb.instance == instance and doctor(sb, "--quick")[0]["state_machine"]["status"] == "ok"
    assert sb.run("exec", "web", "echo", "alive").text == "alive\n" and sb.sessions()[0]["id"] == session
    assert doctor(sb, "--quick", "--repair")[1]["repairs"] == []


def lose_database(sb):
    for path in sb.state_dir.glob("state.db*"):
        path.unlink()


@pytest.mark.parametrize("channel", ["socket", "bridge"])
def test_a_lost_database_comes_back_from_the_labels(sb, engine, channel):
    """Law 2: a repair, not a leak and not a licence to delete."""
    session = sb.create("--name", "web", "-l", "app=ci", "--workspace", "project-42", "--ttl", "1h", "--memory", "128MB", "--channel", channel)
    plain = sb.create("--owner", "other")
    closed = sb.create()
    sb.destroy(closed)
    sb.sh(session, "echo kept >f")
    before = sb.json("inspect", session)
    lose_database(sb)
    found, _ = doctor(sb, status=1)
    assert "state.db is missing" in found["state_readable"]["what"] and not (sb.state_dir / "state.db").exists()
    _, document = doctor(sb, "--repair", "--quick")
    assert {one["what"] for one in document["repairs"] if one["done"]} >= {
        f'workspace "project-42" of {sb.owner} is known again', f"session {session} is known again", f"session {plain} is known again"}
    after = sb.json("inspect", "web")
    for key in ("id", "name", "owner", "state", "image", "labels", "workspace", "expiresAt", "createdAt", "container", "volume", "engine", "channel"):
        assert after[key] == before[key], key
    assert after["manifest"] == before["manifest"] and {one["warning"] for one in document["repairs"]} == {None}
    assert sb.run("exec", "web", "cat", "f").text == "kept\n"
    assert {row["id"] for row in sb.sessions("--all-owners")} == {session, plain}
    assert not any(one["differs"] for one in aspects(sb, "web").values())
    assert sb.fails_json(4, "create", "--image", BASE, "--workspace", "project-42")["code"] in ("exists", "busy")
    sb.destroy("web")
    assert sb.json("workspace", "inspect", "project-42")["exists"] is True


def test_the_manifest_outlives_its_row(through, proxy, tmp_path):
    """References as references; before anything is made; gone with the session."""
    call = Mute()
    proxy.rule(call, method="POST", path="/(volumes|containers)/create")
    child = through.start("create", "--image", BASE, "-e", "TOKEN", env={"TOKEN": "s3cret"})
    wait_until(lambda: any(method == "POST" for method, _ in proxy.calls), 30, "the first object")
    (path,) = through.state_dir.glob("sessions/*/manifest.json")
    assert json.loads(path.read_text())["env"] == {"TOKEN": {"fromEnv": "TOKEN"}} and path.stat().st_mode & 0o777 == 0o600
    runner.stop(child)
    proxy.reset()
    through.run("gc")
    assert not path.exists()


KEPT = {"limits": {"timeout": "7s", "maxFile": "1MB"}, "export": {"scan": ["/bin/false"]}, "env": {"A": "1"}, "files": {"f": "text\n"},
        "lifecycle": {"autoDestroy": False, "ttl": "1h", "idleTimeout": "10m"}}


def stopped(sb, engine, *args, manifest=None):
    """A session that was to be kept when it stops, and has."""
    session = sb.create(*args, manifest=manifest or KEPT)
    engine.kill(engine.session(session)["Id"])
    wait_until(lambda: sb.state_of(session) == "stopped", 10, "its end")
    return session


def test_repair_brings_the_whole_manifest_back(sb, engine, tmp_path):
    running = sb.create("--name", "web", manifest=KEPT)
    kept = stopped(sb, engine)
    before = {session: sb.json("inspect", session) for session in (running, kept)}
    lose_database(sb)
    assert set(doctor(sb, "--quick", status=1)[0]["state_readable"]) and sb.sessions() == []
    assert set(doctor(sb, "--quick", status=1)[0]["lost_rows"]["details"]) == {f"session {running}", f"session {kept}"}
    sb.run("gc", "--grace", "0s")
    _, document = doctor(sb, "--quick", "--repair")
    assert {(one["what"], one["warning"]) for one in document["repairs"]} == {(f"session {one} is known again", None) for one in (running, kept)}
    for session, told in before.items():
        assert {key: sb.json("inspect", session)[key] for key in ("manifest", "state", "image")} == {key: told[key] for key in ("manifest", "state", "image")}
    sb.run("gc", "--grace", "0s")
    assert sb.state_of(kept) == "stopped"
    for session in (running, kept):
        assert "export.scan refused" in sb.fails(6, "cp", f"{session}:f", tmp_path / "out").errors
    text = json.dumps({"version": 1, "image": BASE, **KEPT})
    assert sb.run("create", "--name", "web", "--reuse", "-f", "-", input=text).text.strip() == running
    engine.remove(engine.session(kept)["Id"])
    sb.run("gc")
    assert sb.state_of(kept) == "expired"


@pytest.mark.parametrize("damage", ["{", '{"version": 1, "limits": {"memory": "much"}}', None])
def test_a_manifest_that_is_lost_is_told(sb, engine, tmp_path, damage):
    running = sb.create(manifest={**KEPT, "lifecycle": {"autoDestroy": True}, "limits": {"memory": "128MB"}})
    kept = stopped(sb, engine, manifest={"lifecycle": {"autoDestroy": False}, "files": {"f": "text\n"}})
    lose_database(sb)
    for path in sb.state_dir.glob("sessions/*/manifest.json"):
        path.write_text(damage) if damage else path.unlink()
    _, document = doctor(sb, "--quick", "--repair")
    warnings = {one["what"].split()[1]: one["warning"] for one in document["repairs"] if one["what"].startswith("session")}
    assert all(("cannot be read" if damage else "is lost") in warning and "limits.maxFile" in warning for warning in warnings.values()), warnings
    assert "export.scan" in warnings[running] and "export.scan" not in warnings[kept]
    assert (sb.state_of(running), sb.state_of(kept)) == ("running", "stopped")
    assert sb.json("inspect", running)["manifest"]["limits"]["memory"] == "128MB"
    # What nobody can scan any more does not leave; what was kept is kept.
    assert "export.scan was lost" in sb.fails(6, "cp", f"{running}:f", tmp_path / "out").errors
    assert sb.fails(6, "cp", f"{running}:f", "-").out == b""
    sb.run("gc", "--grace", "0s")
    sb.run("cp", f"{kept}:f", tmp_path / "f")
    assert (tmp_path / "f").read_text() == "text\n" and sb.run("exec", running, "cat", "f").text == "text\n"


def test_what_was_kept_stopped_is_read_although_its_directory_was_lost(sb, engine, tmp_path):
    kept = stopped(sb, engine, manifest={"lifecycle": {"autoDestroy": False}, "files": {"f": "text\n"}})
    running = sb.create()
    lose_database(sb)
    shutil.rmtree(sb.state_dir / "sessions")
    _, document = doctor(sb, "--quick", "--repair")
    warnings = {one["what"].split()[1]: one["warning"] for one in document["repairs"] if one["what"].startswith("session")}
    assert "not entered" in warnings[running] and "not entered" not in warnings[kept]
    sb.run("cp", f"{kept}:f", tmp_path / "f")
    assert (tmp_path / "f").read_text() == "text\n"
    sb.destroy(running, kept)


def test_a_name_that_was_taken_again_keeps_no_session_from_being_known(sb):
    first = sb.create("--name", "web")
    lose_database(sb)
    second = sb.create("--name", "web")
    _, document = doctor(sb, "--quick", "--repair")
    (repair,) = [one for one in document["repairs"] if first in one["what"]]
    assert repair["done"] and second in repair["warning"] and '"web"' in repair["warning"]
    assert {row["id"]: row["name"] for row in sb.sessions()} == {first: None, second: "web"}
    sb.destroy(first, second)


def test_losses_are_said_to_people_too(sb):
    session = sb.create()
    lose_database(sb)
    (sb.state_dir / "sessions" / session / "manifest.json").unlink()
    text = sb.run("--quiet", "doctor", "--quick", "--repair").text
    assert f"session {session} is known again" in text and "its manifest is lost" in text


def test_rows_that_a_set_aside_database_had(sb):
    """A damaged database is set aside by the next command; doctor tells what is missing since."""
    session = sb.create("--name", "web")
    lose_database(sb)
    (sb.state_dir / "state.db").write_bytes(b"no database at all" * 100)
    found, _ = doctor(sb, status=1)
    assert found["state_readable"]["status"] == "problem" and (sb.state_dir / "state.db").read_bytes().startswith(b"no database")
    sb.run("ps")
    found, _ = doctor(sb, "--quick", status=1)
    assert found["lost_rows"]["details"] == [f"session {session}"] and "--repair" in found["lost_rows"]["fix"]
    doctor(sb, "--quick", "--repair")
    assert sb.sessions()[0]["name"] == "web"


def test_a_state_that_was_lost_whole(make_sandbox, engine):
    """Its workspaces are what must not be lost."""
    lost = make_sandbox()
    session = lost.create("--name", "web", "--workspace", "project-42")
    lost.sh(session, "echo kept >f")
    instance = lost.instance
    shutil.rmtree(lost.state_dir)
    heir = make_sandbox(owner=lost.owner)
    details = doctor(heir, "--quick")[0]["foreign_objects"]["details"]
    assert f"instance {instance}: 1 session alive, 1 retained workspace" in details or any(line.startswith("and ") for line in details)
    _, document = doctor(heir, "--quick", "--repair", "--instance", instance)
    assert [one["done"] for one in document["repairs"]].count(False) == 0 and heir.instance == instance
    assert [row["id"] for row in heir.sessions()] == [session]
    heir.destroy("web")
    again = heir.create("--workspace", "project-42")
    assert heir.run("exec", again, "cat", "f").text == "kept\n"
    other = make_sandbox().instance or "0123456789abcdef"
    assert doctor(heir, "--quick", "--repair", "--instance", other, status=1)[1]["repairs"][-1]["done"] is False
    assert heir.instance == instance
    runner.close(heir, engine)


@pytest.mark.parametrize("line", [["--instance", "0123456789abcdef"], ["--repair", "--instance", "nosuch"], ["--quick", "--image", "x"]])
def test_lines_that_mean_nothing(sb, line):
    sb.fails(2, "doctor", *line)


def test_repair_takes_nothing_that_is_not_ours(sb, make_sandbox, engine):
    sb.sessions()
    other = make_sandbox()
    session = other.create()
    labels = {"sandbox.instance": sb.instance, "sandbox.role": "session", "sandbox.session": "../../etc", "sandbox.owner": sb.owner}
    evil = engine.create({"Image": BASE, "Cmd": ["sleep", "600"], "Labels": labels, "HostConfig": {"NetworkMode": "none"}})
    engine.start(evil)
    try:
        doctor(sb, "--quick", "--repair", status=1)
        assert sb.sessions("--all-owners") == [] and engine.inspect(evil)["State"]["Running"]
    finally:
        engine.remove(evil)
    assert other.run("exec", session, "echo", "alive").text == "alive\n"
    runner.close(other, engine)


def test_repair_makes_no_state_where_none_was(sb):
    assert doctor(sb, "--quick", "--repair")[1]["repairs"] == [] and not sb.state_dir.exists()


def test_a_directory_that_others_may_enter(sb):
    sb.sessions()
    sb.state_dir.chmod(0o755)
    found, _ = doctor(sb, "--quick")
    assert found["state_directory"]["status"] == "warning" and found["state_directory"]["fix"] == f"chmod 0700 {sb.state_dir}"
    assert sb.state_dir.stat().st_mode & 0o777 == 0o755


def test_a_state_directory_that_is_none(sb):
    sb.state_dir.write_text("")
    found, _ = doctor(sb, status=1)
    assert "is not a directory" in found["state_directory"]["what"] and found["engine_reachable"]["status"] == "ok"


@pytest.mark.parametrize("content,words", [("defaults:\n  limits:\n    memroy: 1GB\n", "memroy"), (None, "no config file")])
def test_a_config_that_does_not_hold(sb, tmp_path, content, words):
    config = tmp_path / "config.yaml"
    if content:
        config.write_text(content)
    found, _ = doctor(sb, status=1, env={"SANDBOX_CONFIG": str(config)})
    assert found["config"]["status"] == "problem" and words in found["config"]["what"] + "".join(found["config"]["details"])
    assert found["trial_session"]["status"] == "ok"


# --- what is left behind -------------------------------------------------------------------------------------------

def test_objects_of_other_instances(sb, make_sandbox, engine):
    other = make_sandbox()
    other.sessions()
    labels = {"sandbox.instance": other.instance, "sandbox.session": "sdeadbeef0000", "sandbox.owner": other.owner, "sandbox.role": "session"}
    container = engine.create({"Image": BASE, "Cmd": ["true"], "Labels": labels, "HostConfig": {"NetworkMode": "none"}}, name=f"dead-{other.instance}")
    engine.create_volume(f"orphan-{other.instance}", {**labels, "sandbox.role": "workspace"})
    try:
        text = sb.run("doctor", "--quick").text
        found = doctor(sb, "--quick")[0]["foreign_objects"]
        assert found["status"] == "warning" and "left behind" in found["what"] and "left behind" in text
        every = leftover_details(engine, other.instance)
        assert every <= set(found["details"]) or any(line.startswith("and ") for line in found["details"])
        assert engine.inspect(container) and engine.volume(f"orphan-{other.instance}")
    finally:
        engine.remove(container)
        engine.remove_volume(f"orphan-{other.instance}")


def leftover_details(engine, instance):
    return {f"container dead-{instance} of instance {instance}", f"volume orphan-{instance} of instance {instance}"}


def test_retained_workspaces_that_a_prune_would_take(sb, engine):
    session = sb.create("--workspace", "kept")
    assert doctor(sb, "--quick")[0]["workspaces"]["status"] == "ok"
    sb.destroy(session)
    found = doctor(sb, "--quick")[0]["workspaces"]
    assert found["status"] == "warning" and found["details"] == [f"kept of {sb.owner}"] and "docker volume prune" in found["what"]
    engine.remove_volume(sb.json("workspace", "inspect", "kept")["volume"])
    found, _ = doctor(sb, "--quick", status=1)
    assert found["workspaces_missing"]["details"] == [f"kept of {sb.owner}"]
    sb.run("workspace", "rm", "kept")
    assert "workspaces" not in doctor(sb, "--quick")[0]


# --- the isolation that a session really has -----------------------------------------------------------------------

@pytest.mark.parametrize("shape", [None, "scratch", "uid-1000"])
@pytest.mark.parametrize("channel", ["socket", "bridge"])
def test_what_was_asked_holds(sb, image, shape, channel):
    session = sb.create("--channel", channel, manifest={"image": image(shape) if shape else BASE, "limits": {"memory": "64MiB", "cpus": 0.5, "pids": 40},
                        "security": {"readonlyRootfs": True}, "tmpfs": {"/scratch": "8MiB"}})
    found = aspects(sb, session)
    assert not [one for one in found.values() if one["differs"]], found
    seen = {name: one["inside"] for name, one in found.items()}
    assert (seen["memory"], seen["cpus"], seen["pids"], seen["network"]) == ("64MiB", "0.5", "40", "loopback only")
    assert (seen["capabilities"], seen["noNewPrivileges"], seen["seccomp"], seen["readonlyRootfs"]) == ("none", "yes", "filter", "yes")
    assert "/scratch 8MiB" in seen["tmpfs"] and "/workspace rw" in seen["mounts"] and "/.sandbox ro" in seen["mounts"]
    assert seen["user"] == ("1000:0" if shape == "uid-1000" else "0:0")
    assert found["hostAccess"] == {"aspect": "hostAccess", "asked": "none", "told": "none", "inside": None, "differs": False}


def test_capabilities_and_network_that_were_asked_for(sb, engine):
    network, inside, told = ("none", "loopback only", "none") if engine.is_podman else ("bridge", "eth0", "sandbox-bridge")
    session = sb.create("--network", network, "--add-capabilities", "NET_RAW", "--add-capabilities", "chown")
    found = aspects(sb, session)
    assert found["capabilities"]["inside"] == "CHOWN,NET_RAW" == found["capabilities"]["asked"]
    assert found["network"]["inside"] == inside and found["network"]["told"] == told
    assert not [one for one in found.values() if one["differs"]], found


def write_limits(pid, memory, swap, pids):
    """Into the cgroups of a process, whichever version this machine has."""
    places = dict(line.split(":", 2)[1:] for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines())
    root = pathlib.Path("/sys/fs/cgroup")
    if set(places) == {""}:
        group = root / places[""].lstrip("/")
        values = {group / "memory.max": memory, group / "memory.swap.max": swap, group / "pids.max": pids}
    else:
        group = root / "memory" / places["memory"].lstrip("/")
        values = {group / "memory.memsw.limit_in_bytes": memory + swap, group / "memory.limit_in_bytes": memory,
                  root / "pids" / places["pids"].lstrip("/") / "pids.max": pids}
    for path, value in values.items():
        path.write_text(str(value))


def test_limits_that_were_changed_behind_its_back(sb, engine):
    session = sb.create("--name", "web", "--memory", "64MiB")
    container = engine.session(session)["Id"]
    if engine.is_podman:  # has no such call, and goes on telling what was asked for
        write_limits(engine.inspect(container)["State"]["Pid"], memory=256 << 20, swap=256 << 20, pids=1000)
    else:
        engine.call("POST", f"/containers/{container}/update", {"Memory": 256 << 20, "MemorySwap": 512 << 20, "PidsLimit": 1000})
    found = aspects(sb, session)
    assert {name for name, one in found.items() if one["differs"]} == {"memory", "swap", "pids"}
    assert found["memory"] == {"aspect": "memory", "asked": "64MiB", "told": "64MiB" if engine.is_podman else "256MiB", "inside": "256MiB", "differs": True}
    assert sb.json("inspect", "--effective", session)["effective"]["differs"] is True
    marked = {line.split()[1] for line in sb.run("inspect", "--effective", "web").lines() if line.startswith("!")}
    assert marked == {"memory", "swap", "pids"}
    told, _ = doctor(sb, *([] if engine.is_podman else ["--quick"]), status=1)
    assert told["session_isolation"]["status"] == "problem" and told["session_isolation"]["details"][0].startswith("web: memory (asked 64MiB, has 256MiB)")
    assert sb.json("inspect", session)["effective"] is None


def replace_container(sb, engine, session, **host):
    """The session's container made anew under its name, otherwise than it was asked for."""
    old = engine.session(session)
    engine.remove(old["Id"])
    wait_until(lambda: engine.inspect(old["Id"]) is None, what="its end")
    agent = next(mount["Name"] for mount in old["Mounts"] if mount["Destination"] == "/.sandbox")
    mounts = [{"Type": "volume", "Target": "/workspace"}, {"Type": "volume", "Source": agent, "Target": "/.sandbox", "ReadOnly": True}]
    kept = {key: old["HostConfig"][key] for key in ("Memory", "MemorySwap", "NanoCpus", "PidsLimit", "CapDrop", "SecurityOpt", "NetworkMode")}
    new = engine.create({"Image": BASE, "Entrypoint": ["sleep", "600"], "Labels": old["Config"]["Labels"], "WorkingDir": "/workspace",
                         "HostConfig": {**kept, "Mounts": mounts, **host}}, name=old["Name"][1:])
    engine.start(new)
    write_row(sb, session, "container_id", new)
    return new


@pytest.mark.parametrize("host,differing", [
    ({"CapAdd": ["SYS_PTRACE"]}, {"capabilities"}),
    ({"CapDrop": []}, {"capabilities"}),
    ({"SecurityOpt": ["seccomp=unconfined"]}, {"seccomp", "noNewPrivileges"}),
    ({"NetworkMode": "bridge"}, {"network"}),
    ({"Binds": ["/etc:/host:ro"]}, {"mounts"}),
    ({"Tmpfs": {"/more": "size=1000000"}}, {"tmpfs"}),
    ({"PidMode": "host"}, {"hostAccess"}),
    ({"NanoCpus": 2_000_000_000}, {"cpus"}),
    ({"ReadonlyRootfs": True}, {"readonlyRootfs"}),
], ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")
def test_a_container_that_was_replaced(sb, engine, host, differing):
    session = sb.create()
    new = replace_container(sb, engine, session, **host)
    found = aspects(sb, session)
    assert {name for name, one in found.items() if one["differs"]} == differing, found
    engine.remove(new)


def test_a_paused_session_is_compared_by_what_the_engine_says(sb, engine):
    session = sb.create()
    engine.pause(engine.session(session)["Id"])
    found = aspects(sb, session)
    assert {one["inside"] for one in found.values()} == {None} and not any(one["differs"] for one in found.values())
    engine.unpause(engine.session(session)["Id"])


def test_a_session_that_is_gone_has_none(sb, engine):
    session = sb.create()
    engine.remove(engine.session(session)["Id"])
    effective = sb.json("inspect", "--effective", session)["effective"]
    assert effective["aspects"] == [] and effective["unknown"] == "its container is gone"


def test_several_sessions_in_one_table_each(sb):
    sb.create("--name", "one"), sb.create("--name", "two")
    text = sb.run("inspect", "--effective", "one", "two").text
    assert text.startswith("one\n") and "\ntwo\n" in text and text.count("noNewPrivileges") == 2


# --- who runs gc ---------------------------------------------------------------------------------------------------

@pytest.fixture
def own_etc(tmp_path):
    """A mount namespace whose crontabs and timers are this test's own."""
    class Etc(runner.Sandbox):
        def argv(self, *args):
            lines = ["mount -t tmpfs none /etc/cron.d", "mount -t tmpfs none /etc/systemd/system", *self.lines]
            return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", "; ".join(lines) + '; exec "$@"', "sh", *super().argv(*args)]
    sandbox = Etc(tmp_path / "state", runner.new_owner())
    sandbox.lines = []
    yield sandbox


@pytest.mark.parametrize("lines,status", [
    ([], "warning"),
    (["echo '*/10 * * * * root sandbox --state-dir STATE gc' >/etc/cron.d/sandbox"], "ok"),
    (["echo '*/10 * * * * root sandbox gc' >/etc/cron.d/sandbox"], "warning"),
    (["echo '# */10 * * * * root sandbox --state-dir STATE gc' >/etc/cron.d/sandbox"], "warning"),
    (["echo 'ExecStart=/usr/local/bin/sandbox --state-dir STATE gc' >/etc/systemd/system/sandbox-gc.service", "touch /etc/systemd/system/sandbox-gc.timer",
      "mkdir /etc/systemd/system/timers.target.wants", "ln -s ../sandbox-gc.timer /etc/systemd/system/timers.target.wants/"], "ok"),
    (["echo 'ExecStart=/usr/local/bin/sandbox --state-dir STATE gc' >/etc/systemd/system/sandbox-gc.service", "touch /etc/systemd/system/sandbox-gc.timer"], "warning"),
], ids=["none", "cron", "cron of another state", "comment", "timer", "disabled timer"])
def test_whether_gc_is_scheduled(own_etc, lines, status):
    for folder in ("/etc/cron.d", "/etc/systemd/system"):
        assert pathlib.Path(folder).is_dir(), folder
    own_etc.lines = [line.replace("STATE", str(own_etc.state_dir)) for line in lines]
    found, document = doctor(own_etc, "--quick")
    assert found["gc_scheduled"]["status"] == status, found["gc_scheduled"]
    item = next(one for one in document["checklist"] if one["item"] == "gc_scheduled")
    assert item["state"] == {"ok": "done", "warning": "open"}[status]


def test_the_fix_for_a_missing_schedule_is_one(own_etc):
    """What doctor prints cleans this very state, and is found by a cron that has another PATH."""
    own_etc.state_dir.mkdir()
    fix = doctor(own_etc, "--quick")[0]["gc_scheduled"]["fix"]
    assert f"{os.path.realpath(runner.binary())} --state-dir {own_etc.state_dir} gc" in fix
    own_etc.lines = [fix]
    assert doctor(own_etc, "--quick")[0]["gc_scheduled"]["status"] == "ok"


def test_the_fix_holds_for_any_path(own_etc, tmp_path):
    """A space, a quote and a percent sign in the state's path come through the shell that is given it and through cron."""
    own_etc.env["SANDBOX_STATE_DIR"] = str(tmp_path / "it's 100% ours")
    pathlib.Path(own_etc.env["SANDBOX_STATE_DIR"]).mkdir()
    text = own_etc.run("doctor", "--quick", status=None).text
    fix = next(line.split("fix: ", 1)[1] for line in text.splitlines() if "/etc/cron.d/sandbox-gc" in line)
    own_etc.lines = [fix, f"cp /etc/cron.d/sandbox-gc '{tmp_path}/line'"]
    assert doctor(own_etc, "--quick")[0]["gc_scheduled"]["status"] == "ok"
    line = (tmp_path / "line").read_text()
    assert line.startswith("*/10 * * * * root ") and line.count("\n") == 1
    # As cron does: a bare percent sign would end the command, "\\%" is one.
    command = line.split("root ", 1)[1]
    assert not re.search(r"(?<!\\)%", command)
    words = subprocess.run(["sh", "-c", "printf '%s|' " + command.replace("\\%", "%")], capture_output=True, text=True).stdout.split("|")
    assert words[1:4] == ["--state-dir", own_etc.env["SANDBOX_STATE_DIR"], "gc"]


def test_a_state_that_cannot_be_written_is_a_problem(own_etc):
    own_etc.state_dir.mkdir(mode=0o700)
    own_etc.lines = [f"mount -t tmpfs -o ro,mode=700 none {own_etc.state_dir}"]
    found, _ = doctor(own_etc, "--quick", status=1)
    assert found["state_directory"]["status"] == "problem" and "Read-only file system" in found["state_directory"]["what"]


def test_a_prune_from_cron(own_etc):
    own_etc.lines = ["echo '0 4 * * * root docker volume prune -f' >/etc/cron.d/clean"]
    found, document = doctor(own_etc, "--quick")
    assert found["prune_scheduled"]["status"] == "warning" and found["prune_scheduled"]["details"] == ["/etc/cron.d/clean"]
    assert next(one for one in document["checklist"] if one["item"] == "volume_prune")["state"] == "open"
