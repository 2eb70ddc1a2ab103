// SPDX-License-Identifier: Apache-2.0
#include "engine/failure.hpp"

#include "engine/answers.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace sandbox::engine {
namespace {

// An engine behind a proxy may answer with a page; two screens of it say enough.
constexpr std::size_t k_longest_message = 4096;

constexpr std::string_view k_space_hint = "free space where the engine keeps its data";
constexpr std::string_view k_port_hint = "another program listens on that port";
constexpr std::string_view k_image_hint =
    "pull it, import one (sandbox image import), or make a small one (sandbox image bootstrap)";
constexpr std::string_view k_login_hint =
    "check the name; if the image is private, log in (docker login) or pull it beforehand";

constexpr std::string_view k_tls_hint =
    "that port speaks TLS: set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH, or give tls://host:port?certificates=/directory";

struct Meaning {
    std::string_view words; // lower case, as engines write them
    ErrorCode code;
    std::string_view hint;
};

// Statuses alone do not tell these apart, and Podman answers 500 for most of them.
constexpr std::array k_meanings{
    Meaning{"no space left on device", ErrorCode::no_space, k_space_hint},
    Meaning{"disk quota exceeded", ErrorCode::no_space, k_space_hint},
    Meaning{"container name", ErrorCode::exists, ""}, // with "already in use", see below
    Meaning{"no such image", ErrorCode::image_not_found, k_image_hint},
    Meaning{"image not known", ErrorCode::image_not_found, k_image_hint},
    Meaning{"manifest unknown", ErrorCode::image_not_found, k_login_hint},
    Meaning{"pull access denied", ErrorCode::image_not_found, k_login_hint},
    Meaning{"unauthorized", ErrorCode::image_not_found, k_login_hint},
    Meaning{"port is already allocated", ErrorCode::conflict, k_port_hint},
    Meaning{"address already in use", ErrorCode::conflict, k_port_hint},
    Meaning{"http request to an https server", ErrorCode::engine_unreachable, k_tls_hint},
    Meaning{"bind source path does not exist", ErrorCode::not_found, ""},
    Meaning{"non-overlapping ipv4 address pool", ErrorCode::no_capacity, "remove networks that nothing uses: docker network prune"},
};

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

ErrorCode code_for_status(int status) {
    if (status == 404) return ErrorCode::not_found;
    if (status == 409) return ErrorCode::conflict;
    return ErrorCode::engine_error;
}

const Meaning* meaning_of(std::string_view text) {
    const std::string words = lower(text);
    for (const auto& meaning : k_meanings) {
        if (words.find(meaning.words) == std::string::npos) continue;
        if (meaning.code == ErrorCode::exists && words.find("already in use") == std::string::npos) continue;
        return &meaning;
    }
    return nullptr;
}

Error make_error(ErrorCode code, std::string_view text, std::string_view context) {
    const Meaning* meaning = meaning_of(text);
    Error error(meaning != nullptr ? meaning->code : code, printable(text));
    error.context(context);
    if (meaning != nullptr && !meaning->hint.empty()) error.hint(std::string(meaning->hint));
    return error;
}

} // namespace

bool is_absent(const Response& response, std::string_view kind) {
    if (response.status != 404) return false;
    const auto message = parse_error_message(response.body);
    return message && lower(*message).find(kind) != std::string::npos;
}

std::string failure_text(const Response& response) {
    const auto message = parse_error_message(response.body);
    if (message && !message->empty()) return shortened(*message, k_longest_message);
    std::string text = "HTTP status " + std::to_string(response.status);
    // A proxy, or an engine that is shutting down: the first words are all there is. A page's are no words.
    const auto start = response.body.find_first_not_of(" \t\r\n");
    if (start == std::string::npos) return text;
    if (response.body[start] == '<') return text + " and a web page, which no engine sends";
    return text + ": " + printable(std::string_view(response.body).substr(0, 200));
}

Error failure(const Response& response, std::string_view context) {
    const auto message = parse_error_message(response.body);
    // A 404 that is not the engine's own word, or about the call itself, says nothing about any object.
    const bool is_about_object = message && *message != "page not found";
    const ErrorCode code = is_about_object ? code_for_status(response.status) : ErrorCode::engine_error;
    return make_error(code, failure_text(response), context);
}

Error failure_from_text(std::string_view text, std::string_view context) {
    return make_error(ErrorCode::engine_error, text, context);
}

} // namespace sandbox::engine
