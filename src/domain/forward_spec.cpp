// SPDX-License-Identifier: Apache-2.0
#include "domain/forward_spec.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <charconv>

namespace sandbox::domain {
namespace {

constexpr std::string_view k_forms = "PORT, HOST_PORT:PORT, :PORT for a free one here, or ADDRESS:HOST_PORT:PORT with [..] around an IPv6 address";
constexpr std::string_view k_listen_forms = "PORT, or ADDRESS:PORT with [..] around an IPv6 address";

Error no_forward(std::string_view text) { return Error(ErrorCode::usage, quoted(text) + " does not say what to forward").hint(std::string(k_forms)); }

bool is_number(std::string_view text, unsigned& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_plain = !text.empty() && (text == "0" || text.front() != '0');
    return is_plain && error == std::errc() && end == text.data() + text.size() && value <= UINT16_MAX;
}

// 0 and nothing at all stand for a free port.
std::uint16_t parse_host_port(std::string_view text) { return text.empty() || text == "0" ? std::uint16_t{0} : parse_port(text); }

bool looks_like_ipv4(std::string_view text) {
    const auto parts = split(text, '.');
    return parts.size() == 4 && std::ranges::all_of(parts, [](const std::string& part) {
        unsigned value = 0;
        return is_number(part, value) && value <= 255;
    });
}

bool looks_like_ipv6(std::string_view text) {
    return text.find(':') != std::string_view::npos && text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

// Takes "ADDRESS:" off the front.
std::string take_address(std::string_view& text, std::string_view whole, std::string_view forms) {
    const bool bracketed = text.starts_with('[');
    const bool is_bare_ipv6 = !bracketed && text.find("::") != std::string_view::npos && looks_like_ipv6(text);
    const auto end = bracketed ? text.find("]:") : text.find(':');
    if (end == std::string_view::npos) throw Error(ErrorCode::usage, quoted(whole) + " is no place to listen").hint(std::string(forms));
    std::string address(text.substr(bracketed ? 1 : 0, end - (bracketed ? 1 : 0)));
    text.remove_prefix(end + (bracketed ? 2 : 1));
    if (address == "localhost") return "127.0.0.1";
    if (bracketed ? looks_like_ipv6(address) : looks_like_ipv4(address)) return address;
    if (is_bare_ipv6) throw Error(ErrorCode::usage, quoted(whole) + " holds an IPv6 address without brackets").hint(std::string(forms));
    throw Error(ErrorCode::usage, quoted(address) + " is not an IP address of this machine").hint(std::string(forms));
}

} // namespace

std::uint16_t parse_port(std::string_view text) {
    unsigned value = 0;
    if (is_number(text, value) && value > 0) return static_cast<std::uint16_t>(value);
    Error error(ErrorCode::usage, quoted(text) + " is not a port");
    if (text.ends_with("/tcp")) throw error.hint("leave /tcp out: it is all there is");
    if (looks_like_ipv4(text)) throw error.hint("an address has its port behind it: " + std::string(text) + ":8000, or to forward " + std::string(text) + ":8000:80");
    throw error.hint("a port is a number from 1 to 65535");
}

ForwardSpec parse_forward(std::string_view text) {
    const std::string_view whole = text;
    ForwardSpec spec;
    if (text.starts_with('[') || std::ranges::count(text, ':') > 1) spec.address = take_address(text, whole, k_forms);
    if (text.starts_with('[') || std::ranges::count(text, ':') > 1) throw no_forward(whole);
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) {
        if (text.size() != whole.size()) throw no_forward(whole); // an address, and then which port is which?
        spec.port = spec.host_port = parse_port(text);
        return spec;
    }
    spec.host_port = parse_host_port(text.substr(0, colon));
    if (colon + 1 == text.size()) {
        const std::string here(whole.substr(0, whole.size() - 1));
        throw Error(ErrorCode::usage, quoted(whole) + " does not say which port of the session").hint("PORT for the same port here and there, or " + printable(here) + ":PORT");
    }
    spec.port = parse_port(text.substr(colon + 1));
    return spec;
}

void check_distinct(const std::vector<ForwardSpec>& specs) {
    for (auto one = specs.begin(); one != specs.end(); ++one) {
        const auto is_same = [one](const ForwardSpec& other) { return other.address == one->address && other.host_port == one->host_port; };
        if (one->host_port == 0 || std::find_if(specs.begin(), one, is_same) == one) continue;
        throw Error(ErrorCode::usage, "two forwards want " + address_and_port(one->address, one->host_port))
            .hint("another port here for one of them, or a free one: :" + std::to_string(one->port));
    }
}

ForwardSpec parse_listen(std::string_view text) {
    const std::string_view whole = text;
    ForwardSpec spec;
    if (text.starts_with('[') || text.find(':') != std::string_view::npos) spec.address = take_address(text, whole, k_listen_forms);
    spec.host_port = parse_host_port(text);
    return spec;
}

std::string address_and_port(std::string_view address, std::uint16_t port) {
    const bool is_ipv6 = address.find(':') != std::string_view::npos;
    return (is_ipv6 ? "[" + std::string(address) + "]" : std::string(address)) + ":" + std::to_string(port);
}

} // namespace sandbox::domain
