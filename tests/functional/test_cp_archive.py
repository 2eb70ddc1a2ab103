# SPDX-License-Identifier: Apache-2.0
"""cp with a tar stream on stdin or stdout, as docker cp has it; archives by other programs, and hostile ones. Cases E2, E3, E5."""
import io
import os
import signal
import subprocess
import tarfile

import pytest

from test_cp import snapshot, tree  # noqa: F401 (a fixture)


def archive(*members, end=True):
    """A tar made by hand: (name, type, content or link target) each."""
    out = io.BytesIO()
    for name, kind, content in members:
        info = tarfile.TarInfo(name)
        info.type = kind
        if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            info.linkname, content = content, b""
        info.size = len(content)
        out.write(info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "surrogateescape"))
        out.write(content + bytes(-len(content) % 512))
    return out.getvalue() + bytes(1024 if end else 0)


FILE = (tarfile.REGTYPE, b"x")


def test_round_trip_through_gnu_tar(shared, session, tree, tmp_path):  # noqa: F811
    with open(tree / "sparse", "wb") as file:
        file.truncate(1 << 20)
    os.setxattr(tree / "plain", "user.origin", b"web\0site")
    packed = subprocess.run(["tar", "-c", "--format=posix", "--xattrs", "-S", "-C", tmp_path, "tree"], capture_output=True, check=True).stdout
    shared.run("exec", session, "mkdir", "packed")
    shared.run("cp", "-", f"{session}:packed", input=packed)
    out = shared.run("cp", f"{session}:packed/tree", "-").out
    (tmp_path / "back").mkdir()
    done = subprocess.run(["tar", "-xp", "--xattrs", "-C", tmp_path / "back"], input=out, capture_output=True, check=True)
    assert done.stderr == b""
    back = tmp_path / "back/tree"
    assert snapshot(back) == snapshot(tree)
    assert (back / "hard").stat().st_ino == (back / "plain").stat().st_ino
    assert os.getxattr(back / "plain", "user.origin") == b"web\0site"
    shared.sh(session, "chmod -R u+w packed; rm -r packed")


@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_a_compressed_archive_goes_in(shared, session, tmp_path, packer):
    """As `docker cp -` takes it; byte by byte at first, as a slow pipe gives it."""
    plain = archive(("big", tarfile.REGTYPE, os.urandom(1 << 20) + bytes(1 << 20)))
    packed = subprocess.run([packer, "-c"], input=plain, capture_output=True, check=True).stdout
    child = shared.start("cp", "-", f"{session}:.", stdin=subprocess.PIPE)
    for byte in packed[:8]:
        child.stdin.write(bytes([byte]))
        child.stdin.flush()
    out, errors = child.communicate(packed[8:], timeout=60)
    assert (child.returncode, errors) == (0, b"")
    assert shared.run("cp", f"{session}:big", "-").out[512:][:2 << 20] == plain[512:][:2 << 20]
    shared.sh(session, "rm big")


@pytest.mark.parametrize("start, what", [(b"BZh91AY", "compressed by bzip2"), (b"\xfd7zXZ\0", "compressed by xz"), (b"PK\x03\x04", "a zip file")])
def test_an_archive_that_is_not_read_is_named(shared, session, start, what):
    error = shared.fails(1, "cp", "-", f"{session}:.", input=start + bytes(2000))
    assert what in error.errors and "tar.gz and tar.zst" in error.errors


@pytest.mark.parametrize("level", [["-19"], ["--long=27"], ["--ultra", "-22"], ["--long=31"]], ids=" ".join)
def test_an_archive_may_not_ask_for_any_memory(shared, session, tmp_path, level):
    """`zstd -19` is read within the 16 MiB that all of a copy takes; what wants a larger window is told so, and is not "damaged".
    Of the 16 MiB 11 may be data: what of the program's text is in memory is for the page cache to say, and for the benchmarks."""
    whole = archive(("long", tarfile.REGTYPE, os.urandom(1 << 20) * (64 if level == ["-19"] else 10)))
    with open(tmp_path / "packed", "wb") as file: # from a pipe, so that the window is the one that was asked for
        subprocess.run(["zstd", "-c", "-T1", *level], input=whole, stdout=file, check=True)
    with open(tmp_path / "packed", "rb") as file:
        done = subprocess.run(["prlimit", f"--data={11 << 20}", *shared.argv("cp", "-", f"{session}:.")], stdin=file, env=shared.environ(),
                              capture_output=True, text=True, timeout=120)
    if level == ["-19"]:
        assert (done.returncode, done.stderr) == (0, "")
        shared.sh(session, "rm long")
        return
    assert done.returncode == 7 and "the window may be 8 MiB" in done.stderr and "zstd -d --long=31" in done.stderr, done
    assert "damaged" not in done.stderr


