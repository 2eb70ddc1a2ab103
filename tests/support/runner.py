# SPDX-License-Identifier: Apache-2.0
"""Runs the binary under test in a state directory and an owner of its own.

    sb.run("exec", s, "echo", "hi").text == "hi\\n"      # status 0 is expected unless said otherwise
    sb.fails(3, "inspect", "nosuch")                      # checks status and the shape of the error line
"""
import contextlib
import fcntl
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASE = "sandbox/base:latest"
_numbers = itertools.count(1)
_SANITIZER_MARKS = (b"AddressSanitizer", b"LeakSanitizer", b"runtime error: ")


def new_owner():
    return f"t{os.getpid()}-{next(_numbers)}"


def binary():
    path = pathlib.Path(os.environ.get("SANDBOX_BIN", ROOT / "build/src/cli/sandbox")).resolve()
    assert path.exists(), f"{path} is missing: build it, or set SANDBOX_BIN"
    return str(path)


class Result:
    """What one call of the binary gave back. `out` and `err` are bytes."""

    def __init__(self, argv, status, out, err, seconds):
        self.argv, self.status, self.out, self.err, self.seconds = argv, status, out, err, seconds

    @property
    def text(self):
        return self.out.decode()

    @property
    def errors(self):
        return self.err.decode(errors="replace")

    def json(self):
        return json.loads(self.out)

    def lines(self):
        return self.text.splitlines()

    def __repr__(self):
        def clip(data):
            return data if len(data) < 3000 else data[:1500] + b" ... " + data[-1500:]
        return (f"{' '.join(str(a)[:200] for a in self.argv)}\n  status {self.status} after {self.seconds:.2f} s"
                f"\n  stdout {clip(self.out)!r}\n  stderr {clip(self.err)!r}")


class Sandbox:
    def __init__(self, state_dir, owner, engine_url=None, env=None):
        self.state_dir = pathlib.Path(state_dir)
        self.owner = owner
        self.base_image = BASE
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("SANDBOX_")}
        self.env.update(SANDBOX_STATE_DIR=str(state_dir), SANDBOX_OWNER=owner,
                        XDG_CONFIG_HOME=str(self.state_dir.parent / "config"))
        if engine_url:
            self.env["SANDBOX_ENGINE"] = engine_url
        self.env.update(env or {})

    def argv(self, *args):
        return [binary(), *(a if isinstance(a, bytes) else str(a) for a in args)]

    def environ(self, env=None):
        merged = {**self.env, **(env or {})}
        return {k: v for k, v in merged.items() if v is not None}

    def run(self, *args, input=None, status=0, timeout=60, env=None, cwd=None):
        """Runs to the end; `status` is what is expected, None for anything. Without `input`, stdin is /dev/null."""
        argv, started = self.argv(*args), time.monotonic()
        if isinstance(input, str):
            input = input.encode()
        stdin = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run(argv, capture_output=True, timeout=timeout, env=self.environ(env), cwd=cwd, **stdin)
        result = Result(argv, done.returncode, done.stdout, done.stderr, time.monotonic() - started)
        assert not any(mark in done.stderr for mark in _SANITIZER_MARKS), result
        if status is not None:
            assert result.status == status, result
        return result

    def start(self, *args, env=None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw):
        return subprocess.Popen(self.argv(*args), env=self.environ(env), stdin=stdin, stdout=stdout, stderr=stderr, **kw)

    def json(self, *args, **kw):
        return self.run("--json", *args, **kw).json()

    def fails(self, status, *args, **kw):
        """Runs a call that must fail with this status and one clear line on stderr. Returns the Result."""
        result = self.run(*args, status=status, **kw)
        lines = result.errors.splitlines()
        assert any(line.startswith("sandbox: error: ") for line in lines), result
        for line in lines:
            assert len(line) < 2000 and line.isprintable(), result
        return result

    def fails_json(self, status, *args, **kw):
        """The same with --json: returns the error object of the document on stdout."""
        result = self.fails(status, "--json", *args, **kw)
        error = result.json()["error"]
        assert set(error) >= {"code", "message", "retryable"}, result
        assert isinstance(error["retryable"], bool), result
        return error

    def create(self, *args, manifest=None, image=None, **kw):
        """Creates a session and returns its id. `manifest` (a dict or YAML text) goes in on stdin."""
        arguments = list(args)
        if manifest is not None:
            text = manifest if isinstance(manifest, str) else json.dumps({"version": 1, "image": self.base_image, **manifest})
            arguments += ["-f", "-"]
            kw["input"] = text
        elif image is None:
            image = self.base_image
        if image is not None:
            arguments += ["--image", image]
        result = self.run("create", *arguments, **kw)
        session = result.text
        assert session.endswith("\n") and session.count("\n") == 1, f"not an id alone on stdout: {result}"
        return session.strip()

    def destroy(self, *args, **kw):
        return self.run("destroy", *args, **kw)

    def sh(self, session, script, *args, **kw):
        """Runs a shell line in the session; the Result."""
        return self.run("exec", *args, session, "--", "sh", "-c", script, **kw)

    def processes(self, session):
        """The command lines of all that runs in the session, the looking itself left out."""
        listing = self.sh(session, r'for p in /proc/[0-9]*; do tr "\0" " " <$p/cmdline 2>/dev/null; echo; done').text
        return [line.strip() for line in listing.splitlines() if line.strip() and "/proc/[0-9]*" not in line]

    def sessions(self, *args):
        return self.json("ps", *args)["sessions"]

    def state_of(self, session):
        return self.json("inspect", session)["state"]

    @property
    def instance(self):
        path = self.state_dir / "instance"
        found = re.search(r"^instance=(\w+)$", path.read_text(), re.MULTILINE) if path.exists() else None
        return found[1] if found else None


