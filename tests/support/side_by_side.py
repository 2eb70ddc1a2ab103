# SPDX-License-Identifier: Apache-2.0
"""Tests side by side (pytest -n 3 --dist loadgroup): who goes to which worker, and what the workers of a run have in common.

A test that needs nothing of its file may run in any worker. Those that use what one file makes once (`shared`, `session`, an engine)
stay together, apart by the channel of their session. `long` ones begin first, for the others to fit in behind them. One that is marked
`alone` has the machine to itself: it measures time, or keeps the engine from answering others for seconds.

    once("base", make)       # a fixture: made by the first that asks in any worker, the others wait for it
"""
import contextlib
import fcntl
import pathlib

import pytest


class Commons:
    """A directory that all workers of one run see. Its locks go with the process that holds them."""

    def __init__(self, directory):
        self._directory = pathlib.Path(directory)

    @contextlib.contextmanager
    def _locked(self, name, kind=fcntl.LOCK_EX):
        with open(self._directory / f"{name}.lock", "w") as file:
            fcntl.flock(file, kind)
            yield

    def once(self, name, make):
        with self._locked(name):
            made = self._directory / f"{name}.made"
            if not made.exists():
                make()
                made.touch()

    @contextlib.contextmanager
    def room(self, alone):
        """With others, or alone. Whoever waits for the others to leave keeps the door shut: nobody comes in meanwhile."""
        with contextlib.ExitStack() as stack:
            with self._locked("door"):
                stack.enter_context(self._locked("room", fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
            yield


def is_worker(config):
    return hasattr(config, "workerinput")


def commons_of_workers(config):
    """xdist gives each worker a directory below that of the run."""
    return Commons(pathlib.Path(config.getoption("basetemp")).parent)


@pytest.fixture(scope="session")
def once(request, tmp_path_factory):
    commons = commons_of_workers(request.config) if is_worker(request.config) else Commons(tmp_path_factory.getbasetemp())
    return commons.once


def is_marked(item, name):
    return item.get_closest_marker(name) is not None


def group_of(item):
    """The name of those that run in one worker, one after the other; None for a test that may run in any."""
    if is_marked(item, "alone"):
        return "alone"
    said = item.get_closest_marker("xdist_group")
    if said:
        return said.args[0]
    definitions = item._fixtureinfo.name2fixturedefs.values()
    if not any(found[-1].scope in ("class", "module", "package") for found in definitions):
        return None
    channel = item.callspec.params.get("session") if hasattr(item, "callspec") else None
    return f"{item.path.stem}-{channel}" if channel else item.path.stem


@pytest.hookimpl(tryfirst=True)  # before xdist, which adds the group to the name
def pytest_collection_modifyitems(config, items):
    if not is_worker(config):
        return
    groups = {item: group_of(item) for item in items}
    long_groups = {groups[item] for item in items if is_marked(item, "long")} - {None}

    def turn(item):
        if groups[item] == "alone":
            return 3
        if is_marked(item, "long") or groups[item] in long_groups:
            return 0
        return 1 if groups[item] else 2
    items.sort(key=turn)
    for item in items:
        if groups[item] and not is_marked(item, "xdist_group"):
            item.add_marker(pytest.mark.xdist_group(groups[item]))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    """The scheduler knows the groups by now; reports have names that can be pasted into a command line."""
    for item in session.items:
        group = item.get_closest_marker("xdist_group")
        if group:
            item._nodeid = item.nodeid.removesuffix(f"@{group.args[0]}")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Fixtures of a file included: what a test waits for here is no time of its own."""
    if not is_worker(item.config):
        yield
        return
    with commons_of_workers(item.config).room(is_marked(item, "alone")):
        yield
