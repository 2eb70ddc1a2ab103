// SPDX-License-Identifier: Apache-2.0
// Any bytes as the head of a browser's request and as that of a server's answer: either an Error, or a head for the other side that it reads
// as one, with the same end of the body, and behind which nothing follows.
#include "app/preview_http.hpp"
#include "util/error.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace sandbox;
using namespace sandbox::app;

constexpr std::string_view k_blank_line = "\r\n\r\n";

// The token of the seeds, so that what is behind the gate is reached.
const Gate k_gate{"f0f0f0f0f0f0f0f0", 4000};

void expect(bool condition) {
    if (!condition) std::abort();
}

bool is_one_head(std::string_view text) { return text.find(k_blank_line) == text.size() - k_blank_line.size(); }

void as_request(std::string_view text) {
    const PreviewRequest request = parse_preview_request(text);
    const Verdict verdict = judge(request, k_gate);
    if (verdict.kind == Verdict::Kind::redirect) expect(is_one_head(redirect_answer(request, verdict, k_gate)));
    if (verdict.kind != Verdict::Kind::pass) return;
    const std::string sent = head_for_server(request, verdict, k_gate);
    expect(is_one_head(sent));
    const PreviewRequest read = parse_preview_request(sent);
    expect(read.method == request.method && read.is_upgrade == request.is_upgrade);
    for (const auto* name : {"Host", "Content-Length", "Transfer-Encoding"}) expect(read.head.find(name) == request.head.find(name));
}

void as_answer(std::string_view text, bool is_upgrade) {
    const engine::HttpHead answer = engine::parse_head(text);
    const std::string shown = head_for_browser(answer, is_upgrade);
    expect(is_one_head(shown));
    const engine::HttpHead read = engine::parse_head(shown);
    expect(read.status == answer.status && (answer.status == 101 || read.find("X-Frame-Options") == "DENY"));
}

template <typename Read> void try_to(Read read) {
    try {
        read();
    } catch (const Error&) {
        // The one exception that may leave these functions.
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try_to([text] { as_request(text); });
    try_to([text] { as_answer(text, false); });
    try_to([text] { as_answer(text, true); });
    return 0;
}
