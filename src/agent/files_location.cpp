// SPDX-License-Identifier: Apache-2.0
#include "agent/files_location.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <fcntl.h>

namespace sandbox::agent {
namespace {

// Cuts the next component off, past slashes and "." steps. Empty at the end.
std::string_view next_component(std::string_view& path) {
    for (;;) {
        const auto start = path.find_first_not_of('/');
        if (start == std::string_view::npos) return path = {};
        path.remove_prefix(start);
        const std::string_view component = path.substr(0, path.find('/'));
        path.remove_prefix(component.size());
        if (component != ".") return component;
    }
}

} // namespace

std::optional<std::string> path_in_workdir(std::string_view workdir, std::string_view path) {
    if (!path.starts_with('/')) return std::string(path.empty() ? "." : path);
    for (auto wanted = next_component(workdir); !wanted.empty(); wanted = next_component(workdir)) {
        if (next_component(path) != wanted) return std::nullopt;
    }
    const auto start = path.find_first_not_of('/');
    return start == std::string_view::npos ? "." : std::string(path.substr(start));
}

PathBase workdir_base(const std::string& workdir) {
    Fd directory(::open(workdir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory) throw errno_error("cannot open the workdir \"" + printable(workdir) + "\"");
    return PathBase::beneath(std::move(directory));
}

Location locate(const std::string& workdir, const std::string& path) {
    if (auto inside = path_in_workdir(workdir, path)) return {workdir_base(workdir), std::move(*inside)};
    return {PathBase::anywhere(), path};
}

} // namespace sandbox::agent
