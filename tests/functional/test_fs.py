# SPDX-License-Identifier: Apache-2.0
"""fs ls, read, write, mkdir, rm: files of a session without tar, on both channels."""
import base64
import os
import pathlib
import signal
import subprocess

import pytest

from fault_proxy import Edit
import runner
from runner import still_runs, wait_until


@pytest.fixture
def place(shared, session, request):
    """A directory of this test's own in the shared session."""
    name = request.node.originalname
    shared.run("fs", "mkdir", "-p", f"{session}:{name}")
    yield f"{session}:{name}"
    shared.run("fs", "rm", "-rf", f"{session}:{name}")


def path_in(place, name=""):
    return f"{place.split(':')[1]}/{name}".rstrip("/")


def entries(shared, *args):
    return {entry["path"]: entry for entry in shared.json("fs", "ls", *args)["entries"]}


def names(shared, *args):
    return shared.run("--quiet", "fs", "ls", *args).lines()


def staged(shared, session):
    """What an unfinished write would leave beside its target; fs ls hides it."""
    return shared.sh(session, "ls -aR | grep '^[.]sandbox' || true").text


# --- the whole way ---------------------------------------------------------------------------------------------------

def test_a_file_goes_in_and_comes_out(shared, place):
    content = bytes(range(256)) * 5000
    assert shared.run("fs", "write", f"{place}/f", input=content).out == b""
    assert shared.run("fs", "read", f"{place}/f").out == content
    shared.run("fs", "write", f"{place}/f", input=b"")
    assert shared.run("fs", "read", f"{place}/f").out == b""
    assert names(shared, place) == ["f"]
    shared.run("fs", "rm", f"{place}/f")
    assert names(shared, place) == []


def test_a_list_for_people_and_one_for_programs(shared, session, place):
    shared.sh(session, f"cd {path_in(place)}; printf abc >file; mkdir -m 1777 dir; ln -s file link; mkfifo pipe; touch -d @1 file; chmod 4640 file")
    lines = shared.run("fs", "ls", place).lines()
    assert [line.split()[0] for line in lines] == ["MODE", "drwxrwxrwt", "-rwSr-----", "lrwxrwxrwx", "prw-r--r--"]
    assert [line.split()[-1] for line in lines[1:]] == ["dir/", "file", "file", "pipe"] and "link -> file" in lines[3]
    assert "1970-01-01T00:00:01Z" in lines[2] and " 3 " in lines[2]
    found = entries(shared, place)
    assert found["file"] == {"path": "file", "type": "file", "size": 3, "mode": "4640", "modifiedAt": "1970-01-01T00:00:01.000000000Z",
                             "uid": 0, "gid": 0, "target": None, "problem": None}
    assert found["link"]["target"] == "file" and found["link"]["size"] is None and found["pipe"]["type"] == "fifo"
    assert entries(shared, "-d", place).keys() == {path_in(place)} and entries(shared, f"{place}/link").keys() == {"link"}
    empty = shared.run("fs", "ls", f"{place}/dir")
    assert empty.out == b"" and "nothing" in empty.errors and shared.run("--quiet", "fs", "ls", f"{place}/dir").err == b""


def test_a_tree_is_listed_as_deep_and_as_far_as_wanted(shared, session, place):
    shared.sh(session, f"cd {path_in(place)}; mkdir -p a/b/c; touch a/b/c/f z; ln -s / root")
    assert names(shared, "-R", place) == ["a", "a/b", "a/b/c", "a/b/c/f", "root", "z"]
    assert names(shared, "--depth", "2", place) == ["a", "a/b", "root", "z"]
    cut = shared.run("fs", "ls", "-R", "--max-entries", "2", place)
    assert len(cut.lines()) == 3 and "--max-entries" in cut.errors
    cut = shared.run("fs", "ls", "-R", "--quiet", "--max-entries", "2", place)
    assert len(cut.lines()) == 2 and "--max-entries" in cut.errors  # a script's list that is not whole says so
    assert shared.json("fs", "ls", "-R", "--max-entries", "2", place)["truncated"] is True
    assert shared.json("fs", "ls", "-R", place)["truncated"] is False
    assert "self" in names(shared, "-R", "--max-entries", "100000", f"{session}:/proc")  # where things come and go
    shared.fails(2, "fs", "ls", "--depth", "0", place)
    shared.fails(2, "fs", "ls", "-d", "-R", place)


