# SPDX-License-Identifier: Apache-2.0
"""A real engine whose answers break on the way: the n-th call fails, an answer is lost, a stream is cut or dribbles."""
import pytest

from fault_proxy import Answer, Cut, Delay, Dribble, Drop, Edit, Fail, LoseAnswer
from runner import BASE, is_gone, leftovers, state_leftovers


def count_calls(proxy, sb, *args):
    """How many calls a verb makes when nothing fails (the agent's volume is there already)."""
    proxy.reset()
    result = sb.run(*args)
    return len(proxy.calls), result


def test_create_whose_nth_call_fails(proxy, through, engine):
    """F2: whatever step fails, nothing is left and the name is free."""
    through.destroy(through.create())
    total, result = count_calls(proxy, through, "create", "--image", BASE, "--name", "probe")
    through.destroy(result.text.strip())
    for number in range(1, total + 1):
        proxy.reset()
        proxy.rule(Fail(500), nth=number)
        failed = through.run("create", "--image", BASE, "--name", "web", status=None)
        call = proxy.calls[number - 1] if len(proxy.calls) >= number else None
        proxy.reset()
        if failed.status == 0:  # a call that create can do without, or tries again
            through.destroy("web")
            continue
        assert failed.status in (1, 5) and failed.errors.startswith("sandbox: error: "), (call, failed)
        assert is_gone(engine, {"sandbox.owner": through.owner}), (call, failed, leftovers(engine, through.instance))
        assert through.sessions() == [] and state_leftovers(through) == [], (call, failed)


@pytest.mark.parametrize("fault", [LoseAnswer(), Drop()], ids=["answer lost", "dropped"])
def test_create_whose_answer_is_lost(proxy, through, engine, fault):
    """Law 1: what the engine did and we never heard of is found by its labels and its row."""
    through.destroy(through.create())
    total, result = count_calls(proxy, through, "create", "--image", BASE)
    through.destroy(result.text.strip())
    for number in range(1, total + 1):
        proxy.reset()
        proxy.rule(fault, nth=number)
        through.run("create", "--image", BASE, status=None)
        proxy.reset()
    through.run("destroy", "--all", status=None)
    through.run("gc", "--grace", "0s")
    assert leftovers(engine, through.instance) == [] and through.sessions() == [] and state_leftovers(through) == []


def test_destroy_whose_nth_call_fails(proxy, through, engine):
    """Law 10: 0 only when everything is gone; the next one finishes."""
    session = through.create()
    total, _ = count_calls(proxy, through, "destroy", session)
    for number in range(1, total + 1):
        proxy.reset()
        session = through.create()
        proxy.reset()
        proxy.rule(Fail(500), nth=number)
        result = through.run("destroy", session, status=None)
        proxy.reset()
        if result.status == 0:
            assert is_gone(engine, {"sandbox.session": session}), (number, result)
        else:
            assert result.errors.startswith("sandbox: error: "), result
            through.destroy(session)
            assert is_gone(engine, {"sandbox.session": session})


def test_every_answer_comes_byte_by_byte(proxy, through):
    """Split reads, everywhere."""
    proxy.rule(Dribble(1))
    session = through.create("--channel", "bridge")
    assert through.sh(session, "echo out; echo err >&2; exit 3", status=3).out == b"out\n"
    assert through.state_of(session) == "running"
    through.destroy(session)


@pytest.mark.parametrize("size", [2, 3, 7, 13])
def test_frames_come_in_odd_pieces(proxy, through, size):
    """B7: headers of eight bytes cut anywhere."""
    session = through.create("--channel", "bridge")
    proxy.rule(Dribble(size), path="/exec/")
    data = bytes(range(256)) * 40
    assert through.run("exec", "-i", session, "cat", input=data).out == data


def test_upgrade_answered_by_200(proxy, through):
    """B6: Podman and some proxies say 200 where Docker says 101."""
    proxy.rule(Edit(lambda data: data.replace(b"HTTP/1.1 101 UPGRADED", b"HTTP/1.1 200 OK")), path="/exec/.*/start")
    session = through.create("--channel", "bridge")
    assert through.run("exec", session, "echo", "ok").text == "ok\n"


