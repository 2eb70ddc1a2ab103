# SPDX-License-Identifier: Apache-2.0
"""Scripted faults of an engine: each ends with the right status, one clear line, and nothing left behind."""
import json
import socket
import threading
import time

import pytest

from fake_engine import FakeEngine
from runner import state_leftovers, stop

IMAGE = "fake/image:v1"


def create(sb, *args, status=None, **kw):
    # Straight to the bridge: nobody comes to the socket here, and the wait for it would be a second each time.
    return sb.run("create", "--image", IMAGE, "--channel", "bridge", *args, status=status, **kw)


def left(fake):
    """What the engine still holds, the agent's shared volume left out."""
    volumes = [n for n, v in fake.model.volumes.items() if (v["Labels"] or {}).get("sandbox.role") != "agent"]
    return list(fake.model.containers) + volumes


def nothing_left(fake, sb):
    return left(fake) == [] and sb.sessions() == [] and state_leftovers(sb) == []


# Without any fault: the agent never answers, so create rolls back.

def test_no_agent_rolls_back(fake, sb):
    result = sb.run("create", "--image", IMAGE, "--name", "web", status=None)
    assert result.status in (1, 5) and result.errors.startswith("sandbox: error: "), result
    assert nothing_left(fake, sb)
    assert create(sb, "--name", "web").status == result.status  # the name is free, not "exists"


def test_what_create_asks_for(fake, sb):
    """The container's spec as it goes over the wire."""
    seen = []
    fake.model.on_start = lambda container: seen.append(container["Spec"])
    create(sb, "-e", "SECRET", "--label", "a=b", "--memory", "64MB", env={"SECRET": "hunter2"})
    spec = next(spec for spec in seen if spec["Labels"]["sandbox.role"] == "session")
    assert spec["Labels"]["sandbox.label.a"] == "b" and spec["Labels"]["sandbox.owner"] == sb.owner
    assert spec["HostConfig"]["AutoRemove"] is True and spec["HostConfig"]["NetworkMode"] == "none"
    assert spec["HostConfig"]["Memory"] == 64_000_000 and spec["HostConfig"]["CapDrop"] == ["ALL"]
    assert spec["Healthcheck"] == {"Test": ["NONE"]} and spec["HostConfig"]["LogConfig"]["Type"] == "none"
    assert not any(mount["Type"] == "bind" and not mount.get("ReadOnly") for mount in spec["HostConfig"]["Mounts"])
    assert "hunter2" not in json.dumps(seen)


def test_everything_carries_the_labels_that_can_rebuild_the_state(fake, sb):
    """Law 2, also for what lives for a moment only, or for ever."""
    create(sb)
    roles = set()
    volumes = [volume["Labels"] for volume in fake.model.volumes.values()]
    for labels in [spec["Labels"] for spec in fake.model.asked] + volumes:
        roles.add(labels["sandbox.role"])
        assert {"sandbox.instance", "sandbox.owner", "sandbox.expires"} <= set(labels), labels
    assert {"session", "helper", "agent"} <= roles


# F2: every step may fail, the roll-back's own steps included.

def calls_of_a_create(fake, sb):
    create(sb)  # the agent's volume exists from here on
    fake.calls.clear()
    create(sb)
    return len(fake.calls)


@pytest.mark.parametrize("what", [
    {"status": 500, "message": "scripted: device or resource busy"},
    {"status": 404, "message": "scripted: no such thing"},
    {"status": 409, "message": "scripted: conflict"},
    {"reset": True},
    {"reset": True, "after_effect": True},
    {"body": b"this is not JSON"},
    {"body": b"{}"},
    {"body": b"[1,2"},
    {"bad_chunk": "zz"},
    {"bad_chunk": "f" * 17},
    {"huge_header": 2_000_000},
    {"cut": 0.5},
    {"split": 1},
], ids=lambda what: "-".join(f"{k}={str(v)[:12]}" for k, v in what.items()))
def test_nth_call_of_create(fake, sb, what):
    total = calls_of_a_create(fake, sb)
    for number in range(1, total + 1):
        fake.heal()
        fake.fail("", nth=number, **what)
        result = create(sb, timeout=90)
        assert result.status in (1, 3, 4, 5), (number, result)
        assert result.errors.startswith("sandbox: error: "), (number, result)
        fake.heal()
        sb.run("destroy", "--all", status=None)
    sb.run("gc", "--grace", "0s", status=None)
    sb.run("gc", "--grace", "0s")
    assert nothing_left(fake, sb), left(fake)