def test_names_that_a_terminal_would_obey(shared, session, place):
    shared.sh(session, rf"""cd {path_in(place)}; touch "$(printf 'esc\033[31m')" "$(printf 'two\nlines')" "$(printf 'bad\377')" """)
    shown = shared.run("fs", "ls", place)
    assert shown.text.isprintable() or all(line.isprintable() for line in shown.lines())
    assert len(shown.lines()) == 4
    bad = next(entry for entry in shared.json("fs", "ls", place)["entries"] if "pathBase64" in entry)
    assert base64.b64decode(bad["pathBase64"]) == b"bad\xff"
    assert shared.run("fs", "read", f"{place}/".encode() + b"bad\xff").out == b""
    for args in (["read"], ["rm"], ["ls"]):
        error = shared.fails_json(3, "fs", *args, f"{place}/".encode() + b"no\xff\n\x1b[31m")
        assert error["code"] == "not_found" and error["message"].isprintable()


# --- read ------------------------------------------------------------------------------------------------------------

def test_parts_by_bytes_and_by_lines(shared, place):
    shared.run("fs", "write", f"{place}/f", input="".join(f"line {i}\n" for i in range(1, 301)) + "end")
    assert shared.run("fs", "read", "--bytes", "5,1", f"{place}/f").text == "1"
    part = shared.run("fs", "read", "--lines", "2,2", f"{place}/f")
    assert part.text == "line 2\nline 3\n" and "next line is 4" in part.errors
    assert shared.run("--quiet", "fs", "read", "--lines", "2,2", f"{place}/f").err == b""
    last = shared.run("fs", "read", "--lines", "300", f"{place}/f")
    assert last.text == "line 300\nend" and last.err == b""
    assert shared.run("fs", "read", "--lines", "999,1", f"{place}/f").out == b""
    cut = shared.run("fs", "read", "--max-bytes", "10", f"{place}/f")
    assert cut.text == "line 1\nlin" and "byte 10 of" in cut.errors
    for bad in (["--lines", "0"], ["--lines", "-3"], ["--lines", "1,0"], ["--lines", "x"], ["--bytes", "5,x"], ["--max-bytes", "0"], ["--bytes", "0", "--lines", "1"]):
        shared.fails(2, "fs", "read", *bad, f"{place}/f")


def test_the_last_lines(shared, place):
    shared.run("fs", "write", f"{place}/f", input="".join(f"line {i}\n" for i in range(1, 301)) + "end")
    tail = shared.run("fs", "read", "--tail", "2", f"{place}/f")
    assert tail.text == "line 300\nend" and tail.err == b""
    assert shared.run("fs", "read", "--tail", "9999", f"{place}/f").text.startswith("line 1\n")
    cut = shared.run("fs", "read", "--tail", "9", "--max-bytes", "15", f"{place}/f")
    assert cut.text == "line 300\nend" and "the last 12 bytes" in cut.errors
    page = shared.json("fs", "read", "--tail", "2", f"{place}/f")
    assert page["lines"] == 2 and page["startByte"] == page["size"] - page["bytes"] and page["nextByte"] is page["nextLine"] is None and not page["truncated"]
    for bad in (["--tail", "0"], ["--tail", "x"], ["--tail", "1", "--lines", "1"], ["--tail", "1", "--bytes", "1"]):
        shared.fails(2, "fs", "read", *bad, f"{place}/f")


def test_from_page_to_page(shared, place):
    content = "".join("é" * (i % 40) + "\n" for i in range(500)) + "tail"
    shared.run("fs", "write", f"{place}/f", input=content)
    found, line = "", 1
    while line:
        page = shared.json("fs", "read", "--lines", f"{line},150", "--max-bytes", "4000", f"{place}/f")
        assert page["encoding"] == "utf-8" and page["bytes"] <= 4000 and page["lineCut"] is False
        found, line = found + page["text"], page["nextLine"]
    assert found == content


def test_a_page_for_programs(shared, session, place):
    shared.run("fs", "write", f"{place}/f", input=b"ok\n")
    page = shared.json("fs", "read", f"{place}/f")
    assert page["text"] == "ok\n" and page["size"] == page["bytes"] == 3 and page["nextByte"] is None and page["binary"] is False
    shared.run("fs", "write", f"{place}/f", input=b"\xff\x00")
    page = shared.json("fs", "read", f"{place}/f")
    assert page["encoding"] == "base64" and base64.b64decode(page["base64"]) == b"\xff\x00" and page["binary"] is True
    shared.run("fs", "write", f"{place}/f", input=b"x" * 100_000)
    page = shared.json("fs", "read", f"{place}/f")  # limits.maxOutput
    assert page["bytes"] == 64_000 and page["truncated"] is True and page["nextByte"] == 64_000
    assert shared.json("fs", "read", "--max-bytes", "100KB", f"{place}/f")["truncated"] is False


