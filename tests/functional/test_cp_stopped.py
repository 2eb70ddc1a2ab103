# SPDX-License-Identifier: Apache-2.0
"""cp out of a session whose container has stopped and is still there: by the engine's archive call, with the promises of the running way."""
import io
import json
import os
import tarfile

import pytest

from fault_proxy import Cut
from runner import wait_until
from test_cp import snapshot

KEEP = ("--set", "lifecycle.autoDestroy=false")
FILL = r"""
mkdir -p tree/sub tree/empty; echo one >tree/one; echo two >tree/sub/two; ln -s one tree/link; ln tree/one tree/hard; chmod 751 tree/one; chmod 4755 tree/sub/two
ln -s /etc out; ln -s ../../etc up; ln -s tree inside; ln -s loop loop; ln -s /workspace/tree absolute; ln -s /workspace/../etc round; mkfifo tree/pipe; echo secret >/etc/secret; head -c 3000000 /dev/zero >big
mkdir "$(printf 'odd\n name')"; echo odd >"$(printf 'odd\n name')/f"; touch -d 2001-02-03T04:05:06Z tree/sub/two; chmod 750 tree/sub
"""


def stop(sb, engine, session):
    container = engine.session(session)["Id"]
    engine.kill(container)
    wait_until(lambda: not engine.inspect(container)["State"]["Running"], what="the stop")


@pytest.fixture(params=["socket", "bridge"])
def channel(request):
    return request.param


@pytest.fixture
def stopped(sb, engine, channel):
    session = sb.create(*KEEP, "--channel", channel)
    sb.sh(session, FILL)
    stop(sb, engine, session)
    return session


def test_a_tree_comes_out_as_from_a_running_one(sb, engine, channel, tmp_path):
    session = sb.create(*KEEP, "--channel", channel)
    sb.sh(session, FILL)
    running = sb.run("cp", f"{session}:tree", tmp_path / "running")
    stop(sb, engine, session)
    assert sb.state_of(session) == "stopped"
    result = sb.run("cp", f"{session}:tree", tmp_path / "stopped")
    assert result.out == b"" and result.errors == running.errors  # the pipe is skipped, and that is said

    def without_times(tree):
        return {path: facts[:3] if facts[0] == "file" else facts for path, facts in tree.items()}
    from_stopped, from_running = snapshot(tmp_path / "stopped"), snapshot(tmp_path / "running")
    assert without_times(from_stopped) == without_times(from_running)
    for path, facts in from_running.items():
        if facts[0] == "file":  # an archive has whole seconds: Docker's cuts the rest off, Podman's rounds
            seconds = round(facts[3] / 10**9) if engine.is_podman else facts[3] // 10**9
            assert from_stopped[path][3] == seconds * 10**9, path
    assert os.stat(tmp_path / "stopped/hard").st_ino == os.stat(tmp_path / "stopped/one").st_ino
    facts = os.stat(tmp_path / "stopped/one")
    assert (facts.st_uid, facts.st_gid) == (os.getuid(), os.getgid())


def test_dockers_rules_hold(sb, stopped, tmp_path):
    (tmp_path / "dir").mkdir()
    sb.run("cp", f"{stopped}:tree", tmp_path / "dir")
    sb.run("cp", f"{stopped}:tree/.", tmp_path / "contents")
    sb.run("cp", f"{stopped}:/workspace/tree/sub/two", f"{tmp_path}/dir/")
    sb.run("cp", f"{stopped}:odd\n name/f", tmp_path / "odd")
    sb.run("cp", f"{stopped}:.", tmp_path / "all")
    assert (tmp_path / "dir/tree/one").read_text() == "one\n" and (tmp_path / "contents/sub/two").read_text() == "two\n"
    assert (tmp_path / "dir/two").read_text() == "two\n" and (tmp_path / "odd").read_text() == "odd\n"
    assert (tmp_path / "all/big").stat().st_size == 3_000_000
    sb.fails(3, "cp", f"{stopped}:nosuch", tmp_path / "no")
    sb.fails(3, "cp", f"{stopped}:tree/nosuch/x", tmp_path / "no")
    assert "Not a directory" in sb.fails(4, "cp", f"{stopped}:tree/one/", tmp_path / "no").errors
    assert not (tmp_path / "no").exists()
    assert sb.json("cp", f"{stopped}:tree", tmp_path / "counted") == {"files": 4, "bytes": 8, "skipped": 1}


def test_links_lead_no_further_than_in_a_running_one(sb, stopped, tmp_path):
    sb.run("cp", f"{stopped}:inside/one", tmp_path / "one")
    sb.run("cp", f"{stopped}:absolute/../absolute/one", tmp_path / "absolute")
    assert (tmp_path / "absolute").read_text() == "one\n"
    sb.run("cp", f"{stopped}:inside/", tmp_path / "through")
    sb.run("cp", "-L", f"{stopped}:tree/link", tmp_path / "followed")
    sb.run("cp", f"{stopped}:out", tmp_path / "out")
    assert (tmp_path / "one").read_text() == (tmp_path / "followed").read_text() == "one\n" and not (tmp_path / "followed").is_symlink()
    assert (tmp_path / "through/one").exists() and os.readlink(tmp_path / "out") == "/etc"
    for source in ("out/secret", "up/secret", "round/secret", "../etc/secret", "out/", "tree/../../etc/secret"):
        assert "out of the workspace" in sb.fails(6, "cp", f"{stopped}:{source}", tmp_path / "no").errors
    sb.fails(6, "cp", "-L", f"{stopped}:out", tmp_path / "no")
    sb.fails(1, "cp", f"{stopped}:loop/x", tmp_path / "no")
    assert not (tmp_path / "no").exists()
    sb.run("cp", f"{stopped}:/etc/secret", tmp_path / "asked")  # what is named outside of the workspace is meant
    assert (tmp_path / "asked").read_text() == "secret\n"


