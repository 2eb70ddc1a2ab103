// SPDX-License-Identifier: Apache-2.0
#include "util/descriptor_path.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <unistd.h>

namespace sandbox {
namespace {

constexpr int k_most_links = 40; // as the kernel has it

// /proc/PID/fd, and that of a thread.
bool is_descriptor_directory(const std::string& path) {
    return path.starts_with("/proc/") && path.ends_with("/fd") && path.find_first_of("0123456789") == 6;
}

std::optional<int> number_in(std::string_view name) {
    int number = -1;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failure != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
    return number;
}

} // namespace

std::optional<Fd> open_descriptor_path(const std::string& path) {
    std::error_code failure;
    std::filesystem::path place = path;
    for (int links = 0; links < k_most_links; ++links) {
        const auto parent = std::filesystem::canonical(place.has_parent_path() ? place.parent_path() : ".", failure);
        if (failure) return std::nullopt;
        const auto number = number_in(place.filename().native());
        place = parent / place.filename();
        if (number && is_descriptor_directory(parent.native())) {
            const bool is_own = parent.native().starts_with("/proc/" + std::to_string(::getpid()) + "/");
            Fd file(is_own ? ::fcntl(*number, F_DUPFD_CLOEXEC, 3) : ::open(place.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC));
            if (!file) throw errno_error("cannot write to " + printable(path));
            return file;
        }
        const auto target = std::filesystem::read_symlink(place, failure);
        if (failure) return std::nullopt;
        place = parent / target;
    }
    return std::nullopt;
}

} // namespace sandbox