def test_a_cut_compressed_archive_changes_nothing(shared, session):
    packed = subprocess.run(["gzip"], input=archive(("cut", tarfile.REGTYPE, os.urandom(100000))), capture_output=True, check=True).stdout
    assert "ends in the middle" in shared.fails(1, "cp", "-", f"{session}:.", input=packed[:-5000]).errors
    assert shared.run("exec", session, "ls", "cut", status=1)


@pytest.mark.parametrize("form", ["gnu", "oldgnu", "posix", "ustar", "v7"])
def test_every_format_of_gnu_tar_goes_in(shared, session, tmp_path, form):
    source = tmp_path / "src"
    (source / "d").mkdir(parents=True)
    (source / "d/f").write_text("content")
    (source / "d/l").symlink_to("f")
    os.link(source / "d/f", source / "d/hard")
    if form not in ("ustar", "v7"):
        (source / ("n" * 200)).write_text("long")
        with open(source / "sparse", "wb") as file:
            file.truncate(9 << 30)
            file.seek(8 << 30)
            file.write(b"past 8 GiB")
    holes = [] if form in ("ustar", "v7") else ["-S"]
    packed = subprocess.run(["tar", "-c", f"--format={form}", *holes, "-C", source, "."], capture_output=True, check=True).stdout
    shared.run("exec", session, "mkdir", form)
    shared.run("cp", "-", f"{session}:{form}", input=packed)
    shared.run("cp", f"{session}:{form}/.", tmp_path / "back")
    back = tmp_path / "back"
    assert (back / "d/hard").stat().st_ino == (back / "d/f").stat().st_ino and os.readlink(back / "d/l") == "f"
    assert sorted(os.listdir(back)) == sorted(os.listdir(source))
    if form not in ("ustar", "v7"):
        facts = (back / "sparse").stat()
        assert facts.st_size == 9 << 30 and facts.st_blocks * 512 < 1 << 20
        with open(back / "sparse", "rb") as file:
            file.seek(8 << 30)
            assert file.read(10) == b"past 8 GiB"
    shared.run("exec", session, "rm", "-r", form)


def test_names_in_the_archive_are_dockers(shared, session):
    shared.sh(session, "mkdir -p named/sub; echo f >named/sub/f; echo s >single")
    names = lambda path: tarfile.open(fileobj=io.BytesIO(shared.run("cp", f"{session}:{path}", "-").out)).getnames()  # noqa: E731
    assert names("named") == ["named", "named/sub", "named/sub/f"]
    assert names("/workspace/named/") == ["named", "named/sub", "named/sub/f"]
    assert names("named/.") == [".", "./sub", "./sub/f"]
    assert names("single") == ["single"]
    shared.run("exec", session, "rm", "-r", "named", "single")


