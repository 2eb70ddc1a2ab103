# SPDX-License-Identifier: Apache-2.0
"""`meson install` as a whole: every file, where it is and with which mode; and `meson dist`, which has all that a build needs."""
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

import runner
from runner import ROOT

MAN = ROOT / "man"
PAGES = subprocess.run(["/usr/bin/python3", MAN / "make_man.py", "--pages"], capture_output=True, text=True, check=True).stdout.split()
# All of it, below the prefix. What is executable says so.
FILES = {
    "bin/sandbox": 0o755,
    "lib/systemd/system/sandbox-gc.service": 0o644,
    "lib/systemd/system/sandbox-gc.timer": 0o644,
    "share/bash-completion/completions/sandbox": 0o644,
    "share/doc/sandbox/LICENSE": 0o644,
    "share/doc/sandbox/NEWS.md": 0o644,
    "share/doc/sandbox/PODMAN.md": 0o644,
    "share/doc/sandbox/README.md": 0o644,
    "share/doc/sandbox/SECURITY.md": 0o644,
    "share/doc/sandbox/examples/agent.yaml": 0o644,
    "share/doc/sandbox/examples/config/config.yaml": 0o644,
    "share/doc/sandbox/examples/cron/sandbox-gc": 0o644,
    "share/doc/sandbox/examples/lifecycle.sh": 0o755,
    "share/doc/sandbox/examples/node-test.yaml": 0o644,
    "share/doc/sandbox/examples/ticket.yaml": 0o644,
    "share/fish/vendor_completions.d/sandbox.fish": 0o644,
    "share/sandbox/manifest.schema.json": 0o644,
    "share/zsh/site-functions/_sandbox": 0o644,
    **{f"share/man/man{page[-1]}/{page}": 0o644 for page in PAGES},
}


def modes(folder):
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o7777 for path in folder.rglob("*") if not path.is_dir()}


def meson(*args, **kw):
    done = subprocess.run(["meson", *map(str, args)], capture_output=True, text=True, timeout=300, **kw)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The build of the binary under test, installed below a directory as a package would be made, by a user with a strict umask."""
    build = pathlib.Path(runner.binary()).parents[2]
    assert (build / "build.ninja").exists(), f"{build} is no build directory"
    root = tmp_path_factory.mktemp("root")
    meson("install", "-C", build, "--no-rebuild", "--destdir", root, umask=0o077)
    return root / "usr/local"


def test_all_that_is_installed(installed):
    assert modes(installed.parents[1]) == {f"usr/local/{name}": mode for name, mode in FILES.items()}
    assert {path.stat().st_mode & 0o7777 for path in installed.rglob("*") if path.is_dir()} == {0o755}


def test_installed_binary_knows_its_places(installed):
    """The schema that a new manifest names, and the program that the unit starts, are those that were installed."""
    text = subprocess.run([installed / "bin/sandbox", "manifest", "init", "-"], capture_output=True, text=True, check=True).stdout
    assert text.startswith("# yaml-language-server: $schema=/usr/local/share/sandbox/manifest.schema.json\n")
    unit = (installed / "lib/systemd/system/sandbox-gc.service").read_text()
    assert "\nExecStart=/usr/local/bin/sandbox gc\n" in unit and "Copy" not in unit
    example = (ROOT / "examples/systemd/sandbox-gc.service").read_text()
    assert [line for line in example.splitlines() if not line.startswith("# Copy both units")] == unit.splitlines()


def test_nothing_is_enabled(installed):
    assert not [path for path in installed.parents[1].rglob("*") if path.is_symlink() or path.name.endswith(".wants")]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The sources in a repository of their own, as they are here now; what .gitignore names stays out."""
    folder = tmp_path_factory.mktemp("clone") / "sandbox"
    def not_ours(where, names):
        return {name for name in names if name in (".git", ".cache") or (pathlib.Path(where) == ROOT and name.startswith("build"))}
    shutil.copytree(ROOT, folder, symlinks=True, ignore=not_ours)
    identity = {f"GIT_{who}_{what}": "test@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", *command], cwd=folder, check=True, env={**os.environ, **identity})
    return folder


def test_dist(clone, tmp_path):
    """The tarball has every file of the repository and can be configured, without a download; outside of a repository warnings are no errors."""
    meson("setup", tmp_path / "build", clone)
    meson("dist", "-C", tmp_path / "build", "--no-tests")
    archives = sorted(path.name for path in (tmp_path / "build/meson-dist").iterdir())
    name = archives[0].removesuffix(".tar.xz")
    assert archives == [f"{name}.tar.xz", f"{name}.tar.xz.sha256sum"] and name.startswith("sandbox-0.")
    with tarfile.open(tmp_path / "build/meson-dist" / archives[0]) as archive:
        found = {member.name.removeprefix(f"{name}/"): bool(member.mode & 0o100) for member in archive if member.isfile()}
        archive.extractall(tmp_path)
    listed = subprocess.run(["git", "ls-files", "-s"], cwd=clone, capture_output=True, text=True, check=True).stdout.splitlines()
    assert found == {line.split("\t")[1]: line.startswith("100755 ") for line in listed}
    assert not [path for path in found if path.startswith("subprojects/") and not path.endswith(".wrap") and "packagefiles/" not in path]
    meson("setup", tmp_path / "from-dist", tmp_path / name, "--wrap-mode=nofallback")  # Debian has all of it
    commands = (tmp_path / "from-dist/compile_commands.json").read_text()
    assert "-Werror" in (tmp_path / "build/compile_commands.json").read_text() and "-Werror" not in commands
