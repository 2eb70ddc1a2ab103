# SPDX-License-Identifier: Apache-2.0
"""What functional and fake-engine tests share."""
import pytest

import runner

pytest_plugins = ["side_by_side"]


@pytest.fixture(scope="session", autouse=True)
def the_binary():
    """Fails once and clearly when there is nothing to test."""
    return runner.binary()
