# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the binary (sanitized, in CI) against a scripted engine. No container runs and no agent answers here, so every
create gets as far as the agent's hand-shake and then rolls back: what is tested is what it does about the engine."""
import pytest

import runner
from fake_engine import FakeEngine

IMAGE = "fake/image:v1"


@pytest.fixture
def fake(tmp_path):
    with FakeEngine(tmp_path / "engine.sock") as engine:
        engine.model.add_image(IMAGE)
        yield engine


@pytest.fixture
def sb(fake, tmp_path):
    return runner.Sandbox(tmp_path / "state", runner.new_owner(), engine_url=fake.url)
