// SPDX-License-Identifier: Apache-2.0
#include "app/presence.hpp"

#include <filesystem>
#include <unistd.h>

namespace sandbox::app {
namespace {

std::string path_of(const state::Store& store, const std::string& id) { return store.session_directory(id) + "/creator"; }

} // namespace

FileLock lock_presence(const state::Store& store, const std::string& id) { return FileLock::acquire(path_of(store, id)); }

bool is_abandoned(const state::Store& store, const std::string& id) {
    const std::string path = path_of(store, id);
    return ::access(path.c_str(), F_OK) == 0 && !FileLock::is_held(path);
}

std::vector<std::string> abandoned_sessions(const state::Store& store) {
    std::vector<std::string> ids;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(store.directory() + "/sessions", ignored)) {
        std::string id = entry.path().filename().string();
        if (is_abandoned(store, id)) ids.push_back(std::move(id));
    }
    return ids;
}

} // namespace sandbox::app
