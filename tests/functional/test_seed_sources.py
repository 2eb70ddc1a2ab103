# SPDX-License-Identifier: Apache-2.0
"""fromArchive and fromGit: what comes from a tar or a repository of the host, and what may not come with it."""
import gzip
import json
import os
import pathlib
import subprocess

import pytest

import runner

from test_cp_archive import FILE, HOSTILE, archive


def manifest(path, **files):
    """A manifest in a folder of its own, since host paths are relative to it and may not leave it."""
    target = pathlib.Path(path) / "sandbox.yaml"
    target.write_text(json.dumps({"version": 1, "image": runner.BASE, "files": files}))
    return target


def git(folder, *words):
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t",
           "GIT_COMMITTER_EMAIL": "t@t"}
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, env=env).stdout.decode().strip()


@pytest.fixture
def repository(tmp_path):
    """Two commits on main, a branch and a tag at the first; hooks that would leave a mark, and a submodule."""
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "file").write_text("first\n")
    git(root, "add", "file")
    git(root, "commit", "-qm", "first")
    git(root, "tag", "v1")
    git(root, "branch", "side")
    (root / "file").write_text("second\n")
    (root / ".gitmodules").write_text(f'[submodule "sub"]\n\tpath = sub\n\turl = {root}\n')
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{git(root, 'rev-parse', 'v1')},sub")
    git(root, "add", "file", ".gitmodules")
    git(root, "commit", "-qm", "second")
    hooks = tmp_path / "templates/hooks"
    hooks.mkdir(parents=True)
    for name in ("post-checkout", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\necho ran >>{tmp_path}/hook-ran\n")
        (hooks / name).chmod(0o755)
    return root


@pytest.mark.parametrize("form", ["tar", "tar.gz", "tar.zst"])
def test_an_archive_becomes_a_directory(sb, tmp_path, form):
    source = tmp_path / "src/vendor"
    (source / "lib").mkdir(parents=True)
    (source / "lib/a").write_text("a" * 300_000)
    (source / "tool").write_text("#!/bin/sh\necho ran\n")
    (source / "tool").chmod(0o750)
    (source / "link").symlink_to("lib/a")
    os.link(source / "tool", source / "same")
    name = f"vendor.{form}"
    packing = {"tar": [], "tar.gz": ["-z"], "tar.zst": ["--zstd"]}[form]
    subprocess.run(["tar", "-c", *packing, "-f", tmp_path / name, "-C", source, "."], check=True)
    session = sb.create("-f", manifest(tmp_path, **{"deps/vendor": {"fromArchive": name}, "deps/vendor/added": "text"}), image=None)
    lines = sb.sh(session, "cd deps/vendor; wc -c <lib/a; ./same; readlink link; stat -c '%h %a %u' tool; id -u; cat added").lines()
    assert lines[:3] == ["300000", "ran", "lib/a"] and lines[3] == f"2 750 {lines[4]}" and lines[5] == "text"


def test_concatenated_gzip_members_are_one_archive(sb, tmp_path):
    whole = archive(("a", *FILE), ("b", *FILE))
    (tmp_path / "v.tgz").write_bytes(gzip.compress(whole[:700]) + gzip.compress(whole[700:]) + bytes(512))
    session = sb.create("-f", manifest(tmp_path, v={"fromArchive": "v.tgz"}), image=None)
    assert sb.sh(session, "ls v").lines() == ["a", "b"]


@pytest.mark.parametrize("name", ["parent", "absolute", "through-link", "hard-link-out", "device"])
def test_a_hostile_archive_makes_no_session(sb, tmp_path, name):
    (tmp_path / "v.tar").write_bytes(archive(("first", *FILE), *HOSTILE[name]))
    result = sb.run("create", "-f", manifest(tmp_path, v={"fromArchive": "v.tar"}), status=None)
    assert result.status != 0 and "files.v" in result.errors and result.out == b""
    assert sb.sessions() == []


def test_a_cut_or_damaged_archive_makes_no_session(sb, tmp_path):
    whole = gzip.compress(archive(("a", FILE[0], os.urandom(100_000))))
    for damaged in (whole[:-20], whole[:50_000], whole[:50_000] + bytes(100) + whole[50_100:]):
        (tmp_path / "v.tgz").write_bytes(damaged)
        assert "files.v" in sb.fails(1, "create", "-f", manifest(tmp_path, v={"fromArchive": "v.tgz"})).errors
    assert sb.sessions() == []


def test_a_format_that_is_not_read_is_said_before_anything_is_made(sb, tmp_path):
    (tmp_path / "v.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    result = sb.fails(2, "create", "--dry-run", "-f", manifest(tmp_path, v={"fromArchive": "v.zip"}))
    assert "zip" in result.errors and "tar.zst" in result.errors
    sb.fails(2, "create", "-f", manifest(tmp_path, v={"fromArchive": "missing.tar"}))
    (tmp_path / "v.tar.zst").write_bytes(subprocess.run(["zstd", "-c", "--long=27"], input=bytes(1 << 20), capture_output=True, check=True).stdout)
    assert "--long" in sb.fails(2, "create", "--dry-run", "-f", manifest(tmp_path, v={"fromArchive": "v.tar.zst"})).errors
    (tmp_path / "d").mkdir()
    sb.fails(2, "create", "-f", manifest(tmp_path, v={"fromArchive": "d"}))


def test_a_repository_of_this_machine(sb, repository, tmp_path):
    config = tmp_path / "gitconfig"
    config.write_text(f"[init]\n\ttemplateDir = {tmp_path}/templates\n[core]\n\thooksPath = {tmp_path}/templates/hooks\n[submodule]\n\trecurse = true\n")
    env = {"GIT_CONFIG_GLOBAL": str(config), "GIT_DIR": "/nowhere", "GIT_WORK_TREE": "/nowhere"}
    first, second = git(repository, "rev-parse", "v1"), git(repository, "rev-parse", "main")
    made = manifest(tmp_path, head={"fromGit": "./repo"}, tag={"fromGit": "repo", "ref": "v1"}, side={"fromGit": "./repo", "ref": "side"},
                    commit={"fromGit": "./repo", "ref": first})
    session = sb.create("-f", made, image=None, env=env)
    assert sb.sh(session, "cat head/file tag/file side/file commit/file; ls -A head/sub").text == "second\nfirst\nfirst\nfirst\n"
    assert not (tmp_path / "hook-ran").exists()
    # The .git directory comes along, shallow, without a remote that leads nowhere from inside, and without hooks.
    sb.run("cp", f"{session}:head", tmp_path / "back")
    assert git(tmp_path / "back", "rev-parse", "HEAD") == second and git(tmp_path / "back", "remote") == ""
    assert git(tmp_path / "back", "rev-list", "--count", "HEAD") == "1" and git(tmp_path / "back", "status", "--porcelain") == ""
    assert not list((tmp_path / "back/.git").glob("hooks/*")) and "hooksPath" not in (tmp_path / "back/.git/config").read_text()


def test_a_repository_that_cannot_be_had_makes_no_session(sb, repository, tmp_path):
    result = sb.fails(1, "create", "-f", manifest(tmp_path, r={"fromGit": "./repo", "ref": "nosuch"}))
    assert "files.r" in result.errors and "nosuch" in result.errors
    assert "password" not in result.errors and "hint: ref is a branch, a tag or a full commit id" in result.errors
    result = sb.fails(1, "create", "-f", manifest(tmp_path, r={"fromGit": "https://127.0.0.1:1/r.git"}), timeout=30)
    assert "127.0.0.1:1/r.git" in result.errors and "hint: nobody is asked for a password" in result.errors
    # What the host's own configuration puts into the URL is not said either.
    helped = {"GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig")}
    (tmp_path / "gitconfig").write_text('[url "https://me:s3cret@127.0.0.1:1/"]\n\tinsteadOf = https://127.0.0.1:1/\n')
    result = sb.fails(1, "create", "-f", manifest(tmp_path, r={"fromGit": "https://127.0.0.1:1/r.git"}), timeout=30, env=helped)
    assert "s3cret" not in result.errors
    sb.fails(2, "create", "-f", manifest(tmp_path, r={"fromGit": "./missing"}))
    sb.fails(2, "create", "-f", manifest(tmp_path, r={"fromGit": "ext::sh -c touch% /tmp/x"}))
    sb.fails(2, "create", "-f", manifest(tmp_path, r={"fromGit": "./repo", "ref": "--upload-pack=/bin/false"}))
    assert sb.sessions() == []


def test_another_users_repository_is_told_with_what_to_do(sb, repository, tmp_path):
    subprocess.run(["chown", "-R", "65534", repository], check=True)
    env = {"GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"), "HOME": str(tmp_path)}
    result = sb.fails(1, "create", "-f", manifest(tmp_path, r={"fromGit": "./repo"}), env=env)
    hint = next(line for line in result.errors.splitlines() if line.startswith("hint: "))
    assert "another user's" in hint and "password" not in hint
    # And it is what helps.
    subprocess.run(hint[hint.index("git config"):], shell=True, check=True, env={**os.environ, **env})
    assert sb.sh(sb.create("-f", manifest(tmp_path, r={"fromGit": "./repo"}), image=None, env=env), "cat r/file").text == "second\n"


