# SPDX-License-Identifier: Apache-2.0
"""cp: files and trees both ways, owners, names, and what a hostile container may not do. Case E."""
import hashlib
import json
import os
import pathlib
import socket
import stat
import subprocess
import time

import pytest

from runner import still_runs, stop


def snapshot(root):
    """{relative path: (kind, mode, content or target, mtime in ns of files)} of a tree, bytes names."""
    root = os.fsencode(root)
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            facts = os.lstat(path)
            key = os.path.relpath(path, root)
            if stat.S_ISLNK(facts.st_mode):
                found[key] = ("link", os.readlink(path))
            elif stat.S_ISDIR(facts.st_mode):
                found[key] = ("dir", stat.S_IMODE(facts.st_mode))
            else:
                with open(path, "rb") as file:
                    found[key] = ("file", stat.S_IMODE(facts.st_mode), hashlib.sha256(file.read()).digest(), facts.st_mtime_ns)
    return found


@pytest.fixture
def tree(tmp_path):
    """A tree with everything that is hard to copy."""
    root = tmp_path / "tree"
    (root / "sub/empty").mkdir(parents=True)
    (root / "plain").write_text("plain\n")
    (root / "exec").write_text("#!/bin/sh\necho ran\n")
    os.chmod(root / "exec", 0o755)
    os.chmod(root / "plain", 0o640)
    os.chmod(root / "sub", 0o750)
    (root / "zero").write_bytes(b"")
    (root / "link").symlink_to("sub/../plain")
    (root / "dangling").symlink_to("/no/such/" + "x" * 280)
    os.link(root / "plain", root / "hard")
    (root / ("n" * 255)).write_text("long name")
    deep = root
    for number in range(20):
        deep = deep / f"{number:02}{'d' * 48}"
    deep.mkdir(parents=True)
    (deep / "leaf").write_text("leaf")
    with open(os.path.join(os.fsencode(root), b"caf\xe9-\xff"), "wb") as file:
        file.write(b"latin-1 name")
    (root / "new\nline").write_text("name with a newline")
    for length in (99, 100, 101):
        (root / ("m" * length)).write_text(str(length))
    os.utime(root / "zero", ns=(1_000_000_000_123_456_789, 1_000_000_000_123_456_789))
    return root


def test_tree_round_trip(shared, session, tree, tmp_path):
    shared.run("cp", tree, f"{session}:/workspace/copied")
    shared.run("cp", f"{session}:/workspace/copied", tmp_path / "back")
    assert snapshot(tmp_path / "back") == snapshot(tree)
    assert shared.run("exec", session, "/workspace/copied/exec").text == "ran\n"
    shared.run("exec", session, "rm", "-r", "/workspace/copied")


def test_file_round_trip_keeps_mode_and_time(shared, session, tmp_path):
    source = tmp_path / "f"
    source.write_bytes(os.urandom(3_000_001))
    os.chmod(source, 0o751)
    os.utime(source, ns=(0, -1_500_000_000))
    shared.run("cp", source, f"{session}:f")
    assert shared.sh(session, "stat -c '%a %s' f").text == "751 3000001\n"
    shared.run("cp", f"{session}:/workspace/f", tmp_path / "g")
    assert (tmp_path / "g").read_bytes() == source.read_bytes()
    assert (tmp_path / "g").stat().st_mtime_ns == -1_500_000_000 and stat.S_IMODE((tmp_path / "g").stat().st_mode) == 0o751


def test_cp_is_silent(shared, session, tmp_path):
    (tmp_path / "f").write_text("x")
    result = shared.run("cp", tmp_path / "f", f"{session}:quiet")
    assert (result.out, result.err) == (b"", b"")


def test_cp_says_what_it_skipped(shared, session, tmp_path):
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "d/pipe")
    result = shared.run("cp", tmp_path / "d", f"{session}:skipping")
    assert result.errors.startswith("sandbox: skipped 1 special file (") and result.out == b""
    result = shared.run("cp", "--json", "--quiet", tmp_path / "d", f"{session}:skipping-too")
    assert json.loads(result.text)["skipped"] == 1 and result.err == b""
    shared.sh(session, "mkfifo skipping/pipe skipping/pipe2")
    assert "skipped 2 special files (" in shared.run("cp", f"{session}:skipping", tmp_path / "out").errors


