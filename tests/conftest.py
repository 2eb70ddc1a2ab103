# SPDX-License-Identifier: Apache-2.0
"""What functional and fake-engine tests share: the binary under test, in a state directory of its own."""
import itertools
import os

import pytest

import runner

_numbers = itertools.count(1)


def new_owner():
    return f"t{os.getpid()}-{next(_numbers)}"


@pytest.fixture(scope="session", autouse=True)
def the_binary():
    runner.binary()