def test_a_very_large_file_costs_what_is_read_of_it(shared, session, place):
    shared.sh(session, f"cd {path_in(place)}; truncate -s 10G big; printf '\\nlast\\n' >>big")
    assert shared.run("fs", "read", "--lines", "2,1", f"{place}/big").text == "last\n"
    cut = shared.run("fs", "read", "--lines", "1,1", "--max-bytes", "100", f"{place}/big")
    assert cut.out == b"\0" * 100 and "too long" in cut.errors and "next line is 2" in cut.errors
    assert shared.run("fs", "read", "--bytes", "9GB,5", f"{place}/big").out == b"\0" * 5


def test_what_is_no_file(shared, session, place):
    shared.sh(session, f"cd {path_in(place)}; mkfifo pipe; mkdir dir; ln -s pipe link; ln -s ../../.. out; ln -s /etc/passwd abs")
    for name in ("pipe", "link", "dir"):
        assert shared.fails(4, "fs", "read", f"{place}/{name}").out == b""
        shared.fails(4, "fs", "write", f"{place}/{name}", input="x")
    assert shared.fails_json(3, "fs", "read", f"{place}/nosuch")["code"] == "not_found"
    for name in ("out/etc/passwd", "abs"):
        assert shared.fails_json(6, "fs", "read", f"{place}/{name}")["code"] == "denied"
        shared.fails(6, "fs", "write", f"{place}/{name}", input="x")
    shared.fails(6, "fs", "rm", "-rf", f"{place}/out/tmp/x")
    assert "root" in shared.run("fs", "read", f"{place.split(':')[0]}:/etc/passwd").text
    assert shared.run("fs", "read", f"{place.split(':')[0]}:/proc/self/status").text.startswith("Name:")


def test_a_reader_that_has_enough(shared, session, place):
    shared.sh(session, f"cd {path_in(place)}; truncate -s 1G big")
    with shared.start("fs", "read", f"{place}/big") as child:
        child.stdout.read(10)
        child.stdout.close()
        assert child.wait(timeout=30) == 141


# --- write -----------------------------------------------------------------------------------------------------------

def test_modes_links_and_other_names(shared, session, place):
    shared.sh(session, f"cd {path_in(place)}; echo old >f; chmod 600 f; ln f other; ln -s f link")
    written = shared.json("fs", "write", f"{place}/link", input="new")
    assert written["created"] is False and written["mode"] == "0600" and written["bytes"] == written["size"] == 3
    assert shared.sh(session, f"cd {path_in(place)}; cat f other; readlink link").text == "newold\nf\n"
    shared.run("fs", "write", "--append", f"{place}/f", input="er")
    shared.run("fs", "write", "-a", "--mode", "0755", f"{place}/other", input="!")
    assert shared.sh(session, f"cd {path_in(place)}; cat f; cat other; stat -c %a f other").text == "newerold\n!600\n755\n"
    assert shared.json("fs", "write", "-p", f"{place}/a/b/c", input="x")["created"] is True
    shared.fails(3, "fs", "write", f"{place}/no/such", input="x")
    shared.fails(2, "fs", "write", "--mode", "999", f"{place}/f", input="x")


def test_an_input_over_the_limit_changes_nothing(shared, session, place):
    shared.run("fs", "write", f"{place}/f", input="old")
    for more in ([], ["--append"]):
        error = shared.fails_json(7, "fs", "write", "--max-file", "4", *more, f"{place}/f", input="x" * 100_000)
        assert error["code"] == "limit_exceeded"
    shared.fails(7, "fs", "write", "--max-file", "4", f"{place}/new", input="12345")
    assert shared.run("fs", "read", f"{place}/f").text == "old" and names(shared, place) == ["f"] and staged(shared, session) == ""


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL])
def test_a_writer_that_is_ended_changes_nothing(shared, session, place, sig):
    shared.run("fs", "write", f"{place}/f", input="old")
    child = shared.start("fs", "write", f"{place}/f", stdin=subprocess.PIPE)
    child.stdin.write(b"x" * 100_000)
    child.stdin.flush()
    wait_until(lambda: staged(shared, session), what="the staged file")
    still_runs(child)
    child.send_signal(sig)
    assert child.wait(timeout=30) in (143, -sig)
    child.stdin.close()
    wait_until(lambda: staged(shared, session) == "", what="the staged file's end")
    assert shared.run("fs", "read", f"{place}/f").text == "old"