def test_a_repository_led_out_by_a_link_is_refused(sb, repository, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "r").symlink_to("../repo")
    (project / "v.tar").symlink_to("../outside.tar")
    (tmp_path / "outside.tar").write_bytes(archive(("a", *FILE)))
    assert "--allow-path" in sb.fails(2, "create", "-f", manifest(project, r={"fromGit": "./r"})).errors
    assert "--allow-path" in sb.fails(2, "create", "-f", manifest(project, v={"fromArchive": "v.tar"})).errors


@pytest.mark.parametrize("what", ["fifo", "device"])
@pytest.mark.parametrize("key", ["fromArchive", "fromFile", "env", "seccomp"])
def test_what_is_no_regular_file_is_refused_and_not_waited_for(sb, tmp_path, key, what):
    if what == "fifo":
        os.mkfifo(tmp_path / "odd")
    else:
        (tmp_path / "odd").symlink_to("/dev/zero")
    part = {"env": {"env": {"X": {"fromFile": "odd"}}}, "seccomp": {"security": {"seccomp": "./odd"}}}.get(key, {"files": {"v": {key: "odd"}}})
    (tmp_path / "sandbox.yaml").write_text(json.dumps({"version": 1, "image": runner.BASE, **part}))
    result = sb.run("create", "--allow-path", "/dev", "-f", tmp_path / "sandbox.yaml", status=None, timeout=20)
    assert result.status in (1, 2) and "is not a regular file" in result.errors and sb.sessions() == []


