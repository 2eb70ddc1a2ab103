# SPDX-License-Identifier: Apache-2.0
"""The release that scripts/package makes: what is in the package, that it is the same each time, and its life on a bare Debian."""
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest

from runner import ROOT
from test_install import FILES

# Where Debian has what `make install` has elsewhere.
MOVED = {"share/zsh/site-functions/_sandbox": "share/zsh/vendor-completions/_sandbox", "share/doc/sandbox/LICENSE": "share/doc/sandbox/copyright",
         **{name: f"{name}.gz" for name in FILES if name.startswith("share/man/")}}
PACKAGED = {f"usr/{MOVED.get(name, name)}": mode for name, mode in FILES.items()}
PACKAGED |= {"usr/share/doc/sandbox/changelog.gz": 0o644, "usr/share/lintian/overrides/sandbox": 0o644}
# When HEAD was made; of a tarball, when its news were.
EPOCH = os.environ.get("SOURCE_DATE_EPOCH") or (
    subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    if (ROOT / ".git").exists() else str(int((ROOT / "NEWS.md").stat().st_mtime)))
# What dpkg and the package's script need, unpacked: a third of a minbase, in a fifth of the time.
BARE = "base-files,coreutils,dash,diffutils,dpkg,libc-bin,sed"

pytestmark = pytest.mark.long  # it builds the release


def call(*argv, status=0, timeout=300, **kw):
    done = subprocess.run([str(arg) for arg in argv], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL, **kw)
    assert status is None or done.returncode == status, (argv, done.returncode, done.stdout[-3000:], done.stderr[-3000:])
    return done


