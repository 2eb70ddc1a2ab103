# SPDX-License-Identifier: Apache-2.0
"""create --reuse, and the ceilings on the number of sessions with create --wait."""
import signal
import threading
import time

import pytest

from fault_proxy import Fail
from runner import BASE, leftovers, stop, wait_until


@pytest.fixture
def ceilings(sb):
    """ceilings("sessions: 2") puts them into the user's config."""
    path = sb.state_dir.parent / "config/sandbox/config.yaml"

    def set_to(text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"ceilings: {{{text}}}\n")
        return path
    return set_to


def waiting(sb):
    return len(list((sb.state_dir / "locks").glob(".waiter-*")))


def test_reuse_gives_the_running_one(sb):
    first = sb.create("--name", "web", "--reuse")
    assert sb.create("--name", "web", "--reuse") == first
    assert len(sb.sessions()) == 1
    assert sb.json("create", "--image", BASE, "--name", "web", "--reuse")["id"] == first


def test_reuse_says_which_key_differs(sb):
    sb.create("--name", "web", "--memory", "64MB", "-e", "TOKEN=hidden")
    errors = sb.fails(4, "create", "--image", BASE, "--name", "web", "--memory", "65MB", "-e", "TOKEN=hidden", "--reuse").errors
    assert "limits.memory is 64MB there and 65MB here" in errors and "more" not in errors
    errors = sb.fails(4, "create", "--image", BASE, "--name", "web", "--memory", "64MB", "-e", "TOKEN=other", "--reuse").errors
    assert "env.TOKEN differs" in errors and "hidden" not in errors and "other" not in errors.replace("another", "")


def test_reuse_needs_a_name_and_makes_a_new_one_where_none_runs(sb, engine):
    assert "--name" in sb.fails(2, "create", "--image", BASE, "--reuse").errors
    first = sb.create("--name", "web", "--reuse")
    engine.kill(engine.session(first)["Id"])
    wait_until(lambda: not engine.containers({"sandbox.session": first}))
    second = sb.create("--name", "web", "--reuse")
    assert second != first and sb.run("exec", "web", "true").status == 0
    sb.destroy("web")
    assert sb.create("--name", "web", "--reuse") != second


def test_reuse_takes_none_that_does_not_run_and_says_how_it_would(sb):
    sb.create("--name", "web", "--auto-destroy", "false")
    again = ("create", "--image", BASE, "--name", "web", "--auto-destroy", "false", "--reuse")
    sb.run("pause", "web")
    assert "sandbox resume web" in sb.fails(4, *again).errors
    sb.run("resume", "web")
    sb.run("stop", "web")
    assert "sandbox start web" in sb.fails(4, *again).errors
    sb.run("start", "web")
    sb.run(*again)


def test_many_reuses_at_once_make_one(sb):
    children = [sb.start("create", "--image", BASE, "--name", "one", "--reuse") for _ in range(8)]
    outcomes = [(child.communicate(timeout=120), child.returncode) for child in children]
    assert all(status == 0 for _, status in outcomes), outcomes
    assert len({out for (out, _), _ in outcomes}) == 1 and len(sb.sessions()) == 1


def test_full_is_7_and_says_why(sb, ceilings):
    path = ceilings("sessions: 1")
    sb.create()
    error = sb.fails_json(7, "create", "--image", BASE)
    assert error["code"] == "no_capacity" and error["retryable"] and f"{path}:1" in error["message"] and "--wait" in error["hint"]
    started = time.monotonic()
    sb.fails(7, "create", "--image", BASE, "--wait", "1s")
    assert 0.9 < time.monotonic() - started < 20 and waiting(sb) == 0 and len(sb.sessions()) == 1


def test_per_owner(sb, ceilings):
    ceilings("sessionsPerOwner: 1")
    sb.create()
    assert "sessionsPerOwner" in sb.fails(7, "create", "--image", BASE).errors
    sb.create(env={"SANDBOX_OWNER": sb.owner + "-other"})


def test_a_waiter_gets_the_place_that_comes_free(sb, ceilings):
    ceilings("sessions: 1")
    first = sb.create()
    waiter = sb.start("create", "--image", BASE, "--wait", "60s")
    wait_until(lambda: waiting(sb) == 1)
    sb.destroy(first)
    out, err = waiter.communicate(timeout=60)
    assert waiter.returncode == 0, err
    assert [row["id"] for row in sb.sessions()] == [out.decode().strip()]


def test_a_session_that_ended_by_itself_gives_its_place_back(sb, engine, ceilings):
    ceilings("sessions: 1")
    first = sb.create()
    engine.kill(engine.session(first)["Id"])
    wait_until(lambda: not engine.containers({"sandbox.session": first}))
    second = sb.create()
    assert sb.run("exec", second, "true").status == 0
    sb.run("gc", "--grace", "0s")
    assert [row["id"] for row in sb.sessions()] == [second]