def test_a_full_disk_is_said_and_changes_nothing(sb):
    session = sb.create("--tmpfs", "/small=1MB")
    sb.run("fs", "write", f"{session}:/small/f", input="old")
    for more in ([], ["--append"]):
        assert sb.fails_json(7, "fs", "write", *more, f"{session}:/small/f", input=b"x" * 3_000_000)["code"] == "no_space"
    assert sb.run("fs", "read", f"{session}:/small/f").text == "old"
    assert names(sb, f"{session}:/small") == ["f"]


# --- mkdir, rm -------------------------------------------------------------------------------------------------------

def test_directories(shared, session, place):
    shared.run("fs", "mkdir", "--mode", "0700", f"{place}/d")
    assert shared.fails_json(4, "fs", "mkdir", f"{place}/d")["code"] == "exists"
    shared.fails(3, "fs", "mkdir", f"{place}/x/y")
    assert shared.json("fs", "mkdir", "-p", f"{place}/d", f"{place}/x/y") == {"made": [f"{place}/x/y"], "existing": [f"{place}/d"], "left": []}
    assert entries(shared, place)["d"]["mode"] == "0700"


def test_removing(shared, session, place):
    shared.sh(session, f"cd {path_in(place)}; mkdir -p t/a kept; touch t/a/f kept/k f; ln -s ../kept t/l; chmod 500 t/a")
    error = shared.fails_json(4, "fs", "rm", f"{place}/t")
    assert "-r" in error["hint"]
    shared.fails(3, "fs", "rm", f"{place}/nosuch")
    done = shared.json("fs", "rm", "-rf", f"{place}/t", f"{place}/nosuch")
    assert done == {"removed": [f"{place}/t"], "missing": [f"{place}/nosuch"], "removedEntries": 4, "left": []}
    several = shared.fails(3, "--json", "fs", "rm", f"{place}/nosuch", f"{place}/f")
    assert several.json()["removed"] == [f"{place}/f"] and several.json()["left"][0]["error"]["code"] == "not_found"
    assert names(shared, "-R", place) == ["kept", "kept/k"]


def test_the_workdir_and_what_holds_it_stay(shared, session, place):
    shared.sh(session, "ln -sfn / rootlink")
    for path in ("", ".", "/", "/workspace", "/workspace/", "/workspace/.", "/tmp/../workspace", "/tmp/..", "//", f"{path_in(place)}/..", "rootlink/"):
        assert shared.fails_json(4, "fs", "rm", "-rf", f"{session}:{path}")["code"] == "conflict", path
    shared.fails(6, "fs", "rm", "-rf", f"{session}:../workspace")
    shared.fails(6, "fs", "rm", "-rf", f"{session}:rootlink/workspace")
    shared.run("fs", "rm", f"{session}:rootlink")
    assert path_in(place) in names(shared, f"{session}:")


@pytest.mark.parametrize("channel", ["socket", "bridge"])
def test_an_absolute_link_that_stays_in_the_workspace_is_followed(sb, tmp_path, channel):
    """As deployments have it: current -> /workspace/releases/1."""
    session = sb.create("--channel", channel)
    sb.sh(session, "mkdir -p releases/1; echo one >releases/1/f; ln -s /workspace/releases/1 current; ln -s /workspace/../etc out; ln -s /workspace/current/f file")
    for path in ("current/f", "file", "/workspace/current/f"):
        assert sb.run("fs", "read", f"{session}:{path}").text == "one\n"
    assert names(sb, f"{session}:current") == ["f"]
    sb.run("fs", "write", "-p", f"{session}:current/made/g", input="x")
    sb.run("cp", f"{session}:current/", tmp_path / "got")
    assert sorted(entry.name for entry in (tmp_path / "got").iterdir()) == ["f", "made"]
    sb.run("cp", tmp_path / "got/f", f"{session}:current/copied")
    assert sb.sh(session, "ls releases/1; cat releases/1/made/g").text == "copied\nf\nmade\nx"
    sb.run("fs", "rm", "-r", f"{session}:current/made")
    for args in (["fs", "read"], ["fs", "ls"]):
        sb.fails(6, *args, f"{session}:out/passwd")
    sb.fails(6, "cp", f"{session}:out/passwd", tmp_path / "no")
    sb.run("fs", "rm", f"{session}:current")
    assert sb.sh(session, "ls releases").text == "1\n"