def make(output, **kw):
    """scripts/package; the package and the program. The first time it builds, from what ccache has of the build under test."""
    made = call(ROOT / "scripts/package", output, timeout=1500, **kw).stdout.split()
    return [pathlib.Path(path) for path in made]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return make(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def package(release):
    return release[0]


@pytest.fixture(scope="module")
def contents(package, tmp_path_factory):
    """The package's files, unpacked, and as the archive lists them."""
    folder = tmp_path_factory.mktemp("contents")
    call("dpkg-deb", "--raw-extract", package, folder)
    archive = folder / "data.tar"
    archive.write_bytes(subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout)
    with tarfile.open(archive) as tar:
        return folder, tar.getmembers()


@pytest.fixture(scope="module")
def fields(package):
    """The control file: name -> value."""
    found, name = {}, None
    for line in call("dpkg-deb", "--field", package).stdout.splitlines():
        if not line.startswith(" "):
            name, line = line.split(":", 1)
        found[name] = f"{found.get(name, '')}\n{line.strip()}".strip()
    return found


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A root with dpkg and what it needs, from the same mirror as everything else."""
    root = tmp_path_factory.mktemp("bare") / "root"
    call("mmdebstrap", "--variant=extract", "--quiet", "--format=directory", f"--include={BARE}",
         "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr", "bookworm", root)
    yield root
    shutil.rmtree(root)


class Machine:
    """A bare root, with a systemctl that writes down what it is asked for."""

    def __init__(self, root):
        self.root, self.asked = root, root / "asked"
        systemctl = root / "usr/bin/systemctl"
        systemctl.write_text('#!/bin/sh\necho "$*" >>/asked\n')
        systemctl.chmod(0o755)

    def run(self, *argv, status=0):
        return call("chroot", self.root, *argv, status=status, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"})

    def dpkg(self, action, package, status=0):
        """`package` is a file of the host, or a name."""
        if isinstance(package, pathlib.Path):
            shutil.copy(package, self.root / "tmp/given.deb")
            package = "/tmp/given.deb"
        return self.run("dpkg", action, package, status=status)

    def state(self, package):
        return self.run("dpkg-query", "-W", "-f", "${db:Status-Status}", package, status=None).stdout

    def systemctl_calls(self):
        return self.asked.read_text().splitlines() if self.asked.exists() else []


@pytest.fixture
def machine(bare):
    machine = Machine(bare)
    yield machine
    for package in ("sandbox", "policycoreutils-python-utils"):
        machine.run("dpkg", "--purge", package, status=None)
    machine.asked.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def namesake(tmp_path_factory):
    """A package with the name, and the program, of Debian's."""
    folder = tmp_path_factory.mktemp("namesake")
    (folder / "root/DEBIAN").mkdir(parents=True)
    (folder / "root/usr/bin").mkdir(parents=True)
    (folder / "root/usr/bin/sandbox").write_text("#!/bin/sh\n")
    (folder / "root/DEBIAN/control").write_text("Package: policycoreutils-python-utils\nVersion: 3.4-1\nArchitecture: all\n"
                                                "Maintainer: test <test@localhost>\nDescription: has a /usr/bin/sandbox\n")
    call("dpkg-deb", "--root-owner-group", "--build", folder / "root", folder / "namesake.deb")
    return folder / "namesake.deb"


# --- the files -----------------------------------------------------------------------------------------------------

def test_every_file_in_its_place(contents):
    _, members = contents
    assert {member.name.removeprefix("./"): member.mode for member in members if not member.isdir()} == PACKAGED
    assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {(0, 0, "root", "root")}
    assert {member.mode for member in members if member.isdir()} == {0o755}


def test_control(fields, package, contents):
    folder, _ = contents
    assert fields["Package"] == "sandbox" and fields["Architecture"] == call("dpkg", "--print-architecture").stdout.strip()
    assert package.name == f"sandbox_{fields['Version']}_{fields['Architecture']}.deb"
    assert not {"Depends", "Pre-Depends", "Replaces", "Provides"} & set(fields)
    assert fields["Recommends"].startswith("docker.io | podman") and fields["Conflicts"] == "policycoreutils-python-utils"
    assert "policycoreutils-python-utils" in fields["Description"] and "systemctl enable --now sandbox-gc.timer" in fields["Description"]
    for source in ("glibc", "openssl", "sqlite3", "yaml-cpp", "libzstd", "zlib"):
        assert re.search(rf"(^|, ){re.escape(source)} \(= ", fields["Built-Using"]), source
    total = sum(path.stat().st_size for path in (folder / "usr").rglob("*") if path.is_file()) / 1024
    assert total < int(fields["Installed-Size"]) < total + 100
    for line in (folder / "DEBIAN/md5sums").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.md5((folder / name).read_bytes()).hexdigest() == digest
    assert {path.name for path in (folder / "DEBIAN").iterdir()} == {"control", "md5sums", "prerm"}


def test_version_is_that_of_the_sources_and_sorts_below_the_release(fields):
    version = re.search(r"^  version: '(.+)',$", (ROOT / "meson.build").read_text(), re.MULTILINE)[1]
    assert re.fullmatch(re.escape(version) + r"(~\d{8}\.\d{6}\.[0-9a-f]{10})?(\+changed)?", fields["Version"])
    if "~" in fields["Version"]:
        call("dpkg", "--compare-versions", fields["Version"], "lt", version)


def test_program_is_static_stripped_and_the_release(release, contents):
    folder, _ = contents
    program = folder / "usr/bin/sandbox"
    assert "statically linked" in call("file", "-b", program).stdout and call("file", "-b", program).stdout.rstrip().endswith(", stripped")
    assert "not a dynamic executable" in call("ldd", program, status=1).stderr
    assert "(NEEDED)" not in call("readelf", "--dynamic", program).stdout
    assert release[1].read_bytes() == program.read_bytes() and os.access(release[1], os.X_OK)
    call("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=release[1].parent)
    assert len((release[1].parent / "SHA256SUMS").read_text().splitlines()) == 2


def test_pages_changelog_and_copyright_can_be_read(contents, fields):
    folder, _ = contents
    for path in (folder / "usr/share/man").rglob("*.gz"):
        assert gzip.decompress(path.read_bytes()).startswith(b".\\\""), path
        assert path.read_bytes()[4:8] == bytes(4), f"{path}: carries a time"
    changelog = gzip.decompress((folder / "usr/share/doc/sandbox/changelog.gz").read_bytes()).decode()
    assert changelog.startswith(f"sandbox ({fields['Version']}) ") and f" -- {fields['Maintainer']}  " in changelog
    licence = (folder / "usr/share/doc/sandbox/copyright").read_text()
    named = set(re.findall(r"^Files: \((\S+)\)$", licence, re.MULTILINE))
    assert {entry.split()[0] for entry in fields["Built-Using"].split(", ")} <= named
    assert {paragraph for paragraph in re.findall(r"^License: (.+)$", licence, re.MULTILINE)} == set(
        re.findall(r"^\n?License: (.+)\n ", licence, re.MULTILINE))


def test_same_input_same_bytes(release, contents, tmp_path):
    """Another time zone, language, mask and place change nothing, and all times are those of HEAD."""
    env = {**os.environ, "TZ": "Asia/Tokyo", "LANG": "de_DE.UTF-8", "HOME": str(tmp_path), "SOURCE_DATE_EPOCH": EPOCH}
    again = make(tmp_path / "again", env=env, umask=0o077)
    assert [path.name for path in again] == [path.name for path in release]
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in release]
    assert {str(member.mtime) for member in contents[1]} == {EPOCH}
    assert {str(int(path.stat().st_mtime)) for path in [*again, *release]} == {EPOCH}
    date = call("date", "--utc", "-R", "-d", f"@{EPOCH}", env={**env, "LC_ALL": "C"}).stdout
    changelog = gzip.decompress((contents[0] / "usr/share/doc/sandbox/changelog.gz").read_bytes()).decode()
    assert changelog.endswith(f"  {date}")


# --- its life on a machine -----------------------------------------------------------------------------------------

def test_installs_on_a_bare_debian_and_works(machine, package, fields):
    machine.dpkg("--install", package)
    assert machine.state("sandbox") == "installed"
    assert json.loads(machine.run("sandbox", "version", "--json").stdout)["version"] == fields["Version"].split("~")[0].split("+")[0]
    for name, mode in PACKAGED.items():
        assert (machine.root / name).stat().st_mode & 0o7777 == mode, name
    assert (machine.root / "usr/share/sandbox/manifest.schema.json").read_text() == machine.run("sandbox", "manifest", "schema").stdout
    for shell, name in (("bash", "bash-completion/completions/sandbox"), ("zsh", "zsh/vendor-completions/_sandbox"), ("fish", "fish/vendor_completions.d/sandbox.fish")):
        assert (machine.root / "usr/share" / name).read_text() == machine.run("sandbox", "completion", shell).stdout
    made = machine.run("sandbox", "manifest", "init", "/tmp/new.yaml")
    assert "schema" not in made.stderr  # no note that it is missing
    assert (machine.root / "tmp/new.yaml").read_text().startswith("# yaml-language-server: $schema=/usr/share/sandbox/manifest.schema.json\n")
    (machine.root / "tmp/new.yaml").unlink()
    assert "\nExecStart=/usr/bin/sandbox gc\n" in (machine.root / "usr/lib/systemd/system/sandbox-gc.service").read_text()


def test_timer_is_not_enabled_and_goes_with_the_package(machine, package):
    machine.dpkg("--install", package)
    assert machine.systemctl_calls() == [] and not list((machine.root / "etc/systemd").rglob("*sandbox*"))
    machine.dpkg("--install", package)
    assert machine.systemctl_calls() == [], "an upgrade leaves the timer as it is"
    machine.dpkg("--remove", "sandbox")
    assert machine.systemctl_calls() == ["disable --now sandbox-gc.timer"]
    assert not [name for name in PACKAGED if (machine.root / name).exists()]


def test_removed_where_there_is_no_systemd(machine, package):
    (machine.root / "usr/bin/systemctl").unlink()
    machine.dpkg("--install", package)
    machine.dpkg("--purge", "sandbox")
    assert machine.state("sandbox") in ("", "not-installed")


def test_not_beside_the_other_sandbox(machine, package, namesake):
    machine.dpkg("--install", package)
    refused = machine.dpkg("--install", namesake, status=1)
    assert "conflicting packages" in refused.stderr and machine.state("policycoreutils-python-utils") != "installed"
    assert "usage" in machine.run("sandbox", "help").stdout.lower()
    machine.dpkg("--purge", "sandbox")
    machine.dpkg("--install", namesake)
    refused = machine.dpkg("--install", package, status=1)
    assert "conflicting packages" in refused.stderr and machine.state("sandbox") != "installed"
    assert (machine.root / "usr/bin/sandbox").read_text() == "#!/bin/sh\n"
