# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random instants of every verb that changes something; then one gc; then nothing is left."""
import concurrent.futures
import os
import random
import signal
import subprocess
import time

import pytest

from fault_proxy import Withhold
from runner import BASE, leftovers, state_leftovers, stop

ROUNDS = int(os.environ.get("SANDBOX_KILL9_ROUNDS", "200"))


class Campaign:
    def __init__(self, sb, tmp_path, seed):
        self._sb, self._random = sb, random.Random(seed)
        self._file, self._out = tmp_path / "payload", tmp_path / f"out-{seed}"
        self._out.mkdir()

    def kill(self, *args, within):
        """Runs a verb and kills it after a random time; returns what it printed."""
        child = self._sb.start(*args)
        try:
            out, _ = child.communicate(timeout=self._random.uniform(0, within))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            out, _ = child.communicate(timeout=60)
        return out.decode()

    def whole(self, *args):
        return self._sb.run(*args, status=None, timeout=60)

    def round(self):
        """One random verb of a session's life dies; everything before it ran to its end."""
        victim = self._random.choice(["create", "create", "exec", "cp-in", "cp-out", "destroy", "destroy", "gc", "workspace", "run", "with"])
        if victim == "create":
            self.kill("create", "--image", BASE, within=0.5)
            return victim
        if victim in ("run", "with"):
            self.kill(victim, "--image", BASE, "--export", f"f={self._out}/f", "--", "sh", "-c", "echo x >f; sleep 0.2", within=0.8)
            return victim
        if victim == "workspace":
            self.kill("create", "--image", BASE, "--set", "workspace={mode: persistent, id: w" + str(self._random.randrange(3))
                      + ", destroyOnSessionDestroy: true}", within=0.5)
            return victim
        if victim == "gc":
            self.whole("create", "--image", BASE, "--ttl", "1s")
            time.sleep(0.3)
            self.kill("gc", within=0.3)
            return victim
        session = self.whole("create", "--image", BASE).text.strip()
        if not session:
            return victim + " (create failed)"
        if victim == "exec":
            self.kill("exec", session, "sh", "-c", "setsid sleep 300 & sleep 300", within=0.1)
        elif victim == "cp-in":
            self.kill("cp", self._file, f"{session}:big", within=0.05)
        elif victim == "cp-out":
            self.whole("cp", self._file, f"{session}:big")
            self.kill("cp", f"{session}:big", self._out / session, within=0.05)
            content = (self._out / session).stat().st_size if (self._out / session).exists() else 0
            assert content in (0, self._file.stat().st_size), "half a file was published"
        if victim == "destroy":
            self.kill("destroy", session, within=0.3)
        else:
            self.whole("destroy", session)
        return victim


@pytest.mark.long
def test_campaign(sb, engine, tmp_path):
    (tmp_path / "payload").write_bytes(os.urandom(8 << 20))
    seed = int(os.environ.get("SANDBOX_KILL9_SEED", str(random.randrange(1 << 30))))
    print(f"seed {seed}")
    campaigns = [Campaign(sb, tmp_path, seed + n) for n in range(2)]

    def run(campaign):
        return [campaign.round() for _ in range(ROUNDS // 2)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        verbs = sum(pool.map(run, campaigns), [])
    assert len(verbs) >= ROUNDS // 2 * 2
    assert sum("create failed" in verb for verb in verbs) < 5, verbs
    # Sessions whose create was killed after it was done live on: they are whole, so they are ended as a user would.
    sb.run("destroy", "--all", status=None, timeout=300)
    time.sleep(1)
    collected = sb.run("gc", "--grace", "0s", "--workspaces", "--older-than", "0s", timeout=300)
    assert leftovers(engine, sb.instance) == [], collected
    assert sb.sessions() == [] and state_leftovers(sb) == [], collected


def test_one_gc_alone_is_enough(sb, engine):
    """The same without any destroy: half-made sessions and those past their TTL go with a single gc."""
    randomly = random.Random(7)
    for _ in range(30):
        child = sb.start("create", "--image", BASE, "--ttl", "5s")
        time.sleep(randomly.uniform(0, 0.4))
        stop(child)
    time.sleep(6)
    sb.run("gc", "--grace", "0s", timeout=120)
    assert leftovers(engine, sb.instance) == [] and sb.sessions() == [] and state_leftovers(sb) == []


@pytest.fixture(params=["/volumes/create", "/containers/create", "/containers/[^/]+/start"])
def half_made(request, through, proxy):
    """A sandbox whose first create of the workspace `w` was killed right after this call had its effect."""
    through.destroy(through.create())  # the agent's volume is there
    call = Withhold()
    proxy.rule(call, method="POST", path=request.param)
    child = through.start("create", "--image", BASE, "--workspace", "w")
    assert call.done.wait(30), request.param
    stop(child)
    proxy.reset()
    assert [row["id"] for row in through.json("workspace", "ls")["workspaces"]] == ["w"]
    return through


def test_a_half_made_workspace_goes_with_one_gc(half_made, engine):
    (session,) = [row["id"] for row in half_made.sessions()]
    items = half_made.json("gc")["items"]
    assert [(item["action"], item["why"], item["id"], item["done"]) for item in items] == [
        ("end_session", "half_made", session, True), ("remove_workspace", "half_made", "w", True)]
    assert half_made.json("workspace", "ls")["workspaces"] == []
    assert leftovers(engine, half_made.instance) == [] and half_made.sessions() == [] and state_leftovers(half_made) == []


def test_a_half_made_workspace_whose_session_was_destroyed(half_made, engine):
    half_made.destroy("--all")
    half_made.run("gc")
    assert half_made.json("workspace", "ls")["workspaces"] == [] and leftovers(engine, half_made.instance) == []


def test_a_half_made_workspace_that_somebody_was_given_since_is_data(half_made):
    session = half_made.create("--workspace", "w")
    half_made.sh(session, "echo kept >f")
    half_made.run("gc")
    half_made.destroy(session)
    half_made.run("gc")
    assert half_made.run("exec", half_made.create("--workspace", "w"), "cat", "f").text == "kept\n"
