# SPDX-License-Identifier: Apache-2.0
"""TCP into a session that has no network, through its agent."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import threading

import pytest

from runner import still_runs, wait_until
from served import forwarding, program, served, start_server, started


def connect(port, address="127.0.0.1"):
    connection = socket.create_connection((address, port), timeout=60)
    return connection


def read_to_end(connection):
    parts = []
    while part := connection.recv(1 << 20):
        parts.append(part)
    return b"".join(parts)


def echo(port, payload):
    """Sends in one thread, reads in another, ends its own direction first."""
    with connect(port) as connection:
        def send():
            connection.sendall(payload)
            connection.shutdown(socket.SHUT_WR)
        sender = threading.Thread(target=send)
        sender.start()
        received = read_to_end(connection)
        sender.join()
    return received


def listening_sockets(pid):
    """ADDRESS:PORT of the listening sockets of a process, from the kernel's own table."""
    inodes = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it was closed since it was listed
            if match := re.match(r"socket:\[(\d+)\]", os.readlink(fd)):
                inodes.add(match[1])
    found = set()
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in inodes:
            address, port = fields[1].split(":")
            found.add(f"{socket.inet_ntoa(struct.pack('<I', int(address, 16)))}:{int(port, 16)}")
    return found


@pytest.mark.parametrize("port", [8000, 8001], ids=["127.0.0.1", "::"])
def test_bytes_and_ends_go_both_ways(shared, served, port):
    with forwarding(shared, served, f":{port}") as (_, here):
        assert echo(here, b"x small\n") == b"x small\n\n8"
        payload = b"x" + os.urandom(8 << 20)
        assert echo(here, payload) == payload + b"\n" + str(len(payload)).encode()


def test_two_hundred_connections_at_once(shared, served):
    with forwarding(shared, served, "0:8000") as (_, here):
        connections = [connect(here) for _ in range(200)]
        for number, one in enumerate(connections):
            one.sendall(f"n{number}".encode())
        for number, one in enumerate(connections):
            assert one.recv(64) == f"n{number}".encode()
            one.shutdown(socket.SHUT_WR)
        for number, one in enumerate(connections):
            assert read_to_end(one) == b"\n" + str(len(f"n{number}")).encode()
            one.close()


def test_one_that_does_not_read_stops_no_other(shared, served):
    with forwarding(shared, served, "0:8000") as (_, here):
        stuck = connect(here)
        stuck.settimeout(1)
        with pytest.raises(TimeoutError):
            while True:
                stuck.sendall(b"x" * 65536)
        payload = b"x" + os.urandom(1 << 20)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for received in pool.map(lambda _: echo(here, payload), range(8)):
                assert received == payload + b"\n" + str(len(payload)).encode()
        stuck.close()


def test_a_reset_comes_through(shared, served):
    with forwarding(shared, served, "0:8000") as (_, here):
        with connect(here) as connection:
            connection.sendall(b"GET /part HTTP/1.1\r\n\r\n")
            received = b""
            with pytest.raises(ConnectionResetError):
                while part := connection.recv(4096):
                    received += part
        assert received.endswith(b"part")


def test_memory_stays_small(shared, served):
    with forwarding(shared, served, "0:8000") as (process, here):
        payload = b"x" * (64 << 20)
        assert len(echo(here, payload)) > len(payload)
        peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1])
        assert peak < 16 << 10, f"{peak} KiB"


def test_where_it_listens(shared, served):
    with started(shared, "forward", served, ":8000", "127.0.0.2:0:8001") as (process, ready):
        first, second = ready["forwards"]
        assert (first["address"], first["port"]) == ("127.0.0.1", 8000) and (second["address"], second["port"]) == ("127.0.0.2", 8001)
        assert listening_sockets(process.pid) == {f"127.0.0.1:{first['hostPort']}", f"127.0.0.2:{second['hostPort']}"}
        assert connect(second["hostPort"], "127.0.0.2")


def test_what_is_said_and_how_it_ends(shared, served):
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        process = shared.start("forward", served, ":8000")
        line = process.stderr.readline().decode()
        port = int(re.fullmatch(rf"sandbox: 127\.0\.0\.1:(\d+) -> {served}:8000\n", line)[1])
        assert echo(port, b"x") == b"x\n1"
        process.send_signal(number)
        assert process.wait(timeout=30) == status
        assert process.stdout.read() == b"" and process.stderr.read() == b""  # it was to be ended so
    wait_until(lambda: shared.json("inspect", served)["operations"] == 0)
    process = shared.start("--json", "forward", served, ":8000")
    assert json.loads(process.stdout.readline())["forwards"][0]["port"] == 8000
    process.terminate()
    assert (process.wait(timeout=30), process.stdout.read()) == (143, b"")


