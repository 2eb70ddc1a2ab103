# SPDX-License-Identifier: Apache-2.0
"""Engines behind TCP and TLS: a whole life through each, and every way in which TLS refuses, told apart."""
import os
import re
import socket
import subprocess

import pytest

import runner
from certificates import Authority
from private_engine import PrivateEngine

# What `docker` reads, away: each test says what there is.
NO_DOCKER = {name: None for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "ca")


@pytest.fixture(scope="module")
def client(authority):
    return authority.directory("client")


@pytest.fixture(scope="module")
def tls_engine(authority):
    server = authority.directory("server", "subjectAltName=IP:127.0.0.1,DNS:engine.example", usage="serverAuth")
    with PrivateEngine(tcp=True, certificates=server) as engine:
        yield engine


@pytest.fixture(scope="module")
def tcp_engine():
    with PrivateEngine(tcp=True) as engine:
        yield engine


@pytest.fixture(scope="module", params=["tcp", "tls"])
def remote(request, client, tmp_path_factory):
    """(a sandbox on that engine, the engine)"""
    engine = request.getfixturevalue(f"{request.param}_engine")
    env = {**NO_DOCKER, "DOCKER_HOST": f"tcp://127.0.0.1:{engine.port}"}
    if request.param == "tls":
        env.update(DOCKER_TLS_VERIFY="1", DOCKER_CERT_PATH=str(client))
    sandbox = runner.Sandbox(tmp_path_factory.mktemp("sb") / "state", runner.new_owner(), env=env)
    sandbox.run("image", "bootstrap", "--tag", runner.BASE, timeout=120)
    yield sandbox, engine
    runner.close(sandbox, engine.api)


@pytest.fixture(scope="module")
def remote_session(remote):
    sandbox, _ = remote
    session = sandbox.create("--name", "far")
    yield session
    sandbox.destroy(session)


@pytest.fixture
def tls_sb(tmp_path):
    return runner.Sandbox(tmp_path / "state", runner.new_owner(), env=NO_DOCKER)


def refusal(sandbox, url):
    """The one message and hint with which an engine at this address is refused, at every start of a verb that needs it."""
    error = sandbox.fails_json(5, "--engine", url, "create", "--image", runner.BASE)
    assert error["code"] == "engine_unreachable" and error["hint"], error
    return error