def test_a_waiter_that_dies_holds_no_place(sb, ceilings):
    ceilings("sessions: 1")
    first = sb.create()
    dead = sb.start("create", "--image", BASE, "--wait", "60s")
    wait_until(lambda: waiting(sb) == 1)
    stop(dead, signal.SIGKILL)
    sb.destroy(first)
    second = sb.create()
    assert [row["id"] for row in sb.sessions()] == [second]
    sb.run("gc", "--grace", "0s")
    assert waiting(sb) == 0


def test_a_taken_name_is_not_waited_for(sb, ceilings):
    ceilings("sessions: 1")
    first = sb.create("--name", "web")
    assert first in sb.fails(4, "create", "--image", BASE, "--name", "web", "--wait", "300s").errors
    assert waiting(sb) == 0


def test_reuse_takes_what_came_while_it_waited(sb, ceilings):
    """The place that comes free goes to the first one who waits, and the others want that very session."""
    ceilings("sessions: 1")
    first = sb.create()
    makers = []
    for number in range(3):
        makers.append(sb.start("create", "--image", BASE, "--name", "web", "--reuse", "--wait", "300s"))
        wait_until(lambda n=number: waiting(sb) == n + 1)
    sb.destroy(first)
    outcomes = [(*maker.communicate(timeout=60), maker.returncode) for maker in makers]
    (row,) = sb.sessions()
    assert [(out.decode().strip(), status) for out, _, status in outcomes] == [(row["id"], 0)] * 3, outcomes
    assert waiting(sb) == 0


def test_an_engine_that_fails_for_a_moment_ends_no_waiting(through, proxy):
    config = through.state_dir.parent / "config/sandbox/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("ceilings: {sessions: 1}\n")
    first = through.create()
    proxy.rule(Fail(500), method="GET", path="^/containers/json")
    proxy.calls.clear()
    waiter = through.start("create", "--image", BASE, "--wait", "300s")
    wait_until(lambda: any(target.startswith("/containers/json") for _, target in proxy.calls))
    proxy.reset()
    through.destroy(first)
    _, err = waiter.communicate(timeout=60)
    assert waiter.returncode == 0, err


def test_interrupted_waiting_leaves_nothing(sb, engine, ceilings):
    ceilings("sessions: 1")
    first = sb.create()
    waiter = sb.start("create", "--image", BASE, "--name", "w", "--wait", "60s")
    wait_until(lambda: waiting(sb) == 1)
    waiter.send_signal(signal.SIGINT)
    out, err = waiter.communicate(timeout=60)
    assert waiter.returncode == 130 and out == b"" and b"interrupted" in err
    assert waiting(sb) == 0 and [row["id"] for row in sb.sessions()] == [first]
    sb.destroy(first)
    assert leftovers(engine, sb.instance) == []


def test_fair_between_owners(sb, ceilings):
    """One owner brings four waiters, then another one: it is served second, and not last."""
    ceilings("sessions: 1")
    first = sb.create()
    others = []
    for number in range(4):
        others.append(sb.start("create", "--image", BASE, "--wait", "300s"))
        wait_until(lambda n=number: waiting(sb) == n + 1)
    late = sb.start("create", "--image", BASE, "--wait", "300s", env={"SANDBOX_OWNER": sb.owner + "-late"})
    wait_until(lambda: waiting(sb) == 5)
    order = []
    sb.destroy(first)

    def running():
        failed = [process.communicate() for process in [*others, late] if process.poll() not in (None, 0)]
        assert not failed, failed
        return [row for row in sb.sessions("--all-owners") if row["state"] == "running"]
    for _ in range(5):
        row = wait_until(running, 60, "the next waiter's session")[0]
        order.append(row["owner"])
        sb.run("destroy", "--owner", row["owner"], row["id"])
    assert order == [sb.owner, sb.owner + "-late"] + [sb.owner] * 3
    assert all(process.wait(timeout=60) == 0 for process in [*others, late])


def test_never_more_than_the_ceiling_and_nobody_starves(sb, engine, ceilings):
    ceilings("sessions: 4, sessionsPerOwner: 2")
    sb.create()
    most, over = [0], threading.Event()

    def watch():
        while not over.is_set():
            there = engine.containers({"sandbox.instance": sb.instance, "sandbox.role": "session"})
            most[0] = max(most[0], len(there))
    watcher = threading.Thread(target=watch)
    watcher.start()
    lives = []

    def live(number):
        owner = {"SANDBOX_OWNER": f"{sb.owner}-{number % 3}"}
        made = sb.run("create", "--image", BASE, "--memory", "16MB", "--wait", "300s", timeout=320, env=owner, status=None)
        lives.append(made)
        if made.status == 0:
            sb.run("destroy", made.text.strip(), timeout=120, env=owner)
    threads = [threading.Thread(target=live, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    watcher.join()
    assert [made for made in lives if made.status != 0] == [] and len(lives) == 24
    assert 2 <= most[0] <= 4 and waiting(sb) == 0
