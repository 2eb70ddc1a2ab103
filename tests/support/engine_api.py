# SPDX-License-Identifier: Apache-2.0
"""A small client of the Docker Engine API on a unix socket: what tests and benchmarks look at the engine with.

    engine = Engine("/var/run/docker.sock")
    engine.containers({"sandbox.instance": instance})
"""
import functools
import http.client
import io
import json
import os
import socket
import tarfile
import urllib.parse

API = "/v1.41"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("docker", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class EngineError(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body[:500]!r}")
        self.status = status


def default_socket():
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    assert host.startswith("unix://"), f"the tests need an engine on a unix socket, not {host}"
    return host[len("unix://"):]


def tar_of(files):
    """A tar, in memory, of {name: bytes or (bytes, mode)}."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            data, mode = content if isinstance(content, tuple) else (content, 0o644)
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


class Engine:
    def __init__(self, path=None, timeout=120):
        self.path = path or default_socket()
        self.url = "unix://" + self.path
        self._timeout = timeout

    # Any answer of 400 and above is an EngineError, except 404 where `absent` is given.
    def call(self, method, path, body=None, content_type="application/json", query=None, absent=False):
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        target = API + path + ("?" + urllib.parse.urlencode(query) if query else "")
        connection = _UnixConnection(self.path, self._timeout)
        try:
            connection.request(method, target, body, {"Content-Type": content_type} if body is not None else {})
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if answer.status == 404 and absent:
            return None
        if answer.status >= 400:
            raise EngineError(answer.status, data)
        if "json" in (answer.getheader("Content-Type") or "") and data:
            try:
                return json.loads(data)
            except json.JSONDecodeError:  # a stream of objects: the caller reads it
                return data
        return data

    def answers(self):
        try:
            return self.call("GET", "/_ping") == b"OK"
        except (OSError, http.client.HTTPException, EngineError):
            return False

    def info(self):
        return self.call("GET", "/info")

    @property
    def identity(self):
        """What in /info tells this engine from another; Podman's ID differs at every call."""
        return self.info()["DockerRootDir" if self.is_podman else "ID"].encode()

    @property
    def id(self):
        """What `sandbox` takes for this engine's id."""
        info = self.info()
        return f"podman:{info['Name']}:{info['DockerRootDir']}" if self.is_podman else info["ID"]

    @functools.cached_property
    def is_podman(self):
        return "BuildahVersion" in self.info()

    @staticmethod
    def _filters(labels, **more):
        return {"label": [k if v is None else f"{k}={v}" for k, v in labels.items()], **more}

    def containers(self, labels):
        found = self.call("GET", "/containers/json",
                          query={"all": "true", "filters": json.dumps(self._filters(labels))})
        # After a kill -9 Docker 20.10 sometimes goes on listing one that it has removed while it started.
        return [c for c in found if c["State"] != "dead" or self.inspect(c["Id"])]

    def volumes(self, labels):
        found = self.call("GET", "/volumes", query={"filters": json.dumps(self._filters(labels))})["Volumes"] or []
        # Podman takes a volume that has any of the labels.
        return [v for v in found if all(k in (v["Labels"] or {}) and value in (None, v["Labels"][k]) for k, value in labels.items())]

    def networks(self, labels):
        return self.call("GET", "/networks", query={"filters": json.dumps(self._filters(labels))})

    def inspect(self, container):
        return self.call("GET", f"/containers/{container}/json", absent=True)

    def volume(self, name):
        return self.call("GET", f"/volumes/{name}", absent=True)

    def session(self, session_id):
        """The inspected container of one session; there has to be exactly one."""
        found = self.containers({"sandbox.session": session_id})
        assert len(found) == 1, f"{len(found)} containers of session {session_id}"
        return self.inspect(found[0]["Id"])

    def kill(self, container, signal="KILL"):
        self.call("POST", f"/containers/{container}/kill", query={"signal": signal})

    def pause(self, container):
        self.call("POST", f"/containers/{container}/pause")

    def unpause(self, container):
        self.call("POST", f"/containers/{container}/unpause")

    def remove(self, container):
        try:
            self.call("DELETE", f"/containers/{container}", query={"force": "true", "v": "true"}, absent=True)
        except EngineError as error:
            if error.status != 409:  # being removed already
                raise

    def create(self, body, name=None):
        return self.call("POST", "/containers/create", body, query={"name": name} if name else None)["Id"]

    def start(self, container):
        self.call("POST", f"/containers/{container}/start", {})

    def create_volume(self, name, labels=None):
        return self.call("POST", "/volumes/create", {"Name": name, "Labels": labels or {}})

    def remove_volume(self, name):
        self.call("DELETE", f"/volumes/{name}", query={"force": "true"}, absent=True)

    def image(self, reference):
        return self.call("GET", f"/images/{reference}/json", absent=True)

    def tag(self, reference, repository, tag):
        self.call("POST", f"/images/{reference}/tag", query={"repo": repository, "tag": tag})

    def remove_image(self, reference):
        self.call("DELETE", f"/images/{reference}", query={"force": "true"}, absent=True)

    def build(self, tag, dockerfile, files=None):
        """Builds with the classic builder from a context in memory. Raises EngineError with the stream's error."""
        context = tar_of({"Dockerfile": dockerfile.encode(), **(files or {})})
        stream = self.call("POST", "/build", context, "application/x-tar", query={"t": tag, "rm": "true", "networkmode": "none"})
        text = stream if isinstance(stream, bytes) else json.dumps(stream).encode()
        for line in text.splitlines():
            if line.strip() and "error" in json.loads(line):
                raise EngineError(500, line)
