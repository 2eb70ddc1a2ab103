# SPDX-License-Identifier: Apache-2.0
"""A Docker engine that misbehaves on demand, on a unix socket in this process.

    with FakeEngine(path) as engine:
        engine.model.add_image("busybox:latest")
        engine.fail("DELETE /containers/", status=500, message="device or resource busy", nth=2)
        engine.fail("GET /containers/.*/archive", cut=0.5)
        subprocess.run(["sandbox", "--engine", engine.url, "ps"])
        assert engine.called("GET /containers/json")

A fault belongs to the calls whose "METHOD /path?query" (without the version) the expression is found in, from the
`nth` of them on, `times` of them. What it does is one or more of:

    status=, message=   an error answer instead
    reset=True          closes the connection instead of answering; after_effect=True does the call first
    mute=True           never answers
    gather=BARRIER      answers when as many calls wait at this threading.Barrier as it is for
    header_only=True    sends the header, then nothing
    split=N             every N bytes in a send of their own
    drip=SECONDS        that long between single bytes
    cut=F               ends the connection after that share of the body (of an attached stream, too)
    stream_error=TEXT   200, then an error object inside the progress stream
    null_exit=True      exec inspect says {"Running": false, "ExitCode": null}; running=True: still running
    huge_header=N       a header line of N bytes
    bad_chunk=TEXT      a chunked answer with TEXT as its first chunk's size
    body=BYTES          another body with the same header
"""
import dataclasses
import json
import os
import re
import socket
import threading
import time
import urllib.parse

from fake_model import Answer, Model, error, json_answer, progress

REASONS = {101: "UPGRADED", 200: "OK", 201: "Created", 204: "No Content", 304: "Not Modified"}


@dataclasses.dataclass
class Call:
    method: str
    path: str     # without the version, decoded
    query: dict
    headers: dict # names in lower case
    body: bytes
    version: str  # "1.41", or empty

    def json(self):
        return json.loads(self.body)

    def __str__(self):
        query = "?" + urllib.parse.urlencode(self.query) if self.query else ""
        return f"{self.method} {self.path}{query}"


@dataclasses.dataclass
class Fault:
    pattern: str
    nth: int
    times: float
    what: dict
    seen: int = 0

    def takes(self, call):
        if not re.search(self.pattern, str(call)):
            return False
        self.seen += 1
        return self.nth <= self.seen < self.nth + self.times


