# SPDX-License-Identifier: Apache-2.0
"""diff: what changed in a workspace since its session was made, as a list, as JSON and as a patch. Both channels run the same tests."""
import base64
import json
import os
import subprocess

import pytest

from runner import wait_until
from test_cp import snapshot

KEPT = 256 * 1024  # the largest file whose content is kept
MANIFEST = {
    "directories": ["empty", "gone/deep"],
    "files": {
        "a-b": "between a and what is in it\n",
        "a/x": "x\n",
        "big.bin": {"base64": base64.b64encode(bytes(range(256)) * 8).decode()},
        "gone/deep/leaf": "leaf\n",
        "link": {"symlink": "a/x"},
        "run.sh": {"text": "#!/bin/sh\necho one\n", "mode": "0755"},
        "same": "the same\n",
        "text": "".join(f"line {number}\n" for number in range(40)),
        "to-link": "was a file\n",
    },
}
CHANGES = r"""
rm -r gone; echo y >>a/x; mkdir new; echo new >new/file; ln -s nowhere new/link; : >new/void
chmod 644 run.sh; ln -sfn a link; rm to-link; ln -s text to-link; sed -i 's/^line 7$/line seven/; $d' text; printf tail >>text
cat same >copy; mv copy same; touch -d 2001-01-01 a-b; rmdir empty; printf '\000x' >big.bin
"""
LIST = """\
M a/x
M big.bin
D empty/
D gone/
D gone/deep/
D gone/deep/leaf
M link
A new/
A new/file
A new/link
A new/void
M run.sh
M text
T to-link
"""


@pytest.fixture(params=["socket", "bridge"])
def channel(request):
    return request.param


@pytest.fixture
def changed(sb, channel):
    session = sb.create("--channel", channel, manifest=MANIFEST)
    sb.sh(session, CHANGES)
    return session


def test_nothing_changed_at_first(sb, channel):
    session = sb.create("--channel", channel, manifest=MANIFEST)
    result = sb.run("diff", session)
    assert (result.out, result.err) == (b"", b"")
    assert sb.json("diff", session) == {"changes": [], "added": 0, "modified": 0, "deleted": 0, "unreadable": 0}
    assert sb.run("diff", "--patch", "--exit-code", session).out == b""


def test_the_list(sb, changed):
    result = sb.run("diff", changed)
    assert result.text == LIST and result.err == b""


def test_json(sb, changed):
    document = sb.json("diff", changed)
    assert {key: document[key] for key in ("added", "modified", "deleted", "unreadable")} == {"added": 4, "modified": 6, "deleted": 4, "unreadable": 0}
    found = {change["path"]: change for change in document["changes"]}
    assert list(found) == [line[2:].rstrip("/") for line in LIST.splitlines()]
    assert found["run.sh"] == {"change": "modified", "path": "run.sh", "what": ["mode"], "type": "file", "mode": "0644", "size": 19,
                               "oldType": "file", "oldMode": "0755", "oldSize": 19}
    assert found["link"]["what"] == ["content"] and (found["link"]["oldTarget"], found["link"]["target"]) == ("a/x", "a")
    assert found["to-link"]["what"] == ["type"] and (found["to-link"]["oldType"], found["to-link"]["type"]) == ("file", "symlink")
    assert found["new/file"] == {"change": "added", "path": "new/file", "type": "file", "mode": "0644", "size": 4}
    assert found["gone"] == {"change": "deleted", "path": "gone", "oldType": "directory", "oldMode": "0755"}


def test_exit_code_says_whether_anything_changed(sb, changed):
    assert sb.run("diff", "--exit-code", changed, status=1).text == LIST
    sb.run("diff", "--exit-code", changed, "same", "a-b")
    assert sb.run("diff", changed).status == 0


def test_paths_limit_the_list(sb, changed):
    assert sb.run("diff", changed, "a", "text").text == "M a/x\nM text\n"
    assert sb.run("diff", changed, "/workspace/gone/deep", "./new/").text == "D gone/deep/\nD gone/deep/leaf\nA new/\nA new/file\nA new/link\nA new/void\n"
    assert sb.run("diff", changed, ".").text == LIST
    assert "nosuch" in sb.fails(3, "diff", changed, "text", "nosuch").errors
    assert sb.run("diff", changed, "nosuch", status=3).out == b""
    for path in ("../x", "/etc", "a/../../x"):
        sb.fails(2, "diff", changed, path)
    assert "too many paths" in sb.fails(2, "diff", changed, *["a"] * 1001).errors
    assert "too many paths" in sb.fails(2, "diff", changed, *["a/" * 2000 + "a"] * 200).errors


