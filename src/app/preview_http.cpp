// SPDX-License-Identifier: Apache-2.0
#include "app/preview_http.hpp"

#include "domain/forward_spec.hpp"
#include "util/error.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <vector>

namespace sandbox::app {
namespace {

constexpr std::string_view k_token_parameter = "sandbox_token";
constexpr std::string_view k_cookie_prefix = "sandbox_preview_";
constexpr std::size_t k_max_headers = 200;

// About one connection, or about what a cache may do: not the other side's business here.
constexpr std::array k_request_headers_dropped{"connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer", "upgrade",
                                               "if-none-match", "if-modified-since", "if-range"};
// Even where Connection names them: without them the server would read the request in another way than it was checked.
constexpr std::array k_never_dropped{"host", "content-length", "transfer-encoding"};
constexpr std::array k_answer_headers_dropped{"connection", "keep-alive", "proxy-connection", "proxy-authenticate", "upgrade", "cache-control", "expires",
                                              "pragma", "etag", "last-modified", "age", "warning", "x-frame-options", "referrer-policy", "alt-svc",
                                              "clear-site-data", "strict-transport-security", "service-worker-allowed"};

[[noreturn]] void refuse(const char* why) { throw Error(ErrorCode::protocol_error, why); }

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

bool is_one_of(std::string_view name, std::span<const char* const> names) {
    const std::string wanted = lower(name);
    return std::ranges::any_of(names, [&](const char* one) { return wanted == one; });
}

bool is_token(std::string_view text) {
    constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || marks.find(c) != std::string_view::npos;
    });
}

bool holds_control(std::string_view text) {
    return std::ranges::any_of(text, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7F; });
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view{} : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string_view take_line(std::string_view& text) {
    const auto end = text.find("\r\n");
    if (end == std::string_view::npos) refuse("a line without its end");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 2);
    // A CR or an LF alone ends a line for some programs and not for others.
    if (holds_control(line)) refuse("a control character in the head");
    return line;
}

void take_request_line(std::string_view line, PreviewRequest& request) {
    const auto parts = split(line, ' ');
    if (parts.size() != 3 || !is_token(parts[0]) || parts[1].empty()) refuse("a malformed request line");
    if (parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0") refuse("a version other than HTTP/1.1");
    // Absolute addresses are for proxies.
    const bool is_plain = parts[1].front() == '/' && std::ranges::all_of(parts[1], [](unsigned char c) { return c > ' ' && c < 0x7F && c != '#'; });
    if (!is_plain) refuse("a target that is no path");
    request.method = parts[0];
    request.target = parts[1];
    request.minor_version = parts[2].back() - '0';
}

void take_header(std::string_view line, engine::Headers& headers) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) refuse("a malformed header");
    headers.emplace_back(line.substr(0, colon), trim(line.substr(colon + 1)));
    if (headers.size() > k_max_headers) refuse("too many headers");
}

std::size_t count(const engine::HttpHead& head, std::string_view name) {
    return static_cast<std::size_t>(std::ranges::count_if(head.headers, [&](const auto& header) { return lower(header.first) == name; }));
}

bool is_host(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == ':' || c == '[' || c == ']'; });
}

// Where the body ends must be said in one way only.
void check_framing(const PreviewRequest& request) {
    const auto& head = request.head;
    if (count(head, "host") != 1 || !is_host(*head.find("Host"))) refuse("not one Host header");
    const auto length = head.find("Content-Length");
    const auto encoding = head.find("Transfer-Encoding");
    if (count(head, "content-length") > 1 || count(head, "transfer-encoding") > 1 || (length && encoding)) refuse("two lengths of the body");
    if (length && (length->empty() || length->size() > 18 || !std::ranges::all_of(*length, [](unsigned char c) { return std::isdigit(c) != 0; }))) {
        refuse("a Content-Length that is no number");
    }
    if (encoding && (lower(*encoding) != "chunked" || request.minor_version == 0)) refuse("a Transfer-Encoding other than chunked");
}

// "a=b; c=d" without the cookies of previews: of this one and of any other at the same address.
std::string other_cookies(std::string_view header) {
    std::vector<std::string> kept;
    for (const std::string& cookie : split(header, ';')) {
        if (!trim(cookie).empty() && !trim(cookie).starts_with(k_cookie_prefix)) kept.emplace_back(trim(cookie));
    }
    return join(kept, "; ");
}

bool has_cookie(const engine::HttpHead& head, const Gate& gate) {
    const std::string wanted = cookie_name(gate.host_port) + "=";
    bool found = false;
    for (const auto& [name, value] : head.headers) {
        if (lower(name) != "cookie") continue;
        for (const std::string& cookie : split(value, ';')) {
            const std::string_view one = trim(cookie);
            if (one.starts_with(wanted) && equal_in_constant_time(one.substr(wanted.size()), gate.token)) found = true;
        }
    }
    return found;
}

struct Stripped {
    std::string target;
    bool had_token = false; // the right one
};

Stripped strip_token(const std::string& target, const Gate& gate) {
    const auto question = target.find('?');
    if (question == std::string::npos) return {target, false};
    Stripped result{target.substr(0, question), false};
    std::vector<std::string> kept;
    for (const std::string& parameter : split(std::string_view(target).substr(question + 1), '&')) {
        const auto equals = parameter.find('=');
        if (parameter.substr(0, equals) != k_token_parameter) kept.push_back(parameter);
        else if (equals != std::string::npos && equal_in_constant_time(std::string_view(parameter).substr(equals + 1), gate.token)) result.had_token = true;
    }
    if (!kept.empty()) result.target += "?" + join(kept, "&");
    return result;
}