def test_what_stands_on_the_way_is_a_conflict(shared, session, place, tmp_path):
    shared.run("fs", "write", f"{place}/file", input="x")
    for verb in ("read", "ls", "write", "mkdir", "rm"):
        error = shared.fails_json(4, "fs", verb, f"{place}/file/x", input="")
        assert error["code"] == "conflict" and "Not a directory" in error["message"], (verb, error)
    shared.fails(4, "fs", "write", "-p", f"{place}/file/x", input="")
    shared.fails(4, "fs", "mkdir", "-p", f"{place}/file/x")
    shared.fails(4, "cp", f"{place}/file/x", tmp_path / "no")


def test_a_closed_input_is_no_empty_file(shared, place):
    shared.run("fs", "write", f"{place}/f", input="old")
    closed = subprocess.run(["sh", "-c", 'exec "$0" fs write "$1" <&-', runner.binary(), f"{place}/f"], env=shared.environ(), capture_output=True, text=True)
    assert closed.returncode == 1 and "standard input is closed" in closed.stderr, closed
    assert shared.run("fs", "read", f"{place}/f").text == "old"


# --- sessions --------------------------------------------------------------------------------------------------------

def test_every_session_with_a_label(sb):
    one, two = sb.create("--name", "one", "-l", "app=x"), sb.create("--name", "two", "-l", "app=x")
    other = sb.create("-l", "app=y")
    for session in (one, two, other):
        sb.run("fs", "write", f"{session}:f", input=session)
    lists = sb.json("fs", "ls", "-l", "app=x", "f")["lists"]
    assert [(part["session"], part["entries"][0]["size"]) for part in lists] == [("one", 13), ("two", 13)]
    assert "one:f\n" in sb.run("fs", "ls", "-l", "app=x", "f").text
    assert sb.json("fs", "rm", "-l", "app=x", "f")["removed"] == ["one:f", "two:f"]
    assert sb.run("fs", "read", f"{other}:f").text == other
    nothing = sb.run("fs", "rm", "-l", "app=none", "f")
    assert nothing.out == b"" and "nothing matched" in nothing.errors
    sb.fails(2, "fs", "rm", "-l", "app=x", f"{other}:f")
    assert sb.run("fs", "read", f"{other}:f").text == other


def test_limits_of_the_manifest(sb):
    session = sb.create(manifest={"limits": {"maxFile": "10B", "maxOutput": "5B"}})
    sb.run("fs", "write", f"{session}:f", input="123456789\n")
    sb.fails(7, "fs", "write", f"{session}:f", input="x" * 11)
    sb.fails(7, "fs", "write", "--append", f"{session}:f", input="x")
    assert sb.run("fs", "read", f"{session}:f").text == "123456789\n"
    assert sb.json("fs", "read", f"{session}:f")["text"] == "12345"
    sb.sh(session, "echo more >>f")
    refused = sb.fails(7, "fs", "read", f"{session}:f")
    assert refused.out == b"" and "--lines" in refused.errors
    assert sb.run("fs", "read", "--bytes", "0,20", f"{session}:f").text == "123456789\n"
    assert sb.run("fs", "read", "--lines", "2", f"{session}:f").text == "more\n"


@pytest.mark.parametrize("channel", ["socket", "bridge"])
def test_another_user_and_a_read_only_root(sb, image, channel):
    session = sb.create("--readonly-rootfs", "--channel", channel, image=image("uid-1000"))
    sb.run("fs", "write", "-p", f"{session}:a/f", input="x")
    entry = entries(sb, f"{session}:a")["f"]
    assert (entry["uid"], entry["gid"]) == (1000, 0)
    assert sb.fails_json(1, "fs", "write", f"{session}:/etc/f", input="x")["code"] == "io_error"
    sb.fails(1, "fs", "rm", "-rf", f"{session}:/etc/passwd")
    sb.fails(1, "fs", "mkdir", f"{session}:/etc/d")
    sb.run("fs", "write", f"{session}:/tmp/f", input="y")
    assert sb.run("fs", "read", f"{session}:/tmp/f").text == "y"