def test_cut_exec_stream_is_never_success(proxy, through):
    """Law 8."""
    session = through.create("--channel", "bridge")
    for count in (0, 50, 150, 250, 1000, 5000):
        proxy.reset()
        proxy.rule(Cut(count), path="/exec/.*/start")
        result = through.run("exec", session, "--", "sh", "-c", "head -c 100000 /dev/zero", status=None)
        assert result.status == 125 and result.errors.startswith("sandbox: error: "), (count, result)


def test_pull_that_fails_inside_a_200(proxy, through, engine):
    """J3: the error comes in the stream, its JSON in two pieces."""
    proxy.rule(Answer(b'{"status":"Pulling from x"}\r\n{"errorDetail":{"mess', b'age":"manifest unknown here"},"error":"manifest unknown here"}\r\n'),
               method="POST", path="/images/create")
    result = through.fails(1, "create", "--image", "nosuch/image:v1")
    assert "manifest unknown here" in result.errors
    assert is_gone(engine, {"sandbox.owner": through.owner})


def test_pull_that_is_cut(proxy, through):
    proxy.rule(Answer(b'{"status":"Pulling from x"}\r\n{"status":"Downloa'), method="POST", path="/images/create")
    through.fails(1, "create", "--image", "nosuch/image:v1")


def test_another_engine_answers(proxy, through, engine):
    """Law 3: /info's ID is another one: unreachable, never "all lost"."""
    session = through.create("--name", "web")
    real = engine.identity
    proxy.rule(Edit(lambda data: data.replace(real, b"X" * len(real))), path="/info")
    proxy.rule(Fail(404, "No such container"), path="/containers/[^/]+/json")
    proxy.rule(Answer(b"[]"), path="/containers/json")
    through.fails(5, "destroy", session)
    through.run("gc", "--grace", "0s", status=None)
    assert session in [row["id"] for row in through.sessions()]
    assert through.sessions()[0]["state"] != "lost"
    proxy.reset()
    assert through.run("exec", "web", "echo", "alive").text == "alive\n"


@pytest.mark.long
def test_engine_errors_are_not_absence(proxy, through, engine):
    """A 500 about a container says nothing about whether it is there."""
    session = through.create()
    proxy.rule(Fail(500), path="/containers/")
    result = through.run("destroy", session, status=None)
    assert result.status in (1, 5)
    through.run("gc", "--grace", "0s", status=None)
    proxy.reset()
    assert engine.session(session)["State"]["Running"] and session in [row["id"] for row in through.sessions()]
    through.destroy(session)
    assert is_gone(engine, {"sandbox.session": session})


def test_conflict_while_removing_is_waited_out(proxy, through, engine):
    """F5: "removal in progress" and "volume in use" are tried again."""
    session = through.create()
    proxy.rule(Fail(409, "removal of container is already in progress"), method="DELETE", path="/containers/", times=2)
    proxy.rule(Fail(409, "volume is in use"), method="DELETE", path="/volumes/", times=2)
    through.destroy(session)
    assert is_gone(engine, {"sandbox.session": session})


def test_slow_engine_is_no_error(proxy, through):
    proxy.rule(Delay(0.3))
    session = through.create(timeout=60)
    through.destroy(session)


def test_api_version_is_negotiated(proxy, through):
    """J1: today's engines refuse what is old, and say so at /_ping."""
    def today(data):
        return data.replace(b"Api-Version: 1.41", b"Api-Version: 1.52")
    proxy.rule(Edit(today), path="/_ping")
    session = through.create()
    through.destroy(session)


def test_api_version_too_old(proxy, through):
    proxy.rule(Edit(lambda data: data.replace(b"Api-Version: 1.41", b"Api-Version: 1.18")), path="/_ping")
    proxy.rule(Edit(lambda data: data.replace(b'"ApiVersion":"1.41"', b'"ApiVersion":"1.18"')), path="/version")
    result = through.fails(1, "create", "--image", BASE)
    assert "1.18" in result.errors
