// SPDX-License-Identifier: Apache-2.0
#include "app/preview_http.hpp"
#include "util/error.hpp"

#include <doctest/doctest.h>

using namespace sandbox;
using namespace sandbox::app;

namespace {

const std::string k_token(64, 'a');
const Gate k_gate{k_token, 4000};

// A request of a browser that has the cookie, with more headers, each with its CRLF.
PreviewRequest request(const std::string& line, const std::string& more = "") {
    return parse_preview_request(line + " HTTP/1.1\r\nHost: 127.0.0.1:4000\r\n" + more + "\r\n");
}
std::string with_cookie() { return "Cookie: sandbox_preview_4000=" + k_token + "\r\n"; }
Verdict::Kind kind(const PreviewRequest& one) { return judge(one, k_gate).kind; }
bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string sent(const PreviewRequest& one) {
    const Verdict verdict = judge(one, k_gate);
    REQUIRE(verdict.kind == Verdict::Kind::pass);
    return head_for_server(one, verdict, k_gate);
}

std::string shown(const std::string& head, bool is_upgrade = false) { return head_for_browser(engine::parse_head(head), is_upgrade); }

} // namespace

TEST_CASE("what two programs could read in two ways is refused") {
    for (const char* head : {
             "",
             "\r\n",
             "GET / HTTP/1.1\r\n\r\n",                                                     // no Host
             "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",                               // two
             "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: a/\r\n\r\n",
             "GET / HTTP/2\r\nHost: a\r\n\r\n",
             "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
             "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
             "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",                                  // for proxies
             "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
             "GET /#part HTTP/1.1\r\nHost: a\r\n\r\n",
             "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
             "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
             "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
             "GET / HTTP/1.1\nHost: a\n\n",                                                // no CRs
             "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",                                    // an LF alone
             "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",                                    // a CR alone
             "GET / HTTP/1.1\r\nHost: a\r\n X: folded\r\n\r\n",
             "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: a\r\nnothing\r\n\r\n",
             "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
             "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
             "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\n",
             "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
             "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
             "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
             "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
             "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
             "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: a\r\n",                                              // no end
         }) {
        CAPTURE(head);
        CHECK_THROWS_AS(parse_preview_request(head), Error);
    }
    std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (int i = 0; i < 300; ++i) many += "X: y\r\n";
    CHECK_THROWS_AS(parse_preview_request(many + "\r\n"), Error);
    using namespace std::string_literals;
    CHECK_THROWS_AS(parse_preview_request("GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n"s), Error);
}

TEST_CASE("no token, no page") {
    CHECK(kind(request("GET /")) == Verdict::Kind::refuse);
    CHECK(kind(request("GET /?sandbox_token=")) == Verdict::Kind::refuse);
    CHECK(kind(request("GET /?sandbox_token=" + k_token.substr(1))) == Verdict::Kind::refuse);
    CHECK(kind(request("GET /?sandbox_token=" + k_token + "a")) == Verdict::Kind::refuse);
    CHECK(kind(request("GET /?sandbox_tokens=" + k_token)) == Verdict::Kind::refuse);
    CHECK(kind(request("GET /", "Cookie: sandbox_preview_4001=" + k_token + "\r\n")) == Verdict::Kind::refuse);
    CHECK(kind(request("GET /", "Cookie: sandbox_preview_4000=\r\n")) == Verdict::Kind::refuse);
    CHECK(kind(request("GET /", "Cookie: xsandbox_preview_4000=" + k_token + "\r\n")) == Verdict::Kind::refuse);
    CHECK(kind(request("GET /", "Cookie: a=b; sandbox_preview_4000=" + k_token + "; c=d\r\n")) == Verdict::Kind::pass);
    CHECK(kind(request("GET /", with_cookie())) == Verdict::Kind::pass);
    CHECK(kind(request("GET /?a=b&sandbox_token=" + k_token)) == Verdict::Kind::pass);
}

TEST_CASE("a browser changes its token for a cookie") {
    const auto one = request("GET /deep/page?a=b&sandbox_token=" + k_token + "&c", "Accept: text/html,*/*\r\n");
    const Verdict verdict = judge(one, k_gate);
    CHECK(verdict.kind == Verdict::Kind::redirect);
    const std::string answer = redirect_answer(one, verdict, k_gate);
    CHECK(holds(answer, "HTTP/1.1 303 "));
    CHECK(holds(answer, "\r\nLocation: http://127.0.0.1:4000/deep/page?a=b&c\r\n"));
    CHECK(holds(answer, "\r\nSet-Cookie: sandbox_preview_4000=" + k_token + "; Path=/; HttpOnly; SameSite=Lax\r\n"));
    // Not to another host, whatever the path looks like.
    const auto odd = request("GET //evil.example/?sandbox_token=" + k_token, "Accept: text/html\r\n");
    CHECK(holds(redirect_answer(odd, judge(odd, k_gate), k_gate), "\r\nLocation: http://127.0.0.1:4000//evil.example/\r\n"));
}