def test_split_reads_change_nothing(fake, sb):
    plain = create(sb)
    for size in (1, 2, 7, 64):
        fake.fail("", times=10_000, split=size)
        split = create(sb, timeout=120)
        fake.heal()
        assert split.status == plain.status
    assert nothing_left(fake, sb)


# Mute and half mute.

def test_mute_socket(fake, sb):
    """A9: accepts, and never says a word."""
    fake.mute = True
    started = time.monotonic()
    error = sb.fails_json(5, "create", "--image", IMAGE, timeout=90)
    assert error["code"] == "engine_unreachable" and error["retryable"] is True and "engine.sock" in error["message"]
    assert time.monotonic() - started < 60


def test_header_and_then_nothing(fake, sb):
    fake.fail("GET /images/", header_only=True)
    result = create(sb, timeout=90)
    assert result.status in (1, 5) and nothing_left(fake, sb)


def test_gone_in_the_middle(fake, sb):
    """The engine crashes at the start of the container; when it is back, gc finishes."""
    fake.model.on_start = lambda container: threading.Thread(target=fake.stop).start()
    result = create(sb, timeout=120)
    assert result.status in (1, 5), result
    fake.model.on_start = lambda container: None
    fake.start()
    sb.run("gc", "--grace", "0s", status=None)
    sb.run("destroy", "--all", status=None)
    sb.run("gc", "--grace", "0s")
    assert nothing_left(fake, sb)


# Pull.

@pytest.mark.parametrize("what", [
    {"stream_error": "manifest unknown"},
    {"stream_error": "manifest unknown", "split": 1},
    {"status": 404, "message": "manifest unknown"},
    {"status": 500, "message": "manifest unknown"},
])
def test_pull_error(fake, sb, what):
    """J3: also when it comes inside a 200."""
    fake.fail("POST /images/create", times=99, **what)
    result = sb.fails(1, "create", "--image", "nosuch/none:v1")
    assert "manifest unknown" in result.errors and "nosuch/none" in result.errors
    assert nothing_left(fake, sb)


def test_pull_never(fake, sb):
    error = sb.fails_json(1, "create", "--image", "nosuch/none:v1", "--pull", "never")
    assert error["code"] == "image_not_found" and not fake.called("POST /images/create")


def test_pull_missing_asks_only_when_missing(fake, sb):
    create(sb)
    assert not fake.called("POST /images/create")
    fake.calls.clear()
    create(sb, "--pull", "always")
    assert fake.called("POST /images/create")


# Which engine, which version.

def test_wrong_engine_id_is_unreachable_not_gone(fake, sb):
    """Law 3: rows made by one engine are not judged by another at the same address."""
    session = half_made(fake, sb)
    fake.engine_id = "ANOTHER:ENGINE"
    fake.calls.clear()
    sb.fails(5, "destroy", session)
    sb.run("gc", "--grace", "0s", status=None)
    assert not fake.called("DELETE ")
    assert [row["id"] for row in sb.sessions("--all")] == [session]
    fake.engine_id = "FAKE:FAKE:FAKE:FAKE"
    sb.destroy(session)
    assert nothing_left(fake, sb)


OURS = "1.35 to 1.47"


@pytest.mark.parametrize("api,minimum,used", [
    ("1.41", "1.12", "1.41"), ("1.44", "1.24", "1.44"), ("1.47", "1.24", "1.47"), ("1.48", "1.24", "1.47"), ("1.52", "1.44", "1.47"),
    ("1.47", "1.47", "1.47"), ("1.35", "1.12", "1.35")])
def test_version_is_negotiated(tmp_path, sb, api, minimum, used):
    """J1: min(ours, theirs), never below their minimum."""
    with FakeEngine(tmp_path / "other.sock", api=api, min_api=minimum) as other:
        other.model.add_image(IMAGE)
        sb.run("--engine", other.url, "create", "--image", IMAGE, status=None)
        assert {call.version for call in other.calls if call.version} == {used}
        assert other.called("POST /containers/create") and left(other) == []


