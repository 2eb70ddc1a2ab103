# SPDX-License-Identifier: Apache-2.0
"""Servers inside sessions, and forwards and previews that lead to them. The fixtures are imported by the test files that want them.

    from served import program, served
    with forwarding(sb, session, "0:8000") as (process, port): socket.create_connection(("127.0.0.1", port))
"""
import contextlib
import json
import pathlib
import signal
import subprocess

import pytest

from runner import stop

SOURCE = pathlib.Path(__file__).parent / "web_server.cpp"


def build_server(folder):
    program = pathlib.Path(folder) / "web_server"
    subprocess.run(["g++", "-std=c++20", "-static", "-pthread", "-O1", SOURCE, "-o", program], check=True)
    return program


def start_server(sb, session, program, address="127.0.0.1", port=8000):
    """Returns once it listens. It lives as long as the session."""
    if b"no" in sb.sh(session, "test -e web_server || echo no").out:
        sb.run("cp", program, f"{session}:web_server")
    sb.sh(session, f"./web_server {address} {port} >/dev/null 2>&1 &")
    sb.run("wait-port", "--timeout", "20s", session, str(port))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build_server(tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="module")
def served(shared, session, program):
    """The session with the server at an IPv4 and an IPv6 address (docker gives its containers no ::1), at ports of their own."""
    start_server(shared, session, program, "127.0.0.1", 8000)
    start_server(shared, session, program, "::", 8001)
    return session


@contextlib.contextmanager
def started(sb, *args, env=None):
    """A call with --json that says in one line when it is ready: the process, and that line. Ended by TERM if it still runs."""
    process = sb.start("--json", *args, env=env)
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield process, json.loads(line)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=30)
        finally:
            stop(process)


@contextlib.contextmanager
def forwarding(sb, session, *specs):
    with started(sb, "forward", session, *specs) as (process, ready):
        yield process, ready["forwards"][0]["hostPort"]
