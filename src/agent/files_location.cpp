// SPDX-License-Identifier: Apache-2.0
#include "agent/files_location.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <fcntl.h>

namespace sandbox::agent {

PathBase workdir_base(const std::string& workdir) {
    Fd directory(::open(workdir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory) throw errno_error("cannot open the workdir \"" + printable(workdir) + "\"");
    return PathBase::beneath(std::move(directory), workdir);
}

Location locate(const std::string& workdir, const std::string& path) {
    if (auto inside = path_in_directory(workdir, path)) return {workdir_base(workdir), std::move(*inside)};
    return {PathBase::anywhere(), path};
}

} // namespace sandbox::agent