TEST_CASE("neither token nor any preview's cookie goes further") {
    const std::string text = sent(request("GET /x?sandbox_token=" + k_token + "&a=1", "Cookie: a=b; sandbox_preview_4000=" + k_token + ";sandbox_preview_4001=other; c=d\r\n"
                                                                                        "Referer: http://127.0.0.1:4000/?sandbox_token=" + k_token + "\r\nX-Kept: yes\r\n"));
    CHECK(text == "GET /x?a=1 HTTP/1.1\r\nHost: 127.0.0.1:4000\r\nCookie: a=b; c=d\r\nX-Kept: yes\r\nConnection: close\r\n\r\n");
    CHECK_FALSE(holds(sent(request("GET /", with_cookie())), "Cookie"));
}

TEST_CASE("what is about the connection stays here") {
    const std::string text = sent(request("POST /", with_cookie() + "Connection: keep-alive, X-Hop, Content-Length\r\nKeep-Alive: timeout=5\r\nX-Hop: 1\r\nUpgrade: h2c\r\n"
                                                                    "TE: trailers\r\nIf-None-Match: \"1\"\r\nContent-Length: 3\r\n"));
    CHECK(text == "POST / HTTP/1.1\r\nHost: 127.0.0.1:4000\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
}

TEST_CASE("pages of other sites may follow links and nothing else") {
    const std::string cookie = with_cookie();
    const auto is_refused = [&](const std::string& line, const std::string& more) { return kind(request(line, cookie + more)) == Verdict::Kind::refuse; };
    const std::string upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    CHECK_FALSE(is_refused("POST /", "Origin: http://127.0.0.1:4000\r\n"));
    CHECK(is_refused("POST /", "Origin: http://127.0.0.1:4001\r\n"));
    CHECK(is_refused("POST /", "Origin: null\r\n"));
    CHECK(is_refused("DELETE /", "Origin: https://evil.example\r\n"));
    CHECK_FALSE(is_refused("GET /", "Origin: https://evil.example\r\n"));
    CHECK(is_refused("GET /", upgrade + "Origin: https://evil.example\r\n"));
    CHECK_FALSE(is_refused("GET /", upgrade + "Origin: http://127.0.0.1:4000\r\n"));
    CHECK_FALSE(is_refused("GET /", upgrade)); // no browser
    CHECK(is_refused("GET /", "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script\r\n"));
    CHECK(is_refused("GET /", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n"));
    CHECK_FALSE(is_refused("GET /", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"));
    CHECK(is_refused("POST /", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"));
    CHECK_FALSE(is_refused("POST /", "Sec-Fetch-Site: same-origin\r\nOrigin: null\r\n"));
    CHECK(is_refused("GET /sw.js", "Service-Worker: script\r\nSec-Fetch-Site: same-origin\r\n"));
}

TEST_CASE("a WebSocket's request goes on as one") {
    const auto one = request("GET /ws", with_cookie() + "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: k\r\n");
    CHECK(one.is_upgrade);
    CHECK(sent(one) == "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:4000\r\nSec-WebSocket-Key: k\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    CHECK_FALSE(request("POST /ws", "Connection: Upgrade\r\nUpgrade: websocket\r\n").is_upgrade);
    CHECK_FALSE(request("GET /ws", "Connection: Upgrade\r\nUpgrade: h2c\r\n").is_upgrade);
    CHECK_FALSE(request("GET /ws", "Upgrade: websocket\r\n").is_upgrade);
    const std::string answer = shown("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n", true);
    CHECK(answer == "HTTP/1.1 101 \r\nSec-WebSocket-Accept: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

TEST_CASE("nothing is kept, and nothing is framed") {
    const std::string answer = shown("HTTP/1.1 404 Nothing\r\nConnection: keep-alive\r\nCache-Control: public\r\nETag: \"1\"\r\nLast-Modified: now\r\nExpires: later\r\n"
                                     "X-Frame-Options: ALLOWALL\r\nContent-Security-Policy: default-src 'self'\r\nReferrer-Policy: unsafe-url\r\nClear-Site-Data: \"*\"\r\n"
                                     "Set-Cookie: a=b\r\nSet-Cookie: sandbox_preview_4000=x\r\nX-Theirs: kept\r\n\r\n");
    CHECK(answer == "HTTP/1.1 404 \r\nContent-Security-Policy: default-src 'self'\r\nSet-Cookie: a=b\r\nX-Theirs: kept\r\nCache-Control: no-store\r\n"
                    "X-Frame-Options: DENY\r\nContent-Security-Policy: frame-ancestors 'none'\r\nReferrer-Policy: same-origin\r\nConnection: close\r\n\r\n");
    CHECK_FALSE(holds(shown("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"), "Content-Length"));
    CHECK_THROWS_AS(shown("HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\n\r\n"), Error);
    CHECK_THROWS_AS(shown("HTTP/1.1 200 OK\r\nX: a\x1b[31m\r\n\r\n"), Error);
}

TEST_CASE("pages of sandbox's own say what they are told to as text") {
    const std::string page = page_answer(403, "Not <allowed>", "a <script> & more");
    CHECK(holds(page, "Not &lt;allowed>"));
    CHECK(holds(page, "a &lt;script> &amp; more"));
    CHECK(holds(page, "Cache-Control: no-store"));
    CHECK(holds(page, "frame-ancestors 'none'"));
    CHECK(preview_url("127.0.0.1", k_gate) == "http://127.0.0.1:4000/?sandbox_token=" + k_token);
    CHECK(preview_url("::1", k_gate) == "http://[::1]:4000/?sandbox_token=" + k_token);
}