class FakeEngine:
    def __init__(self, path, api="1.41", min_api="1.12", engine_id="FAKE:FAKE:FAKE:FAKE"):
        self.path, self.url = str(path), f"unix://{path}"
        self.api, self.min_api, self.engine_id = api, min_api, engine_id
        self.model = Model()
        self.model.omits_empty = self.is_from("1.52")
        self.calls = []
        self.mute = False            # accept, read nothing, answer nothing
        self.upgrade_status = 101    # Podman and some proxies: 200
        self.separate_stream = False # an exec's first bytes in a send of their own, not with the header
        self.info = {}               # overrides of /info
        # Plays an attached exec both ways instead of model.run_exec: called with (container, exec's create body,
        # socket file for reading, socket), returns the exit status.
        self.attach = None
        self._faults = []
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._connections = set()
        self._listener = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self._stopping.clear()
        self._listener = socket.socket(socket.AF_UNIX)
        if os.path.exists(self.path):
            os.unlink(self.path)
        self._listener.bind(self.path)
        self._listener.listen(64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        return self

    def stop(self, keep_socket_file=False):
        """Ends like a crash: every connection closes where it is."""
        self._stopping.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        if not keep_socket_file and os.path.exists(self.path):
            os.unlink(self.path)

    def fail(self, pattern, nth=1, times=1, **what):
        with self._lock:
            self._faults.append(Fault(pattern, nth, times, what))

    def heal(self):
        with self._lock:
            self._faults.clear()
            self.mute = False

    def called(self, pattern):
        with self._lock:
            return [call for call in self.calls if re.search(pattern, str(call))]

    # Connections

    def _accept(self, listener):
        while not self._stopping.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            if self.mute:
                self._stopping.wait()
            reader = connection.makefile("rb")
            while (call := self._read_call(reader)) is not None:
                if not self._answer(connection, reader, call):
                    break
        except (OSError, ValueError):
            pass
        finally:
            with self._lock:
                self._connections.discard(connection)
            # The reader would keep the descriptor open; the other side has to see the end now.
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()

    @staticmethod
    def _read_call(reader):
        line = reader.readline().decode()
        if not line:
            return None
        method, target, _ = line.split(" ", 2)
        headers = {}
        while (text := reader.readline().decode().strip()):
            name, _, value = text.partition(":")
            headers[name.lower()] = value.strip()
        body = b""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            while (size := int(reader.readline().split(b";")[0], 16)):
                body += reader.read(size)
                reader.readline()
            reader.readline()
        else:
            body = reader.read(int(headers.get("content-length", 0)))
        parts = urllib.parse.urlsplit(target)
        versioned = re.match(r"/v(\d+\.\d+)(/.*)", parts.path)
        version, path = versioned.groups() if versioned else ("", parts.path)
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        return Call(method, urllib.parse.unquote(path), query, headers, body, version)

    # False ends the connection.
    def _answer(self, connection, reader, call):
        with self._lock:
            self.calls.append(call)
            what = {}
            for fault in self._faults:
                if fault.takes(call):
                    what.update(fault.what)
            if "status" in what:
                answer = error(what["status"], what.get("message", "scripted failure"))
            elif what.get("reset") and not what.get("after_effect"):
                return False
            else:
                answer = self._route(call)
        if "gather" in what:
            try:
                what["gather"].wait(timeout=30)
            except threading.BrokenBarrierError:
                return False
        if what.get("reset"):
            return False
        if what.get("mute"):
            self._stopping.wait()
            return False
        return self._send(connection, reader, self._spoil(answer, call, what), what, call.method == "HEAD")

    @staticmethod
    def _spoil(answer, call, what):
        if "stream_error" in what:
            text = what["stream_error"]
            answer = progress({"status": "Pulling"}, {"errorDetail": {"message": text}, "error": text})
        if what.get("null_exit"):
            answer = json_answer({"ID": call.path.split("/")[2], "Running": bool(what.get("running")), "ExitCode": None})
        if "huge_header" in what:
            answer.headers["X-Filler"] = "x" * what["huge_header"]
        if "body" in what:
            answer.body = what["body"]
        return answer

    def _send(self, connection, reader, answer, what, is_head=False):
        body = b"" if answer.hijack is None else answer.hijack()
        if answer.hijack is not None:
            kind = "multiplexed" if self.is_from("1.42") and not answer.is_raw else "raw"
            head = f"Content-Type: application/vnd.docker.{kind}-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
            payload = body
        elif answer.chunked or "bad_chunk" in what:
            head = "Transfer-Encoding: chunked\r\n"
            size = what.get("bad_chunk", f"{len(answer.body):x}")
            payload = f"{size}\r\n".encode() + answer.body + b"\r\n0\r\n\r\n"
        else:
            head = "" if answer.status in (204, 304) else f"Content-Length: {len(answer.body)}\r\n"
            payload = b"" if is_head else answer.body
        for name, value in answer.headers.items():
            head += f"{name}: {value}\r\n"
        start = f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Error')}\r\n{head}\r\n".encode()
        if what.get("header_only"):
            connection.sendall(start)
            self._stopping.wait()
            return False
        if "cut" in what:
            payload = payload[: int(len(payload) * what["cut"])]
        self._write(connection, start, payload, what, answer.hijack is not None)
        if answer.play is not None:
            answer.play(reader, connection)
        if answer.hijack is not None and "cut" not in what:
            connection.shutdown(socket.SHUT_WR)
            while reader.read1(65536):
                pass
        return answer.hijack is None and "cut" not in what

    def _write(self, connection, start, payload, what, is_stream):
        if is_stream and self.separate_stream:
            connection.sendall(start)
            time.sleep(0.02)
            start = b""
        data = start + payload
        step = 1 if "drip" in what else what.get("split", len(data) or 1)
        for at in range(0, len(data), step):
            connection.sendall(data[at:at + step])
            if "drip" in what and self._stopping.wait(what["drip"]):
                return
            if "split" in what:
                time.sleep(0.0002)

    def is_from(self, version):
        """Whether it speaks `version` of the API, or a later one."""
        return tuple(map(int, self.api.split("."))) >= tuple(map(int, version.split(".")))

    # Routes

    def _route(self, call):
        if call.version and tuple(map(int, call.version.split("."))) > tuple(map(int, self.api.split("."))):
            return error(400, f"client version {call.version} is too new. Maximum supported API version is {self.api}")
        if call.version and tuple(map(int, call.version.split("."))) < tuple(map(int, self.min_api.split("."))):
            return error(400, f"client version {call.version} is too old. Minimum supported API version is {self.min_api}")
        for method, pattern, handler in ROUTES:
            match = re.fullmatch(pattern, call.path)
            if method in (call.method, "GET" if call.method == "HEAD" else None) and match:
                return handler(self, call, *match.groups())
        return error(404, "page not found")

    def _ping(self, _):
        return Answer(200, b"OK", {"Api-Version": self.api, "Content-Type": "text/plain"})

    def _version(self, _):
        return json_answer({"Version": "20.10.0-fake", "ApiVersion": self.api, "MinAPIVersion": self.min_api, "Os": "linux",
                            "Arch": "amd64"})

    def _info(self, _):
        return json_answer({"ID": self.engine_id, "ServerVersion": "20.10.0-fake", "Architecture": "x86_64", "OSType": "linux",
                            "DefaultRuntime": "runc", "CgroupVersion": "1", "MemoryLimit": True, "PidsLimit": True,
                            "CpuCfsQuota": True, "SecurityOptions": ["name=seccomp,profile=default"], "Warnings": None,
                            **self.info})

    @staticmethod
    def _filters(call):
        return json.loads(call.query.get("filters") or "{}")

    def _start_exec(self, call, exec_id):
        if exec_id not in self.model.execs:
            return error(404, f"No such exec instance: {exec_id}")
        is_raw = bool(self.model.execs[exec_id]["Spec"].get("Tty"))
        if self.attach is None:
            return Answer(self.upgrade_status, hijack=lambda: self.model.finish_exec(exec_id), is_raw=is_raw)
        item = self.model.execs[exec_id]

        def play(reader, connection):
            item["ExitCode"] = self.attach(item["Container"], item["Spec"], reader, connection)
            item["Running"] = False

        return Answer(self.upgrade_status, hijack=lambda: b"", play=play, is_raw=is_raw)


def _model(method):
    return lambda engine, call, *ids: getattr(engine.model, method)(*ids)


def _model_with_body(method):
    return lambda engine, call, *ids: getattr(engine.model, method)(*ids, call.json())


ROUTES = [
    ("GET", "/_ping", FakeEngine._ping),
    ("GET", "/version", FakeEngine._version),
    ("GET", "/info", FakeEngine._info),
    ("POST", "/containers/create", lambda e, c: e.model.create_container(c.query.get("name"), c.json())),
    ("GET", "/containers/json", lambda e, c: e.model.list_containers(e._filters(c))),
    ("GET", "/containers/([^/]+)/json", _model("inspect_container")),
    ("POST", "/containers/([^/]+)/start", _model("start_container")),
    ("POST", "/containers/([^/]+)/(?:kill|stop)", _model("end_container")),
    ("POST", "/containers/([^/]+)/pause", lambda e, c, i: e.model.set_paused(i, True)),
    ("POST", "/containers/([^/]+)/unpause", lambda e, c, i: e.model.set_paused(i, False)),
    ("DELETE", "/containers/([^/]+)", _model("remove_container")),
    ("PUT", "/containers/([^/]+)/archive", lambda e, c, i: e.model.put_archive(i, c.query["path"], c.body)),
    ("GET", "/containers/([^/]+)/archive", lambda e, c, i: e.model.get_archive(i, c.query["path"])),
    ("POST", "/containers/([^/]+)/exec", _model_with_body("create_exec")),
    ("POST", "/exec/([^/]+)/start", FakeEngine._start_exec),
    ("GET", "/exec/([^/]+)/json", _model("inspect_exec")),
    ("POST", "/volumes/create", _model_with_body("create_volume")),
    ("GET", "/volumes", lambda e, c: e.model.list_volumes(e._filters(c))),
    ("GET", "/volumes/([^/]+)", _model("inspect_volume")),
    ("DELETE", "/volumes/([^/]+)", _model("remove_volume")),
    ("GET", "/networks/([^/]+)", _model("inspect_network")),
    ("POST", "/networks/create", _model_with_body("create_network")),
    ("POST", "/images/create", lambda e, c: e.model.create_image(c.query, c.body)),
    ("GET", "/images/(.+)/json", _model("inspect_image")),
]