# --- patches --------------------------------------------------------------------------------------------------------

def copies(sb, session, tmp_path, name):
    sb.run("cp", f"{session}:.", tmp_path / name)
    return tmp_path / name


def content_of(root):
    """What a patch can carry: no directories, no times, of modes the x bit, and no binary file."""
    found = {}
    for path, facts in snapshot(root).items():
        if facts[0] != "dir" and path != b"big.bin":
            found[path] = facts if facts[0] == "link" else (facts[0], bool(facts[1] & 0o100), facts[2])
    return found


@pytest.mark.parametrize("tool", [["git", "apply"], ["patch", "-p1", "--no-backup-if-mismatch"]])
def test_a_patch_makes_the_old_tree_the_new_one(sb, channel, tmp_path, tool):
    session = sb.create("--channel", channel, manifest=MANIFEST)
    tree = copies(sb, session, tmp_path, "tree")
    sb.sh(session, CHANGES)
    result = sb.run("diff", "--patch", session)
    assert b"\nBinary files a/big.bin and b/big.bin differ\n" in result.out
    assert result.errors == "sandbox: 1 change is only told in the patch, not in it\n"
    done = subprocess.run(tool, cwd=tree, input=result.out, capture_output=True, env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)})
    assert done.returncode == 0, (done, result.text)
    assert content_of(tree) == content_of(copies(sb, session, tmp_path, "now"))


def test_the_words_of_a_patch(sb, changed):
    assert sb.run("diff", "-p", changed, "run.sh").text == "diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n"
    assert sb.run("diff", "-p", changed, "text").text == """\
diff --git a/text b/text
--- a/text
+++ b/text
@@ -5,7 +5,7 @@
 line 4
 line 5
 line 6
-line 7
+line seven
 line 8
 line 9
 line 10
@@ -37,4 +37,4 @@
 line 36
 line 37
 line 38
-line 39
+tail
\\ No newline at end of file
"""
    assert sb.run("diff", "-p", changed, "to-link").text == """\
diff --git a/to-link b/to-link
deleted file mode 100644
--- a/to-link
+++ /dev/null
@@ -1 +0,0 @@
-was a file
diff --git a/to-link b/to-link
new file mode 120000
--- /dev/null
+++ b/to-link
@@ -0,0 +1 @@
+text
\\ No newline at end of file
"""


def test_a_patch_in_json(sb, changed):
    found = {change["path"]: change for change in sb.json("diff", "--patch", changed, "a", "new", "empty")["changes"]}
    assert found["a/x"]["patch"] == "diff --git a/a/x b/a/x\n--- a/a/x\n+++ b/a/x\n@@ -1 +1,2 @@\n x\n+y\n"
    assert found["empty"]["patch"] == "" and found["new/void"]["patch"] == "diff --git a/new/void b/new/void\nnew file mode 100644\n"


def test_content_that_was_not_kept_is_not_invented(sb, channel, tmp_path):
    session = sb.create("--channel", channel, manifest={"files": {"large": "x" * (KEPT + 1), "grows": "small\n", "stays": "y" * KEPT}})
    sb.sh(session, f"echo more >>large; head -c {KEPT + 1} /dev/zero | tr '\\0' x >grows; echo more >stays; rm -f nothing")
    result = sb.run("diff", "--patch", session)
    assert result.lines()[:2] == ["Files a/grows and b/grows differ: the content is too large, or could not be read",
                                  "Files a/large and b/large differ: the content at the session's creation was not kept"]
    assert result.text.count("diff --git") == 1 and result.text.endswith("+more\n")
    assert "2 changes are only told" in result.errors


# --- what counts as a change ----------------------------------------------------------------------------------------

def test_a_large_file_cannot_hide_a_change_behind_its_time(sb, channel):
    session = sb.create("--channel", channel, manifest={"files": {"large": "x" * (KEPT + 1), "other": "z" * (KEPT + 1)}})
    sb.sh(session, "cp -p large ref; printf y | dd of=large conv=notrunc 2>&1; touch -r ref large; rm ref; cat other >/dev/null")
    assert sb.run("diff", session).text == "M large\n"


