// SPDX-License-Identifier: Apache-2.0
// The state directory's layout, and that nobody else may enter it.
//
//   secure_state_directory(directory);
//   const Layout layout{directory};
#pragma once

#include <string>
#include <string_view>

namespace sandbox::state {

struct Layout {
    std::string directory;

    std::string database() const { return directory + "/state.db"; }
    std::string identity() const { return directory + "/instance"; }
    // Space that is given up when there is no other, so that a full disk does not keep sessions from being destroyed.
    std::string reserve() const { return directory + "/reserve"; }
    std::string sessions() const { return directory + "/sessions"; }
    std::string locks() const { return directory + "/locks"; }
    std::string session(std::string_view id) const { return sessions() + "/" + std::string(id); }
    std::string session_lock(std::string_view id) const { return locks() + "/" + std::string(id); }
    // The locks of everything else have a dot in front, which no session id may have.
    std::string other_lock(std::string_view name) const { return locks() + "/." + std::string(name); }
};

// Makes the directory with mode 0700 where it is missing. One that others may enter is tightened when it is empty or
// ours by its looks, and refused (denied) otherwise: nobody wants /tmp or a home directory changed. So is one that
// belongs to another user.
void secure_state_directory(const std::string& directory);

// Throws internal for an id that could leave the directory. Ids come from rows, and rows from a file.
void check_id_is_file_name(std::string_view id);

} // namespace sandbox::state
