# SPDX-License-Identifier: Apache-2.0
"""run: a session, a command, exports, and nothing left, whatever happens. Both channels to the agent."""
import json
import os
import select
import signal
import subprocess
import sys

import pytest

from fault_proxy import Gate
import runner
from runner import wait_until


@pytest.fixture(params=["socket", "bridge"])
def channel(request):
    return request.param


def ours(sb, engine):
    return [c for c in engine.containers(labels={"sandbox.owner": sb.owner}) if c]


def assert_gone(sb, engine):
    assert ours(sb, engine) == [] and sb.json("ps")["sessions"] == []


def job(sb, *args, **kw):
    return sb.run("run", "--image", sb.base_image, *args, **kw)


def test_it_runs_and_nothing_is_left(sb, engine, channel):
    done = job(sb, "--channel", channel, "--", "sh", "-c", "echo out; echo err >&2; exit 7", status=7)
    assert done.out == b"out\n" and b"err\n" in done.err
    assert job(sb, "--channel", channel, "sh", "-c", "exit 0").out == b""
    assert job(sb, "--channel", channel, "-i", "cat", input=b"in").out == b"in"
    assert_gone(sb, engine)


def test_the_words_are_the_commands(sb):
    assert job(sb, "--", "echo", "--", "-x", "").out == b"-- -x \n"
    assert job(sb, "echo", "--json").out == b"--json\n"
    sb.fails(125, "run", "--image", sb.base_image)
    assert "--image" in sb.fails(125, "run", "node:22", "node", "-v").errors
    assert "sandbox cp" in sb.fails(125, "run", "-v", "/a:/b", "--image", sb.base_image, "true").errors
    assert "proc start" in sb.fails(125, "run", "-d", "--image", sb.base_image, "true").errors


def test_own_failures_are_125(sb, engine):
    job(sb, "nosuch", status=127)
    job(sb, "--workdir", "/etc/passwd/x", "true", status=125)
    sb.fails(125, "run", "--image", "no/such:image", "--pull", "never", "true")
    assert sb.fails_json(125, "run", "--image", "no/such:image", "--pull", "never", "true")["code"] == "image_not_found"
    assert job(sb, "--timeout", "1s", "--", "sleep", "60", status=124).errors.count("time-out") == 1
    assert_gone(sb, engine)


def test_exports_come_out_after_success_failure_and_time_out(sb, engine, channel, tmp_path):
    script = "mkdir -p out/sub; echo a >out/a; echo b >out/sub/b; echo r >report; exit $0"
    for number, (args, status) in enumerate([((), 0), ((), 3)]):
        where = tmp_path / str(number)
        job(sb, "--channel", channel, "--export", f"out={where}/tree/deep", "--export", f"report={where}/r.md", *args, "--", "sh", "-c", script, str(status), status=status)
        assert (where / "tree/deep/sub/b").read_text() == "b\n" and (where / "r.md").read_text() == "r\n"
    job(sb, "--channel", channel, "--export", f"f={tmp_path}/late", "--timeout", "1s", "--", "sh", "-c", "echo x >f; sleep 60", status=124)
    assert (tmp_path / "late").read_text() == "x\n"
    assert_gone(sb, engine)


def test_an_export_onto_what_is_there(sb, tmp_path):
    """A directory's contents are merged into the directory, a file replaces the file: a second job of a runner finds what the first left."""
    (tmp_path / "junit").mkdir()
    (tmp_path / "junit/old.xml").write_text("old")
    (tmp_path / "junit/a.xml").write_text("old")
    (tmp_path / "log").write_text("a longer old one")
    job(sb, "--export", f"r={tmp_path}/junit", "--export", f"log={tmp_path}/log", "--", "sh", "-c", "mkdir r; echo new >r/a.xml; echo new >log")
    assert sorted(os.listdir(tmp_path / "junit")) == ["a.xml", "old.xml"]
    assert (tmp_path / "junit/a.xml").read_text() == "new\n" and (tmp_path / "log").read_text() == "new\n"
    job(sb, "--export", f"log={tmp_path}/junit", "--", "sh", "-c", "echo in >log")
    assert (tmp_path / "junit/log").read_text() == "in\n"


