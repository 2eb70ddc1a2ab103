// SPDX-License-Identifier: Apache-2.0
#include "state/directory.hpp"

#include "state/store.hpp"
#include "util/environment.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox::state {
namespace {

constexpr mode_t k_private = 0700;

bool looks_like_ours(const std::string& directory) {
    const Layout layout{directory};
    std::error_code ignored;
    return std::filesystem::exists(layout.identity(), ignored) || std::filesystem::exists(layout.database(), ignored) ||
           std::filesystem::is_empty(directory, ignored);
}

Error denied(const std::string& message) {
    return Error(ErrorCode::denied, message).hint("give --state-dir (or SANDBOX_STATE_DIR) a directory of its own");
}

void check_directory(const std::string& directory, const struct stat& info) {
    if (!S_ISDIR(info.st_mode)) throw Error(ErrorCode::failed, directory + " is not a directory");
    if (info.st_uid != ::geteuid()) throw denied("state directory " + directory + " belongs to another user (uid " + std::to_string(info.st_uid) + ")");
    if ((info.st_mode & 077) == 0) return;
    if (!looks_like_ours(directory)) throw denied("state directory " + directory + " is open to other users and holds other files");
    if (::chmod(directory.c_str(), k_private) != 0) throw errno_error("cannot close " + directory + " to other users");
}

std::string absolute(const std::string& path) {
    std::filesystem::path normal = std::filesystem::absolute(path).lexically_normal();
    // "a/b/" normalises to itself, with an empty last part.
    if (!normal.has_filename() && normal.has_relative_path()) normal = normal.parent_path();
    return normal.string();
}

} // namespace

void secure_state_directory(const std::string& directory) {
    struct stat info{};
    if (::stat(directory.c_str(), &info) != 0) {
        if (errno != ENOENT) throw errno_error("cannot use state directory " + directory);
        try {
            make_directories(directory, k_private);
        } catch (const Error& error) {
            throw Error(ErrorCode::io_error, "cannot make the state directory " + printable(directory) + ": " + error.message())
                .hint("--state-dir or SANDBOX_STATE_DIR names another place");
        }
        if (::stat(directory.c_str(), &info) != 0) throw errno_error("cannot use state directory " + directory);
    }
    check_directory(directory, info);
}

void check_id_is_file_name(std::string_view id) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    };
    if (!id.empty() && id.size() <= 128 && id.front() != '.' && std::all_of(id.begin(), id.end(), is_plain)) return;
    throw Error(ErrorCode::internal, "session id \"" + printable(id.substr(0, 128)) + "\" is no file name");
}

std::string standard_state_directory() {
    if (::geteuid() == 0) return "/var/lib/sandbox";
    // The XDG base directory specification has relative values ignored.
    const std::string xdg = environment("XDG_STATE_HOME");
    if (xdg.starts_with('/')) return absolute(xdg + "/sandbox");
    const std::string home = environment("HOME");
    if (home.starts_with('/')) return absolute(home + "/.local/state/sandbox");
    return {};
}

std::string default_state_directory(const std::optional<std::string>& flag) {
    if (flag && flag->empty()) throw Error(ErrorCode::usage, "--state-dir is empty");
    if (flag) return absolute(*flag);
    if (const std::string variable = environment("SANDBOX_STATE_DIR"); !variable.empty()) return absolute(variable);
    if (auto standard = standard_state_directory(); !standard.empty()) return standard;
    throw Error(ErrorCode::usage, "no place for the state: HOME is not set").hint("give --state-dir or set SANDBOX_STATE_DIR");
}

} // namespace sandbox::state