def test_no_part_of_a_file_passes_a_scan_that_refuses_it(sb, tmp_path):
    scanner = tmp_path / "scanner"
    scanner.write_text("#!/bin/sh\n! grep -q virus\n")
    scanner.chmod(0o755)
    session = sb.create(manifest={"export": {"scan": [str(scanner)]}})
    sb.run("fs", "write", f"{session}:bad", input="fine\nvirus\n")
    sb.run("fs", "write", f"{session}:good", input="fine\nas well\n")
    for part in ([], ["--lines", "1,1"], ["--bytes", "0,2"]):
        error = sb.fails(6, "fs", "read", *part, f"{session}:bad")
        assert error.out == b"" and "export.scan" in error.errors
        assert sb.fails_json(6, "fs", "read", *part, f"{session}:bad")["code"] == "denied"
    assert sb.run("fs", "read", f"{session}:good").text == "fine\nas well\n"
    assert sb.run("fs", "read", "--lines", "2,1", f"{session}:good").text == "as well\n"


def test_what_is_written_and_read_is_in_the_events(sb):
    session = sb.create()
    sb.run("fs", "write", f"{session}:f", input="12345")
    sb.run("fs", "read", "--bytes", "0,2", f"{session}:f")
    lines = [line for line in sb.run("--json", "events", session).lines() if '"file.' in line]
    assert len(lines) == 2 and '"bytes":5' in lines[0] and '"bytes":2' in lines[1] and '"path":"f"' in lines[1]


def test_sessions_that_do_not_run(sb, engine):
    session = sb.create("--set", "lifecycle.autoDestroy=false")
    sb.run("fs", "write", f"{session}:f", input="x")
    container = engine.session(session)["Id"]
    engine.call("POST", f"/containers/{container}/stop?t=0")
    error = sb.fails_json(3, "fs", "read", f"{session}:f")
    assert error["code"] == "session_gone" and "sandbox cp" in error["hint"]
    sb.fails(3, "fs", "write", f"{session}:f", input="y")
    sb.destroy(session)
    assert sb.fails_json(3, "fs", "ls", f"{session}:")["code"] == "session_gone"
    assert sb.fails_json(3, "fs", "ls", "nosuch:")["code"] == "not_found"


def test_cp_is_no_way_out_of_a_container_that_goes_by_itself(through, proxy, engine):
    """Between its end and the engine's removal, which here never comes."""
    session = through.create("--set", "lifecycle.autoDestroy=false")
    engine.call("POST", f"/containers/{engine.session(session)['Id']}/stop?t=0")
    for verb in (["fs", "read", f"{session}:f"], ["ports", session]):
        assert "sandbox cp still" in through.fails_json(3, *verb)["hint"]
    proxy.rule(Edit(lambda body: body.replace(b'"AutoRemove":false', b'"AutoRemove":true ')), method="GET", path="/containers/[^/]+/json")
    for verb in (["fs", "read", f"{session}:f"], ["ports", session]):
        error = through.fails_json(3, *verb)
        assert error["code"] == "session_gone" and "sandbox cp" not in error["hint"] and "sandbox destroy" in error["hint"]


@pytest.mark.parametrize("channel", ["socket", "bridge"])
def test_a_session_that_dies_under_a_reader(sb, engine, channel):
    """A cut stream is no success."""
    session = sb.create("--channel", channel)
    sb.sh(session, "truncate -s 1G big")
    child = sb.start("fs", "read", f"{session}:big")
    assert child.stdout.read(1) == b"\0"
    engine.kill(engine.session(session)["Id"])
    rest, errors = child.communicate(timeout=60)
    assert child.returncode in (3, 5) and len(rest) < 2**30 - 1 and b"sandbox: error: " in errors


@pytest.mark.parametrize("channel", ["socket", "bridge"])
def test_a_frozen_session_is_said_soon(sb, engine, channel):
    session = sb.create("--channel", channel)
    container = engine.session(session)["Id"]
    engine.pause(container)
    try:
        for args in (["read", f"{session}:f"], ["ls", f"{session}:"], ["write", f"{session}:f"]):
            assert sb.fails_json(5, "fs", *args, timeout=30)["code"] == "session_unreachable"
        assert sb.fails_json(5, "wait-port", "--timeout", "1s", session, "80")["code"] == "session_unreachable"
    finally:
        engine.unpause(container)


def test_contents_never_stand_in_arguments(shared, place):
    """Not even inside: the agent does it itself."""
    error = shared.fails(2, "fs", "write", f"{place}/f", "content")
    assert "standard input" in error.errors
