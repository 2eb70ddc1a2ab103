// SPDX-License-Identifier: Apache-2.0
#include "cli/result_file.hpp"

#include "util/descriptor_path.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <utility>

namespace sandbox::cli {

ResultFile::ResultFile(const std::string& path) : m_what("--result " + printable(path)) {
    if (path == "-") {
        throw Error(ErrorCode::usage, "--result - would mix the result into the command's output")
            .hint("--result FILE, --result /dev/fd/3 for a descriptor of yours, or --json for the result alone");
    }
    if (auto descriptor = open_descriptor_path(path)) {
        m_stream = std::move(*descriptor);
        return;
    }
    struct stat info {};
    const bool exists = ::stat(path.c_str(), &info) == 0;
    if (exists && !S_ISREG(info.st_mode)) {
        // Renaming over a device would take it away from everybody: /dev/null is one.
        m_stream.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
        if (!m_stream) throw errno_error(m_what);
        return;
    }
    try {
        // The file a link names, not the link, takes the result.
        m_file.emplace(AT_FDCWD, exists ? std::filesystem::canonical(path).string() : path, exists ? info.st_mode & 07777 : 0644);
    } catch (Error& error) {
        error.context(m_what);
        throw;
    }
}

void ResultFile::write(std::string_view document) {
    try {
        write_all(m_file ? m_file->fd() : m_stream.get(), document);
        if (m_file) m_file->publish();
    } catch (Error& error) {
        error.context(m_what);
        throw;
    }
}

} // namespace sandbox::cli
