# SPDX-License-Identifier: Apache-2.0
"""A second dockerd with its own root, socket and pid file, for tests that kill and restart the engine.

    with PrivateEngine() as engine: engine.kill(); engine.start()
"""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from engine_api import Engine


def _is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class PrivateEngine:
    def __init__(self):
        # A short path: unix socket addresses end at 107 bytes.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sbe-", dir="/var/tmp"))
        self.api = Engine(str(self.root / "docker.sock"))
        self._process = None

    @property
    def url(self):
        return self.api.url

    # In a network namespace of its own: dockerd --bridge=none removes the docker0 that it finds, the main engine's too.
    def start(self, seconds=60):
        with open(self.root / "log", "ab") as log:
            self._process = subprocess.Popen(
                ["unshare", "--net", "dockerd", "--data-root", self.root / "data", "--exec-root", self.root / "exec",
                 "--pidfile", self.root / "pid", "-H", self.url, "--bridge=none", "--iptables=false",
                 "--ip-masq=false", "--group", str(os.getgid())],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + seconds
        while not self.api.answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError("dockerd did not come up:\n" + (self.root / "log").read_text()[-3000:])
            time.sleep(0.05)

    def kill(self, sig=signal.SIGKILL):
        """Ends dockerd; the containers' shims are left to themselves, as in a crash. Its containerd dies with it (death signal)."""
        containerd = self._containerd()
        self._process.send_signal(sig)
        self._process.wait(timeout=60)
        # The next dockerd must not find it half dead, or a zombie that nobody reaps: it would wait for its socket in vain.
        deadline = time.monotonic() + 10
        while containerd and _is_running(containerd) and time.monotonic() < deadline:
            time.sleep(0.02)
        (self.root / "exec/containerd/containerd.pid").unlink(missing_ok=True)

    def restart(self, sig=signal.SIGKILL):
        self.kill(sig)
        self.start()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self._process.poll() is not None:
            self.start()
        for container in self.api.call("GET", "/containers/json", query={"all": "true"}):
            self.api.remove(container["Id"])
        self.kill(signal.SIGTERM)
        self._unmount()
        shutil.rmtree(self.root, ignore_errors=True)

    def _containerd(self):
        try:
            return int((self.root / "exec/containerd/containerd.pid").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def _unmount(self):
        mounts = [line.split()[1] for line in open("/proc/mounts") if line.split()[1].startswith(str(self.root))]
        for path in reversed(mounts):
            subprocess.run(["umount", "-l", path], check=False)
