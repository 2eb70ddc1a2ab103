// SPDX-License-Identifier: Apache-2.0
#include "domain/units.hpp"

#include "domain/shown.hpp"
#include "util/error.hpp"
#include "util/format.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <optional>

namespace sandbox::domain {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

constexpr std::uint64_t k_max = std::numeric_limits<std::int64_t>::max();
// A fraction of up to six digits times the biggest factor still fits 64 bits.
constexpr std::size_t k_fraction_digits = 6;

constexpr std::array<Unit, 18> k_size_units{{
    {"", 1}, {"b", 1},
    {"kb", 1'000}, {"mb", 1'000'000}, {"gb", 1'000'000'000}, {"tb", 1'000'000'000'000},
    {"kib", 1ULL << 10}, {"mib", 1ULL << 20}, {"gib", 1ULL << 30}, {"tib", 1ULL << 40},
    {"ki", 1ULL << 10}, {"mi", 1ULL << 20}, {"gi", 1ULL << 30}, {"ti", 1ULL << 40}, // as kubectl writes them
    {"k", 1ULL << 10}, {"m", 1ULL << 20}, {"g", 1ULL << 30}, {"t", 1ULL << 40},
}};
// Biggest first: a duration is written in falling order.
constexpr std::array<Unit, 5> k_duration_units{{
    {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1},
}};
constexpr std::uint64_t k_longest_duration = 36'500ULL * 86'400'000ULL;

// "12.5" at the start of a text, taken apart; the digits are never turned into a floating-point number.
struct Decimal {
    std::uint64_t whole = 0;
    std::uint64_t fraction = 0;
    std::uint64_t scale = 1; // the fraction is fraction/scale
    bool has_fraction = false;
};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Takes a decimal number off the front of `text`. Absent when there is none or it does not fit.
std::optional<Decimal> take_decimal(std::string_view& text) {
    Decimal number;
    if (text.empty() || !is_digit(text.front())) return std::nullopt;
    for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
        const auto digit = static_cast<std::uint64_t>(text.front() - '0');
        if (number.whole > (k_max - digit) / 10) return std::nullopt;
        number.whole = number.whole * 10 + digit;
    }
    if (text.empty() || text.front() != '.') return number;
    text.remove_prefix(1);
    number.has_fraction = true;
    std::size_t digits = 0;
    for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1), ++digits) {
        if (digits == k_fraction_digits) return std::nullopt;
        number.fraction = number.fraction * 10 + static_cast<std::uint64_t>(text.front() - '0');
        number.scale *= 10;
    }
    if (digits == 0) return std::nullopt;
    return number;
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

Error bad_size(std::string_view text, std::string_view why) {
    return Error(ErrorCode::usage, formatted("\"{}\" is not a size: {}", shown(text), why))
        .hint("write a number and a unit: 64KB, 512MB, 1.5GiB (KB is 1000 bytes, KiB and k are 1024)");
}

Error bad_duration(std::string_view text, std::string_view why) {
    return Error(ErrorCode::usage, formatted("\"{}\" is not a duration: {}", shown(text), why))
        .hint("write a number and a unit: 250ms, 30s, 5m, 1h30m, 2d");
}

// Takes the unit's letters off the front of `text`.
std::string_view take_letters(std::string_view& text) {
    const auto* end = std::find_if(text.begin(), text.end(),
                                   [](char c) { return std::isalpha(static_cast<unsigned char>(c)) == 0; });
    const auto letters = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(letters.size());
    return letters;
}

std::uint64_t duration_part(std::string_view text, const Decimal& number, const Unit& unit) {
    if (number.whole > k_longest_duration / unit.factor) throw bad_duration(text, "it is over 100 years");
    const std::uint64_t fraction = number.fraction * unit.factor;
    if (fraction % number.scale != 0) throw bad_duration(text, "it is finer than a millisecond");
    return number.whole * unit.factor + fraction / number.scale;
}

Error bare_number(std::string_view text) {
    return bad_duration(text, "it has no unit")
        .hint(formatted("write the unit: \"{0}s\" for seconds, \"{0}m\" for minutes", shown(text)));
}

} // namespace

