# SPDX-License-Identifier: Apache-2.0
"""doctor before an engine that says odd things of itself."""
import time

import pytest

from fake_engine import FakeEngine


def stamp(ahead):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + ahead))


def doctor(sb, status=0, **kw):
    document = sb.run("--json", "doctor", "--quick", status=status, **kw).json()
    assert document["healthy"] is (status == 0)
    return {one["check"]: one for one in document["findings"]}


@pytest.mark.parametrize("ahead,status,words", [(0, "ok", "agrees"), (90, "warning", "ahead"), (-3600, "warning", "behind")])
def test_clocks(fake, sb, ahead, status, words):
    fake.info["SystemTime"] = stamp(ahead)
    found = doctor(sb)["engine_clock"]
    assert found["status"] == status and words in found["what"]


def test_an_engine_that_tells_no_time(fake, sb):
    assert doctor(sb)["engine_clock"]["status"] == "unknown"


@pytest.mark.parametrize("key,check,status", [("MemoryLimit", "limit_memory", "problem"), ("PidsLimit", "limit_pids", "problem"),
                                              ("CpuCfsQuota", "limit_cpus", "problem"), ("SwapLimit", "limit_swap", "warning")])
def test_limits_that_the_engine_has_not(fake, sb, key, check, status):
    fake.info[key] = False
    found = doctor(sb, status=1 if status == "problem" else 0)[check]
    assert found["status"] == status and found["fix"]


def test_limits_of_which_it_says_nothing(fake, sb):
    fake.info["MemoryLimit"] = None
    assert doctor(sb)["limit_memory"]["status"] == "unknown"


def test_a_rootless_engine_on_cgroup_v1(fake, sb):
    fake.info["SecurityOptions"] = ["name=seccomp,profile=default", "name=rootless"]
    found = doctor(sb, status=1)
    assert found["cgroup"]["status"] == "problem" and "no limit holds" in found["cgroup"]["what"]
    fake.info["CgroupVersion"] = "2"
    found = doctor(sb)
    assert found["cgroup"]["status"] == "ok" and "rootless" in found["engine_layers"]["what"]


@pytest.mark.parametrize("options", [[], ["name=seccomp,profile=unconfined"]])
def test_no_seccomp(fake, sb, options):
    fake.info["SecurityOptions"] = options
    assert doctor(sb, status=1)["engine_seccomp"]["status"] == "problem"


def test_what_it_warns_of(fake, sb):
    fake.info["Warnings"] = ["WARNING: \x1b[31mbridge-nf-call-iptables is disabled"]
    result = sb.run("doctor", "--quick")
    assert "bridge-nf-call-iptables" in result.text and "\x1b" not in result.text


def test_an_architecture_without_an_agent(fake, sb):
    fake.info["Architecture"] = "riscv64"
    assert "riscv64" in doctor(sb, status=1)["engine_version"]["what"]


def test_versions_that_do_not_meet(tmp_path, sb):
    with FakeEngine(tmp_path / "new.sock", api="9.99", min_api="9.0") as engine:
        found = doctor(sb, status=1, env={"SANDBOX_ENGINE": engine.url})
        assert "9.0" in found["engine_reachable"]["what"]


def test_an_engine_that_stops_half_way(fake, sb):
    fake.fail("GET /volumes", times=1000, reset=True)
    fake.fail("GET /containers/json", times=1000, status=500)
    found = doctor(sb)
    assert found["engine_reachable"]["status"] == "ok" and found["foreign_objects"]["status"] == "unknown"
    assert "could not be checked" in found["foreign_objects"]["what"]


def test_a_time_that_is_none(fake, sb):
    fake.info["SystemTime"] = "yesterday"
    assert doctor(sb)["engine_clock"]["status"] == "unknown"
