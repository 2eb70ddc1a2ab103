# SPDX-License-Identifier: Apache-2.0
"""A web server of a session without a network, as a browser and as curl see it."""
import base64
import contextlib
import http.server
import os
import re
import signal
import socket
import subprocess
import threading

import pytest

from runner import still_runs, wait_until
from served import program, served, start_server, started
from test_forward import listening_sockets, read_to_end


class View:
    """A preview that runs: its address, with and without the token."""

    def __init__(self, process, ready):
        self.process, self.url, self.port = process, ready["url"], ready["hostPort"]
        self.base = f"http://127.0.0.1:{self.port}"
        self.token = self.url.split("sandbox_token=")[1]
        self.cookie = f"sandbox_preview_{self.port}={self.token}"

    def with_token(self, path):
        return f"{self.base}{path}{'&' if '?' in path else '?'}sandbox_token={self.token}"


@contextlib.contextmanager
def previewing(sb, session, *args, env=None):
    with started(sb, "preview", *args, session, "8000", env=env) as (process, ready):
        assert ready["address"] == "127.0.0.1" and ready["port"] == 8000
        yield View(process, ready)


@pytest.fixture(scope="module")
def view(shared, served):
    with previewing(shared, served) as view:
        yield view


class Answer:
    def __init__(self, raw):
        self.raw = raw
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.headers = [tuple(line.split(": ", 1)) for line in lines[1:]]

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]


def ask(view, request):
    """Bytes as they are, and the whole answer."""
    with socket.create_connection(("127.0.0.1", view.port), timeout=60) as connection:
        connection.sendall(request if isinstance(request, bytes) else request.encode())
        return Answer(read_to_end(connection))


