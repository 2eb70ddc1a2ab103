# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests against a real engine. A test that needs something absent fails; it does not skip."""
import os

import pytest

import images as shapes
import runner
from engine_api import Engine
from fault_proxy import FaultProxy
from podman_service import PodmanService
from private_engine import PrivateEngine
from side_by_side import is_worker


@pytest.fixture(scope="session")
def engine(request):
    """Docker's, at DOCKER_HOST; SANDBOX_TEST_ENGINE=podman takes a Podman with a storage of its own instead."""
    if os.environ.get("SANDBOX_TEST_ENGINE") == "podman":
        assert not is_worker(request.config), "each worker would have a Podman of its own: leave -n out"
        with PodmanService() as podman:
            os.environ["DOCKER_HOST"] = podman.url
            yield podman.api
        return
    api = Engine()
    assert api.answers(), f"no engine answers at {api.url}: run scripts/setup engine"
    yield api


@pytest.fixture(scope="session")
def base(engine, once, tmp_path_factory):
    """The base image, made by the binary itself and without a registry."""
    sb = runner.Sandbox(tmp_path_factory.mktemp("base") / "state", runner.new_owner())
    once("base", lambda: sb.run("image", "bootstrap", "--tag", runner.BASE, timeout=120))
    assert engine.image(runner.BASE), "image bootstrap made no image"
    return runner.BASE


@pytest.fixture(scope="session")
def image(engine, base, once):
    """image("uid-1000") -> its tag; built once, on first use."""
    def get(name):
        once(f"image-{name}", lambda: shapes.build(engine, name))
        return shapes.tag(name)
    return get


@pytest.fixture(scope="session")
def make_sandbox(engine, base, tmp_path_factory):
    def make(**kw):
        return runner.Sandbox(tmp_path_factory.mktemp("sb") / "state", kw.pop("owner", None) or runner.new_owner(), **kw)
    return make


@pytest.fixture
def sb(make_sandbox, engine):
    """A sandbox with an instance and owner of its own; what it leaves in the engine fails the test."""
    sandbox = make_sandbox()
    yield sandbox
    runner.close(sandbox, engine)


@pytest.fixture(scope="module")
def shared(make_sandbox, engine):
    """One sandbox for a whole file, for tests that leave nothing behind in it."""
    sandbox = make_sandbox()
    yield sandbox
    runner.close(sandbox, engine)


@pytest.fixture(scope="module", params=["socket", "bridge"])
def session(shared, request):
    """A session that the tests of one file share. Both channels to the agent run the same tests."""
    session = shared.create("--idle-timeout", "1h", "--channel", request.param)
    yield session
    shared.destroy(session)


@pytest.fixture(scope="module")
def private_engine():
    with PrivateEngine() as engine:
        yield engine


@pytest.fixture
def private_sb(private_engine, tmp_path):
    """A sandbox on the private engine, with the base image in it."""
    sandbox = runner.Sandbox(tmp_path / "state", runner.new_owner(), engine_url=private_engine.url)
    if not private_engine.api.image(runner.BASE):
        sandbox.run("image", "bootstrap", "--tag", runner.BASE, timeout=120)
    yield sandbox
    if not private_engine.api.answers():
        private_engine.start()
    runner.close(sandbox, private_engine.api)


@pytest.fixture
def proxy(engine, tmp_path):
    """A proxy in front of the engine that breaks calls on demand."""
    with FaultProxy(engine.path, tmp_path) as faults:
        yield faults


@pytest.fixture
def through(proxy, make_sandbox, engine):
    """A sandbox that reaches the engine through the proxy only."""
    sandbox = make_sandbox(engine_url=proxy.url)
    yield sandbox
    proxy.reset()
    runner.close(sandbox, engine)
