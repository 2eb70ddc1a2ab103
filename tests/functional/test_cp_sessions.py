# SPDX-License-Identifier: Apache-2.0
"""cp from session to session, and the table of the README: every shape of source and target, each way."""
import os
import resource

import pytest

from test_cp import snapshot, tree  # noqa: F401 (a fixture)


@pytest.fixture(scope="module")
def other(shared):
    session = shared.create("--idle-timeout", "1h", "--name", "other")
    yield session
    shared.destroy(session)


def test_a_tree_arrives_whole(shared, session, other, tree, tmp_path):  # noqa: F811
    os.setxattr(tree / "plain", "user.origin", b"here")
    shared.run("cp", tree, f"{session}:tree")
    result = shared.run("cp", f"{session}:tree", f"{other}:")
    assert (result.out, result.err) == (b"", b"")
    shared.run("cp", "other:tree", tmp_path / "back")
    assert snapshot(tmp_path / "back") == snapshot(tree)
    assert (tmp_path / "back/hard").stat().st_ino == (tmp_path / "back/plain").stat().st_ino
    assert os.getxattr(tmp_path / "back/plain", "user.origin") == b"here"
    assert shared.json("cp", f"{session}:tree/plain", f"{other}:again")["files"] == 1
    for each in (session, other):
        shared.sh(each, "rm -r *")


def test_memory_stays_bounded_and_large_files_pass(shared, session, other):
    """E2: 9 GiB with holes, which cost no disk, and 200 MB without."""
    shared.sh(session, "dd if=/dev/zero of=large bs=1 count=0 seek=9663676416 2>/dev/null; echo end >>large; head -c 200000000 /dev/urandom >full; sha256sum full >sum")
    bound = (16 << 20, 16 << 20)
    child = shared.start("cp", f"{session}:.", f"{other}:", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, bound))
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors
    assert shared.sh(other, "stat -c %s large; tail -c 4 large; sha256sum -c sum; du -k large | cut -f1").lines()[:3] == ["9663676420", "end", "full: OK"]
    for each in (session, other):
        shared.sh(each, "rm large full sum")


def test_another_owners_session_is_not_found(shared, session, make_sandbox):
    error = shared.fails(3, "cp", f"{session}:.", "theirs:.", env={"SANDBOX_OWNER": "somebody-else"})
    assert "no session" in error.errors
    assert "nosuch" in shared.fails(3, "cp", f"{session}:.", "nosuch:.").errors


def test_a_failure_leaves_the_target_alone_and_says_whose_it_is(shared, session, other):
    shared.sh(session, "echo new >f")
    shared.sh(other, "mkdir f")
    assert shared.run("cp", f"{session}:f", f"{other}:f/", status=0)
    shared.sh(other, "rm f/f; mkdir f/f")
    shared.fails(4, "cp", f"{session}:f", f"{other}:f")
    assert "missing" in shared.fails(3, "cp", f"{session}:missing", f"{other}:f").errors
    shared.fails(7, "cp", "--max-file", "2B", f"{session}:f", f"{other}:g")
    assert shared.sh(other, "ls -A . f").text == ".:\nf\n\nf:\nf\n"
    for each in (session, other):
        shared.sh(each, "rm -r f")


def test_a_stopped_side_is_named(sb, engine):
    alive, ended = sb.create("--name", "alive"), sb.create("--name", "ended")
    sb.sh(alive, "echo f >f")
    engine.remove(engine.session(ended)["Id"])
    for words in ((f"{alive}:f", f"{ended}:"), (f"{ended}:f", f"{alive}:")):
        assert '"ended" has ended' in sb.fails(3, "cp", *words).errors


# The README's table: source, what is at the target, target, what is there afterwards (None: refused). D is a directory with f
# in it, F a file, L a link to F; E an existing directory, X an existing file.
SHAPES = [
    ("F", "E/", "E", {"E/F"}),
    ("F", "E/", "E/", {"E/F"}),
    ("F", "", "new", {"new"}),
    ("F", "", "new/", None),
    ("F", "X", "X", {"X"}),
    ("F", "X", "X/", None),
    ("F", "", "no/new", None),
    ("D", "E/", "E", {"E/D/f"}),
    ("D", "E/", "E/", {"E/D/f"}),
    ("D/", "E/", "E", {"E/D/f"}),
    ("D/.", "E/", "E", {"E/f"}),
    ("D", "", "new", {"new/f"}),
    ("D", "", "new/", {"new/f"}),
    ("D/.", "", "new", {"new/f"}),
    ("D", "X", "X", None),
    ("D/.", "X", "X", None),
    ("L", "E/", "E", {"E/L"}),
    ("L", "", "new", {"new"}),
    ("missing", "E/", "E", None),
]


@pytest.mark.parametrize("way", ["in", "out", "across"])
def test_every_shape(shared, session, other, tmp_path, way):
    make = "mkdir -p src/D && echo new >src/D/f && echo new >src/F && ln -s F src/L"
    listing = "find . ! -type d | sed 's,^./,,' | sort"
    from subprocess import run
    here = tmp_path
    if way == "in":
        run(["sh", "-c", make], check=True, cwd=here)
    else:
        shared.sh(session, make)
    for source, there, target, wanted in SHAPES:
        prepare = "mkdir dst && cd dst" + (" && mkdir E" if there == "E/" else " && echo old >X" if there == "X" else "")
        if way == "out":
            run(["sh", "-c", prepare], check=True, cwd=here)
        else:
            shared.sh(session if way == "in" else other, prepare)
        left = f"./src/{source}" if way == "in" else f"{session}:src/{source}"
        right = f"./dst/{target}" if way == "out" else f"{session if way == 'in' else other}:dst/{target}"
        result = shared.run("cp", left, right, status=None, cwd=here)
        if way == "out":
            found = run(["sh", "-c", f"cd dst && {listing}"], check=True, cwd=here, capture_output=True).stdout.decode().split()
            run(["rm", "-r", "dst"], check=True, cwd=here)
        else:
            at = session if way == "in" else other
            found = shared.sh(at, f"cd dst && {listing}").lines()
            shared.run("exec", at, "rm", "-r", "dst")
        row = (source, there, target, result)
        if wanted is None:
            assert result.status != 0 and set(found) == ({"X"} if there == "X" else set()), row
        else:
            assert result.status == 0 and set(found) == wanted, row
    if way != "in":
        shared.run("exec", session, "rm", "-r", "src")
