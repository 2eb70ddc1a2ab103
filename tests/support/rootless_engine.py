# SPDX-License-Identifier: Apache-2.0
"""A rootless Docker Engine: dockerd in a user namespace of an unprivileged user, who is made for it and goes with it.

    with RootlessEngine() as engine: engine.user, engine.environ, engine.api.answers()
"""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

from engine_api import Engine
from runner import wait_until

# As dockerd-rootless.sh does it, but for the network, which the sessions of a test do without: the host's, in which nothing is permitted.
_KIT = ["rootlesskit", "--net=host", "--copy-up=/etc", "--copy-up=/run", "--propagation=rslave"]
_CHILD = 'rm -f /run/docker /run/containerd /run/xtables.lock; exec dockerd --bridge=none --iptables=false --storage-driver=vfs -H "$0"'


class RootlessEngine:
    def __init__(self):
        # A short path: unix socket addresses end at 107 bytes.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sbr-", dir="/var/tmp"))
        self.user = f"sbr-{os.getpid()}"
        self.home, self.runtime = self.root / "home", self.root / "run"
        self.api = Engine(str(self.runtime / "docker.sock"))
        self._process = None

    @property
    def environ(self):
        """What a log-in of the user has. docker.sock is where docker and sandbox look for a rootless engine."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.runtime)}

    @property
    def identity(self):
        entry = pwd.getpwnam(self.user)
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}

    def __enter__(self):
        self.root.chmod(0o755)
        # useradd(8) gives it subordinate ids, which the user namespace maps.
        subprocess.run(["useradd", "--create-home", "--home-dir", self.home, "--shell", "/bin/sh", self.user], check=True)
        self.runtime.mkdir(mode=0o700)
        shutil.chown(self.runtime, self.user)
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        with open(self.root / "log", "ab") as log:
            self._process = subprocess.Popen([*_KIT, "sh", "-c", _CHILD, self.api.url], env={**self.environ, "_DOCKERD_ROOTLESS_CHILD": "1"},
                                             cwd=self.home, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                             **self.identity)

        def is_up():
            assert self._process.poll() is None, "the rootless engine ended:\n" + (self.root / "log").read_text()[-3000:]
            return self.api.answers()
        wait_until(is_up, 60, "a rootless engine")

    def __exit__(self, *_):
        if self._process:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        subprocess.run(["userdel", "--force", self.user], stderr=subprocess.DEVNULL, check=False)
        # Layers of the subordinate ids too.
        shutil.rmtree(self.root, ignore_errors=True)
