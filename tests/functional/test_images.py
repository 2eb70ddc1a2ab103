# SPDX-License-Identifier: Apache-2.0
"""Any image works. Case D: what images carry that gets in the way."""
import io
import os
import subprocess
import tarfile
import time

import pytest

import images as shapes
from runner import BASE, is_gone


@pytest.mark.parametrize("name", [n for n in shapes.DOCKERFILES if n != "workdir"])
def test_life_of_a_session(sb, image, engine, tmp_path, name):
    """create, exec, cp both ways, quick destroy: the same on every shape."""
    session = sb.create(image=image(name))
    assert sb.sh(session, "echo ok; pwd").lines() == ["ok", "/workspace"]
    sb.run("exec", session, "touch", "f")
    (tmp_path / "in").write_text("in")
    sb.run("cp", tmp_path / "in", f"{session}:in")
    sb.sh(session, "cat in >>f")
    sb.run("cp", f"{session}:f", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "in"
    assert sb.destroy(session).seconds < 8  # D3: docker stop's grace is ten
    assert is_gone(engine, {"sandbox.session": session})


def test_from_scratch(sb, image, tmp_path):
    """No shell, no /etc, no /tmp: nothing of ours depends on what the image has."""
    session = sb.create(image=image("scratch"), manifest={"image": image("scratch"), "files": {"a/b": "seeded"}, "directories": ["out"]})
    busybox = ["exec", session, "/bin/busybox"]
    assert sb.run(*busybox, "cat", "a/b").text == "seeded"
    assert sb.run(*busybox, "pwd").text == "/workspace\n"
    sb.run("exec", session, "sh", status=127)
    sb.run("exec", "--timeout", "300ms", session, "/bin/busybox", "sleep", "9", status=124)
    (tmp_path / "f").write_bytes(b"x" * 100_000)
    sb.run("cp", tmp_path / "f", f"{session}:out/")
    sb.run("cp", f"{session}:out", tmp_path / "back")
    assert (tmp_path / "back/f").read_bytes() == b"x" * 100_000


def test_from_scratch_with_a_read_only_root(sb, image):
    session = sb.create("--set", "security.readonlyRootfs=true", image=image("scratch"))
    sb.run("exec", session, "/bin/busybox", "touch", "/workspace/f", "/tmp/f")


def test_healthcheck_does_not_run(sb, image, engine):
    session = sb.create(image=image("healthcheck"))
    time.sleep(2)
    health = engine.session(session)["State"].get("Health")
    assert health is None or health["Status"] in ("", "none")  # Podman has an empty one for all
    sb.sh(session, "test ! -e /tmp/healthcheck-ran")


def test_volumes_of_the_image(sb, image, engine):
    """D5: the workspace wins at the workdir, and no anonymous volume stays."""
    session = sb.create(image=image("volumes"))
    mounts = {m["Destination"]: m for m in engine.session(session)["Mounts"]}
    assert mounts["/workspace"]["Type"] == "volume"
    assert engine.volume(mounts["/workspace"]["Name"])["Labels"]["sandbox.session"] == session
    assert sb.run("exec", session, "cat", "/data/seed").text == "d\n"
    sb.destroy(session)
    left = [m["Name"] for m in mounts.values() if m["Type"] == "volume" and engine.volume(m["Name"])]
    assert [name for name in left if not name.startswith("sandbox-agent-")] == []


@pytest.mark.parametrize("name,ids", [("uid-1000", "1000 0"), ("uid-gid", "1000 100"), ("named-user", "1234 1234")])
def test_user_of_the_image(sb, image, name, ids):
    """D6: the workspace's root is given to who works in it."""
    session = sb.create(image=image(name), manifest={"image": image(name), "directories": ["d"], "files": {"a/b": "x"}})
    assert sb.sh(session, 'echo "$(id -u) $(id -g)"').text == ids + "\n"
    assert sb.sh(session, "touch f d/g a/c; echo y >>a/b; stat -c '%u %g' f a/b d").lines() == [ids] * 3
    assert sb.sh(session, 'echo x >"$HOME/x" && cat "$HOME/x"').text == "x\n"


def test_workdir_content_of_the_image_is_kept(sb, image):
    session = sb.create(image=image("owned-workdir"))
    assert sb.sh(session, "cat deep/file; stat -c '%u %a' deep; touch new deep/new").lines() == ["old", "1000 750"]
    session = sb.create(image=image("root-owned-workdir"))
    assert sb.sh(session, "cat file; touch new && echo writable; stat -c %u file").lines() == ["old", "writable", "0"]


def test_path_and_env_of_the_image(sb, image):
    """D8."""
    session = sb.create("-e", "MINE=1", image=image("path"))
    assert sb.sh(session, "echo $PATH").text == "/opt/x/bin:/bin:/usr/bin:/sbin\n"
    assert sb.run("exec", session, "xtool").text == "from-x\n"
    assert sb.sh(session, 'echo "$GREETING $MINE"').text == "from image 1\n"


def test_limits_that_the_host_cannot_give(sb):
    """D11: refused or warned about, never silent."""
    result = sb.fails(2, "create", "--image", sb.base_image, "--disk", "1g")
    assert "hint: " in result.errors or "disk" in result.errors


def test_import(sb, engine, tmp_path):
    (tmp_path / "root/bin").mkdir(parents=True)
    subprocess.run(["cp", shapes.BUSYBOX, tmp_path / "root/bin/busybox"], check=True)
    subprocess.run(["tar", "-C", tmp_path / "root", "-cf", tmp_path / "root.tar", "."], check=True)
    subprocess.run(["gzip", "-k", tmp_path / "root.tar"], check=True)
    for file in ("root.tar", "root.tar.gz"):
        sb.run("image", "import", tmp_path / file, "--tag", "sandbox-test/imported:v1")
        session = sb.create(image="sandbox-test/imported:v1")
        assert sb.run("exec", session, "/bin/busybox", "echo", "hi").text == "hi\n"
        sb.destroy(session)
    engine.remove_image("sandbox-test/imported:v1")


def test_import_errors(sb, tmp_path):
    sb.fails(2, "image", "import", tmp_path / "x")
    result = sb.run("image", "import", tmp_path / "nosuch.tar", "--tag", "sandbox-test/x", status=None)
    assert result.status in (1, 3) and "nosuch.tar" in result.errors
    (tmp_path / "garbage").write_bytes(b"this is no tar archive\n" * 100)
    sb.fails(1, "image", "import", tmp_path / "garbage", "--tag", "sandbox-test/garbage")


def test_bootstrap_twice(sb, engine):
    for _ in range(2):
        sb.run("image", "bootstrap", "--tag", "sandbox-test/boot:v1")
    assert engine.image("sandbox-test/boot:v1")
    engine.remove_image("sandbox-test/boot:v1")


def test_bootstrap_has_what_a_shell_script_needs(sb):
    session = sb.create()
    sb.sh(session, "for t in sh cat grep sed awk tar find wc head tail sort stat id nc; do command -v $t >/dev/null || { echo no $t; exit 1; }; done")
    assert sb.sh(session, "id -un; ls -d /tmp /root /etc/passwd").lines() == ["root", "/etc/passwd", "/root", "/tmp"]


@pytest.fixture
def debian(sb, engine, once):
    """Through mmdebstrap, with a package more. Kept from run to run: it takes a while."""
    tag = "sandbox-test/debian:latest"

    def make():
        if not engine.image(tag):
            sb.run("image", "bootstrap", "--debian", "--packages", "git", "--tag", tag, timeout=300)
    once("debian", make)
    return tag


def test_bootstrap_debian(sb, debian):
    session = sb.create(image=debian)
    assert "Debian" in sb.run("exec", session, "cat", "/etc/os-release").text


def test_git_in_a_copied_tree(sb, debian, tmp_path):
    """git's ownership check passes in it (D9)."""
    subprocess.run(["git", "init", "-q", tmp_path / "repo"], check=True)
    subprocess.run(["chown", "-R", "501:501", tmp_path / "repo"], check=True)
    for user in ("0", "1000:1000"):
        session = sb.create("--user", user, image=debian)
        sb.run("cp", tmp_path / "repo", f"{session}:/workspace/repo")
        sb.run("exec", "-w", "/workspace/repo", session, "git", "status")


@pytest.mark.parametrize("archive", [b"", b"\0" * 10240], ids=["no bytes", "no files"])
def test_an_archive_of_nothing_takes_no_name(sb, engine, archive):
    repository = f"sandbox-test/kept-{sb.owner}"
    tag = f"{repository}:v1"
    engine.tag(BASE, repository, "v1")
    before = engine.image(tag)["Id"]
    try:
        result = sb.run("image", "import", "-", "--tag", tag, input=archive, status=1)
        assert result.errors.startswith("sandbox: error: ")
        assert engine.image(tag)["Id"] == before
        failed = sb.run("image", "bootstrap", "--debian", "--suite", "nosuch", "--tag", tag, status=1, timeout=120)
        assert "mmdebstrap failed" in failed.errors and engine.image(tag)["Id"] == before
    finally:
        engine.remove_image(tag)


def test_a_bootstrapped_image_is_everybodys_whatever_the_callers_umask(sb, engine):
    """Not every storage driver gives the root a mode of its own: a user of such an image could not reach the agent."""
    tag = f"{sb.owner}:umask"
    child = sb.start("image", "bootstrap", "--tag", tag, preexec_fn=lambda: os.umask(0o077))
    assert child.wait(timeout=120) == 0, child.stderr.read()
    try:
        image = tarfile.open(fileobj=io.BytesIO(engine.call("GET", f"/images/{tag}/get")))
        (layer,) = [name for name in image.getnames() if name.endswith("layer.tar")]
        modes = {entry.name: entry.mode for entry in tarfile.open(fileobj=image.extractfile(layer)) if entry.isdir()}
        assert {name: modes[name] for name in (".", "./bin", "./usr", "./tmp")} == {".": 0o755, "./bin": 0o755, "./usr": 0o755, "./tmp": 0o1777}
    finally:
        engine.call("DELETE", f"/images/{tag}", absent=True)
