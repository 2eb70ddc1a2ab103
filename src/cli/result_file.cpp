// SPDX-License-Identifier: Apache-2.0
#include "cli/result_file.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <string_view>
#include <sys/stat.h>

namespace sandbox::cli {
namespace {

// A path that stands for a descriptor of the caller's. What is behind it is written to and never replaced, a file included:
// others may hold it too, and go on writing.
std::optional<int> descriptor_of(std::string_view path) {
    if (path == "/dev/stdout") return 1;
    if (path == "/dev/stderr") return 2;
    for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
        if (!path.starts_with(prefix)) continue;
        int number = -1;
        const auto [end, failure] = std::from_chars(path.data() + prefix.size(), path.data() + path.size(), number);
        if (failure == std::errc() && end == path.data() + path.size() && number >= 0) return number;
    }
    return std::nullopt;
}

} // namespace

ResultFile::ResultFile(const std::string& path) {
    if (path == "-") {
        throw Error(ErrorCode::usage, "--result - would mix the result into the command's output")
            .hint("--result FILE, --result /dev/fd/3 for a descriptor of yours, or --json for the result alone");
    }
    if (const auto descriptor = descriptor_of(path)) {
        m_stream.reset(::fcntl(*descriptor, F_DUPFD_CLOEXEC, 3));
        if (!m_stream) throw errno_error("--result " + printable(path));
        return;
    }
    struct stat info {};
    const bool exists = ::stat(path.c_str(), &info) == 0;
    if (exists && !S_ISREG(info.st_mode)) {
        // Renaming over a device would take it away from everybody: /dev/null is one.
        m_stream.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
        if (!m_stream) throw errno_error("--result " + printable(path));
        return;
    }
    try {
        // The file a link names, not the link, takes the result.
        m_file.emplace(AT_FDCWD, exists ? std::filesystem::canonical(path).string() : path, exists ? info.st_mode & 07777 : 0644);
    } catch (Error& error) {
        error.context("--result " + printable(path));
        throw;
    }
}

void ResultFile::write(std::string_view document) {
    write_all(m_file ? m_file->fd() : m_stream.get(), document);
    if (m_file) m_file->publish();
}

} // namespace sandbox::cli