def test_what_python_wrote_and_reads(shared, session, tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("caf\u00e9/" + "d" * 150 + "/f")
        info.size, info.mtime, info.mode, info.uid = 3, -1.25, 0o6751, 3_000_000
        tar.addfile(info, io.BytesIO(b"abc"))
    shared.run("cp", "-", f"{session}:", input=out.getvalue())
    got = tarfile.open(fileobj=io.BytesIO(shared.run("cp", f"{session}:caf\u00e9", "-").out))
    member = got.getmember(info.name)
    assert (member.mtime, member.mode, member.size, member.uid) == (-1.25, 0o751, 3, os.getuid())
    shared.run("exec", session, "rm", "-r", "caf\u00e9")


HOSTILE = {
    "parent": [("../x", *FILE)],
    "absolute": [("/abs-x", *FILE)],
    "through-link": [("a", tarfile.SYMTYPE, "/tmp"), ("a/x", *FILE)],
    "hard-link-out": [("h", tarfile.LNKTYPE, "../../etc/passwd")],
    "hard-link-to-link": [("l", tarfile.SYMTYPE, "/etc/passwd"), ("h", tarfile.LNKTYPE, "l")],
    "directory-becomes-link": [("d", tarfile.DIRTYPE, b""), ("d", tarfile.SYMTYPE, "/tmp"), ("d/x", *FILE)],
    "device": [("null", tarfile.CHRTYPE, b"")],
    "dot": [(".", *FILE)],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused_whole(shared, session, name):
    result = shared.run("cp", "-", f"{session}:", input=archive(("first", *FILE), *HOSTILE[name]), status=None)
    assert result.status in (1, 6) and ("archive" in result.errors or "file tree" in result.errors), result
    assert shared.sh(session, "ls -A; ls /x /abs-x /tmp/x 2>/dev/null; true").text == ""


def test_a_cut_archive_publishes_nothing(shared, session):
    whole = archive(("a", tarfile.REGTYPE, b"a" * 3000), ("b", *FILE))
    for length in (0, 100, 512, 2000, 512 + 3072, len(whole) - 1024):
        result = shared.fails(1, "cp", "-", f"{session}:", input=whole[:length])
        assert "archive" in result.errors
    assert shared.sh(session, "ls -A").text == ""
    shared.run("cp", "-", f"{session}:", input=whole)
    assert shared.sh(session, "ls; rm a b").lines() == ["a", "b"]


def test_the_target_of_an_archive_is_a_directory_that_is_there(shared, session):
    shared.sh(session, "echo f >file")
    assert "nosuch" in shared.fails(3, "cp", "-", f"{session}:nosuch", input=archive(("x", *FILE))).errors
    assert shared.run("cp", "-", f"{session}:file", input=archive(("x", *FILE)), status=None).status != 0
    assert shared.sh(session, "cat file; ls -A; rm file").lines() == ["f", "file"]


def test_a_refusal_does_not_wait_for_the_writer(shared, session):
    """The target is looked at first: a producer that takes its time is not waited for."""
    read, write = os.pipe()
    child = shared.start("cp", "-", f"{session}:nosuch", stdin=read)
    os.close(read)
    try:
        assert child.wait(timeout=60) == 3
    finally:
        os.close(write)
        child.communicate()


def test_an_interrupted_archive_publishes_nothing(shared, session):
    read, write = os.pipe()
    child = shared.start("cp", "-", f"{session}:", stdin=read)
    os.close(read)
    os.write(write, archive(("x", *FILE), end=False))
    while ".sandbox-cp-" not in shared.sh(session, "ls -A").text:
        assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=60) == 143
    os.close(write)
    child.communicate()
    assert shared.sh(session, "ls -A").text == ""


def test_usage(shared, session, tmp_path):
    assert "./-" in shared.fails(2, "cp", "-", "somewhere", cwd=tmp_path).errors
    assert "./-" in shared.fails(2, "cp", "somewhere", "-", cwd=tmp_path).errors
    shared.fails(2, "cp", "-", "-")
    assert "--json" in shared.fails(2, "--json", "cp", f"{session}:.", "-").errors
    (tmp_path / "-").write_text("a file of that name")
    shared.run("cp", "./-", f"{session}:", cwd=tmp_path)
    assert shared.sh(session, "cat ./-; rm ./-").text == "a file of that name"


def test_a_reader_that_goes_away_ends_the_copy(shared, session):
    shared.sh(session, "head -c 5000000 /dev/zero >big")
    child = shared.start("cp", f"{session}:big", "-")
    child.stdout.read(1000)
    child.stdout.close()
    assert child.wait(timeout=60) == 141
    child.stderr.close()
    shared.run("exec", session, "rm", "big")


def test_the_limit_for_a_file_holds_for_archives(shared, session):
    shared.fails(7, "cp", "--max-file", "1KB", "-", f"{session}:", input=archive(("x", tarfile.REGTYPE, bytes(2000))))
    shared.sh(session, "head -c 2000 /dev/zero >x")
    shared.fails(7, "cp", "--max-file", "1KB", f"{session}:x", "-")
    shared.run("exec", session, "rm", "x")