class TestLife:
    def test_exec_passes_streams_and_status(self, remote, remote_session):
        sandbox, _ = remote
        assert sandbox.run("exec", remote_session, "sh", "-c", "echo out; echo err >&2; exit 7", status=7).text == "out\n"
        assert sandbox.run("exec", "-i", remote_session, "wc", "-c", input=b"x" * 3_000_000).text.strip() == "3000000"

    def test_output_of_many_records(self, remote, remote_session):
        sandbox, _ = remote
        out = sandbox.run("exec", remote_session, "head", "-c", "20000000", "/dev/zero").out
        assert out == bytes(20_000_000)

    def test_a_time_out_ends_the_work(self, remote, remote_session):
        sandbox, _ = remote
        sandbox.run("exec", "--timeout", "500ms", remote_session, "sleep", "4321", status=124)
        assert not [p for p in sandbox.processes(remote_session) if "4321" in p]

    def test_copies_come_back_the_same(self, remote, remote_session, tmp_path):
        sandbox, _ = remote
        content = os.urandom(9_000_001)
        (tmp_path / "in").write_bytes(content)
        sandbox.run("cp", tmp_path / "in", f"{remote_session}:data")
        sandbox.run("cp", f"{remote_session}:data", tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == content

    def test_ps_and_inspect_know_where_it_is(self, remote, remote_session):
        sandbox, engine = remote
        assert [row["id"] for row in sandbox.sessions()] == [remote_session]
        found = sandbox.json("inspect", remote_session)
        assert found["state"] == "running"
        assert re.match(rf"t(cp|ls)://127\.0\.0\.1:{engine.port}", found["engine"]["endpoint"])

    def test_destroy_and_gc_leave_nothing(self, remote):
        sandbox, engine = remote
        session = sandbox.create("--name", "short")
        labels = {"sandbox.session": session}
        assert engine.api.containers(labels)
        sandbox.destroy("short")
        assert runner.is_gone(engine.api, labels)
        expired = sandbox.create("--ttl", "3s")
        runner.wait_until(lambda: not engine.api.containers({"sandbox.session": expired}), what="the end of a session")
        sandbox.run("gc", "--grace", "0s")
        assert expired not in [row["id"] for row in sandbox.sessions()]

    # A cron job has no DOCKER_CERT_PATH: the row itself says how its engine is reached.
    def test_a_row_needs_no_environment(self, remote, remote_session):
        sandbox, _ = remote
        assert sandbox.run("exec", remote_session, "echo", "hi", env=NO_DOCKER).text == "hi\n"


class TestRefusals:
    def test_an_unknown_authority(self, tls_sb, tls_engine, authority, tmp_path):
        stranger = Authority(tmp_path / "other", "another CA")
        certificates = authority.directory("deceived", trusted=stranger)
        error = refusal(tls_sb, f"tls://127.0.0.1:{tls_engine.port}?certificates={certificates}")
        assert f"not signed by an authority in {certificates}/ca.pem" in error["message"]

    def test_an_authority_of_the_same_name(self, tls_sb, tls_engine, authority, tmp_path):
        twin = Authority(tmp_path / "twin")
        certificates = authority.directory("twin", trusted=twin)
        error = refusal(tls_sb, f"tls://127.0.0.1:{tls_engine.port}?certificates={certificates}")
        assert "not signed by an authority" in error["message"]

    def test_another_name(self, tls_sb, tls_engine, client):
        error = refusal(tls_sb, f"tls://localhost:{tls_engine.port}?certificates={client}")
        assert "its certificate is for 127.0.0.1, engine.example, not for localhost" in error["message"]

    def test_an_expired_engine(self, tls_sb, authority, client):
        old = authority.directory("old-server", "subjectAltName=IP:127.0.0.1", usage="serverAuth",
                                  dates="20200101000000Z 20200102000000Z")
        with PrivateEngine(tcp=True, certificates=old) as engine:
            error = refusal(tls_sb, f"tls://127.0.0.1:{engine.port}?certificates={client}")
        assert "has expired" in error["message"] and "clock" in error["hint"]

    # TLS 1.3 tells it only after the handshake, beside the engine's closing of the connection.
    @pytest.mark.parametrize("kind", ["none", "foreign", "expired"])
    def test_our_certificate(self, tls_sb, tls_engine, authority, tmp_path, kind):
        if kind == "foreign":
            certificates = Authority(tmp_path / "other", "another CA").directory("foreign", trusted=authority)
        else:
            certificates = authority.directory(f"client-{kind}", dates="20200101000000Z 20200102000000Z")
        if kind == "none":
            (certificates / "cert.pem").unlink()
            (certificates / "key.pem").unlink()
        for _ in range(10):
            error = refusal(tls_sb, f"tls://127.0.0.1:{tls_engine.port}?certificates={certificates}")
            assert "it refuses our certificate" in error["message"]

    def test_tls_to_a_port_in_the_clear(self, tls_sb, tcp_engine, client):
        error = refusal(tls_sb, f"tls://127.0.0.1:{tcp_engine.port}?certificates={client}")
        assert "does not speak TLS" in error["message"]

    def test_the_clear_to_a_tls_port(self, tls_sb, tls_engine):
        error = refusal(tls_sb, f"tcp://127.0.0.1:{tls_engine.port}")
        assert "DOCKER_TLS_VERIFY" in error["hint"]

    def test_a_silent_port(self, tls_sb, client):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            error = refusal(tls_sb, f"tls://127.0.0.1:{listener.getsockname()[1]}?certificates={client}")
        assert "no TLS handshake within 3s" in error["message"]

    @pytest.mark.parametrize("broken", ["ca.pem", "cert.pem", "key.pem"])
    def test_files_that_do_not_hold(self, tls_sb, authority, broken):
        certificates = authority.directory(f"broken-{broken}")
        (certificates / broken).write_text("no PEM\n")
        error = tls_sb.fails_json(2, "--engine", f"tls://127.0.0.1:1?certificates={certificates}", "create", "--image", runner.BASE)
        assert f"{certificates}/{broken}" in error["message"]
        (certificates / broken).unlink()
        error = tls_sb.fails_json(2, "--engine", f"tls://127.0.0.1:1?certificates={certificates}", "create", "--image", runner.BASE)
        assert f"{certificates}/{broken}" in error["message"]

    # A pass phrase would be asked for on the terminal of the command.
    def test_a_key_with_a_pass_phrase(self, tls_sb, authority):
        certificates = authority.directory("locked")
        subprocess.run(["openssl", "ec", "-in", certificates / "key.pem", "-aes128", "-passout", "pass:secret", "-out",
                        certificates / "locked.pem"], check=True, capture_output=True)
        (certificates / "locked.pem").rename(certificates / "key.pem")
        error = tls_sb.fails_json(2, "--engine", f"tls://127.0.0.1:1?certificates={certificates}", "create", "--image", runner.BASE)
        assert "key.pem" in error["message"]
