// SPDX-License-Identifier: Apache-2.0
// The labels that every engine object of ours carries, and that can rebuild the state (law 2).
#pragma once

#include <map>
#include <string>

namespace sandbox::domain {

inline constexpr const char* k_label_instance = "sandbox.instance";
inline constexpr const char* k_label_session = "sandbox.session";
inline constexpr const char* k_label_owner = "sandbox.owner";
inline constexpr const char* k_label_role = "sandbox.role"; // session, workspace, agent, network, helper
inline constexpr const char* k_label_workspace = "sandbox.workspace"; // persistent only: its id
inline constexpr const char* k_label_expires = "sandbox.expires";     // RFC 3339; the first value, the row has the current one; or:
inline constexpr const char* k_expires_never = "never"; // kept until somebody removes it
inline constexpr const char* k_label_created = "sandbox.created";     // RFC 3339
inline constexpr const char* k_label_scan = "sandbox.scan";           // "required" where the manifest has an export.scan
inline constexpr const char* k_label_name = "sandbox.name";
inline constexpr const char* k_label_user_prefix = "sandbox.label.";

inline constexpr const char* k_role_session = "session";
inline constexpr const char* k_role_workspace = "workspace";
inline constexpr const char* k_role_agent = "agent";
inline constexpr const char* k_role_network = "network";
inline constexpr const char* k_role_helper = "helper";

// The label's value; empty where the object has none, which stands for the same.
inline std::string label(const std::map<std::string, std::string>& labels, const char* key) {
    const auto found = labels.find(key);
    return found == labels.end() ? std::string() : found->second;
}

} // namespace sandbox::domain