@pytest.mark.parametrize("text,what", [('{"foo": 1}', "defaultAction"), ('{"defaultAction": "allow"}', "defaultAction"), ("[]", "defaultAction"), ('{"defaultAction": "SCMP', "not JSON")])
def test_what_is_no_seccomp_profile_is_refused(sb, tmp_path, text, what):
    """An engine would take it, and filter nothing."""
    (tmp_path / "profile.json").write_text(text)
    (tmp_path / "sandbox.yaml").write_text(json.dumps({"version": 1, "image": runner.BASE, "security": {"seccomp": "profile.json"}}))
    for words in (["create"], ["create", "--dry-run"]):
        errors = sb.fails(2, *words, "-f", tmp_path / "sandbox.yaml").errors
        assert "security.seccomp" in errors and "profile.json" in errors and what in errors


SECRETS = ["https://me:s3cret@host/x", "https://s3cret@host/x", "https://me:s3/s3cret@host/x", "https://host/x?private_token=s3cret",
           "ssh://me:s3cret@host/x", "http://me:s3cret@host/x", "me:s3cret@host:x", "https:/me:s3cret@host/x", "ext::https://me:s3cret@host/x"]


@pytest.mark.parametrize("url", SECRETS)
def test_a_url_with_a_secret_is_refused_and_shown_nowhere(sb, tmp_path, url):
    made = manifest(tmp_path, r={"fromGit": url})
    for words in (["create"], ["create", "--dry-run"], ["manifest", "check", made], ["manifest", "explain", "files"]):
        for output in ([], ["--json"]):
            result = sb.run(*output, *words, *([] if made in words else ["-f", made]), status=2)
            assert "s3cret" not in result.errors + result.text and (output or "credential helper" in result.errors), result
    for text in (f'files.r={{fromGit: "{url}"}}', f'files={{r: {{fromGit: "{url}", bad: 1}}}}'):
        for output in ([], ["--json"]):
            result = sb.run(*output, "create", "--dry-run", "--set", f"image={runner.BASE}", "--set", text, status=2)
            assert "s3cret" not in result.errors + result.text, result
    config = tmp_path / "config/sandbox"
    config.mkdir(parents=True)
    (config / "config.yaml").write_text(json.dumps({"defaults": {"files": {"r": {"fromGit": url}}}}))
    result = sb.run("config", "show", status=None, env={"XDG_CONFIG_HOME": str(tmp_path / "config")})
    assert "s3cret" not in result.errors + result.text and result.status != 0, result
    if url.startswith(("https://me:", "ssh:", "https://host")):
        # The line that another error shows.
        made.write_text(f'{{version: 1, image: x, files: {{r: {{fromGit: "{url}", bad: 1}}}}}}')
        result = sb.run("create", "--dry-run", "-f", made, status=2)
        assert "bad" in result.errors and "s3cret" not in result.errors


