# SPDX-License-Identifier: Apache-2.0
"""create: what a manifest and flags make of a container, and what is left when it fails."""
import base64
import json
import os
import re
import shlex
import signal
import stat
import subprocess

import pytest

from runner import BASE, ROOT, held, is_gone, leftovers, still_runs, wait_until


def test_prints_the_id_alone(sb):
    session = sb.create()
    assert re.fullmatch(r"s[0-9a-z]{12}", session)


def test_is_silent_in_a_pipe(sb):
    result = sb.run("create", "--image", BASE)
    assert result.err == b""


def test_json_says_what_was_made(sb):
    made = sb.json("create", "--image", BASE, "--name", "web")
    assert made["name"] == "web" and made["owner"] == sb.owner and made["image"] == BASE
    assert made["workspace"]["mode"] == "ephemeral" and made["network"] == "none" and made["state"] == "running"
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", made["expiresAt"])


def test_safe_defaults(sb, engine):
    session = sb.create()
    container = engine.session(session)
    host = container["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert not host["CapAdd"] and not host["Privileged"]
    assert set(re.findall(r"Cap\w+:\s*(\w+)", sb.sh(session, "cat /proc/self/status").text)) == {"0" * 16}
    assert "no-new-privileges" in " ".join(host["SecurityOpt"])
    assert host["Memory"] == 1 << 30 and host["MemorySwap"] == 1 << 30
    assert host["NanoCpus"] == 10**9 or host["CpuQuota"] == host["CpuPeriod"] > 0
    assert host["PidsLimit"] == 256
    assert host["AutoRemove"] is True
    assert container["Config"]["Labels"]["sandbox.role"] == "session"


def test_nothing_of_the_host_is_writable_inside(sb, engine):
    mounts = engine.session(sb.create())["Mounts"]
    assert all(not mount["RW"] for mount in mounts if mount["Type"] == "bind"), mounts
    assert all(not mount["RW"] for mount in mounts if mount["Destination"].startswith("/.sandbox")), mounts
    assert not any("docker.sock" in str(mount.get("Source")) for mount in mounts)


def test_limits_reach_the_engine(sb, engine):
    session = sb.create("--memory", "128MB", "--cpus", "0.5", "--pids", "50")
    host = engine.session(session)["HostConfig"]
    assert host["Memory"] == 128_000_000 and host["PidsLimit"] == 50
    assert host["NanoCpus"] == 500_000_000 or host["CpuQuota"] * 2 == host["CpuPeriod"]


def test_flag_beats_manifest_and_set_reaches_the_rest(sb, engine):
    session = sb.create("--memory", "200MB", "--set", "security.readonlyRootfs=true",
                        manifest={"limits": {"memory": "64MB", "pids": 33}})
    host = engine.session(session)["HostConfig"]
    assert host["Memory"] == 200_000_000 and host["PidsLimit"] == 33 and host["ReadonlyRootfs"] is True


def test_manifests_merge_maps_and_replace_lists(sb, tmp_path):
    (tmp_path / "a.yaml").write_text(f"version: 1\nimage: {BASE}\nenv: {{A: a, B: a}}\ndirectories: [one]\n")
    (tmp_path / "b.yaml").write_text("env: {B: b}\ndirectories: [two]\n")
    session = sb.create("-f", tmp_path / "a.yaml", "-f", tmp_path / "b.yaml", image=BASE)
    assert sb.sh(session, 'echo $A $B; ls').text == "a b\ntwo\n"


def test_seeds_everything_a_manifest_can_say(sb, tmp_path):
    (tmp_path / "src/sub").mkdir(parents=True)
    (tmp_path / "src/main.c").write_text("int main;\n")
    (tmp_path / "src/run").write_text("#!/bin/sh\necho ran\n")
    os.chmod(tmp_path / "src/run", 0o755)
    (tmp_path / "src/sub/deep.txt").write_text("deep")
    (tmp_path / "src/link").symlink_to("sub/deep.txt")
    (tmp_path / "src/dangling").symlink_to("/etc/passwd-of-the-host")
    (tmp_path / "src/.git").mkdir()
    (tmp_path / "src/.git/config").write_text("secret")
    (tmp_path / "data.csv").write_bytes(bytes(range(256)))
    binary = bytes(reversed(range(256)))
    (tmp_path / "m.yaml").write_text(json.dumps({
        "version": 1, "image": BASE,
        "directories": ["output", {"path": "cache", "mode": "0700"}],
        "files": {
            "input/ticket.txt": "text as it is\n",
            "empty": "",
            "run.sh": {"text": "#!/bin/sh\necho hello\n", "mode": "0755"},
            "logo.png": {"base64": base64.b64encode(binary).decode()},
            "src": {"fromDir": "./src", "exclude": [".git"]},
            "data.csv": {"fromFile": "data.csv"},
            "latest": {"symlink": "output/1"},
        }}))
    session = sb.create("-f", tmp_path / "m.yaml", image=BASE)

    def read(path):
        return sb.run("exec", session, "cat", path).out
    assert read("input/ticket.txt") == b"text as it is\n" and read("empty") == b""
    assert read("logo.png") == binary and read("data.csv") == bytes(range(256))
    assert read("src/main.c") == b"int main;\n" and read("src/link") == b"deep"
    assert sb.run("exec", session, "./run.sh").out == b"hello\n"
    assert sb.run("exec", session, "src/run").out == b"ran\n"
    facts = sb.sh(session, "stat -c '%n %a' cache run.sh src/run; for l in latest src/dangling; do readlink $l; echo; done; ls -a src").lines()
    facts = [line for line in facts if line]
    assert facts[:5] == ["cache 700", "run.sh 755", "src/run 755", "output/1", "/etc/passwd-of-the-host"]
    assert ".git" not in facts


def test_env_from_flag_file_and_host(sb, tmp_path):
    (tmp_path / "env").write_bytes(b"# comment\nFROM_FILE=f=1\nQUOTED=\"as it is\"\n\nEMPTY=")
    session = sb.create("-e", "A=x\ny", "-e", "B=", "-e", "C=a=b", "-e", "HOSTVAR", "--env-file", tmp_path / "env",
                        env={"HOSTVAR": "from the host"})
    shown = sb.sh(session, 'printf "%s|" "$A" "$B" "$C" "$HOSTVAR" "$FROM_FILE" "$EMPTY"').text
    assert shown == "x\ny||a=b|from the host|f=1||"


def test_env_values_stay_what_was_written(sb):
    session = sb.create(manifest=f"version: 1\nimage: {BASE}\nenv:\n  NO: no\n  V: 1.10\n  T: 22:22\n  D: 'a$b$$c${{D}}'\n  O: 0755\n")
    assert sb.sh(session, 'echo "$NO $V $T $D $O"').text == "no 1.10 22:22 a$b$$c${D} 0755\n"


def test_env_is_not_in_the_containers_config(sb, engine):
    session = sb.create("-e", "TOKEN=hunter2-secret", manifest={"env": {"KEY": {"fromEnv": "THE_KEY"}}}, env={"THE_KEY": "swordfish-secret"})
    assert sb.sh(session, 'echo "$TOKEN $KEY"').text == "hunter2-secret swordfish-secret\n"
    everything = json.dumps(engine.session(session))
    shown = sb.run("inspect", session).out + sb.run("--json", "inspect", session).out + sb.run("--json", "ps").out
    assert b"swordfish-secret" not in shown
    assert "swordfish-secret" not in everything and "hunter2-secret" not in everything
    state = b"".join(path.read_bytes() for path in sb.state_dir.rglob("*") if path.is_file())
    assert b"swordfish-secret" not in state


def test_missing_host_variable_is_refused(sb, engine):
    result = sb.fails(2, "create", "-f", "-", input=json.dumps(
        {"version": 1, "image": BASE, "env": {"KEY": {"fromEnv": "NOT_SET_ANYWHERE"}}}))
    assert "NOT_SET_ANYWHERE" in result.errors
    assert is_gone(engine, {"sandbox.owner": sb.owner})


def test_labels(sb, engine):
    session = sb.create("--label", "jobId=981", "--label", "tenantId=acme", manifest={"labels": {"jobId": "1", "kept": "yes"}})
    labels = engine.session(session)["Config"]["Labels"]
    assert labels["sandbox.label.jobId"] == "981" and labels["sandbox.label.tenantId"] == "acme"
    assert labels["sandbox.label.kept"] == "yes"
    assert sb.json("inspect", session)["labels"] == {"jobId": "981", "tenantId": "acme", "kept": "yes"}


def test_tmpfs_and_read_only_root(sb):
    session = sb.create("--set", "security.readonlyRootfs=true", "--set", "tmpfs={/tmp: 1MB, /scratch: 4MB}")
    assert sb.sh(session, "echo x >/etc/x 2>/dev/null && echo writable || echo read-only").text == "read-only\n"
    assert sb.sh(session, "echo x >/tmp/x && echo x >/scratch/x && echo x >/workspace/x && cat /tmp/x /workspace/x").text == "x\nx\n"
    assert sb.sh(session, "head -c 3000000 /dev/zero >/tmp/big", status=None).status != 0


def test_read_only_root_has_a_writable_tmp_and_home(sb):
    session = sb.create("--set", "security.readonlyRootfs=true")
    assert sb.sh(session, 'echo x >/tmp/x && echo x >"$HOME/x" && cat /tmp/x "$HOME/x"').text == "x\nx\n"


def test_workdir_and_user(sb):
    session = sb.create("--workdir", "/srv/job", "--user", "1234:100", manifest={"files": {"a/b": "hi"}})
    assert sb.sh(session, "pwd; id -u; id -g; cat a/b; echo; echo x >new && stat -c %u:%g new a a/b").lines() == [
        "/srv/job", "1234", "100", "hi", "1234:100", "1234:100", "1234:100"]


def test_dry_run_makes_nothing(sb, engine):
    plan = sb.run("create", "--image", BASE, "--memory", "64MB", "--dry-run")
    assert BASE in plan.text
    document = sb.json("create", "--image", BASE, "--memory", "64MB", "--dry-run")
    assert document["dryRun"] is True and document["manifest"]["image"] == BASE
    assert is_gone(engine, {"sandbox.owner": sb.owner}) and sb.sessions() == []


def test_dry_run_tells_what_was_asked_for(sb):
    """Above all what weakens a session: a plan that leaves it out is no plan."""
    asked = ["--publish", "80", "--network", "bridge", "--max-file", "1MB", "--timeout", "5s", "--tmpfs", "/tmp=5MB", "--label", "a=b",
             "--seccomp", "unconfined", "--no-new-privileges=false", "--auto-destroy=false", "--set", "security.runtime=runsc"]
    plan = dict(line.split(maxsplit=1) for line in sb.run("create", "--image", BASE, "--dry-run", *asked).lines()[1:])
    expected = {"publish": "[80]", "network": "bridge", "limits.maxFile": "1MB", "limits.timeout": "5s", "tmpfs./tmp": "5MB", "labels.a": "b",
                "security.seccomp": "unconfined", "security.noNewPrivileges": "false", "lifecycle.autoDestroy": "false", "security.runtime": "runsc"}
    assert expected.items() <= plan.items()
    assert "seccomp" not in sb.run("create", "--image", BASE, "--dry-run").text


@pytest.mark.parametrize("keys, word", [({"env": {"A": {"fromEnv": "NOT_SET_HERE"}}}, "NOT_SET_HERE"), ({"env": {"A": {"fromFile": "missing"}}}, "missing"),
                                        ({"security": {"seccomp": "missing.json"}}, "missing.json"), ({"security": {"seccomp": "."}}, "not a regular file")])
def test_dry_run_refuses_what_create_refuses(sb, tmp_path, keys, word):
    """All that create reads on the host before it makes anything; a manifest that is only checked may be ahead of its files."""
    path = tmp_path / "m.yaml"
    path.write_text(json.dumps({"image": BASE, **keys}))
    plan, real = [sb.fails(2, "create", *dry, "-f", path) for dry in (["--dry-run"], [])]
    assert plan.errors == real.errors and word in plan.errors and plan.out == b""
    checked = sb.run("manifest", "check", path)
    assert "note: as things are here, create would refuse" in checked.errors and word in checked.errors


def test_dry_run_needs_no_engine(sb):
    assert BASE in sb.run("--engine", "unix:///nonexistent.sock", "create", "--image", BASE, "--dry-run").text


def test_name_taken_is_4_and_harms_nothing(sb, engine):
    first = sb.create("--name", "web")
    error = sb.fails_json(4, "create", "--image", BASE, "--name", "web")
    assert error["code"] == "exists"
    assert sb.sh("web", "echo alive").text == "alive\n"
    assert len(engine.containers({"sandbox.owner": sb.owner})) == 1
    sb.destroy("web")
    assert sb.create("--name", "web") != first


def test_same_name_of_another_owner_is_another_session(sb):
    mine = sb.create("--name", "web")
    other = sb.run("--owner", "somebody-else", "create", "--image", BASE, "--name", "web").text.strip()
    assert mine != other
    assert sb.json("inspect", "web")["id"] == mine


def test_four_creates_of_one_name(sb, engine):
    """F7: one wins, three say so, and the winner is usable."""
    children = [sb.start("create", "--image", BASE, "--name", "race") for _ in range(4)]
    outcomes = [(child.communicate(timeout=60), child.returncode) for child in children]
    assert sorted(status for _, status in outcomes) == [0, 4, 4, 4], outcomes
    assert sb.sh("race", "echo ok").text == "ok\n"
    assert len(engine.containers({"sandbox.owner": sb.owner})) == 1


def test_missing_image_leaves_nothing(sb, engine):
    error = sb.fails_json(1, "create", "--image", "nosuch/none:v1", "--pull", "never", "--name", "x")
    assert error["code"] == "image_not_found" and "nosuch/none" in error["message"]
    assert is_gone(engine, {"sandbox.owner": sb.owner}) and sb.sessions() == []
    sb.create("--name", "x")


def test_failed_pull_leaves_nothing(sb, engine):
    result = sb.fails(1, "create", "--image", "registry.invalid/none:v1", timeout=120)
    assert "registry.invalid/none" in result.errors
    assert is_gone(engine, {"sandbox.owner": sb.owner})


def test_failed_seed_leaves_nothing(sb, engine, tmp_path):
    (tmp_path / "m.yaml").write_text(f"version: 1\nimage: {BASE}\nfiles: {{a: {{fromFile: missing.txt}}}}\n")
    result = sb.run("create", "-f", tmp_path / "m.yaml", status=None)
    assert result.status != 0 and "missing.txt" in result.errors
    assert is_gone(engine, {"sandbox.owner": sb.owner}) and sb.sessions() == []


@pytest.mark.parametrize("sig,status", [(2, 130), (15, 143), (1, 129)])
def test_a_signal_rolls_back(sb, engine, sig, status):
    child = sb.start("create", "--image", BASE)
    try:
        child.wait(timeout=0.12)
    except Exception:
        child.send_signal(sig)
    out, err = child.communicate(timeout=60)
    assert child.returncode in (0, status, -sig), (child.returncode, err)
    if child.returncode == -sig:  # on a busy machine: before it listened, and before it made anything
        assert sb.instance is None or leftovers(engine, sb.instance) == []
    if child.returncode:
        sb.run("gc", "--grace", "0s")
        assert leftovers(engine, sb.instance) == [] and sb.sessions() == []


def test_docker_words_get_an_answer(sb):
    for flags, hint in [(["-v", ".:/app"], ""), (["-d"], ""), (["--privileged"], "")]:
        result = sb.fails(2, "create", *flags, "--image", BASE)
        assert "hint: " in result.errors, result
    session = sb.create("-m", "64m", "-w", "/app", "-u", "1000")
    assert sb.sh(session, "pwd; id -u").lines() == ["/app", "1000"]


def test_example_ticket(sb, tmp_path):
    """The quick start's manifest, step by step."""
    session = sb.run("create", "-f", ROOT / "examples/ticket.yaml").text.strip()
    sb.run("exec", session, "./work.sh")
    sb.run("cp", f"{session}:output/report.md", tmp_path / "report.md")
    report = (tmp_path / "report.md").read_text()
    assert "Ticket: The export button does nothing" in report and "Priority: high" in report
    assert "TypeError: rows is undefined" in report
    sb.destroy(session)


def test_network_bridge_is_ours_and_isolated(sb, engine):
    if engine.is_podman:  # no option of its keeps them apart: refused, not weakened
        error = sb.fails_json(1, "create", "--image", BASE, "--network", "bridge")
        assert "Podman cannot keep" in error["message"] and "none" in error["hint"]
        return
    one, two = sb.create("--network", "bridge"), sb.create("--network", "bridge")
    network = next(iter(engine.session(one)["NetworkSettings"]["Networks"]))
    assert network != "bridge"
    inspected = engine.call("GET", f"/networks/{network}")
    assert inspected["Options"]["com.docker.network.bridge.enable_icc"] == "false"
    assert inspected["Labels"]["sandbox.role"] == "network"
    address = engine.session(two)["NetworkSettings"]["Networks"][network]["IPAddress"]
    sb.sh(two, "nc -l -p 7000 >/dev/null 2>&1 &")
    assert sb.sh(one, f"nc -w 2 {address} 7000 </dev/null", status=None).status != 0
    again = sb.create("--network", "bridge")
    assert next(iter(engine.session(again)["NetworkSettings"]["Networks"])) == network


def test_network_none_has_loopback_only(sb):
    assert sb.sh(sb.create("--set", "network=false"), "ls /sys/class/net").text == "lo\n"


def test_state_directory_is_private(sb):
    sb.create()
    assert stat.S_IMODE(sb.state_dir.stat().st_mode) == 0o700


@pytest.mark.parametrize("closed", ["full", "closed"])
def test_a_session_whose_id_cannot_be_told_is_not_kept(sb, engine, closed):
    """Nobody could name it: it would run unseen until its TTL."""
    redirection = ">/dev/full" if closed == "full" else ">&-"
    command = " ".join(shlex.quote(str(word)) for word in sb.argv("create", "--image", BASE))
    result = subprocess.run(["sh", "-c", f"{command} {redirection}"], env=sb.environ(), capture_output=True, timeout=60)
    assert result.returncode != 0 and result.stderr.startswith(b"sandbox: error: "), result
    assert sb.sessions() == [] and leftovers(engine, sb.instance) == []


def test_sections_without_effect_are_said(sb):
    """A policy that looks switched on and is not would be worse than none."""
    manifest = {"image": BASE, "policy": {"exec": {"blockedCommands": ["ls"]}}}
    path = sb.state_dir.parent / "policy.json"
    path.write_text(json.dumps(manifest))
    result = sb.run("create", "-f", path)
    assert "note: policy in the manifest has no effect" in result.errors
    scanned = sb.run("create", "--image", BASE, "--set", 'export={files: {a: ./a}, scan: ["true"]}').errors
    assert "note: export.files in the manifest is for sandbox run" in scanned and "scan" not in scanned
    assert "note: policy" not in sb.run("--quiet", "create", "-f", path).errors


def test_a_name_that_another_command_is_freeing_is_waited_for(sb, engine):
    first = sb.create("--name", "web")
    engine.remove(sb.json("inspect", first)["container"]["id"])
    with held(sb.state_dir / "locks" / first):
        heir = sb.start("create", "--image", BASE, "--name", "web")
        still_runs(heir)
    out, err = heir.communicate(timeout=60)
    assert heir.returncode == 0, err
    assert sb.json("inspect", "web")["id"] == out.decode().strip() != first


@pytest.mark.parametrize("sent,status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_wait_for_a_lock(sb, engine, sent, status):
    sb.destroy(sb.create("--workspace", "p"))
    (lock,) = (sb.state_dir / "locks").glob(".workspace-*")
    with held(lock):
        waiter = sb.start("create", "--image", BASE, "--workspace", "p")
        wait_until(sb.sessions)
        waiter.send_signal(sent)
        _, err = waiter.communicate(timeout=60)
        assert waiter.returncode == status and b"interrupted" in err
    assert sb.sessions() == [] and [row for row in leftovers(engine, sb.instance) if not row.endswith(" workspace")] == []


def test_a_signal_that_the_caller_ignores_ends_nothing(sb):
    """As under nohup, and in a shell's background jobs."""
    sb.destroy(sb.create("--workspace", "p"))
    (lock,) = (sb.state_dir / "locks").glob(".workspace-*")
    with held(lock):
        waiter = sb.start("create", "--image", BASE, "--workspace", "p", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        wait_until(sb.sessions)
        waiter.send_signal(signal.SIGHUP)
        still_runs(waiter)
    _, err = waiter.communicate(timeout=60)
    assert waiter.returncode == 0, err