def test_a_conflict_in_a_merge_is_an_error_and_puts_nothing_elsewhere(sb, tmp_path):
    (tmp_path / "fin/a").mkdir(parents=True)
    done = job(sb, "--export", f"o={tmp_path}/fin", "--", "sh", "-c", "mkdir o; echo 1 >o/a", status=125)
    assert "cannot export o" in done.errors and os.listdir(tmp_path / "fin") == ["a"] and os.listdir(tmp_path / "fin/a") == []


def test_a_folder_as_the_target(sb, tmp_path):
    job(sb, "--export", f"out={tmp_path}/new/", "--", "sh", "-c", "echo x >out")
    assert (tmp_path / "new/out").read_text() == "x\n"


def test_targets_that_cannot_work_are_refused_at_once(sb, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loose").symlink_to(tmp_path / "nowhere")
    for export in (f"a={tmp_path}/pipe", f"a={tmp_path}/loose", f"a={tmp_path}/loose/x", "a=", "=b", "a"):
        sb.fails(125, "run", "--image", sb.base_image, "--export", export, "true")
    for pair in (["a=x", "./a=y"], ["a=x", "b=x"]):
        exports = [word for one in pair for word in ("--export", one)]
        sb.fails(125, "run", "--image", sb.base_image, *exports, "true", cwd=tmp_path)
    assert sb.run("--json", "events").out == b""


def test_a_link_is_exported_as_what_it_names_and_no_further_than_the_workspace(sb, tmp_path):
    job(sb, "--export", f"latest={tmp_path}/l", "--", "sh", "-c", "mkdir -p o; echo 1 >o/1; ln -s o/1 latest")
    assert (tmp_path / "l").read_text() == "1\n" and not (tmp_path / "l").is_symlink()
    job(sb, "--export", f"latest={tmp_path}/p", "--", "ln", "-s", "/etc/passwd", "latest", status=125)
    assert not (tmp_path / "p").exists()


def test_a_failed_export_is_125_and_the_commands_own_status_wins(sb, engine, tmp_path):
    done = job(sb, "--export", f"none={tmp_path}/x", "--export", f"f={tmp_path}/f", "--", "sh", "-c", "echo x >f", status=125)
    assert "cannot export none" in done.errors and "export.optional" in done.errors
    assert (tmp_path / "f").read_text() == "x\n"  # the others go on
    assert job(sb, "--export", f"none={tmp_path}/x", "--", "false", status=1).errors.count("cannot export none") == 1
    error = sb.fails_json(125, "run", "--image", sb.base_image, "--export", f"none={tmp_path}/x", "true")
    assert error["code"] == "export_failed"
    job(sb, "--export", f"none={tmp_path}/x", "--set", "export.optional=[none]", "true")
    job(sb, "--max-file", "1KB", "--export", f"big={tmp_path}/big", "--", "sh", "-c", "head -c 2000 /dev/zero >big", status=125)
    assert not (tmp_path / "big").exists()
    assert_gone(sb, engine)


def test_what_is_missing_on_the_host_is_not_said_to_be_optional(sb, tools):
    for more in ([], ["--set", "export.optional=[f]"]):
        folder = tools / "folder"
        folder.mkdir()
        done = sb.run("with", "--image", sb.base_image, "--file", f"f={__file__}", *more, "--export", "f=out", "--", "rm", "-r", folder, cwd=folder, status=125)
        assert "cannot export f" in done.errors and "export.optional" not in done.errors, done


def test_the_manifests_exports_and_scan(sb, tmp_path):
    (tmp_path / "sandbox.yaml").write_text(json.dumps({
        "version": 1, "image": sb.base_image, "files": {"in.txt": "text"},
        "export": {"files": {"good": "./out/good", "bad": "./out/bad", "maybe": "./out/maybe"}, "optional": ["maybe"],
                   "scan": ["grep", "-qv", "virus"]}}))
    done = sb.run("run", "-f", tmp_path / "sandbox.yaml", "--", "sh", "-c", "cat in.txt; echo fine >good; echo virus >bad", status=125)
    assert done.out == b"text" and "cannot export bad" in done.errors and "export.scan" in done.errors
    assert sorted(os.listdir(tmp_path / "out")) == ["good"]


def test_a_target_that_cannot_be_written_is_said_before_anything_runs(sb, engine, tmp_path):
    (tmp_path / "file").write_text("")
    sb.fails(125, "run", "--image", sb.base_image, "--export", f"a={tmp_path}/file/b", "--", "true")
    (tmp_path / "m").mkdir()
    (tmp_path / "m/out").symlink_to("/etc")
    (tmp_path / "m/sandbox.yaml").write_text(json.dumps({"version": 1, "image": sb.base_image, "export": {"files": {"a": "out/a"}}}))
    assert "leads out of" in sb.fails(125, "run", "-f", tmp_path / "m/sandbox.yaml", "--", "true").errors
    (tmp_path / "m/sandbox.yaml").write_text(json.dumps({"version": 1, "image": sb.base_image, "export": {"files": {"a": "../a"}}}))
    sb.fails(125, "run", "-f", tmp_path / "m/sandbox.yaml", "--", "true")
    assert sb.run("--json", "events").out == b""


def test_files_brought_in_by_flags(sb, tmp_path):
    (tmp_path / "d/e").mkdir(parents=True)
    (tmp_path / "d/e/f").write_text("deep")
    (tmp_path / "one").write_text("one")
    assert job(sb, "--file", f"src={tmp_path}/d", "--file", f"in/one.txt={tmp_path}/one", "--", "cat", "src/e/f", "in/one.txt").out == b"deepone"
    assert sb.run("create", "--image", sb.base_image, "--file", f"a={tmp_path}/one", "--dry-run").status == 0
    sb.fails(125, "run", "--image", sb.base_image, "--file", f"a={tmp_path}/none", "true")


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_it_with_its_exports(sb, engine, channel, tmp_path, number, status):
    running = sb.start("run", "--image", sb.base_image, "--channel", channel, "--export", f"f={tmp_path}/f", "--", "sh", "-c", "echo x >f; echo up; sleep 300")
    assert running.stdout.readline() == b"up\n"
    running.send_signal(number)
    out, err = running.communicate(timeout=30)
    assert running.returncode == status, err
    assert (tmp_path / "f").read_text() == "x\n"
    assert_gone(sb, engine)


def test_a_second_signal_ends_the_exports_at_once(sb, engine, tmp_path):
    """The scan hangs; the second ^C leaves it, and the session is gone all the same."""
    scan = tmp_path / "scan"
    scan.write_text(f"#!/bin/sh\ntouch {tmp_path}/scanning; exec sleep 60\n")
    scan.chmod(0o755)
    running = sb.start("run", "--image", sb.base_image, "--export", f"f={tmp_path}/f", "--set", f"export.scan=[{scan}]", "--", "sh", "-c", "echo x >f; echo up; sleep 300")
    assert running.stdout.readline() == b"up\n"
    running.send_signal(signal.SIGINT)
    wait_until(lambda: (tmp_path / "scanning").exists())
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    assert running.returncode in (130, -signal.SIGINT)
    assert not (tmp_path / "f").exists()
    assert_gone(sb, engine)


def test_exports_after_a_signal_are_bounded(sb, engine, tmp_path):
    scan = tmp_path / "scan"
    scan.write_text("#!/bin/sh\nexec sleep 60\n")
    scan.chmod(0o755)
    running = sb.start("run", "--image", sb.base_image, "--export", f"f={tmp_path}/f", "--set", f"export.scan=[{scan}]", "--", "sh", "-c", "echo x >f; echo up; sleep 300")
    assert running.stdout.readline() == b"up\n"
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 143 and b"cannot export f" in err
    assert_gone(sb, engine)


def test_a_signal_during_the_exports_of_good_work_is_no_failure(sb, engine, tmp_path):
    scan = tmp_path / "scan"
    scan.write_text(f"#!/bin/sh\ntouch {tmp_path}/scanning; exec sleep 60\n")
    scan.chmod(0o755)
    running = sb.start("run", "--image", sb.base_image, "--on-failure", "keep", "--export", f"f={tmp_path}/f", "--set", f"export.scan=[{scan}]", "--", "sh", "-c", "echo x >f")
    wait_until(lambda: (tmp_path / "scanning").exists())
    running.terminate()
    running.communicate(timeout=30)
    assert running.returncode == 143
    assert_gone(sb, engine)


def test_exports_are_hasty_for_those_who_ignore_term_too(sb, engine, tmp_path):
    scan = tmp_path / "scan"
    scan.write_text("#!/bin/sh\nexec sleep 60\n")
    scan.chmod(0o755)
    running = sb.start("run", "--image", sb.base_image, "--export", f"f={tmp_path}/f", "--set", f"export.scan=[{scan}]", "--", "sh", "-c", "echo x >f; echo up; sleep 300",
                       preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
    assert running.stdout.readline() == b"up\n"
    running.send_signal(signal.SIGHUP)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 129 and b"not out within 5s" in err, err
    assert_gone(sb, engine)


def test_kill_9_leaves_nothing_in_the_engine(sb, engine, channel):
    running = sb.start("run", "--image", sb.base_image, "--channel", channel, "--", "sh", "-c", "echo up; setsid sleep 301 & sleep 300")
    assert running.stdout.readline() == b"up\n"
    assert len(ours(sb, engine)) == 1
    (session,) = sb.json("ps")["sessions"]
    running.kill()
    running.communicate(timeout=30)
    wait_until(lambda: ours(sb, engine) == [])
    # The row that it left goes with whatever is made or destroyed next.
    sb.destroy(sb.create())
    assert_gone(sb, engine)
    assert "was killed" in sb.fails(125, "exec", session["id"], "true").errors


def test_a_reader_that_goes_away_ends_it(sb, engine, tmp_path):
    running = sb.start("run", "--image", sb.base_image, "--export", f"f={tmp_path}/f", "--", "sh", "-c", "echo x >f; yes")
    running.stdout.read(10)
    running.stdout.close()
    assert running.wait(timeout=30) == 141
    assert (tmp_path / "f").read_text() == "x\n"
    assert_gone(sb, engine)


def test_the_command_ends_early_enough_for_its_exports(sb, engine, tmp_path):
    done = job(sb, "--ttl", "8s", "--export", f"f={tmp_path}/f", "--", "sh", "-c", "echo x >f; sleep 60", status=124)
    assert "exports" in done.errors and (tmp_path / "f").read_text() == "x\n"
    assert "expired" in job(sb, "--ttl", "3s", "--", "sleep", "60", status=124).errors
    assert_gone(sb, engine)


def test_a_failed_one_can_be_kept(sb, engine, channel):
    done = job(sb, "--channel", channel, "--on-failure", "keep", "--", "sh", "-c", "echo x >f; exit 3", status=3)
    session = sb.json("ps")["sessions"][0]["id"]
    assert session in done.errors
    assert sb.sh(session, "cat f").text == "x\n"
    sb.destroy(sb.create())  # what others make and destroy takes along only what nobody is to use any more
    job(sb, "--channel", channel, "--on-failure", "keep", "--", "true")
    assert [s["id"] for s in sb.json("ps")["sessions"]] == [session]
    sb.destroy(session)
    sb.fails(125, "run", "--image", sb.base_image, "--on-failure", "shell", "--", "true")
    sb.fails(125, "run", "--image", sb.base_image, "--on-failure", "what", "--", "true")


def test_json_and_result_tell_the_whole(sb, tmp_path):
    document = job(sb, "--json", "--export", f"f={tmp_path}/f", "--", "sh", "-c", "echo out; echo x >f; exit 2", status=2).json()
    assert document["stdout"]["text"] == "out\n" and document["exitCode"] == 2 and document["outcome"] == "exited"
    assert document["session"] and not document["kept"]
    assert document["exports"] == [{"path": "f", "target": str(tmp_path / "f"), "files": 1, "bytes": 2, "absent": False, "error": None}]
    done = job(sb, "--result", tmp_path / "r.json", "--", "echo", "out")
    assert done.out == b"out\n" and json.loads((tmp_path / "r.json").read_text())["stdout"]["text"] == "out\n"
    sb.fails(125, "run", "--image", "no/such:image", "--pull", "never", "--result", tmp_path / "f.json", "true")
    assert json.loads((tmp_path / "f.json").read_text())["error"]["code"] == "image_not_found"


def test_auto_destroy_false_leaves_nothing_either(sb, engine):
    job(sb, "--auto-destroy", "false", "true")
    assert_gone(sb, engine)
    running = sb.start("run", "--image", sb.base_image, "--auto-destroy", "false", "--", "sh", "-c", "echo up; sleep 300")
    assert running.stdout.readline() == b"up\n"
    running.kill()
    running.communicate(timeout=30)
    wait_until(lambda: ours(sb, engine) == [])


def test_a_persistent_workspace_outlives_it(sb):
    job(sb, "--workspace", "kept", "--", "sh", "-c", "echo x >f")
    assert job(sb, "--workspace", "kept", "--", "cat", "f").out == b"x\n"
    sb.run("workspace", "rm", "--yes", "kept")


def test_it_does_not_idle_while_its_owner_is_there(sb):
    assert job(sb, "--idle-timeout", "1s", "--", "sh", "-c", "sleep 3; echo done").out == b"done\n"


# with: a command of the host

STEPS = """
sandbox exec $SANDBOX_SESSION sh -c 'echo x >f'
sandbox exec $SANDBOX_SESSION cat f
exit {status}
"""


@pytest.fixture
def tools(sb, tmp_path):
    """A PATH with the binary under its name, and nothing else said of where the session is."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sandbox").symlink_to(runner.binary())
    sb.env["PATH"] = f"{tmp_path}/bin:{sb.env['PATH']}"
    return tmp_path


def test_with_runs_the_steps_of_a_script(sb, engine, tools, channel):
    steps = tools / "steps.sh"
    steps.write_text(STEPS.format(status=5))
    done = sb.run("with", "--image", sb.base_image, "--channel", channel, "--export", f"f={tools}/f", "--", "sh", steps, status=5)
    assert done.out == b"x\n" and (tools / "f").read_text() == "x\n"
    assert_gone(sb, engine)


def test_with_says_where_its_session_is(sb, tools):
    """Flags hold for what the command calls."""
    env = {"SANDBOX_STATE_DIR": None, "SANDBOX_OWNER": None}
    done = sb.run("--state-dir", sb.state_dir, "--owner", "somebody", "with", "--image", sb.base_image, "--",
                  "sh", "-c", "sandbox inspect --json $SANDBOX_SESSION", env=env)
    assert json.loads(done.out)["owner"] == "somebody"


def test_with_passes_failures_through(sb, engine):
    sb.run("with", "--image", sb.base_image, "--", "sh", "-c", "kill -9 $$", status=137)
    sb.fails(127, "with", "--image", sb.base_image, "--", "no-such-command-here")
    sb.fails(126, "with", "--image", sb.base_image, "--", "/etc/passwd")
    assert_gone(sb, engine)


def test_with_ends_when_it_is_signalled(sb, engine, tools):
    for number, status in [(signal.SIGINT, 130), (signal.SIGTERM, 143)]:
        running = sb.start("with", "--image", sb.base_image, "--", "sh", "-c", "echo up; exec sleep 300")
        assert running.stdout.readline() == b"up\n"
        running.send_signal(number)
        running.communicate(timeout=30)
        assert running.returncode == status
        assert_gone(sb, engine)


def test_with_and_a_command_that_ignores_the_first_signal(sb, engine):
    deaf = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: print('got', flush=True))\nprint('up', flush=True)\nwhile True: signal.pause()"
    running = sb.start("with", "--image", sb.base_image, "--", sys.executable, "-c", deaf)
    assert running.stdout.readline() == b"up\n"
    running.terminate()
    assert running.stdout.readline() == b"got\n"
    running.terminate()
    running.communicate(timeout=30)
    assert running.returncode == 143
    assert_gone(sb, engine)


def test_with_kill_9_ends_session_and_command(sb, engine, tools):
    running = sb.start("with", "--image", sb.base_image, "--", "sh", "-c", "echo $$; exec sleep 300")
    steps = int(running.stdout.readline())
    running.kill()
    running.communicate(timeout=30)
    wait_until(lambda: ours(sb, engine) == [])
    wait_until(lambda: not os.path.exists(f"/proc/{steps}"))


def test_with_kill_9_ends_a_command_that_ignores_term(sb, engine, tools):
    deaf = ("import os, signal\nsignal.signal(signal.SIGTERM, lambda *_: os.write(1, b'got\\n'))\n"
            "os.write(1, b'%d\\n' % os.getpid())\nwhile True: signal.pause()")
    running = sb.start("with", "--image", sb.base_image, "--", sys.executable, "-c", deaf)
    steps = os.pidfd_open(int(running.stdout.readline()))
    try:
        running.kill()
        running.wait(timeout=30)
        assert running.stdout.read() == b"got\n"  # it has its time, and nobody holds its streams longer
        assert select.select([steps], [], [], 30)[0]
    finally:
        os.close(steps)
    wait_until(lambda: ours(sb, engine) == [])


def test_with_leaves_no_process_of_its_own(sb, engine, tools):
    look = f"until pgrep -P $PPID -x sandbox-guard >{tools}/guard; do sleep 0.05; done"
    sb.run("with", "--image", sb.base_image, "--", "sh", "-c", look)
    guard = (tools / "guard").read_text().strip()
    assert guard.isdigit() and not os.path.exists(f"/proc/{guard}")


def test_with_ends_when_its_caller_is_gone(sb, engine, tools):
    """A runner that kills its shell runs no trap."""
    out, inside = os.pipe()
    caller = subprocess.Popen(["sh", "-c", f"sandbox with --image {sb.base_image} -- sh -c 'echo up; exec sleep 300'; true"], env=sb.environ(), stdout=inside, stdin=subprocess.DEVNULL)
    os.close(inside)
    with os.fdopen(out, "rb") as lines:
        assert lines.readline() == b"up\n"
        assert len(ours(sb, engine)) == 1
        caller.kill()
        caller.wait()
        wait_until(lambda: ours(sb, engine) == [])
        assert lines.read() == b""  # nobody holds it any more


def test_with_sees_its_caller_go_while_the_session_is_made(sb, engine, tools, proxy):
    """The engine takes its time to start the container; the caller is killed meanwhile."""
    started = Gate()
    proxy.rule(started, method="POST", path="/containers/[^/]+/start")
    caller = subprocess.Popen(["sh", "-c", f"sandbox with --image {sb.base_image} -- touch {tools}/ran; true"], env=sb.environ({"SANDBOX_ENGINE": proxy.url}), stdin=subprocess.DEVNULL)
    assert started.came.wait(30)
    caller.kill()
    caller.wait()
    started.open()
    wait_until(lambda: ours(sb, engine) == [])
    assert not (tools / "ran").exists()


def test_with_passes_a_hang_up_on(sb, engine):
    """The kernel tells only the leader of a terminal's session."""
    running = sb.start("with", "--image", sb.base_image, "--", sys.executable, "-c",
                       "import signal\nsignal.signal(signal.SIGHUP, lambda *_: exit(7))\nprint('up', flush=True)\nsignal.pause()")
    assert running.stdout.readline() == b"up\n"
    running.send_signal(signal.SIGHUP)
    running.communicate(timeout=30)
    assert running.returncode == 7  # the command's own
    assert_gone(sb, engine)


def test_with_takes_a_config_of_its_directory_along(sb, tools):
    (tools / "c.yaml").write_text("defaults: {labels: {from: here}}\n")
    done = sb.run("--config", "c.yaml", "with", "--image", sb.base_image, "--", "sh", "-c", "cd /; sandbox config show --json", cwd=tools)
    assert "here" in done.text
    assert "--result" in sb.fails(125, "--json", "with", "--image", sb.base_image, "true").errors


def test_with_outlives_its_caller_under_nohup(sb, engine, tools):
    out, inside = os.pipe()
    caller = subprocess.Popen(["sh", "-c", f"nohup sandbox with --image {sb.base_image} -- sh -c 'echo up; read line <{tools}/go; echo done' & echo; exec sleep 300"],
                              env=sb.environ(), stdout=inside, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.mkfifo(tools / "go")
    os.close(inside)
    with os.fdopen(out, "rb") as lines:
        assert lines.readline() == b"\n" and lines.readline() == b"up\n"
        caller.kill()
        caller.wait()
        with open(tools / "go", "w") as go:
            go.write("\n")
        assert lines.read() == b"done\n"
    wait_until(lambda: ours(sb, engine) == [])
