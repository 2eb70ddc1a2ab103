# SPDX-License-Identifier: Apache-2.0
"""Podman's API service with a storage of its own, for tests that take it for the engine.

    with PodmanService() as podman: runner.Sandbox(..., engine_url=podman.url)
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from engine_api import Engine

# Limits above ours cannot be set where even root lacks CAP_SYS_RESOURCE, and crun refuses cgroup v1 without systemd.
_CONFIGURATION = """[containers]
default_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]
[engine]
runtime = "runc"
"""
# Whose members may use the service: Podman itself knows no group like Docker's. A number nobody else has.
_GROUP = 2375


class PodmanService:
    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sbp-", dir="/var/tmp"))
        self.api = Engine(str(self.root / "podman.sock"))
        (self.root / "containers.conf").write_text(_CONFIGURATION)
        (self.root / "storage.conf").write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{self.root}/data"\nrunroot = "{self.root}/run"\n')
        self._process = None

    @property
    def url(self):
        return self.api.url

    @property
    def variables(self):
        """What another podman needs in its environment to be this one."""
        return {"CONTAINERS_CONF": str(self.root / "containers.conf"), "CONTAINERS_STORAGE_CONF": str(self.root / "storage.conf"),
                "TMPDIR": str(self.root)}  # where it leaves a copy of every imported image

    @property
    def environ(self):
        return {**os.environ, **self.variables}

    def __enter__(self):
        with open(self.root / "log", "ab") as log:
            self._process = subprocess.Popen(["podman", "system", "service", "--time=0", self.url], env=self.environ, cwd=self.root,
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 60
        while not self.api.answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError("podman did not come up:\n" + (self.root / "log").read_text()[-3000:])
            time.sleep(0.05)
        # As systemd's podman.socket with SocketMode=0660 and SocketGroup= would have it.
        self.root.chmod(0o711)
        os.chown(self.api.path, 0, _GROUP)
        os.chmod(self.api.path, 0o660)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(timeout=30)
        self.remove()

    def remove(self):
        subprocess.run(["podman", "rm", "--all", "--force", "--volumes"], env=self.environ, check=False, capture_output=True)
        mounts = [line.split()[1] for line in open("/proc/mounts") if line.split()[1].startswith(str(self.root))]
        for path in reversed(mounts):
            subprocess.run(["umount", "-l", path], check=False)
        shutil.rmtree(self.root, ignore_errors=True)