def test_as_a_tar_stream_and_into_another_session(sb, stopped, tmp_path):
    archive = tarfile.open(fileobj=io.BytesIO(sb.run("cp", f"{stopped}:tree", "-").out))
    assert sorted(archive.getnames()) == ["tree", "tree/empty", "tree/hard", "tree/link", "tree/one", "tree/sub", "tree/sub/two"]
    assert archive.extractfile("tree/one").read() == b"one\n" and archive.getmember("tree/sub/two").mode == 0o755
    assert sb.fails(3, "cp", f"{stopped}:nosuch", "-").out == b""
    other = sb.create()
    sb.run("cp", f"{stopped}:tree", f"{other}:")
    assert sb.sh(other, "cat tree/one tree/sub/two; readlink tree/link").text == "one\ntwo\none\n"


def test_nothing_goes_in(sb, stopped, tmp_path):
    (tmp_path / "f").write_text("x")
    other = sb.create()
    sb.sh(other, "echo x >f")
    for words in ((tmp_path / "f", f"{stopped}:"), (f"{other}:f", f"{stopped}:f")):
        result = sb.fails(3, "cp", *words)
        assert "stopped" in result.errors and "hint: " in result.errors
    sb.fails(3, "cp", "-", f"{stopped}:", input=bytes(1024))
    sb.fails(3, "cp", f"{stopped}:nosuch", f"{stopped}:f")


def test_max_file_scan_and_events_hold(sb, engine, tmp_path):
    scanner = tmp_path / "scanner"
    scanner.write_text("#!/bin/sh\n! grep -q virus\n")
    scanner.chmod(0o755)
    session = sb.create(*KEEP, "--max-file", "1KB", manifest={"export": {"scan": [str(scanner)]}})
    sb.sh(session, "mkdir good bad; echo fine >good/f; echo a virus >bad/f; head -c 2000 /dev/zero >large")
    stop(sb, engine, session)
    (tmp_path / "kept").write_text("kept")
    for source, status in (("large", 7), ("bad/f", 6)):
        sb.fails(status, "cp", f"{session}:{source}", tmp_path / "kept")
        assert sb.fails(status, "cp", f"{session}:{source}", "-").out == b""
    assert (tmp_path / "kept").read_text() == "kept"
    sb.run("cp", f"{session}:good", tmp_path / "out")
    assert (tmp_path / "out/f").read_text() == "fine\n"
    events = [json.loads(line) for line in sb.run("--json", "events", "--kind", "file.exported", session).lines()]
    assert [(event["path"], event["files"]) for event in events] == [("good", 1)]


def test_what_was_in_memory_is_gone_and_not_shown_as_empty(sb, engine, tmp_path):
    session = sb.create(*KEEP, "--set", "tmpfs={/scratch: 1MB, /workspace/cache: 1MB}")
    sb.sh(session, "echo x >/scratch/f; mkdir cache/sub; echo x >cache/f; echo x >cache/sub/f; echo y >f")
    stop(sb, engine, session)
    for source in ("/scratch/f", "cache/f", "cache/sub/f", "/proc/version"):
        assert "in memory" in sb.fails(3, "cp", f"{session}:{source}", tmp_path / "no").errors
    sb.run("cp", f"{session}:f", tmp_path / "f")


def test_a_cut_archive_leaves_the_target(sb, through, proxy, engine, tmp_path):
    session = through.create(*KEEP)
    through.sh(session, "head -c 3000000 /dev/zero >big")
    stop(through, engine, session)
    (tmp_path / "big").write_text("old")
    proxy.rule(Cut(1_000_000), method="GET", path="/archive")
    through.fails(1, "cp", f"{session}:big", tmp_path / "big")
    assert (tmp_path / "big").read_text() == "old" and set(os.listdir(tmp_path)) == {"big", "faults.sock"}


def test_exec_and_diff_of_a_stopped_session_say_what_is_left_to_do(sb, stopped):
    for words in (("exec", stopped, "true"), ("diff", stopped)):
        result = sb.run(*words, status=None)
        assert result.status in (3, 125) and "stopped" in result.errors and "sandbox cp still takes files out" in result.errors


def test_a_paused_session_is_said_to_be(sb, engine, channel, tmp_path):
    session = sb.create("--channel", channel)
    sb.sh(session, "echo x >f")
    engine.pause(engine.session(session)["Id"])
    try:
        for words in ((f"{session}:f", tmp_path / "no"), ("/etc/hostname", f"{session}:")):
            result = sb.fails(5, "cp", *words)
            assert "is paused" in result.errors and "hint: " in result.errors
        assert not (tmp_path / "no").exists()
    finally:
        engine.unpause(engine.session(session)["Id"])


def test_one_that_is_gone_gives_nothing(sb, engine, tmp_path):
    session = sb.create()
    container = engine.session(session)["Id"]
    engine.kill(container)
    wait_until(lambda: not [c for c in engine.containers({"sandbox.session": session}) if c["Id"] == container], what="the removal")
    assert "has ended" in sb.fails(3, "cp", f"{session}:f", tmp_path / "no").errors
