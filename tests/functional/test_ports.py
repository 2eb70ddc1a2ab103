# SPDX-License-Identifier: Apache-2.0
"""Who listens in a session, and waiting until somebody does."""
import signal

import pytest

from runner import still_runs, wait_until
from served import build_server

SERVE = "mkdir -p www; echo {text} >www/index.html; httpd -p {where} -h www"


def serve(sb, session, where, text="hello"):
    """Busybox's server, which goes into the background once it listens."""
    sb.sh(session, SERVE.format(where=where, text=text))


def ports(sb, session):
    return {view["port"]: view for view in sb.json("ports", session)["ports"]}


def stop_servers(sb, session):
    sb.sh(session, "killall httpd 2>/dev/null; while pidof httpd >/dev/null; do sleep 0.02; done")


@pytest.fixture
def clean(shared, session):
    yield session
    stop_servers(shared, session)


def test_who_listens_where(shared, clean):
    assert shared.json("ports", clean) == {"ports": []}
    quiet = shared.run("ports", clean)
    assert quiet.out == b"" and "nothing listens" in quiet.errors
    serve(shared, clean, "127.0.0.1:8000")
    serve(shared, clean, "[::]:8001")
    serve(shared, clean, "0.0.0.0:8002")
    found = ports(shared, clean)
    assert list(found) == [8000, 8001, 8002]
    assert [found[port]["listening"][0]["address"] for port in found] == ["127.0.0.1", "::", "0.0.0.0"]
    for view in found.values():
        listener, = view["listening"]
        assert listener["process"] == "httpd" and listener["pid"] > 1
        assert view["declared"] is False and view["hostPort"] is None
    lines = shared.run("ports", clean).lines()
    assert lines[0].split() == ["PORT", "LISTENING", "PROCESS", "PID", "PUBLISHED"]
    assert lines[1].split()[:3] == ["8000", "127.0.0.1", "httpd"] and len(lines) == 4


def test_declared_and_published_ports_are_told(sb):
    session = sb.create("--network", "bridge", "--publish", "8000", "--publish", "9000")
    serve(sb, session, "8000")
    found = ports(sb, session)
    assert list(found) == [8000, 9000]
    assert found[8000]["listening"] and not found[9000]["listening"]
    for port, view in found.items():
        assert view["declared"] and view["hostPort"] == int(sb.json("inspect", session)["ports"][str(port)])
    assert f"127.0.0.1:{found[8000]['hostPort']}" in sb.run("ports", session).text
    waited = sb.json("wait-port", session, "8000")["ports"]
    assert waited == [found[8000]]


def test_a_name_that_a_terminal_would_obey_is_shown_harmless(shared, clean, tmp_path):
    shared.run("cp", build_server(tmp_path), f"{clean}:server")
    shared.sh(clean, r"""name=$(printf 'e\033[31m'); mv server "$name"; "./$name" 0.0.0.0 7000 >/dev/null 2>&1 & echo $! >pid""")
    shared.run("wait-port", "--timeout", "20s", clean, "7000")
    listing = shared.run("ports", clean)
    assert b"\x1b" not in listing.out and r"e\x1b[31m" in listing.text, listing
    shared.sh(clean, "kill $(cat pid); while kill -0 $(cat pid) 2>/dev/null; do sleep 0.02; done")


def test_looking_is_no_activity(shared, clean):
    def idle_left():
        return shared.json("inspect", clean)["idleLeftMs"]
    shared.sh(clean, "true")
    before = wait_until(lambda: (left := idle_left()) is not None and left <= 3600_000 - 1000 and left)
    shared.run("ports", clean)
    assert idle_left() <= before


def test_wait_port_waits_until_somebody_listens(shared, clean):
    waiting = shared.start("wait-port", clean, "8000")
    still_runs(waiting)
    assert shared.json("inspect", clean)["operations"] == 1
    serve(shared, clean, "127.0.0.1:8000")
    assert waiting.wait(timeout=30) == 0
    assert waiting.stdout.read() == waiting.stderr.read() == b""
    done = shared.run("wait-port", clean, "8000")
    assert done.out == b"" == done.err


def test_a_time_out_tells_what_listens_instead(shared, clean):
    nothing = shared.fails(1, "wait-port", "--timeout", "100ms", clean, "8000")
    assert "nothing listens on port 8000" in nothing.errors and "no other port listens either" in nothing.errors
    serve(shared, clean, "127.0.0.1:3000")
    other = shared.fails(1, "wait-port", "--timeout", "100ms", clean, "8000")
    assert "listening: 3000 (httpd)" in other.errors
    error = shared.fails_json(1, "wait-port", "--timeout", "0", clean, "3000", "8000")
    assert error["code"] == "timed_out" and "8000" in error["message"] and "3000 (httpd)" in error["message"]
    several = shared.fails_json(1, "wait-port", "--timeout", "100ms", clean, "9000", "3000", "8000", "9000")
    assert "nothing listens on ports 8000, 9000 of" in several["message"] and "longer --timeout" in several["hint"]
    assert "longer --wait" in shared.fails_json(1, "preview", "--wait", "100ms", clean, "8000")["hint"]


def test_several_ports_are_all_waited_for(shared, clean):
    waiting = shared.start("--json", "wait-port", clean, "8001", "8000")
    serve(shared, clean, "127.0.0.1:8000")
    still_runs(waiting)
    serve(shared, clean, "127.0.0.1:8001")
    out, _ = waiting.communicate(timeout=30)
    assert waiting.returncode == 0 and b'"port":8000' in out and b'"port":8001' in out


def test_a_published_port_that_nobody_serves_is_waited_for(sb):
    """The engine's proxy takes connections at once; that is not the server."""
    session = sb.create("--network", "bridge", "--publish", "8000")
    sb.fails(1, "wait-port", "--timeout", "200ms", session, "8000")
    waiting = sb.start("wait-port", session, "8000")
    serve(sb, session, "8000")
    assert waiting.wait(timeout=30) == 0


def test_a_client_that_is_killed_leaves_nothing(shared, clean):
    waiting = shared.start("wait-port", clean, "8000")
    wait_until(lambda: shared.json("inspect", clean)["operations"] == 1)
    waiting.send_signal(signal.SIGKILL)
    waiting.wait(timeout=30)
    wait_until(lambda: shared.json("inspect", clean)["operations"] == 0)


def test_a_session_that_ends_meanwhile_is_told(sb):
    for channel in ("socket", "bridge"):
        session = sb.create("--channel", channel)
        waiting = sb.start("wait-port", session, "8000")
        wait_until(lambda: sb.json("inspect", session)["operations"] == 1)
        sb.destroy(session)
        assert waiting.wait(timeout=30) == 3, waiting.stderr.read()


def test_wrong_words(shared, clean):
    shared.fails(2, "wait-port", clean, "0")
    shared.fails(2, "wait-port", clean, "65536")
    shared.fails(2, "wait-port", clean, "http")
    shared.fails(2, "wait-port", "--timeout", "5", clean, "80")
    shared.fails(2, "wait-port", clean)
    shared.fails(3, "wait-port", "nosuch", "80")
    shared.fails(3, "ports", "nosuch")
    shared.fails(3, "--owner", "somebody-else", "ports", clean)