def test_a_port_that_is_taken(shared, served):
    with forwarding(shared, served, ":8000") as (_, here):
        error = shared.fails_json(4, "forward", served, f"{here}:8000")
        assert error["code"] == "busy" and f"127.0.0.1:{here}" in error["message"] and "0:8000" in error["hint"]
        # The same port of both, which is written as one number.
        error = shared.fails_json(4, "forward", served, str(here))
        assert f"0:{here}" in error["hint"]
    # What ended leaves the port free at once.
    with forwarding(shared, served, f"{here}:8000") as (_, again):
        assert again == here


def test_nothing_listens_inside(shared, served):
    with started(shared, "forward", served, "0:9") as (process, ready):
        here = ready["forwards"][0]["hostPort"]
        for _ in range(3):
            with contextlib.suppress(ConnectionResetError), connect(here) as connection:
                assert connection.recv(1) == b""
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    told = [line for line in errors.decode().splitlines() if "nothing listens" in line]
    assert len(told) == 1 and "sandbox wait-port" in told[0], errors


def test_an_open_forward_is_activity(sb):
    session = sb.create("--idle-timeout", "1s")
    process = sb.start("--json", "forward", session, "0:8000")
    assert process.stdout.readline()
    still_runs(process)
    still_runs(process)
    assert sb.json("inspect", session)["idleLeftMs"] is None and sb.state_of(session) == "running"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 143


@pytest.mark.parametrize("channel", ["socket", "bridge"])
def test_the_end_of_the_session_ends_it(sb, channel):
    expiring = sb.create("--channel", channel, "--ttl", "10s")
    process = sb.start("--json", "forward", expiring, "0:8000")
    assert process.stdout.readline()
    assert process.wait(timeout=60) == 3
    assert "expired" in process.stderr.read().decode()
    destroyed = sb.create("--channel", channel)
    process = sb.start("--json", "forward", destroyed, "0:8000")
    assert process.stdout.readline()
    sb.destroy(destroyed)
    assert process.wait(timeout=60) == 3
    errors = process.stderr.read().decode()
    assert "destroyed" in errors or "gone" in errors, errors


def test_a_killed_forward_leaves_no_worker(shared, served):
    process = shared.start("--json", "forward", served, "0:8000")
    assert process.stdout.readline()
    process.kill()
    process.wait(timeout=30)
    wait_until(lambda: shared.json("inspect", served)["operations"] == 0)


def test_wrong_words(shared, served):
    for spec in ("http", "0", "1:2:3", "65536", "8080:", "8080:0", "[::1]:80", "127.0.0.1:80", "1.2.3:80:80", "host:80:80", "::1:80:80", "08:80", "-1:80"):
        shared.fails(2, "forward", served, "--", spec)
    shared.fails(2, "forward", served)
    shared.fails(2, "forward", served, "192.0.2.1:0:80")
    shared.fails(3, "forward", "nosuch", "80")
    shared.fails(3, "--owner", "somebody-else", "forward", served, "80")


def test_a_signal_ends_it_though_the_session_takes_nothing(sb, program):
    """The container is frozen, and more is on its way than all buffers hold."""
    session = sb.create()
    start_server(sb, session, program)
    with forwarding(sb, session, "0:8000") as (process, port):
        connections = [connect(port) for _ in range(12)]
        sb.run("pause", session)
        for connection in connections:
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    connection.send(b"x" * 65536)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 143
    sb.run("resume", session)


def test_a_killed_forward_is_no_end_of_an_answer(shared, served):
    """An answer without a length ends with its connection: a cut one must not look like that."""
    with forwarding(shared, served, "0:8000") as (process, port):
        with connect(port) as connection:
            connection.sendall(b"half")
            assert connection.recv(4) == b"half"
            process.kill()
            process.wait()
            with pytest.raises(ConnectionResetError):
                while connection.recv(4096):
                    pass


def test_few_open_files_make_connections_wait_and_end_nothing(shared, served):
    argv = ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh", *shared.argv("--json", "forward", served, "0:8000")]
    process = subprocess.Popen(argv, env=shared.environ(), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        port = json.loads(process.stdout.readline())["forwards"][0]["hostPort"]
        connections = [connect(port) for _ in range(30)]
        for connection in connections:
            connection.sendall(b"hello")
        for connection in connections:  # each ends before the last ones have had their turn
            assert connection.recv(5) == b"hello"
            connection.close()
        assert process.poll() is None
    finally:
        process.terminate()
        assert process.wait(timeout=20) == 143
