# SPDX-License-Identifier: Apache-2.0
"""Which engine is spoken to, and by whom: docker's contexts, rootless sockets, Podman on demand, a member of the docker group, a
sibling container."""
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

import pytest

import runner
from podman_service import PodmanService
from rootless_engine import RootlessEngine

# What decides in the environment, away: each test says what there is.
NO_ENGINE = {name: None for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
                                     "XDG_RUNTIME_DIR")}


class Cell(runner.Sandbox):
    """A sandbox whose /run is empty: no docker.sock there, and whatever comes to be in it is of this test."""

    def __init__(self, directory, **env):
        super().__init__(directory / "state", runner.new_owner(), env={**NO_ENGINE, **env})
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", "mount -t tmpfs none /run && echo ready && exec sleep 600"],
            stdout=subprocess.PIPE)
        assert self._holder.stdout.readline() == b"ready\n"

    def argv(self, *args):
        return ["nsenter", "--mount", "--target", str(self._holder.pid), "--", *super().argv(*args)]

    def services(self):
        """Those of Podman that `sandbox` started in here."""
        here, found = os.readlink(f"/proc/{self._holder.pid}/ns/mnt"), []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "cmdline").read_bytes().split(b"\0")
                if words[1:4] == [b"system", b"service", b"--time=10"] and os.readlink(path / "ns/mnt") == here:
                    found.append(path.name)
            except OSError:
                continue
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        runner.stop(self._holder)


def as_user(name):
    """The start of a command line: by this user, and with no capability."""
    user = pwd.getpwnam(name)
    return ["setpriv", "--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--inh-caps=-all", "--bounding-set=-all"]


# The docker CLI itself makes the context, so that its format is docker's.
def test_a_context_of_docker(private_engine, make_sandbox, tmp_path):
    config = str(tmp_path / "docker")
    subprocess.run(["docker", "context", "create", "mine", "--docker", f"host={private_engine.url}"], check=True, capture_output=True,
                   env={**os.environ, "DOCKER_CONFIG": config})
    sandbox = make_sandbox(env={**NO_ENGINE, "DOCKER_CONFIG": config, "DOCKER_CONTEXT": "mine"})
    sandbox.run("image", "bootstrap", "--tag", runner.BASE, timeout=120)
    session = sandbox.create()
    assert sandbox.json("inspect", session)["engine"]["endpoint"] == private_engine.url
    subprocess.run(["docker", "context", "use", "mine"], check=True, capture_output=True, env={**os.environ, "DOCKER_CONFIG": config})
    second = sandbox.create(env={"DOCKER_CONTEXT": None})
    assert sandbox.json("inspect", second)["engine"]["endpoint"] == private_engine.url
    error = sandbox.fails_json(2, "create", "--image", runner.BASE, env={"DOCKER_CONTEXT": "nosuch"})
    assert 'docker\'s context "nosuch"' in error["message"]
    runner.close(sandbox, private_engine.api)


def test_a_rootless_socket_where_the_default_one_is_absent(private_engine, tmp_path):
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    (runtime / "docker.sock").symlink_to(private_engine.api.path)
    with Cell(tmp_path, XDG_RUNTIME_DIR=str(runtime), SANDBOX_NO_PODMAN="1") as sandbox:
        sandbox.run("image", "bootstrap", "--tag", runner.BASE, timeout=120)
        session = sandbox.create()
        assert sandbox.json("inspect", session)["engine"]["endpoint"] == f"unix://{runtime}/docker.sock"
        runner.close(sandbox, private_engine.api)
        (runtime / "docker.sock").unlink()
        error = sandbox.fails_json(5, "create", "--image", runner.BASE)
        assert "unix:///var/run/docker.sock: the socket does not exist" in error["message"]


class RootlessUser(Cell):
    """Finds the rootless engine of its user by itself: no DOCKER_HOST, and nothing at the default socket."""

    def __init__(self, engine):
        super().__init__(engine.home, SANDBOX_NO_PODMAN="1", **engine.environ)
        self._user, self._program = engine.user, engine.home / "sandbox"
        shutil.copy(runner.binary(), self._program)

    def argv(self, *args):
        nsenter = super().argv()[:-1]
        return [*nsenter, *as_user(self._user), "--clear-groups", "--", str(self._program), *runner.Sandbox.argv(self, *args)[1:]]


@pytest.fixture(scope="module")
def rootless():
    with RootlessEngine() as engine, RootlessUser(engine) as sandbox:
        sandbox.run("image", "bootstrap", "--tag", runner.BASE, timeout=120)
        yield sandbox
        runner.close(sandbox, engine.api)


@pytest.mark.xdist_group("rootless")
class TestRootlessDocker:
    def test_the_main_job(self, rootless):
        session = rootless.create("--user", "1000:1000")
        assert rootless.sh(session, "id -u; echo kept >f").text == "1000\n"
        assert rootless.run("cp", f"{session}:f", "-").out.count(b"kept") == 1
        assert rootless.run("diff", session).text == "A f\n"
        rootless.run("exec", "--timeout", "1s", session, "sleep", "100", status=124)
        assert not any("sleep" in line for line in rootless.processes(session))
        rootless.destroy(session)

    def test_create_says_which_limits_this_engine_does_not_hold(self, rootless):
        """On cgroup v1 it takes them, names them in every answer, and applies none."""
        result = rootless.run("create", "--image", runner.BASE)
        assert "this engine holds no limit of memory, CPU time, processes" in result.errors
        rootless.destroy(result.text.strip())

    def test_a_root_directory_that_is_closed_to_the_user(self, rootless, tmp_path):
        """As `tar -C $(mktemp -d) -c .` makes it; what overlay2 hides, other storage drivers show."""
        root = tmp_path / "root"
        (root / "bin").mkdir(parents=True)
        root.chmod(0o700)
        shutil.copy("/bin/busybox", root / "bin/busybox")
        archive = subprocess.run(["tar", "-C", root, "-c", "."], check=True, capture_output=True).stdout
        rootless.run("image", "import", "-", "--tag", "closed:latest", input=archive)
        error = rootless.fails_json(1, "create", "--image", "closed:latest", "--user", "1000:1000")
        assert "root directory" in error["hint"] and "0755" in error["hint"]