def test_a_change_of_the_same_size_in_the_first_instant_is_seen(sb):
    """The kernel's clock ticks every few milliseconds: what is written within the tick of the baseline has the same times."""
    for _ in range(5):
        session = sb.create(manifest={"files": {"f": "one"}})
        sb.run("exec", session, "sh", "-c", "printf two >f; touch -d @1000 f")
        assert sb.run("diff", session).text == "M f\n"


def test_repositories_are_left_out_unless_asked_for(sb, tmp_path, channel):
    source = tmp_path / "repo"
    source.mkdir()
    for command in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-C", source, *command], check=True)
    session = sb.create("--channel", channel, "--allow-path", tmp_path, manifest={"files": {"repo": {"fromDir": str(source)}}})
    sb.sh(session, "echo evil >repo/.git/hooks/pre-commit; echo new >repo/new; mkdir .GIT; echo evil >.GIT/config")
    assert sb.run("diff", session, "repo").text == "A repo/new\n"
    assert sb.run("diff", "--all", session, "repo").text == "A repo/.git/hooks/pre-commit\nA repo/new\n"
    assert sb.run("diff", session, "repo/.git/hooks").text == "A repo/.git/hooks/pre-commit\n"
    patch = sb.run("diff", "--all", "--patch", session).text
    assert "+new\n" in patch and "evil" not in patch
    assert "Files /dev/null and b/repo/.git/hooks/pre-commit differ: it belongs to a repository" in patch


def test_special_files_and_odd_names(sb, channel):
    session = sb.create("--channel", channel)
    sb.sh(session, r"""mkfifo pipe; printf x >"$(printf 'new\nline')"; printf x >"$(printf 'esc\033[31m')"; printf x >"$(printf 'bad\377')"
printf x >'sp ace'; printf x >'quote"d'; ln -s "$(printf 'to\377')" zlink; printf x >"$(printf 'caf\303\251')" """)
    result = sb.run("diff", session)
    assert result.lines() == ['A "bad\\377"', "A café", 'A "esc\\033[31m"', 'A "new\\012line"', "A pipe", 'A "quote\\"d"', "A sp ace", "A zlink"]
    found = sb.json("diff", session)["changes"]
    assert [base64.b64decode(change["pathBase64"]) for change in found if "pathBase64" in change] == [b"bad\xff"]
    assert found[3]["path"] == "new\nline" and found[4]["type"] == "fifo"
    assert base64.b64decode(found[-1]["targetBase64"]) == b"to\xff"
    patch = sb.run("diff", "--patch", session).out
    assert b"\x1b" not in patch and b'+++ "b/new\\nline"\n' not in patch and b'+++ "b/new\\012line"\n' in patch and b'+++ "b/sp ace"\n' in patch
    assert b"Special file pipe (fifo)\n" in patch


@pytest.mark.parametrize("tool", [["git", "apply"], ["patch", "-p1"]])
def test_patches_of_odd_names_apply(sb, tmp_path, tool):
    session = sb.create(manifest={"files": {"sp ace": "one\n", "mode 1": {"text": "m\n", "mode": "0644"}}})
    tree = copies(sb, session, tmp_path, "tree")
    sb.sh(session, r"""echo two >'sp ace'; chmod +x 'mode 1'; echo x >"$(printf 'new\nline')"; echo x >"$(printf 'bad\377')"; echo x >'quote"d \'; echo x >"$(printf 'caf\303\251')"
mkdir 'a dir'; echo x >'a dir/f'; : >'emp ty' """)
    patch = sb.run("diff", "--patch", session)
    assert patch.err == b""
    done = subprocess.run(tool, cwd=tree, input=patch.out, capture_output=True, env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)})
    assert done.returncode == 0, (done, patch.out)
    assert content_of(tree) == content_of(copies(sb, session, tmp_path, "now"))


def test_a_directory_that_cannot_be_read_is_said(sb, image, channel):
    session = sb.create("--channel", channel, "--user", "1000:1000", manifest={"files": {"shut/in": "x\n", "open": "x\n"}})
    sb.sh(session, "echo y >shut/in; echo y >open; chmod 000 shut")
    result = sb.run("diff", session)
    assert result.text == "M open\n! shut/\n" and "1 directory the session's user cannot read" in result.errors
    assert sb.json("diff", session)["unreadable"] == 1
    sb.sh(session, "chmod 755 shut")
    assert sb.run("diff", session).text == "M open\nM shut/in\n"


# --- workspaces and sessions ----------------------------------------------------------------------------------------

