# SPDX-License-Identifier: Apache-2.0
"""A second dockerd with its own root, socket and pid file, for tests that kill and restart the engine, or reach it by TCP.

    with PrivateEngine() as engine: engine.kill(); engine.start()
    with PrivateEngine(tcp=True, certificates=directory) as engine: engine.port      # TLS on 127.0.0.1
"""
import os
import pathlib
import shutil
import signal
import socket
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
    def __init__(self, tcp=False, certificates=None):
        """`tcp`: listens on a port of 127.0.0.1 too. `certificates`: there with TLS, as this directory's server, for clients of its
        ca.pem only."""
        # A short path: unix socket addresses end at 107 bytes.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sbe-", dir="/var/tmp"))
        self.api = Engine(str(self.root / "docker.sock"))
        self._process = None
        self._certificates = certificates
        self._listener = socket.create_server(("127.0.0.1", 0)) if tcp else None

    @property
    def url(self):
        return self.api.url

    @property
    def port(self):
        return self._listener.getsockname()[1]

    # In a network namespace of its own: dockerd --bridge=none removes the docker0 that it finds, the main engine's too. The TCP
    # listener is of our namespace, and goes there as systemd would hand it over (sd_listen_fds(3): descriptor 3 and LISTEN_PID).
    def start(self, seconds=60):
        command = ["unshare", "--net", "dockerd", "--data-root", self.root / "data", "--exec-root", self.root / "exec",
                   "--pidfile", self.root / "pid", "-H", self.url, "--bridge=none", "--iptables=false",
                   "--ip-masq=false", "--group", str(os.getgid())]
        handed = {}
        if self._listener:
            command = ["sh", "-c", 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"', "sh", *command, "-H", "fd://"]
            handed = {"preexec_fn": lambda: os.dup2(self._listener.fileno(), 3), "pass_fds": (3,)}
        if self._certificates:
            command += ["--tlsverify", "--tlscacert", self._certificates / "ca.pem", "--tlscert", self._certificates / "cert.pem",
                        "--tlskey", self._certificates / "key.pem"]
        with open(self.root / "log", "ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                             **handed)
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
        if self._listener:
            self._listener.close()
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
