// SPDX-License-Identifier: Apache-2.0
#include "domain/names.hpp"

#include "util/error.hpp"
#include "util/random.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"

#include <algorithm>

namespace sandbox::domain {
namespace {

constexpr std::size_t k_max_name = 63; // the limit of a host name's label
constexpr std::size_t k_max_owner = 128;
constexpr std::size_t k_max_label_key = 128;
constexpr std::size_t k_max_label_value = 4096;
constexpr std::size_t k_session_id_digits = 12;

// Not isalnum and friends: those follow the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
bool is_name_start(char c) { return is_lower(c) || is_digit(c); }
bool is_name_char(char c) { return is_name_start(c) || c == '-' || c == '_' || c == '.'; }
bool is_label_key_char(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-' || c == '/'; }
bool is_owner_char(char c) { return c > ' ' && c < '\x7f'; }

// A refused value may be a megabyte of terminal escapes.
std::string shown(std::string_view value) {
    constexpr std::size_t k_longest = 80;
    const std::string length = value.size() <= k_longest ? "" : " (" + std::to_string(value.size()) + " bytes)";
    return "\"" + shortened(value, k_longest) + "\"" + length;
}

Error refused(std::string_view what, std::string_view value) {
    return Error(ErrorCode::usage, "invalid " + std::string(what) + " " + shown(value));
}

// Lengths in front of the parts: ("a", "bc") and ("ab", "c") are two different holders.
std::string unambiguous(std::initializer_list<std::string_view> parts) {
    std::string text;
    for (const std::string_view part : parts) text += std::to_string(part.size()) + ":" + std::string(part);
    return text;
}

} // namespace

bool is_valid_name(std::string_view value) {
    return !value.empty() && value.size() <= k_max_name && is_name_start(value.front()) &&
           std::all_of(value.begin(), value.end(), is_name_char);
}

void check_name(std::string_view what, std::string_view value) {
    if (is_valid_name(value)) return;
    throw refused(what, value).hint("a name has 1 to 63 of a-z, 0-9, '-', '_', '.' and starts with a letter or digit");
}

void check_session_name(std::string_view value) {
    check_name("session name", value);
    if (!is_session_id(value)) return;
    throw refused("session name", value).hint("it looks like a session id; pick a name that does not");
}

void check_owner(std::string_view value) {
    if (!value.empty() && value.size() <= k_max_owner && std::all_of(value.begin(), value.end(), is_owner_char)) return;
    throw refused("owner", value).hint("an owner has 1 to 128 printable ASCII characters and no white space");
}

void check_label(std::string_view key, std::string_view value) {
    const bool key_is_valid =
        !key.empty() && key.size() <= k_max_label_key && std::all_of(key.begin(), key.end(), is_label_key_char);
    if (!key_is_valid) {
        throw refused("label key", key).hint("a label key has 1 to 128 of letters, digits, '.', '_', '-', '/'");
    }
    const bool value_is_valid =
        value.size() <= k_max_label_value && value.find('\0') == std::string_view::npos && is_valid_utf8(value);
    if (value_is_valid) return;
    throw refused("value of label " + std::string(key), value).hint("a label value has up to 4096 bytes of UTF-8 without NUL");
}

void check_env_name(std::string_view name) {
    constexpr std::string_view k_never("= \t\r\n\v\f\0", 8);
    if (!name.empty() && name.find_first_of(k_never) == std::string_view::npos) return;
    throw refused("environment variable name", name).hint("a name is not empty and has no '=', no white space and no NUL; no `export` before it");
}

std::string new_session_id() { return "s" + random_hex(k_session_id_digits / 2); }

bool is_session_id(std::string_view text) {
    if (text.size() != k_session_id_digits + 1 || text.front() != 's') return false;
    return std::all_of(text.begin() + 1, text.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

std::string container_name(std::string_view session_id) { return "sandbox-" + std::string(session_id); }

std::string workspace_object_name(std::string_view instance, std::string_view owner, std::string_view workspace_id) {
    // The hash decides, the id in front is for people reading `docker ps`. It must withstand an owner who looks for a
    // collision with another owner's workspace, hence SHA-256.
    const std::string digest = sha256_hex(unambiguous({instance, owner, workspace_id})).substr(0, 32);
    return "sandbox-ws-" + std::string(workspace_id) + "-" + digest;
}

} // namespace sandbox::domain
