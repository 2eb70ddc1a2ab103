# SPDX-License-Identifier: Apache-2.0
"""What users do with it: the README's script and the examples as they stand, and three of their days."""
import os
import pathlib
import re
import subprocess

import pytest

from runner import BASE, ROOT, leftovers, wait_until


def tools(sb):
    """An environment where `sandbox` is the binary under test."""
    return {**sb.environ(), "PATH": os.path.dirname(sb.argv()[0]) + ":" + os.environ["PATH"]}


def readme_blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def run_script(sb, script, cwd, *args):
    return subprocess.run(["bash", script, *args], env=tools(sb), cwd=cwd, capture_output=True, text=True, timeout=120)


@pytest.fixture
def work(tmp_path):
    """A directory as the README's reader has it: the checkout's examples beside the script."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work/examples").symlink_to(ROOT / "examples")
    return tmp_path / "work"


def test_readme_script_is_the_example(work):
    script = next(block for block in readme_blocks("bash") if block.startswith("#!"))
    example = (ROOT / "examples/lifecycle.sh").read_text()
    strip = [line for line in example.splitlines() if not line.startswith("# SPDX")]
    assert script.splitlines() == strip
    assert len(script.splitlines()) <= 15


def test_readme_script_runs_twice(sb, engine, work):
    for _ in range(2):
        done = run_script(sb, ROOT / "examples/lifecycle.sh", work)
        assert done.returncode == 0, done
        assert "Ticket:" in (work / "report.md").read_text()
        assert sb.sessions() == [] and leftovers(engine, sb.instance) == []


def test_readme_run_and_with(sb, engine, work):
    (block,) = [text for text in readme_blocks("sh") if text.startswith("sandbox run -f examples")]
    done = subprocess.run(["bash", "-e", "-c", block], env=tools(sb), cwd=work, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    assert (work / "report.md").exists()
    assert leftovers(engine, sb.instance) == []


def test_readme_script_when_the_work_fails(sb, engine, work):
    """The report still comes out, the status is the work's own, and nothing stays."""
    script = (ROOT / "examples/lifecycle.sh").read_text().replace("./work.sh", "sh -c './work.sh; exit 9'")
    (work / "failing.sh").write_text(script)
    done = run_script(sb, work / "failing.sh", work)
    assert done.returncode == 9, done
    assert "Ticket:" in (work / "report.md").read_text()
    assert sb.sessions() == [] and leftovers(engine, sb.instance) == []


def test_readme_script_when_create_fails(sb, work):
    script = (ROOT / "examples/lifecycle.sh").read_text().replace("examples/ticket.yaml", "examples/nosuch.yaml")
    (work / "failing.sh").write_text(script)
    done = run_script(sb, work / "failing.sh", work)
    assert done.returncode != 0 and "nosuch.yaml" in done.stderr


def test_readme_manifests_are_valid(sb):
    blocks = [block for block in readme_blocks("yaml") if not block.startswith("defaults:")]  # that one is a config file: test_config.py
    assert blocks
    for block in blocks:
        sb.run("create", "--dry-run", "-f", "-", input=block, cwd=ROOT, env={"API_TOKEN": "t"})


def test_example_manifests_are_valid(sb):
    examples = sorted((ROOT / "examples").glob("*.yaml"))
    assert examples
    for example in examples:
        sb.run("create", "--dry-run", "-f", example, env={"NPM_TOKEN": "t"})


def test_cron_and_systemd_examples_name_real_commands(sb):
    cron = (ROOT / "examples/cron/sandbox-gc").read_text()
    line = next(line for line in cron.splitlines() if line and not line.startswith(("#", "SHELL", "PATH", "MAILTO")))
    fields = line.split()
    assert fields[5] == "root"
    command = " ".join(fields[6:]).split(" && ")[-1].split()
    assert pathlib.PurePath(command[0]).name == "sandbox"
    sb.run(*command[1:])
    service = (ROOT / "examples/systemd/sandbox-gc.service").read_text()
    (start,) = re.findall(r"^ExecStart=(.*)$", service, re.MULTILINE)
    assert start.split()[1:] == command[1:]
    assert "Unit=sandbox-gc.service" in (ROOT / "examples/systemd/sandbox-gc.timer").read_text()