def test_follow_link_works_out_of_a_session_too(shared, session, tmp_path):
    shared.sh(session, "echo linked > real; ln -s real link; ln -s ../etc/passwd leaves")
    shared.run("cp", "-L", f"{session}:link", tmp_path / "got")
    assert (tmp_path / "got").is_symlink() is False and (tmp_path / "got").read_text() == "linked\n"
    assert shared.run("cp", "-L", f"{session}:leaves", tmp_path / "no", status=None).status != 0
    assert not (tmp_path / "no").is_symlink()


def test_a_device_or_a_socket_at_the_target_stays(shared, session, tmp_path):
    """The one takes the bytes, the other can't; neither is replaced."""
    node = tmp_path / "node"
    os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    shared.sh(session, "echo x > plain")
    shared.run("cp", f"{session}:plain", node)
    assert stat.S_ISCHR(node.lstat().st_mode)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "socket"))
        assert "a socket" in shared.fails(4, "cp", f"{session}:plain", tmp_path / "socket").errors
        assert stat.S_ISSOCK((tmp_path / "socket").lstat().st_mode)


def test_dockers_rules_for_the_target(shared, session, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d/f").write_text("f")
    (tmp_path / "x").write_text("x")
    shared.run("exec", session, "mkdir", "rules")
    shared.run("cp", tmp_path / "d", f"{session}:rules")            # an existing directory receives it under its name
    shared.run("cp", tmp_path / "d", f"{session}:rules/renamed")    # a missing one is the new name
    shared.run("cp", f"{tmp_path}/d/.", f"{session}:rules/renamed") # "/." means the contents
    shared.run("cp", tmp_path / "x", f"{session}:rules/")
    shared.run("cp", tmp_path / "x", f"{session}:rules/y")
    assert sorted(shared.sh(session, "cd rules && find . -type f").lines()) == ["./d/f", "./renamed/f", "./x", "./y"]
    shared.run("cp", f"{session}:rules/d/.", tmp_path / "out")
    assert (tmp_path / "out/f").read_text() == "f"
    shared.run("cp", f"{session}:rules/y", f"{tmp_path}/d")
    assert (tmp_path / "d/y").read_text() == "x"


def test_target_errors(shared, session, tmp_path):
    (tmp_path / "x").write_text("x")
    for target in (f"{session}:nosuch/parent/x", f"{session}:nosuch/"):
        result = shared.run("cp", tmp_path / "x", target, status=None)
        assert result.status in (1, 3) and "nosuch" in result.errors, result
    result = shared.run("cp", f"{session}:nosuch", tmp_path / "y", status=None)
    assert result.status in (1, 3) and not (tmp_path / "y").exists()
    result = shared.run("cp", tmp_path / "nosuch", f"{session}:", status=None)
    assert result.status in (1, 3) and "nosuch" in result.errors
    result = shared.run("cp", f"{session}:/workspace", tmp_path / "no/parent/z", status=None)
    assert result.status in (1, 3) and not (tmp_path / "no").exists()


@pytest.mark.parametrize("name", ["uid-1000", "uid-gid", "named-user"])
def test_owner_is_the_sessions_user(sb, image, tmp_path, name):
    """E1: files belong to who runs the commands; coming out they are the caller's."""
    (tmp_path / "f").write_text("x")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/g").write_text("y")
    os.chown(tmp_path / "f", 501, 501)
    session = sb.create(image=image(name))
    sb.run("cp", tmp_path / "f", f"{session}:/workspace/f")
    sb.run("cp", tmp_path / "d", f"{session}:/workspace/d")
    assert sb.sh(session, 'echo x >>f && echo y >>d/g && touch d/new && [ "$(stat -c %u:%g f d d/g | sort -u)" = "$(id -u):$(id -g)" ] && echo mine').text == "mine\n"
    sb.run("cp", f"{session}:d", tmp_path / "out")
    facts = (tmp_path / "out/g").stat()
    assert (facts.st_uid, facts.st_gid) == (os.getuid(), os.getgid())


def test_setuid_is_dropped_on_the_way_out(shared, session, tmp_path):
    shared.sh(session, "echo x >suid && chmod 6755 suid")
    shared.run("cp", f"{session}:suid", tmp_path / "suid")
    assert stat.S_IMODE((tmp_path / "suid").stat().st_mode) == 0o755


def test_a_special_file_alone_is_an_error(shared, session, tmp_path):
    """In a tree it is skipped, and that is said; by itself there is nothing else to copy."""
    os.mkfifo(tmp_path / "pipe")
    result = shared.run("cp", tmp_path / "pipe", f"{session}:pipe", status=None, timeout=20)
    assert result.status != 0 and "pipe" in result.errors
    shared.run("exec", session, "mkfifo", "inner")
    result = shared.run("cp", f"{session}:inner", tmp_path / "inner", status=None, timeout=20)
    assert result.status != 0 and not (tmp_path / "inner").exists()
    shared.run("exec", session, "rm", "inner")


def test_links_are_kept_and_L_follows(shared, session, tmp_path):
    (tmp_path / "real").write_text("real")
    (tmp_path / "link").symlink_to("real")
    shared.run("cp", tmp_path / "link", f"{session}:link")
    shared.run("cp", "-L", tmp_path / "link", f"{session}:followed")
    assert shared.sh(session, "readlink link; cat followed").text == "real\nreal"


def test_atomic_at_the_target(sb, tmp_path):
    """E15: no space, and the old file is unharmed; destroy still works."""
    session = sb.create("--set", "tmpfs={/small: 1MB}")
    sb.sh(session, "echo old >/small/f")
    (tmp_path / "big").write_bytes(bytes(10_000_000))
    result = sb.fails(7, "cp", tmp_path / "big", f"{session}:/small/f")
    assert "o space" in result.errors
    assert sb.sh(session, "cat /small/f; ls -a /small").lines() == ["old", ".", "..", "f"]


def test_an_empty_path_is_the_workdir_itself(shared, session, tmp_path):
    shared.sh(session, "mkdir -p sub && echo x >sub/f")
    shared.run("cp", f"{session}:", tmp_path / "out")
    assert (tmp_path / "out/sub/f").read_text() == "x\n"
    listed = subprocess.run(["tar", "-t"], input=shared.run("cp", f"{session}:", "-").out, capture_output=True, check=True)
    assert b"./sub/f" in listed.stdout.split()


def test_no_space_on_the_way_out(shared, session, tmp_path):
    target = tmp_path / "small"
    target.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", target], check=True)
    try:
        (target / "f").write_text("old")
        shared.sh(session, "head -c 5000000 /dev/zero >big")
        result = shared.fails(7, "cp", f"{session}:big", target / "f")
        assert "o space" in result.errors
        assert (target / "f").read_text() == "old" and os.listdir(target) == ["f"]
    finally:
        subprocess.run(["umount", target], check=True)


def test_killed_copy_leaves_the_target(shared, session, tmp_path):
    shared.sh(session, "head -c 200000000 /dev/zero >huge")
    target = tmp_path / "out"
    target.mkdir()
    (target / "huge").write_text("old")
    child = shared.start("cp", f"{session}:huge", target / "huge")
    time.sleep(0.05)
    stop(child, 15)
    assert child.returncode in (0, 143)
    if child.returncode:
        assert (target / "huge").read_text() == "old" and os.listdir(target) == ["huge"]
    shared.run("exec", session, "rm", "huge")


def test_max_file_is_checked_before_anything_is_replaced(sb, tmp_path):
    session = sb.create("--max-file", "1KB")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/small").write_text("new")
    (tmp_path / "d/big").write_bytes(bytes(2000))
    sb.sh(session, "mkdir d && echo old >d/small && head -c 2000 /dev/zero >large")
    sb.fails(7, "cp", f"{tmp_path}/d/.", f"{session}:d")
    assert sb.sh(session, "cat d/small; ls d").lines() == ["old", "small"]
    (tmp_path / "kept").write_text("kept")
    sb.fails(7, "cp", f"{session}:large", tmp_path / "kept")
    assert (tmp_path / "kept").read_text() == "kept"


def test_nothing_leaves_the_workspace(shared, session, tmp_path):
    (tmp_path / "f").write_text("x")
    shared.sh(session, "ln -s /etc out; ln -s / root; ln -s ../../etc up")
    for target in ("out/f", "root/etc/f", "up/f", "../f"):
        result = shared.run("cp", tmp_path / "f", f"{session}:{target}", status=None)
        assert result.status != 0, result
    shared.sh(session, "test ! -e /etc/f && test ! -e /f")
    shared.run("cp", f"{session}:out", tmp_path / "out")  # a link comes out as a link, never as what it names
    assert os.readlink(tmp_path / "out") == "/etc"
    result = shared.run("cp", f"{session}:out/passwd", tmp_path / "passwd", status=None)
    assert result.status != 0 and not (tmp_path / "passwd").exists()


def test_links_in_the_target_are_not_followed_on_the_host(shared, session, tmp_path):
    """E5: a tree coming out goes into the target and nowhere else."""
    outside = tmp_path / "outside"
    outside.mkdir()
    shared.sh(session, "mkdir -p tree/a && echo evil >tree/a/x")
    target = tmp_path / "target"
    (target / "tree").mkdir(parents=True)
    (target / "tree/a").symlink_to(outside)
    shared.run("cp", f"{session}:tree", target, status=None)
    assert os.listdir(outside) == []


def test_flipping_links_never_reach_the_host(shared, session, tmp_path):
    """E6: a directory that becomes a link and back while files are copied."""
    (tmp_path / "sandbox-e6-file").write_text("x")
    (tmp_path / "out").mkdir()
    flip = shared.start("exec", session, "--", "sh", "-c",
                        "while :; do rm -rf flip; mkdir flip; echo a >flip/f; rm -rf flip; ln -s /etc flip; done")
    for number in range(40):
        shared.run("cp", tmp_path / "sandbox-e6-file", f"{session}:flip/", status=None)
        shared.run("cp", f"{session}:flip", tmp_path / f"out/{number}", status=None)
    stop(flip, 15)
    assert not pathlib.Path("/etc/sandbox-e6-file").exists()
    shared.sh(session, "test ! -e /etc/sandbox-e6-file; rm -rf flip")
    for entry in (tmp_path / "out").iterdir():
        assert entry.is_symlink() or set(os.listdir(entry)) <= {"f", "sandbox-e6-file"}


def test_colons(shared, session, tmp_path):
    """E9."""
    (tmp_path / "a:b").write_text("colon")
    shared.run("cp", "./a:b", f"{session}:", cwd=tmp_path)
    assert shared.run("exec", session, "cat", "a:b").text == "colon"
    shared.run("cp", f"{session}:a:b", "./back:again", cwd=tmp_path)
    assert (tmp_path / "back:again").read_text() == "colon"
    shared.fails(3, "cp", "nosuch:/x", ".", cwd=tmp_path)
    shared.fails(2, "cp", "./a:b", "./c", cwd=tmp_path)
    shared.run("cp", f"{session}:a:b", f"{session}:c:d")
    assert shared.run("exec", session, "cat", "c:d").text == "colon"


def test_tmpfs_and_read_only_root(sb, tmp_path):
    """E10: what was copied is what the session sees."""
    (tmp_path / "f").write_text("seen")
    session = sb.create("--set", "security.readonlyRootfs=true", "--set", "tmpfs={/tmp: 8MB}")
    sb.run("cp", tmp_path / "f", f"{session}:/tmp/f")
    sb.run("cp", tmp_path / "f", f"{session}:/workspace/f")
    assert sb.run("exec", session, "cat", "/tmp/f", "/workspace/f").text == "seenseen"
    result = sb.run("cp", tmp_path / "f", f"{session}:/etc/f", status=None)
    assert result.status != 0 and "ead-only" in result.errors
    sb.run("cp", f"{session}:/tmp/f", tmp_path / "g")
    assert (tmp_path / "g").read_text() == "seen"


def test_proc_files_have_content_or_are_refused(shared, session, tmp_path):
    result = shared.run("cp", f"{session}:/proc/version", tmp_path / "v", status=None)
    if result.status == 0:
        assert b"Linux" in (tmp_path / "v").read_bytes()
    else:
        assert not (tmp_path / "v").exists()


def test_growing_file(shared, session, tmp_path):
    """E14: a file that changes under the reader is never a broken copy reported as good."""
    path = tmp_path / "growing"
    path.write_bytes(b"a" * 5_000_000)
    writer = subprocess.Popen(["sh", "-c", f"while :; do printf bbbbbbbbbb >>{path}; done"])
    try:
        result = shared.run("cp", path, f"{session}:growing", status=None)
    finally:
        stop(writer)
    size = int(shared.sh(session, "stat -c %s growing 2>/dev/null || echo 0").text)
    assert size >= 5_000_000 if result.status == 0 else size == 0


def test_many_small_files(shared, session, tmp_path):
    root = tmp_path / "many"
    for number in range(2000):
        path = root / str(number % 20)
        path.mkdir(parents=True, exist_ok=True)
        (path / f"f{number}").write_text(str(number))
    shared.run("cp", root, f"{session}:many")
    shared.run("cp", f"{session}:many", tmp_path / "back")
    assert snapshot(tmp_path / "back") == snapshot(root)
    shared.run("exec", session, "rm", "-r", "many")


def test_bytes_are_counted_one_way(shared, session, tmp_path):
    """A hole is nothing that was copied: in, out, from session to session, and in the log."""
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(64 << 20)
        file.seek(32 << 20)
        file.write(b"x" * (1 << 20))
    moved = [shared.json("cp", *words)["bytes"] for words in ((tmp_path / "sparse", f"{session}:holes"), (f"{session}:holes", tmp_path / "back"),
                                                             (f"{session}:holes", f"{session}:again"))]
    logged = [json.loads(line)["bytes"] for line in shared.run("--json", "events", session, "--kind", "file.written").text.splitlines()]
    assert moved == [1 << 20] * 3 and logged[-1] == 1 << 20, (moved, logged)
    assert (tmp_path / "back").stat().st_blocks * 512 < 4 << 20
    shared.sh(session, "rm holes again")


def test_sparse_and_large(shared, session, tmp_path):
    """E2, in the size that a test can afford: counters are 64 bits wide in the unit tests."""
    with open(tmp_path / "large", "wb") as file:
        file.truncate(300_000_000)
        file.seek(299_999_999)
        file.write(b"!")
    shared.run("cp", tmp_path / "large", f"{session}:large")
    assert shared.sh(session, "stat -c %s large; tail -c 1 large").text == "300000000\n!"
    shared.run("cp", f"{session}:large", tmp_path / "back")
    assert (tmp_path / "back").stat().st_size == 300_000_000
    shared.run("exec", session, "rm", "large")


def test_json_is_one_document(shared, session, tmp_path):
    (tmp_path / "f").write_text("x")
    assert isinstance(shared.json("cp", tmp_path / "f", f"{session}:j"), dict)
    assert shared.fails_json(3, "cp", "nosuch:/x", tmp_path)["code"] == "not_found"


def test_a_link_at_the_target_stands_for_what_it_names(shared, session, tmp_path):
    """As for cp(1); and a device is a device by any name: as root, replacing /dev/stdout would hurt every program."""
    shared.sh(session, "echo new >/workspace/named")
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    shared.run("cp", f"{session}:named", tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new\n"
    (tmp_path / "nowhere").symlink_to("missing")
    shared.fails(4, "cp", f"{session}:named", tmp_path / "nowhere")
    assert (tmp_path / "nowhere").is_symlink()


@pytest.mark.parametrize("to", ["releases/1", "/workspace/releases/1", "other"])
def test_so_does_a_link_at_a_target_in_the_session(shared, session, tmp_path, to):
    (tmp_path / "new").write_text("new")
    shared.sh(session, f"rm -rf releases current other; mkdir releases; echo old >releases/1; ln -s releases/1 other; ln -s {to} current")
    shared.run("cp", tmp_path / "new", f"{session}:current")
    assert shared.sh(session, "readlink current; cat releases/1").text == f"{to}\nnew"
    shared.sh(session, "ln -s nowhere dangling; ln -s loop loop; ln -s /etc/hostname out; mkfifo pipe; ln -s pipe to-pipe")
    for name, status, words in (("dangling", 4, "is a link that leads nowhere"), ("loop", 4, "loop"), ("out", 6, "leads out"), ("to-pipe", 4, "a named pipe")):
        assert words in shared.fails(status, "cp", tmp_path / "new", f"{session}:{name}").errors
        assert shared.sh(session, f"readlink {name} || [ -p {name} ]")
    # A directory by another name takes the copy in.
    shared.sh(session, "ln -sfn releases directory")
    shared.run("cp", tmp_path / "new", f"{session}:directory")
    assert shared.sh(session, "cat releases/new; rm dangling loop out pipe to-pipe").text == "new"


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link to /dev/stdout"])
def test_a_descriptor_is_written_into(shared, session, tmp_path, name):
    """`cp S:f /dev/stdout >log` takes no file away from those that hold it, and goes on where it stands."""
    shared.sh(session, "echo new >/workspace/named")
    if name.startswith("link"):
        (tmp_path / "link").symlink_to("/dev/stdout")
        name = tmp_path / "link"
    log = tmp_path / "log"
    log.write_text("before\n")
    inode = log.stat().st_ino
    with open(log, "a") as out:
        child = shared.start("cp", f"{session}:named", name, stdout=out)
        assert child.wait(timeout=60) == 0, child.stderr.read()
        out.write("after\n")
    assert log.read_text() == "before\nnew\nafter\n" and log.stat().st_ino == inode
    child = shared.start("cp", f"{session}:named", name)
    assert child.communicate(timeout=60) == (b"new\n", b"")


def test_a_device_or_a_pipe_is_written_into(shared, session, tmp_path):
    shared.sh(session, "head -c 300000 /dev/urandom >/workspace/big; mkdir -p folder; ln -sf big short")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    for name in ("fifo", "link"):
        child = shared.start("cp", "-L", f"{session}:short", tmp_path / name)
        assert hashlib.sha256((tmp_path / "fifo").read_bytes()).hexdigest() == shared.sh(session, "sha256sum big").text.split()[0]
        assert child.wait(timeout=60) == 0 and stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)
    before = os.stat("/dev/null")
    shared.run("cp", f"{session}:big", "/dev/null")
    assert os.stat("/dev/null").st_ino == before.st_ino
    assert "none" in shared.fails(4, "cp", f"{session}:folder", "/dev/null").errors
    assert "-L" in shared.fails(4, "cp", f"{session}:short", "/dev/null").errors
    assert "/dev/full" in shared.fails(7, "cp", f"{session}:big", "/dev/full").errors


def test_a_signal_ends_a_copy_that_waits_for_a_pipes_reader(shared, session, tmp_path):
    shared.sh(session, "echo x >/workspace/small")
    os.mkfifo(tmp_path / "fifo")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    child = shared.start("cp", f"{session}:small", tmp_path / "fifo", env={"TMPDIR": str(temporary)})
    still_runs(child)
    child.terminate()
    assert child.wait(timeout=20) == 143 and list(temporary.iterdir()) == []


def test_a_descriptor_is_no_source(shared, session):
    """It is a link into this process's /proc, and would be copied as that."""
    for name in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        assert "exec -i" in shared.fails(2, "cp", name, f"{session}:in", input="payload").errors
    shared.sh(session, "test ! -e in && test ! -L in")


def test_json_and_a_file_do_not_share_stdout(shared, session):
    shared.sh(session, "echo x >/workspace/small")
    error = shared.fails_json(2, "cp", f"{session}:small", "/dev/stdout")
    assert "--json" in error["message"]


def test_a_signal_ends_a_copy_whose_reader_waits(shared, session, tmp_path):
    shared.sh(session, "head -c 3000000 /dev/zero >/workspace/big")
    read, write = os.pipe()
    child = shared.start("cp", f"{session}:big", "/dev/stdout", stdout=write)
    os.close(write)
    assert os.read(read, 10) == bytes(10)
    child.terminate()
    assert child.wait(timeout=20) == 143
    os.close(read)