bool is_safe(const std::string& method) { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

// The cookie goes along with what any page at this address asks for, whatever its port: what such a page may not do is refused here.
bool is_of_another_site(const PreviewRequest& request) {
    const auto site = request.head.find("Sec-Fetch-Site");
    if (site && *site == "same-origin") return false;
    if (site && *site != "none") {
        const bool is_a_link = request.head.find("Sec-Fetch-Mode") == "navigate" && request.head.find("Sec-Fetch-Dest") == "document" && is_safe(request.method);
        if (!is_a_link) return true;
    }
    const auto origin = request.head.find("Origin");
    if (!origin || (is_safe(request.method) && !request.is_upgrade)) return false;
    return *origin != "http://" + std::string(*request.head.find("Host"));
}

bool wants_page(const PreviewRequest& request) {
    const auto accepted = request.head.find("Accept");
    return (request.method == "GET" || request.method == "HEAD") && !request.is_upgrade && accepted && accepted->find("text/html") != std::string_view::npos;
}

std::string html(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '<') escaped += "&lt;";
        else if (c == '&') escaped += "&amp;";
        else escaped += c;
    }
    return escaped;
}

constexpr std::string_view k_guard_headers = "Cache-Control: no-store\r\nX-Frame-Options: DENY\r\nContent-Security-Policy: frame-ancestors 'none'\r\n"
                                             "Referrer-Policy: same-origin\r\n";

} // namespace

PreviewRequest parse_preview_request(std::string_view head) {
    PreviewRequest request;
    take_request_line(take_line(head), request);
    for (std::string_view line = take_line(head); !line.empty(); line = take_line(head)) take_header(line, request.head.headers);
    check_framing(request);
    request.is_upgrade = request.method == "GET" && request.minor_version == 1 && request.head.has_token("Connection", "upgrade") &&
                         count(request.head, "upgrade") == 1 && lower(*request.head.find("Upgrade")) == "websocket";
    return request;
}

std::string cookie_name(std::uint16_t host_port) { return std::string(k_cookie_prefix) + std::to_string(host_port); }

std::string preview_url(std::string_view address, const Gate& gate) {
    // What listens everywhere listens here, too, and those are no addresses that a browser goes to.
    if (address == "0.0.0.0") address = "127.0.0.1";
    if (address == "::") address = "::1";
    return "http://" + domain::address_and_port(address, gate.host_port) + "/?" + std::string(k_token_parameter) + "=" + gate.token;
}

Verdict judge(const PreviewRequest& request, const Gate& gate) {
    const Stripped stripped = strip_token(request.target, gate);
    Verdict verdict{Verdict::Kind::refuse, stripped.target, {}};
    if (!stripped.had_token && !has_cookie(request.head, gate)) {
        verdict.why = "This is a preview of a sandbox session. Open the whole address that sandbox preview has printed: its token lets you in.";
    } else if (is_of_another_site(request)) {
        verdict.why = "This request was made by a page of another site.";
    } else if (request.head.find("Service-Worker")) {
        verdict.why = "A service worker would outlive the preview.";
    } else {
        verdict.kind = stripped.had_token && wants_page(request) ? Verdict::Kind::redirect : Verdict::Kind::pass;
    }
    return verdict;
}

std::string head_for_server(const PreviewRequest& request, const Verdict& verdict, const Gate& gate) {
    std::string text = request.method + " " + verdict.target + " HTTP/1." + std::to_string(request.minor_version) + "\r\n";
    for (const auto& [name, value] : request.head.headers) {
        std::string kept = value;
        if (is_one_of(name, k_request_headers_dropped) || (!is_one_of(name, k_never_dropped) && request.head.has_token("Connection", name))) continue;
        if (lower(name) == "cookie" && (kept = other_cookies(value)).empty()) continue;
        if (value.find(gate.token) != std::string::npos && lower(name) != "cookie") continue; // a Referer, say
        text += name + ": " + kept + "\r\n";
    }
    return text + (request.is_upgrade ? "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" : "Connection: close\r\n\r\n");
}

std::string head_for_browser(const engine::HttpHead& answer, bool is_upgrade) {
    std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " \r\n";
    const bool is_chunked = answer.find("Transfer-Encoding").has_value();
    for (const auto& [name, value] : answer.headers) {
        if (!is_token(name) || holds_control(value)) refuse("a control character in the head of the answer");
        if (is_one_of(name, k_answer_headers_dropped) || (is_chunked && lower(name) == "content-length")) continue;
        if (lower(name) == "set-cookie" && trim(value).starts_with(k_cookie_prefix)) continue;
        text += name + ": " + value + "\r\n";
    }
    if (is_upgrade && answer.status == 101) return text + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    return text + std::string(k_guard_headers) + "Connection: close\r\n\r\n";
}

std::string redirect_answer(const PreviewRequest& request, const Verdict& verdict, const Gate& gate) {
    // Absolute: a path that begins with two slashes would lead to another host.
    return "HTTP/1.1 303 See Other\r\nLocation: http://" + std::string(*request.head.find("Host")) + verdict.target + "\r\nSet-Cookie: " +
           cookie_name(gate.host_port) + "=" + gate.token + "; Path=/; HttpOnly; SameSite=Lax\r\n" + std::string(k_guard_headers) +
           "Content-Length: 0\r\nConnection: close\r\n\r\n";
}

std::string page_answer(int status, std::string_view title, std::string_view text) {
    const std::string body = "<!doctype html>\n<meta charset=utf-8>\n<title>" + html(title) + "</title>\n<h1>" + html(title) + "</h1>\n<p>" + html(text) + "</p>\n";
    return "HTTP/1.1 " + std::to_string(status) + " \r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n" + std::string(k_guard_headers) + "Connection: close\r\n\r\n" + body;
}

} // namespace sandbox::app