@pytest.mark.parametrize("api,minimum", [("1.20", "1.12"), ("9.99", "9.90"), ("1.60", "1.48")])
def test_versions_that_do_not_meet(tmp_path, sb, api, minimum):
    with FakeEngine(tmp_path / "other.sock", api=api, min_api=minimum) as other:
        error = sb.fails_json(1, "--engine", other.url, "create", "--image", IMAGE)
        assert f"{minimum} to {api}" in error["message"] and OURS in error["message"]
        assert error["hint"] == ("use a newer engine" if api == "1.20" else "use a newer sandbox")
        assert not other.called("POST /containers/create")


# What later versions took out or made conditional must not be sent: 1.44 moved MacAddress to the networks and brought StartInterval
# (refused before), 1.42 took KernelMemory out and made a volume prune spare named ones.
@pytest.mark.parametrize("api", ["1.41", "1.44", "1.52"])
def test_what_is_sent_is_good_for_every_version(tmp_path, sb, api):
    with FakeEngine(tmp_path / "other.sock", api=api, min_api="1.24") as other:
        other.model.add_image(IMAGE)
        sb.run("--engine", other.url, "create", "--image", IMAGE, "--channel", "bridge", status=None)
        bodies = [call.json() for call in other.called("POST /containers/create")]
        session = next(body for body in bodies if body["Labels"]["sandbox.role"] == "session")
        assert not {"MacAddress", "VolumesFrom"} & set(session)
        assert not {"KernelMemory", "KernelMemoryTCP", "Links"} & set(session["HostConfig"])
        assert session["Healthcheck"] == {"Test": ["NONE"]}
        assert other.called("PUT /containers/[^/]+/archive") and other.called("POST /containers/[^/]+/exec")
        assert not other.called("/prune") and left(other) == []


# Destroy and gc against faults.

def half_made(fake, sb):
    """The id of a session whose create was killed when its container had just started."""
    started = threading.Event()
    fake.model.on_start = lambda container: started.set()
    child = sb.start("create", "--image", IMAGE, "--channel", "socket")
    assert started.wait(timeout=20)
    stop(child)
    fake.model.on_start = lambda container: None
    return sb.sessions("--all")[-1]["id"]


def test_destroy_says_what_is_left(fake, sb):
    """Law 10."""
    session = half_made(fake, sb)
    fake.fail("DELETE /containers/", times=10_000, status=500, message="scripted: cannot remove")
    result = sb.fails(1, "destroy", session, timeout=120)
    assert "scripted: cannot remove" in result.errors or "left" in result.errors
    assert left(fake) != []
    fake.heal()
    sb.destroy(session)
    assert nothing_left(fake, sb)


def test_removal_in_progress_is_waited_out(fake, sb):
    session = half_made(fake, sb)
    fake.fail("DELETE /containers/", times=3, status=409, message="removal of container x is already in progress")
    sb.destroy(session, timeout=60)
    assert nothing_left(fake, sb)


@pytest.mark.parametrize("line", [["destroy", "--all"], ["gc", "--grace", "0s"]], ids=["destroy", "gc"])
def test_several_end_at_once(fake, sb, line):
    for _ in range(4):
        half_made(fake, sb)
    together = threading.Barrier(4)
    fake.fail("DELETE /containers/", times=4, gather=together)
    sb.run(*line, timeout=120)
    assert not together.broken and nothing_left(fake, sb)


def test_gc_goes_on_when_a_part_fails(fake, sb):
    session = half_made(fake, sb)
    fake.fail("DELETE /containers/", times=10_000, status=500, message="scripted: cannot remove")
    instance = sb.instance
    labels = {"sandbox.instance": instance, "sandbox.session": "sdeadbeef0000", "sandbox.owner": sb.owner, "sandbox.role": "workspace"}
    fake.model.create_volume({"Name": "orphan", "Labels": labels})
    result = sb.run("gc", "--grace", "0s", status=None, timeout=120)
    assert result.status == 1 and "orphan" not in fake.model.volumes, result
    fake.heal()
    sb.run("gc", "--grace", "0s")
    assert nothing_left(fake, sb) and sb.state_of(session) in ("destroyed", "failed")


