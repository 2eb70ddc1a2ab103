# SPDX-License-Identifier: Apache-2.0
"""The benchmarks run; what they find is nobody's pass or fail."""
import os
import re
import subprocess

import pytest

import runner
from runner import ROOT


@pytest.mark.alone
def test_start_up():
    done = subprocess.run(["/usr/bin/python3", "-B", ROOT / "benchmarks/run", "--quick", "--start-up"], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "SANDBOX_BIN": runner.binary(), "DOCKER_HOST": "unix:///nonexistent.sock"})
    assert done.returncode == 0 and done.stderr == "", done
    row = re.search(r"^version vs an empty program +(\S+) ms +(\S+) ms +(\S+) +\+2\.0 ms +\S+ MiB +(ok|over) \(([+-]\S+) ms\)$", done.stdout, re.MULTILINE)
    ours, least, ratio, verdict, more = row.groups()
    assert float(ours) > float(least) > 0 and abs(float(ours) / float(least) - float(ratio)) < 0.2
    assert abs(float(ours) - float(least) - float(more)) < 0.03 and (verdict == "ok") == (float(more) <= 2)