def test_day_1_ci_job_that_is_cancelled(sb, engine, tmp_path):
    """The job's shell is killed without running its trap; the next job's gc or the TTL cleans up."""
    script = tmp_path / "job.sh"
    script.write_text('set -eu\ntrap \'sandbox destroy --ignore-missing job\' EXIT\n'
                      f'sandbox create --image {BASE} --ttl 5s --name job >/dev/null\nsandbox exec job sh -c "echo up; sleep 60"\n')
    job = subprocess.Popen(["bash", script], env=tools(sb), stdout=subprocess.PIPE, start_new_session=True)
    assert job.stdout.readline() == b"up\n"
    os.killpg(job.pid, 9)
    job.wait()
    wait_until(lambda: not engine.containers({"sandbox.instance": sb.instance}), what="the TTL")
    sb.run("gc")
    assert leftovers(engine, sb.instance) == []


def test_day_1_the_same_as_one_run(sb, engine, tmp_path):
    """A manifest in a folder of its own, results that come out of a failed run, a second job of the same runner."""
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci/sandbox.yaml").write_text(f"version: 1\nimage: {BASE}\nfiles: {{src: {{fromDir: .., exclude: [junit]}}}}\n")
    (tmp_path / "build.gradle").touch()
    steps = "mkdir -p build/test-results; ls src >build/test-results/list.xml; exit 1"
    line = ["run", "-f", "ci/sandbox.yaml", "--export", "build/test-results=./junit", "--export", "build/coverage=./coverage"]
    assert "--allow-path" in sb.fails(125, *line, "--", "sh", "-c", steps, cwd=tmp_path).errors
    for _ in range(2):
        done = sb.run(*line, "--allow-path", ".", "--", "sh", "-c", steps, cwd=tmp_path, status=1)
        assert "cannot export build/coverage" in done.errors
        assert (tmp_path / "junit/list.xml").read_text() == "build.gradle\nci\n"
    sb.run(*line, "--allow-path", ".", "--set", "export.optional=[build/coverage]", "--", "sh", "-c", steps.replace("1", "0"), cwd=tmp_path)
    assert leftovers(engine, sb.instance) == []


def test_day_4_two_in_the_morning(sb):
    """Somebody else's session: every answer says where to look next."""
    sb.run("--owner", "acme", "create", "--image", BASE, "--name", "job-981")
    empty = sb.run("ps")
    assert sb.owner in empty.errors and str(sb.state_dir) in empty.errors
    assert "acme" in sb.run("ps", "--all-owners").text
    refused = sb.fails(125, "exec", "job-981", "--", "ls")
    assert "--owner" in refused.errors
    assert sb.run("--owner", "acme", "exec", "job-981", "--", "echo", "in").text == "in\n"


def test_day_6_first_five_minutes(sb):
    """First guesses work, or the hint has the right command."""
    assert f"--image {BASE} -- uname -s" in sb.fails(125, "run", BASE, "uname", "-s").errors
    assert sb.run("run", "--rm", "--image", BASE, "--", "uname", "-s").text == "Linux\n"
    assert "hint: " in sb.fails(2, "create", "web").errors
    assert "image" in sb.fails(2, "create", "--name", "web").errors
    sb.create("--name", "web", "--memory", "512m")
    assert "web" in sb.run("ls").text
    assert sb.run("exec", "web", "echo", "hi").text == "hi\n"
    assert "hint: " in sb.fails(125, "exec", "web", "--timeout", "5s", "--", "true").errors
    sb.run("rm", "web")
    assert sb.run("--version").text
