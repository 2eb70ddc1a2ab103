// SPDX-License-Identifier: Apache-2.0
// The rules of a preview, without any I/O: which requests (RFC 9112) reach the server in the session, as what, and what of its answers
// reaches a browser. A token in the URL, or the cookie that it was turned into, lets a request in; neither of them goes any further.
//
//   const PreviewRequest request = parse_preview_request(head);
//   const Verdict verdict = judge(request, gate); if (verdict.kind == Verdict::Kind::pass) send(head_for_server(request, verdict));
#pragma once

#include "engine/http.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace sandbox::app {

// A longer head is refused, from either side.
inline constexpr std::size_t k_max_preview_head = 64 << 10;

struct PreviewRequest {
    std::string method;
    std::string target; // "/path?query"
    int minor_version = 1;
    engine::HttpHead head; // the headers
    bool is_upgrade = false; // to a WebSocket; any other upgrade is ignored
};

// The head of a request with its blank line. Throws protocol_error for whatever two programs could read in two ways.
PreviewRequest parse_preview_request(std::string_view head);

struct Gate {
    std::string token;
    std::uint16_t host_port = 0; // names the cookie: cookies know no ports
};
std::string cookie_name(std::uint16_t host_port);
std::string preview_url(std::string_view address, const Gate& gate);

struct Verdict {
    enum class Kind {
        pass,
        redirect, // a browser that came with the token: it gets the cookie and an address without the token
        refuse,
    };
    Kind kind = Kind::refuse;
    std::string target; // without the token
    std::string why;    // for the one who is refused
};
Verdict judge(const PreviewRequest& request, const Gate& gate);

// What goes to the server, and what comes back to the browser, blank line included.
std::string head_for_server(const PreviewRequest& request, const Verdict& verdict, const Gate& gate);
// Throws protocol_error for a head that holds control characters.
std::string head_for_browser(const engine::HttpHead& answer, bool is_upgrade);
// A whole answer.
std::string redirect_answer(const PreviewRequest& request, const Verdict& verdict, const Gate& gate);
std::string page_answer(int status, std::string_view title, std::string_view text);

} // namespace sandbox::app