HOSTILE = "\x1b]0;owned\x07\nsandbox: all is well\r\x9b2J"


def is_tame(text):
    return all(line.isprintable() for line in text.splitlines()) and not any(line.startswith("sandbox: all is well") for line in text.splitlines())


@pytest.mark.parametrize("removes", [True, False])
def test_gc_shows_names_and_labels_as_text(fake, sb, removes):
    """Law 6: whoever may label an object writes no bytes to the administrator's terminal, and no line of ours."""
    half_made(fake, sb)
    labels = {"sandbox.instance": sb.instance, "sandbox.session": "sdeadbeef0000", "sandbox.owner": HOSTILE, "sandbox.role": "workspace"}
    fake.model.create_volume({"Name": f"orphan{HOSTILE}", "Labels": labels})
    if not removes:
        fake.fail("DELETE /volumes/", times=99, status=500, message=HOSTILE)
    for args, status in [(("--dry-run",), 0), ((), 0 if removes else 1)]:
        result = sb.run("gc", "--grace", "0s", *args, status=status, timeout=120)
        assert "orphan\\x1b]0;owned\\x07\\nsandbox: all is well" in result.text + result.errors, result
        assert is_tame(result.out.decode()) and is_tame(result.errors), result


def test_destroy_shows_what_is_left_as_text(fake, sb):
    session = half_made(fake, sb)
    labels = {"sandbox.instance": sb.instance, "sandbox.session": session, "sandbox.owner": sb.owner, "sandbox.role": "workspace"}
    fake.model.create_volume({"Name": f"left{HOSTILE}", "Labels": labels})
    fake.fail("DELETE /volumes/left", times=99, status=500, message="scripted")
    result = sb.run("destroy", session, status=1, timeout=120)
    assert "volume left\\x1b" in result.errors and is_tame(result.errors), result


@pytest.mark.parametrize("what", [{"body": b'[{"Id":"x"}]'}, {"body": b"{}"}, {"body": b"null"}, {"body": b'[{"Id":1,"Labels":3}]'}, {"cut": 0.3}, {"status": 500}])
def test_gc_with_nonsense_lists(fake, sb, what):
    """A list that cannot be read is no licence to delete."""
    session = half_made(fake, sb)
    fake.fail("GET /(containers/json|volumes)", times=99, **what)
    sb.run("gc", "--grace", "0s", status=None)
    fake.heal()
    sb.destroy(session)
    assert nothing_left(fake, sb)


def test_absent_is_a_404_about_that_very_object(fake, sb):
    """Law 3: "page not found" from a proxy is not "No such container"."""
    session = half_made(fake, sb)
    fake.fail("/containers/", times=99, status=404, message="page not found")
    result = sb.run("destroy", session, status=None, timeout=120)
    fake.heal()
    if result.status == 0:
        assert nothing_left(fake, sb), "destroy said 0 and left something"
    sb.destroy(session)
    assert nothing_left(fake, sb)


# Text that the engine sends.

def test_hostile_error_text(fake, sb):
    fake.fail("POST /containers/create", times=99, status=500, message="\u001b[31mred\u0007 \n sandbox: error: forged\n" + "x" * 100_000)
    result = create(sb)
    assert result.status == 1 and "\x1b" not in result.errors and "\x07" not in result.errors
    assert len(result.err) < 10_000


def test_answer_that_never_ends(fake, sb, tmp_path):
    """A body without bound is refused, not held in memory."""
    path = tmp_path / "flood.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(8)

    def flood():
        while True:
            try:
                client, _ = listener.accept()
                client.recv(65536)
                client.sendall(b"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Type: application/json\r\n\r\n[")
                for _ in range(2000):
                    client.sendall(b"1," * 500_000)
                client.close()
            except OSError:
                return
    thread = threading.Thread(target=flood, daemon=True)
    thread.start()
    result = sb.run("--engine", f"unix://{path}", "create", "--image", IMAGE, status=None, timeout=120)
    listener.close()
    assert result.status in (1, 5, 7) and result.errors.startswith("sandbox: error: ")