# All Podmans of a machine keep their locks in one table in /dev/shm, and one whose /run is new takes the machine for booted anew.
@pytest.mark.xdist_group("podman")
@pytest.mark.long
class TestPodmanOnDemand:
    @pytest.fixture
    def cell(self, tmp_path):
        podman = PodmanService()  # its storage and configuration; its service is not started
        with Cell(tmp_path, **podman.variables) as sandbox:
            yield sandbox
            runner.wait_until(lambda: not sandbox.services(), 30, "the end of podman's service")
        podman.remove()

    def test_it_is_started_and_ends_by_itself(self, cell):
        cell.run("image", "bootstrap", "--tag", runner.BASE, timeout=120)
        assert len(cell.services()) == 1
        session = cell.create()
        assert cell.json("inspect", session)["engine"]["endpoint"] == "unix:///run/podman/podman.sock"
        assert cell.run("exec", session, "echo", "hi").text == "hi\n"
        runner.wait_until(lambda: not cell.services(), 30, "the end of podman's service")
        assert cell.run("exec", session, "echo", "still").text == "still\n"  # over the agent's socket: needs no engine
        cell.destroy(session)
        cell.run("gc", "--grace", "0s")

    def test_not_where_it_is_told_not_to(self, cell):
        error = cell.fails_json(5, "create", "--image", runner.BASE, env={"SANDBOX_NO_PODMAN": "1"})
        assert "unix:///var/run/docker.sock: the socket does not exist" in error["message"]
        assert not cell.services()


@pytest.fixture
def home():
    """A directory that an unprivileged user can reach and own; pytest's are root's alone."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="sbu-", dir="/var/tmp"))
    shutil.copy(runner.binary(), path / "sandbox")
    path.chmod(0o755)
    nobody = pwd.getpwnam("nobody")
    os.chown(path, nobody.pw_uid, nobody.pw_gid)
    yield path
    shutil.rmtree(path)


class User(runner.Sandbox):
    """A sandbox run by the user nobody, with the groups that are given and no capability."""

    def __init__(self, home, groups, **kw):
        super().__init__(home / "state", runner.new_owner(), **kw)
        self._home, self._groups = home, groups
        self.env.update(HOME=str(home), XDG_CONFIG_HOME=str(home / "config"))

    def argv(self, *args):
        groups = ["--groups", ",".join(map(str, self._groups))] if self._groups else ["--clear-groups"]
        return [*as_user("nobody"), *groups, "--", str(self._home / "sandbox"), *super().argv(*args)[1:]]


def test_a_member_of_the_docker_group(engine, base, home, tmp_path):
    sandbox = User(home, [os.stat(engine.path).st_gid])
    session = sandbox.create("--name", "mine")
    assert sandbox.json("inspect", "mine")["state"] == "running"
    assert any(mount["Type"] == "bind" for mount in engine.session(session)["Mounts"]), "the session's socket is mounted"
    assert sandbox.sh("mine", "id -u; echo out > file").text.strip().isdigit()
    sandbox.run("cp", "mine:file", home / "file")
    assert (home / "file").read_text() == "out\n" and (home / "file").stat().st_uid == pwd.getpwnam("nobody").pw_uid
    assert [row["name"] for row in sandbox.sessions()] == ["mine"]
    sandbox.destroy("mine")
    sandbox.run("gc")
    runner.close(sandbox, engine)


def test_no_member_of_it(engine, base, home):
    error = User(home, []).fails_json(5, "create", "--image", runner.BASE)
    assert "permission denied" in error["message"] and "docker group" in error["hint"]


# Its state directory is a path of that container, which the engine does not know: the bind's source is missing, so the agent is
# reached through the engine.
def test_a_sibling_container(engine, base):
    script = """set -e
    s=$(sandbox create --image "$IMAGE" --name sibling)
    sandbox exec sibling echo "$s"
    echo data > /tmp/in; sandbox cp /tmp/in sibling:in; sandbox cp sibling:in /tmp/out; cat /tmp/out
    sandbox destroy sibling; sandbox gc --grace 0s"""
    binary = runner.binary()
    container = engine.create({
        "Image": base, "Cmd": ["sh", "-c", script], "Env": ["DOCKER_HOST=unix:///engine.sock", f"IMAGE={base}", "PATH=/opt:/bin:/usr/bin"],
        "HostConfig": {"NetworkMode": "none", "Binds": [f"{engine.path}:/engine.sock", f"{binary}:/opt/sandbox:ro"]}})
    try:
        engine.start(container)
        status = engine.call("POST", f"/containers/{container}/wait")["StatusCode"]
        logs = engine.call("GET", f"/containers/{container}/logs", query={"stdout": "1", "stderr": "1"})
        assert status == 0, logs
        assert b"data\n" in logs
        session = next(line for line in logs.decode(errors="replace").splitlines() if line.strip())[8:]
        assert not engine.containers({"sandbox.session": session}) and not engine.volumes({"sandbox.session": session})
    finally:
        engine.remove(container)