def get(view, path, *headers, cookie=True):
    more = "".join(f"{header}\r\n" for header in headers) + (f"Cookie: {view.cookie}\r\n" if cookie else "")
    return ask(view, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{view.port}\r\n{more}\r\n")


def curl(*args, status=0):
    done = subprocess.run(["curl", "-sS", "--max-time", "60", *args], capture_output=True)
    assert done.returncode == status, done.stderr
    return done.stdout


def test_no_token_no_page(view):
    other = "0" * len(view.token)
    for path in ("/", "/head", f"/?sandbox_token={other}", "/?sandbox_token=", "/ws", "//", "/..%2f"):
        answer = get(view, path, cookie=False)
        assert answer.status == 403 and b"inside" not in answer.body and b"sandbox preview" in answer.body, answer.raw
        assert answer.all("Cache-Control") == ["no-store"] and answer.all("X-Frame-Options") == ["DENY"]
    assert get(view, "/", f"Cookie: sandbox_preview_{view.port}={other}", cookie=False).status == 403
    assert re.fullmatch(r"[0-9a-f]{64}", view.token)


def test_a_browser_gets_a_cookie_and_an_address_without_the_token(view):
    answer = get(view, f"/head?a=b&sandbox_token={view.token}", "Accept: text/html", cookie=False)
    assert answer.status == 303 and answer.all("Location") == [f"{view.base}/head?a=b"]
    assert answer.all("Set-Cookie") == [f"{view.cookie}; Path=/; HttpOnly; SameSite=Lax"]
    assert get(view, "/head?a=b").status == 200


def test_curl_may_send_the_token_each_time(view):
    assert b"inside" in curl(view.url)
    assert curl(view.with_token("/head?a=b")).startswith(b"GET /head?a=b HTTP/1.1\r\n")
    assert curl("-o", os.devnull, "-w", "%{http_code}", view.base) == b"403"
    assert curl("-L", "-c", "", "-H", "Accept: text/html", view.with_token("/head")).startswith(b"GET /head HTTP/1.1\r\n")


def test_the_server_sees_neither_token_nor_cookie(view):
    for answer in (get(view, "/head", "Cookie: theme=dark"), get(view, f"/head?sandbox_token={view.token}", cookie=False)):
        assert answer.status == 200 and view.token.encode() not in answer.body and b"sandbox_" not in answer.body
    seen = get(view, "/head", "Cookie: theme=dark; sandbox_preview_1=other").body
    assert b"theme=dark" in seen and b"other" not in seen
    assert f"Host: 127.0.0.1:{view.port}\r\n".encode() in seen and b"Connection: close\r\n" in seen


def test_nothing_is_kept_or_framed(view):
    answer = get(view, "/cached")
    assert answer.status == 200 and answer.body == b"kept"
    assert answer.all("Cache-Control") == ["no-store"] and answer.all("ETag") == [] and answer.all("X-Frame-Options") == ["DENY"]
    assert "frame-ancestors 'none'" in answer.all("Content-Security-Policy")
    assert get(view, "/cookie").all("Set-Cookie") == ["theme=dark"]


def test_bodies_pass_whatever_their_size(view, tmp_path):
    body = tmp_path / "body"
    body.write_bytes(os.urandom(8 << 20))
    # Expect: 100-continue is what curl says of a large body, and the server in the session knows nothing of it.
    assert curl("--data-binary", f"@{body}", "-H", "Expect:", view.with_token("/echo")) == body.read_bytes()
    assert curl("--data-binary", "@-", view.with_token("/echo")) == b""


def test_malformed_requests_go_nowhere(view):
    for request in (b"GET / HTTP/1.1\r\nHost: a\r\n Folded: x\r\n\r\n", b"GET / HTTP/1.1\nHost: a\n\n\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n",
                    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", b"GET http://evil/ HTTP/1.1\r\nHost: a\r\n\r\n"):
        assert ask(view, request).status == 400
    assert ask(view, b"GET / HTTP/1.1\r\nX: " + b"y" * (70 << 10)).status == 431
    assert get(view, "/head").status == 200


def test_one_request_for_each_connection(view):
    """A second one on the same connection is never answered, with a token or without."""
    both = f"GET /head?1 HTTP/1.1\r\nHost: a\r\nCookie: {view.cookie}\r\n\r\nGET /head?2 HTTP/1.1\r\nHost: a\r\n\r\n"
    answer = ask(view, both)
    assert b"/head?1" in answer.body and answer.raw.count(b"HTTP/1.1 200") == 1


def test_other_sites_pages_are_refused(view):
    assert get(view, "/", "Origin: http://evil.example", "Connection: Upgrade", "Upgrade: websocket").status == 403
    assert get(view, "/", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors").status == 403
    post = f"POST /echo HTTP/1.1\r\nHost: 127.0.0.1:{view.port}\r\nCookie: {view.cookie}\r\nContent-Length: 0\r\n"
    assert ask(view, post + "Origin: http://evil.example\r\n\r\n").status == 403
    assert ask(view, post + f"Origin: {view.base}\r\n\r\n").status == 200


def test_a_cut_answer_is_no_whole_one(view):
    with socket.create_connection(("127.0.0.1", view.port), timeout=60) as connection:
        connection.sendall(f"GET /part HTTP/1.1\r\nHost: a\r\nCookie: {view.cookie}\r\n\r\n".encode())
        with pytest.raises(ConnectionResetError):
            read_to_end(connection)
    silent = get(view, "/silent")
    assert silent.status == 502 and b"without an answer" in silent.body


def websocket(view, *headers):
    connection = socket.create_connection(("127.0.0.1", view.port), timeout=60)
    more = "".join(f"{header}\r\n" for header in headers)
    key = base64.b64encode(os.urandom(16)).decode()
    connection.sendall(f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{view.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                       f"Sec-WebSocket-Key: {key}\r\n{more}\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        assert byte, head
        head += byte
    return connection, int(head.split(b" ")[1])


def test_a_websocket_passes_with_the_cookie_and_not_without(view):
    connection, status = websocket(view, f"Cookie: {view.cookie}", f"Origin: {view.base}")
    assert status == 101
    with connection:
        for text in (b"one", b"two"):
            connection.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)
            received = b""
            while len(received) < 2 + len(text):
                received += connection.recv(64)
            assert received == bytes([0x81, len(text)]) + text
    connection, status = websocket(view, f"Origin: {view.base}")
    connection.close()
    assert status == 403


def test_many_at_once(view):
    connections = [socket.create_connection(("127.0.0.1", view.port), timeout=60) for _ in range(100)]
    for one in connections:
        one.sendall(f"GET /head HTTP/1.1\r\nHost: a\r\nCookie: {view.cookie}\r\n\r\n".encode())
    for one in connections:
        assert Answer(read_to_end(one)).status == 200
        one.close()


def test_where_it_listens(view):
    assert listening_sockets(view.process.pid) == {f"127.0.0.1:{view.port}"}


def test_one_url_and_how_it_ends(shared, served):
    process = shared.start("preview", served, "8001")  # listens on :: inside
    url = process.stdout.readline().decode()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?sandbox_token=[0-9a-f]{64}\n", url)
    assert b"inside" in curl(url.strip()) and b"inside" in curl(url.strip())
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130 and process.stdout.read() == b""
    curl(url.strip(), status=7)  # nobody there
    wait_until(lambda: shared.json("inspect", served)["operations"] <= 1)


def test_listen_and_a_port_that_is_taken(shared, served, view):
    error = shared.fails_json(4, "preview", "--listen", str(view.port), served, "8000")
    assert error["code"] == "busy"
    with started(shared, "preview", "--listen", "127.0.0.3:0", served, "8000") as (process, ready):
        assert listening_sockets(process.pid) == {f"127.0.0.3:{ready['hostPort']}"}
        assert b"inside" in curl(ready["url"])
    with started(shared, "preview", "--listen", "0.0.0.0:0", served, "8000") as (process, ready):
        assert ready["url"].startswith("http://127.0.0.1:") and b"inside" in curl(ready["url"])  # what a browser here can open
        process.terminate()
        assert b"without encryption" in process.stderr.read()
    shared.fails(2, "preview", "--listen", "everywhere:80", served, "8000")
    assert "0.0.0.0:8000" in shared.fails(2, "preview", "--listen", "0.0.0.0", served, "8000").errors
    assert "leave /tcp out" in shared.fails(2, "preview", served, "8000/tcp").errors
    shared.fails(2, "preview", served, "0")
    shared.fails(3, "preview", "nosuch", "80")
    shared.fails(3, "--owner", "somebody-else", "preview", served, "8000")


def test_nothing_listens_yet(sb, program):
    session = sb.create()
    sb.run("cp", program, f"{session}:web_server")
    with previewing(sb, session) as view:
        page = get(view, "/")
        assert page.status == 502 and f"sandbox wait-port {session} 8000" in page.body.decode()
    assert sb.fails_json(1, "preview", "--wait", "100ms", session, "8000")["code"] == "timed_out"
    waiting = sb.start("--json", "preview", "--wait", "60s", session, "8000")
    still_runs(waiting)
    sb.sh(session, "./web_server 127.0.0.1 8000 >/dev/null 2>&1 &")
    line = waiting.stdout.readline().decode()
    assert b"inside" in curl(re.search(r'"url":"([^"]+)"', line)[1])
    waiting.terminate()
    assert waiting.wait(timeout=30) == 143


def test_open_starts_the_browser_with_the_address(shared, served, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\nprintf %s \"$1\" >{tmp_path}/opened\n")
    browser.chmod(0o755)
    with previewing(shared, served, "--open", env={"BROWSER": str(browser)}) as view:
        wait_until(lambda: (tmp_path / "opened").exists() and (tmp_path / "opened").read_text() == view.url)
    (tmp_path / "opened").unlink()
    with previewing(shared, served, "--open", env={"BROWSER": f"{tmp_path}/nosuch:{browser} %s#here unused:{tmp_path}/other"}) as view:
        wait_until(lambda: (tmp_path / "opened").exists() and (tmp_path / "opened").read_text() == view.url + "#here")
    with previewing(shared, served, "--open", env={"BROWSER": str(tmp_path / "nosuch")}) as view:
        assert b"inside" in curl(view.url)


def test_the_session_s_end_ends_it(sb):
    session = sb.create()
    process = sb.start("preview", session, "8000")
    assert process.stdout.readline()
    sb.destroy(session)
    assert process.wait(timeout=60) == 3


# --- a real browser ------------------------------------------------------------------------------------------------

def chromium(url, profile):
    """The page as it is once all of it was loaded, as text."""
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
               f"--user-data-dir={profile}", "--dump-dom", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_person_sees_the_page_and_its_websocket(view, tmp_path):
    page = chromium(view.url, tmp_path / "profile")
    assert "<title>inside</title>" in page and "echo:through the preview" in page, page
    # A script of the page has no way to the cookie.
    assert "cookie:<" in page and view.token not in page


def test_a_person_without_the_token_sees_nothing(view, tmp_path):
    page = chromium(view.base + "/", tmp_path / "profile")
    assert "sandbox preview" in page and "inside" not in page


def test_no_other_page_can_frame_or_use_it(view, tmp_path, program):
    """A page of another origin, in a browser that has the cookie: 127.0.0.1 at another port is the same site, so the cookie goes along."""
    chromium(view.url, tmp_path / "profile")
    hostile = (f"<!doctype html><p id=ws>waiting</p><iframe src='{view.base}/'></iframe><script>"
               f"const s = new WebSocket('ws://127.0.0.1:{view.port}/ws'); s.onopen = () => document.getElementById('ws').textContent = 'taken';"
               "s.onerror = () => document.getElementById('ws').textContent = 'refused';</script>")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(hostile.encode())

        def log_message(self, *args):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        page = chromium(f"http://127.0.0.1:{server.server_port}/", tmp_path / "profile")
    finally:
        server.shutdown()
        server.server_close()
    assert ">refused<" in page and ">taken<" not in page and "echo:" not in page, page


def scripted(sb, session, port, script):
    """A server that runs a script for each connection."""
    sb.run("proc", "start", "--ready-port", port, session, "--", "nc", "-ll", "-p", str(port), "-e", "sh", "-c", script)


def test_an_answer_that_comes_before_the_request_was_read_is_whole(sb):
    """The server resets what it has not read: curl's upload gets its 413 all the same."""
    session = sb.create()
    scripted(sb, session, 8413, "read line; printf 'HTTP/1.1 413 Too large\\r\\nContent-Length: 4\\r\\n\\r\\nbig\\n'")
    with started(sb, "preview", session, "8413") as (_, ready):
        for _ in range(6):
            done = subprocess.run(["curl", "-sS", "-o", "-", "-w", "%{http_code}", "-H", "Expect:", "--data-binary", "@-", ready["url"]],
                                  input=b"x" * 60_000, capture_output=True, timeout=30)
            assert done.stdout == b"big\n413", done


@pytest.mark.parametrize("head, args", [("200 OK", ["-I"]), ("204 No Content", []), ("304 Not Modified", [])])
def test_a_length_of_no_body_is_no_cut_answer(sb, head, args):
    """The server's reset, after an answer that is whole, must not reach the browser."""
    session = sb.create()
    scripted(sb, session, 8204, f"read line; printf 'HTTP/1.1 {head}\\r\\nContent-Length: 1000\\r\\n\\r\\n'")
    with started(sb, "preview", session, "8204") as (_, ready):
        for _ in range(6):
            done = subprocess.run(["curl", "-sS", *args, "-o", "/dev/null", "-w", "%{http_code}", ready["url"]], capture_output=True, timeout=30)
            assert (done.returncode, done.stdout.decode()) == (0, head[:3]), done


def test_interim_answers_without_end_are_no_answer(sb):
    session = sb.create()
    scripted(sb, session, 8100, "yes 'HTTP/1.1 100\r\n\r'")
    with started(sb, "preview", session, "8100") as (_, ready):
        done = subprocess.run(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", ready["url"]], capture_output=True, timeout=30)
        assert done.stdout == b"502", done
