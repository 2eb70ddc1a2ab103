// SPDX-License-Identifier: Apache-2.0
#include "cli/output.hpp"

#include "util/fd.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <unistd.h>

namespace sandbox::cli {
namespace {

// Characters, not bytes: continuation bytes of UTF-8 take no column.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void print_err(std::string_view text) {
    try {
        write_all(STDERR_FILENO, text);
    } catch (const Error&) {
        // Nowhere left to say so.
    }
}

std::string printable_lines(std::string_view text) {
    std::string lines;
    for (const auto& line : split(text, '\n')) lines += (lines.empty() ? "" : "\n") + printable(line);
    return lines;
}

} // namespace

void print_out(std::string_view text) {
    try {
        write_all(STDOUT_FILENO, text);
    } catch (Error& error) {
        if (errno == EPIPE) throw Error(ErrorCode::interrupted, "standard output was closed").signal(SIGPIPE);
        error.context("standard output");
        throw;
    }
}

void say(std::string_view text) { print_err("sandbox: " + printable_lines(text) + "\n"); }

void print_error(const Error& error) {
    std::string text = "sandbox: error: " + printable_lines(error.message()) + "\n";
    if (!error.hint().empty()) text += "hint: " + printable_lines(error.hint()) + "\n";
    print_err(text);
}

std::string table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::vector<std::string>> lines{header};
    for (const auto& row : rows) {
        auto& line = lines.emplace_back();
        for (const auto& cell : row) line.push_back(cell.empty() ? "-" : printable(cell));
    }
    std::vector<std::size_t> widths(header.size());
    for (const auto& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
    }
    std::string text;
    for (const auto& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i) {
            text += line[i];
            if (i + 1 < line.size()) text.append(widths[i] - width_of(line[i]) + 2, ' ');
        }
        text += '\n';
    }
    return text;
}

} // namespace sandbox::cli