def is_gone(engine, labels):
    return not engine.containers(labels) and not [
        v for v in engine.volumes(labels) if v["Labels"].get("sandbox.role") != "agent"]


def has_ended(engine, labels):
    """What a session that ends from inside leaves nothing of: Podman keeps the volume, which bears labels and is therefore no anonymous
    one, for the next `gc` (PODMAN.md)."""
    return not engine.containers(labels) if engine.is_podman else is_gone(engine, labels)


def leftovers(engine, instance):
    """What the engine still holds of one instance; the agent's volume and the network are shared on purpose."""
    labels = {"sandbox.instance": instance}
    containers = [f"container {c['Names']} {c['State']} {c['Labels'].get('sandbox.role')}" for c in engine.containers(labels)]
    volumes = [f"volume {v['Name']} {v['Labels'].get('sandbox.role')}" for v in engine.volumes(labels)
               if v["Labels"].get("sandbox.role") != "agent"]
    return containers + volumes


def remove_leftovers(engine, instance):
    labels = {"sandbox.instance": instance}
    for container in engine.containers(labels):
        engine.remove(container["Id"])
    for volume in engine.volumes(labels):
        if volume["Labels"].get("sandbox.role") != "agent":
            engine.remove_volume(volume["Name"])


def state_leftovers(sb):
    """Directories and locks of sessions under the state directory."""
    found = []
    for folder in ("sessions", "locks"):
        path = sb.state_dir / folder
        if path.is_dir():
            found += [f"{folder}/{entry.name}" for entry in path.iterdir()
                      if folder == "sessions" or entry.name.startswith("s")]
    return found


def close(sb, engine):
    """Ends all that this instance made, and fails when the binary itself left something behind."""
    instance = sb.instance
    if instance is None:
        return
    ended = sb.run("destroy", "--all", "--all-owners", "-f", status=None, timeout=120)
    sb.run("gc", "--workspaces", "--older-than", "0s", "--grace", "0s", status=None, timeout=120)
    left = leftovers(engine, instance)
    remove_leftovers(engine, instance)
    assert not left, f"left in the engine: {left}\nafter {ended!r}"
    shutil.rmtree(sb.state_dir, ignore_errors=True)


@contextlib.contextmanager
def held(path):
    """A lock as another command of the instance holds it."""
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def still_runs(child):
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=1)


def write_row(sb, session, column, value):
    """Changes what the state says of a session, behind the binary's back."""
    with contextlib.closing(sqlite3.connect(sb.state_dir / "state.db")) as db, db:
        db.execute(f"UPDATE session SET {column} = ? WHERE id = ?", (value, session))


def expire(sb, session):
    """As if its end had come while nobody looked."""
    for column in ("expires_ms", "expires_boot_ms"):
        write_row(sb, session, column, 1)


def wait_until(condition, seconds=30, what="the condition", every=0.05):
    """Polls until `condition()` is true and returns its value; fails after `seconds`, which are many: a busy machine is no failure."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            pytest.fail(f"{what} did not come within {seconds} s")
        time.sleep(every)


def stop(process, sig=signal.SIGKILL):
    if process.poll() is None:
        process.send_signal(sig)
    process.wait(timeout=30)
