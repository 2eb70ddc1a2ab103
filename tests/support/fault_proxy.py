# SPDX-License-Identifier: Apache-2.0
"""A proxy in front of a real engine that breaks chosen calls: refused, lost, cut, slow, dribbled, or answered by someone else.

    with FaultProxy(engine.path, folder) as proxy:
        proxy.rule(Fail(500), nth=3)                       # the third call of all
        proxy.rule(LoseAnswer(), method="POST", path="/containers/create")
        sb.run("--engine", proxy.url, "create", ...)
"""
import re
import socket
import threading
import time


class Fail:
    """Answers with an error; the engine never sees the call."""

    def __init__(self, status, message="scripted failure"):
        self.answer = (f"HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
                       f'{{"message":"{message}"}}').encode()

    def apply(self, connection):
        connection.client.sendall(self.answer)


class Answer:
    """Answers with a body of the test's own, in pieces that come apart."""

    def __init__(self, *pieces, status=200):
        self.status, self.pieces = status, pieces

    def apply(self, connection):
        connection.client.sendall(f"HTTP/1.1 {self.status} OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n".encode())
        for piece in self.pieces:
            connection.client.sendall(piece)
            time.sleep(0.02)


class Drop:
    """Closes the connection without a word; the engine never sees the call."""

    def apply(self, connection):
        pass


class Mute:
    """Takes the call and never answers."""

    def apply(self, connection):
        connection.proxy.ended.wait()


class LoseAnswer:
    """The engine does what it was asked, and its answer never arrives."""

    def apply(self, connection):
        connection.forward(lambda data: None)


class Withhold:
    """The engine does what it was asked, by the time that `done` is set, and its answer never comes."""

    def __init__(self):
        self.done = threading.Event()

    def apply(self, connection):
        connection.forward(lambda data: None)
        self.done.set()
        connection.proxy.ended.wait()


class Gate:
    """The engine hears of the call, which has come by the time that `came` is set, only when `open()` says so."""

    def __init__(self):
        self.came, self._open = threading.Event(), threading.Event()

    def open(self):
        self._open.set()

    def apply(self, connection):
        self.came.set()
        self._open.wait(60)
        connection.forward(lambda data: connection.client.sendall(data))


class Cut:
    """Relays so many bytes of the answer, then closes."""

    def __init__(self, count):
        self.count = count

    def apply(self, connection):
        left = self.count

        def relay(data):
            nonlocal left
            connection.client.sendall(data[:left])
            left -= len(data)
            return left > 0
        connection.forward(relay)


class Edit:
    """Relays an answer with its bytes changed."""

    def __init__(self, change):
        self.change = change

    def apply(self, connection):
        connection.forward(lambda data: connection.client.sendall(self.change(data)))


class Dribble:
    """Relays the answer in pieces of so many bytes."""

    def __init__(self, size=1):
        self.size = size

    def apply(self, connection):
        def relay(data):
            for start in range(0, len(data), self.size):
                connection.client.sendall(data[start:start + self.size])
        connection.forward(relay)


class Delay:
    def __init__(self, seconds):
        self.seconds = seconds

    def apply(self, connection):
        time.sleep(self.seconds)
        connection.forward(connection.client.sendall)


class _Connection:
    """One client, one call: the request's head decides, then bytes go through until the engine closes."""

    def __init__(self, proxy, client):
        self.proxy, self.client = proxy, client

    def serve(self):
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                data = self.client.recv(65536)
                if not data:
                    return
                head += data
            self.head, self.rest = head.split(b"\r\n\r\n", 1)
            method, target = self.head.split(b" ", 2)[:2]
            fault = self.proxy.choose(method.decode(), re.sub(r"^/v[0-9.]+", "", target.decode()))
            if fault is None:
                self.forward(self.client.sendall)
            else:
                fault.apply(self)
        except OSError:
            pass
        finally:
            # A thread may still read from it, and would keep the connection open: the other side has to see the end now.
            try:
                self.client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self.client.close()

    def forward(self, relay):
        with socket.socket(socket.AF_UNIX) as upstream:
            upstream.connect(self.proxy.upstream)
            upgrade = re.search(rb"^upgrade:", self.head, re.IGNORECASE | re.MULTILINE)
            # One call a connection, so that the end of the answer is the end of the stream.
            head = self.head if upgrade else re.sub(rb"\r\nconnection:[^\r]*", b"", self.head, flags=re.IGNORECASE) + b"\r\nConnection: close"
            upstream.sendall(head + b"\r\n\r\n" + self.rest)
            threading.Thread(target=self._pump_request, args=(upstream, bool(upgrade)), daemon=True).start()
            try:
                while data := upstream.recv(65536):
                    if relay(data) is False:
                        break
            except OSError:
                pass

    def _pump_request(self, upstream, half_close):
        try:
            while data := self.client.recv(65536):
                upstream.sendall(data)
            if half_close:
                upstream.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class FaultProxy:
    def __init__(self, upstream, folder):
        self.upstream, self.path = upstream, str(folder / "faults.sock")
        self.url = f"unix://{self.path}"
        self.calls, self.ended = [], threading.Event()
        self._rules, self._lock = [], threading.Lock()

    def rule(self, fault, method=None, path=None, nth=None, times=None):
        """`path` is a pattern over the path without its version; `nth` counts the matching calls from 1; `times` bounds it."""
        self._rules.append({"fault": fault, "method": method, "path": path, "nth": nth, "left": times, "seen": 0})

    def reset(self):
        with self._lock:
            self._rules, self.calls = [], []

    def choose(self, method, target):
        with self._lock:
            self.calls.append((method, target))
            for rule in self._rules:
                if (rule["method"] and rule["method"] != method) or (rule["path"] and not re.search(rule["path"], target)):
                    continue
                rule["seen"] += 1
                if rule["nth"] is not None and rule["seen"] != rule["nth"]:
                    continue
                if rule["left"] is not None:
                    if rule["left"] == 0:
                        continue
                    rule["left"] -= 1
                return rule["fault"]
        return None

    def __enter__(self):
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen(100)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=_Connection(self, client).serve, daemon=True).start()

    def __exit__(self, *_):
        self.ended.set()
        self._listener.close()