def test_a_persistent_workspace_begins_with_what_it_held(sb):
    first = sb.create("--name", "one", "--workspace", "kept")
    sb.sh(first, "echo old >old; echo both >both")
    sb.destroy(first)
    second = sb.create("--workspace", "kept", manifest={"files": {"seed": "s\n"}})
    assert sb.run("diff", second).text == ""
    sb.sh(second, "echo more >>both; rm old")
    assert sb.run("diff", second).text == "M both\nD old\n"
    assert "-old\n" in sb.run("diff", "--patch", second).text
    sb.destroy(second)
    sb.run("workspace", "rm", "kept")


def test_many_files(sb, tmp_path):
    """More than one chunk and more than are kept, in the order of bytes, with the memory of one entry."""
    session = sb.create("--pids", "64")
    sb.sh(session, "mkdir d; cd d; i=0; while [ $i -lt 6000 ]; do echo $i >f$i; i=$((i+1)); done")
    before = sb.run("diff", session).lines()
    assert len(before) == 6001 and before == sorted(before)
    assert len(sb.json("diff", session)["changes"]) == 6001


def test_looking_renews_no_idle_time(sb, channel):
    session = sb.create("--channel", channel, "--idle-timeout", "1h")
    sb.sh(session, "echo x >f")

    def idle_left():
        return sb.json("inspect", session)["idleLeftMs"]
    before = wait_until(lambda: (left := idle_left()) is not None and left <= 3600_000 - 200 and left)
    assert sb.run("diff", "--patch", session).text.endswith("+x\n")
    assert idle_left() <= before


def test_a_session_without_a_baseline_says_so(sb):
    session = sb.create()
    baseline = sb.state_dir / "sessions" / session / "baseline"
    assert baseline.stat().st_mode & 0o777 == 0o600
    whole = baseline.read_bytes()
    baseline.write_bytes(whole[:20])
    assert "damaged" in sb.fails(1, "diff", session).errors
    baseline.unlink()
    assert "older sandbox" in sb.fails(1, "diff", session).errors
    assert "older sandbox" in sb.fails_json(1, "diff", session)["message"]


def test_a_damaged_baseline_gives_no_half_list(sb):
    session = sb.create(manifest=MANIFEST)
    sb.sh(session, CHANGES)
    baseline = sb.state_dir / "sessions" / session / "baseline"
    baseline.write_bytes(baseline.read_bytes()[:-10])
    result = sb.fails(1, "diff", session)
    assert result.out == b""


def test_sessions_that_are_gone_or_unknown(sb):
    session = sb.create("--name", "once")
    sb.fails(3, "diff", "nosuch")
    sb.fails(2, "diff")
    sb.destroy(session)
    assert "was destroyed" in sb.fails(3, "diff", "once").errors


# --- what leaves ----------------------------------------------------------------------------------------------------

def test_export_scan_sees_what_a_patch_holds(sb, tmp_path):
    scanner = tmp_path / "scanner"
    scanner.write_text("#!/bin/sh\n! grep -q virus\n")
    scanner.chmod(0o755)
    session = sb.create(manifest={"export": {"scan": [str(scanner)]}, "files": {"f": "x\n"}})
    sb.sh(session, "echo fine >f; echo fine >g")
    assert "+fine" in sb.run("diff", "--patch", session).text
    sb.sh(session, "echo a virus >h")
    assert sb.run("diff", session).text == "M f\nA g\nA h\n"
    result = sb.fails(6, "diff", "--patch", session)
    assert "export.scan" in result.errors and '"h"' in result.errors and result.out == b""


def test_max_file_holds_for_patches_too(sb):
    session = sb.create("--max-file", "100B", manifest={"files": {"before": "x" * 200}})
    sb.sh(session, "rm before; head -c 200 /dev/zero | tr '\\0' y >after; echo z >small")
    patch = sb.run("diff", "--patch", session).text
    assert "xxx" not in patch and "yyy" not in patch and "+z\n" in patch and patch.count(" differ: ") == 2


def test_a_patch_is_an_export_in_the_events(sb):
    session = sb.create()
    sb.sh(session, "echo x >f")
    sb.run("diff", session)
    assert sb.run("events", "--kind", "file.exported", session).out == b""
    sb.run("diff", "--patch", session)
    events = [json.loads(line) for line in sb.run("--json", "events", "--kind", "file.exported", session).lines()]
    assert [(event["path"], event["files"], event["bytes"]) for event in events] == [(".", 1, 2)]
