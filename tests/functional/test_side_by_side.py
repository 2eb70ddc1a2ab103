# SPDX-License-Identifier: Apache-2.0
"""How tests run side by side: a small suite of its own, run as scripts/test runs this one."""
import os
import re
import subprocess

import pytest

from runner import ROOT

# Each test writes down its name, its worker, and when it began and ended.
SUITE = """
import os, time
import pytest

@pytest.fixture(scope="module")
def shared():
    return []

@pytest.fixture(scope="module", params=["socket", "bridge"])
def session(request):
    return request.param

@pytest.fixture(autouse=True)
def written(request):
    began = time.monotonic()
    yield
    with open("written", "a") as file:
        file.write(f"{request.node.nodeid} {os.getpid()} {began} {time.monotonic()}\\n")

@pytest.mark.parametrize("n", range(6))
def test_of_a_file(shared, n):
    time.sleep(0.02)

@pytest.mark.parametrize("n", range(3))
def test_of_a_session(session, n):
    time.sleep(0.02)

@pytest.mark.parametrize("n", range(12))
def test_anywhere(once, n):
    once("thing", lambda: open("made", "a").write("x"))
    time.sleep(0.05 if n < 11 else 1)

@pytest.mark.alone
@pytest.mark.parametrize("n", range(3))
def test_measuring(n):
    time.sleep(0.05)

@pytest.mark.long
def test_last_in_the_file():
    pass
"""
CRASHING = "import os\n\ndef test_crash():\n    os.kill(os.getpid(), 9)\n\ndef test_other():\n    pass\n"


def run(folder, name, text, *args):
    """The suite in three workers; the log, and what the tally makes of it."""
    (folder / name).write_text(text)
    (folder / "conftest.py").write_text('pytest_plugins = ["side_by_side"]\n')
    (folder / "pytest.ini").write_text((ROOT / "tests/pytest.ini").read_text().replace("= support fake", f"= {ROOT}/tests/support"))
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(["/usr/bin/python3", "-B", "-m", "pytest", "-q", "-n", "3", "--dist", "loadgroup", "--max-worker-restart", "0", "--junitxml", "results.xml",
                           *args, name], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    tally = subprocess.run(["/usr/bin/python3", ROOT / "scripts/tally", "pytest", folder / "results.xml"], capture_output=True, text=True, check=True)
    return done, tally.stdout.split()


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """name -> (worker, begin, end) of the whole suite."""
    folder = tmp_path_factory.mktemp("suite")
    done, tally = run(folder, "test_suite.py", SUITE)
    assert done.returncode == 0 and tally == ["28", "0"], done
    assert (folder / "made").read_text() == "x"
    rows = [line.split() for line in (folder / "written").read_text().splitlines()]
    return {name.split("::")[1]: (worker, float(began), float(ended)) for name, worker, began, ended in rows}


def workers(lines, name):
    return {worker for test, (worker, _, _) in lines.items() if re.match(name, test)}


def test_what_shares_a_fixture_of_its_file_stays_together(lines):
    assert len(workers(lines, "test_of_a_file")) == 1
    assert len(workers(lines, r"test_of_a_session\[socket")) == len(workers(lines, r"test_of_a_session\[bridge")) == 1
    assert len(workers(lines, "test_anywhere")) > 1


def test_nothing_runs_beside_what_is_alone(lines):
    alone = {name: line for name, line in lines.items() if name.startswith("test_measuring")}
    for name, (_, began, ended) in alone.items():
        assert not [other for other, (_, start, end) in lines.items() if other != name and start < ended and began < end], name


def test_long_ones_begin_first(lines):
    begins = sorted(lines, key=lambda name: lines[name][1])
    assert begins.index("test_last_in_the_file") < 3


def test_a_report_has_a_name_that_can_be_run_again(tmp_path):
    done, tally = run(tmp_path, "test_red.py", "import pytest\n\n@pytest.mark.alone\ndef test_red():\n    assert 0\n")
    assert done.returncode == 1 and tally == ["0", "1"] and re.search(r"^FAILED test_red\.py::test_red - ", done.stdout, re.MULTILINE), done


def test_a_worker_that_crashes_is_a_failure(tmp_path):
    done, tally = run(tmp_path, "test_crash.py", CRASHING)
    assert done.returncode != 0 and int(tally[1]) >= 1 and "crashed" in done.stdout, done