std::uint64_t parse_size(std::string_view text) {
    std::string_view rest = text;
    if (rest.starts_with('-')) throw bad_size(text, "it is negative");
    const auto number = take_decimal(rest);
    if (!number) throw bad_size(text, "it does not start with a number that fits");
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    const std::string name = lower(rest);
    const auto* unit = std::find_if(k_size_units.begin(), k_size_units.end(),
                                    [&](const Unit& candidate) { return candidate.name == name; });
    if (unit == k_size_units.end()) throw bad_size(text, formatted("unknown unit \"{}\"", shown(rest)));
    if (number->has_fraction && unit->factor == 1) throw bad_size(text, "there is no fraction of a byte");
    const std::uint64_t fraction = number->fraction * unit->factor / number->scale;
    if (number->whole > (k_max - fraction) / unit->factor) throw bad_size(text, "it is too big");
    return number->whole * unit->factor + fraction;
}

std::chrono::milliseconds parse_duration(std::string_view text) {
    if (text == "0") return std::chrono::milliseconds(0);
    if (text.starts_with('-')) throw bad_duration(text, "it is negative");
    std::uint64_t total = 0;
    const auto* next_unit = k_duration_units.begin();
    bool ended = false; // by a fraction, after which nothing may come
    std::string_view rest = text;
    do {
        const auto number = take_decimal(rest);
        if (!number) throw bad_duration(text, "a number that fits is missing");
        const std::string_view name = take_letters(rest);
        if (name.empty() && rest.empty() && next_unit == k_duration_units.begin()) throw bare_number(text);
        const auto* unit = std::find_if(k_duration_units.begin(), k_duration_units.end(),
                                        [&](const Unit& candidate) { return candidate.name == name; });
        if (unit == k_duration_units.end()) throw bad_duration(text, formatted("unknown unit \"{}\"", shown(name)));
        if (unit < next_unit) throw bad_duration(text, "its units are not in falling order");
        if (ended) throw bad_duration(text, "only the last number may have a fraction");
        total += duration_part(text, *number, *unit);
        next_unit = unit + 1;
        ended = number->has_fraction;
    } while (!rest.empty());
    if (total > k_longest_duration) throw bad_duration(text, "it is over 100 years");
    return std::chrono::milliseconds(static_cast<std::int64_t>(total));
}

std::uint32_t parse_mode(std::string_view text) {
    const auto bad = [&](std::string_view why) {
        return Error(ErrorCode::usage, formatted("\"{}\" is not a mode: {}", shown(text), why))
            .hint("write it in octal, as chmod takes it: \"0644\" or \"0755\"");
    };
    std::string_view digits = text;
    if (digits.starts_with("0o")) digits.remove_prefix(2);
    if (digits.empty()) throw bad("it has no digits");
    std::uint32_t mode = 0;
    for (const char c : digits) {
        if (c < '0' || c > '7') throw bad("it is not octal");
        mode = mode * 8 + static_cast<std::uint32_t>(c - '0');
        if (mode > 07777) throw bad("it is over 07777");
    }
    return mode;
}

std::string format_size(std::uint64_t bytes) {
    if (bytes == 0) return "0";
    constexpr std::array<Unit, 8> units{{
        {"TiB", 1ULL << 40}, {"TB", 1'000'000'000'000}, {"GiB", 1ULL << 30}, {"GB", 1'000'000'000},
        {"MiB", 1ULL << 20}, {"MB", 1'000'000}, {"KiB", 1ULL << 10}, {"KB", 1'000},
    }};
    std::string best = formatted("{}B", bytes);
    for (const Unit& unit : units) {
        if (bytes % unit.factor != 0) continue;
        std::string candidate = formatted("{}{}", bytes / unit.factor, unit.name);
        if (candidate.size() < best.size()) best = std::move(candidate);
    }
    return best;
}

std::string format_duration_exact(std::chrono::milliseconds duration) {
    auto left = static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count()));
    if (left == 0) return "0";
    std::string text;
    for (const Unit& unit : k_duration_units) {
        if (left >= unit.factor) text += formatted("{}{}", left / unit.factor, unit.name);
        left %= unit.factor;
    }
    return text;
}

} // namespace sandbox::domain
