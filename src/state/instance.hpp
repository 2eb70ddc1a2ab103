// SPDX-License-Identifier: Apache-2.0
// Who this state directory is: a random id that stands in the labels of all its engine objects, and the machine it was
// made on. Both are kept in a small file beside the database, so that a lost database is a repair.
//
//   if (auto identity = read_identity(path)) use(identity->instance);
#pragma once

#include <optional>
#include <string>

namespace sandbox::state {

struct Identity {
    std::string instance; // 16 hex digits
    std::string machine;  // machine_id() where it was made; may be empty
};

// Absent when the file is missing or is not an identity.
std::optional<Identity> read_identity(const std::string& path);
// Replaces the file as a whole and has it on disk when it returns.
void write_identity(const std::string& path, const Identity& identity);
std::string new_instance_id();
bool is_instance_id(const std::string& text);

// The id in `path` (machine-id(5)); empty where a machine has none, as in a bare container: such a machine is told
// from others by nothing, but equal to itself after each boot.
std::string machine_id(const std::string& path = "/etc/machine-id");

} // namespace sandbox::state