def test_urls_without_a_secret_are_taken(sb, tmp_path):
    urls = ["https://host/x", "https://host:8443/@scope/x.git", "ssh://git@host/x", "ssh://git@host:22/~me/x", "git@host:me/x", "https://[::1]:8443/x"]
    made = manifest(tmp_path, **{f"r{i}": {"fromGit": url} for i, url in enumerate(urls)})
    assert sb.json("create", "--dry-run", "-f", made)


WAYS_OUT = ["gitfile", "git-link", "commondir", "alternates", "alternates-of-alternates", "objects-link", "pack-link", "gitfile-in-git", "gitfile-beside-git"]


@pytest.mark.parametrize("way", WAYS_OUT)
def test_a_repository_that_reads_outside_is_refused(sb, repository, tmp_path, way):
    outside, r = repository / ".git", tmp_path / "project/r"
    r.mkdir(parents=True)
    git(repository, "repack", "-adq")
    head = git(repository, "rev-parse", "HEAD")
    if way == "gitfile":
        (r / ".git").write_text(f"gitdir: {outside}\n")
    elif way == "git-link":
        (r / ".git").symlink_to(outside)
    else:
        git(r, "init", "-q", "--bare" if "alternates" in way else "-q", "-b", "main")
        own = r if "alternates" in way else r / ".git"
        (own / "refs/heads/main").write_text(head + "\n")
    if way == "commondir":
        (r / ".git/commondir").write_text("../../../repo/.git\n")
    elif way == "alternates":
        (r / "objects/info/alternates").write_text(f"# a comment\n{outside}/objects\n")
    elif way == "alternates-of-alternates":
        git(r.parent, "init", "-q", "--bare", "middle")
        (r / "objects/info/alternates").write_text("../../middle/objects\n")
        (r.parent / "middle/objects/info/alternates").write_text(f"{outside}/objects\n")
    elif way == "objects-link":
        for folder in ("info", "pack", ""):
            (r / ".git/objects" / folder).rmdir()
        (r / ".git/objects").symlink_to(outside / "objects")
    elif way == "pack-link":
        for pack in (outside / "objects/pack").iterdir():
            (r / ".git/objects/pack" / pack.name).symlink_to(pack)
    elif way == "gitfile-in-git":
        (r / ".git/.git").write_text(f"gitdir: {outside}\n")
    elif way == "gitfile-beside-git":
        (r / ".git/HEAD").write_text("no ref\n")
        (r / ".git.git").write_text(f"gitdir: {outside}\n")
    made = manifest(r.parent, r={"fromGit": "./r"})
    if way.startswith("gitfile-"):
        # Not looked at: the repository is the one that was checked, which has no such commit.
        sb.fails(1, "create", "-f", made)
        assert sb.sessions() == []
        return
    for words in (["create", "--dry-run"], ["create"]):
        result = sb.fails(2, *words, "-f", made)
        assert "leads out of the manifest's folder" in result.errors and f"--allow-path {outside}" in result.errors, result
    assert sb.sessions() == []
    session = sb.create("-f", made, "--allow-path", repository, image=None)
    assert sb.sh(session, "cat r/file").text == "second\n"


def test_what_a_repository_borrows_inside_the_folder_is_read(sb, repository, tmp_path):
    git(repository, "worktree", "add", "-q", tmp_path / "linked", "side")
    git(tmp_path, "clone", "-q", "--shared", "--bare", repository, "borrowing")
    (tmp_path / "plain").mkdir()
    session = sb.create("-f", manifest(tmp_path, linked={"fromGit": "./linked"}, borrowing={"fromGit": "borrowing"}), image=None)
    assert sb.sh(session, "cat linked/file borrowing/file").text == "first\nsecond\n"
    assert "not a git repository" in sb.fails(2, "create", "-f", manifest(tmp_path, r={"fromGit": "./plain"})).errors
