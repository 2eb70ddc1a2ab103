// SPDX-License-Identifier: Apache-2.0
// The one rule for every name: sessions, workspaces, owners, labels, and the engine objects made from them.
//
//   check_name("session name", "job-981");   // throws usage with the rule in the hint
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sandbox::domain {

// 1 to 63 characters of a-z, 0-9, '-', '_', '.', starting with a letter or digit (so that a name is a host name, an
// image tag and a file name). Throws usage naming `what` and showing the value safely.
void check_name(std::string_view what, std::string_view value);
bool is_valid_name(std::string_view value);
// check_name() for the name of a session, which must not look like a session's id either.
void check_session_name(std::string_view value);
// Owners are free text of 1 to 128 printable ASCII characters without white space ("uid:1000", "acme/ci").
void check_owner(std::string_view value);
// Label keys: 1 to 128 of letters, digits, '.', '_', '-', '/'; values: up to 4096 bytes of valid UTF-8 without NUL.
void check_label(std::string_view key, std::string_view value);
// An environment variable's name: not empty, no '=' and no NUL. Throws usage.
void check_env_name(std::string_view name);

// Session ids: "s" and 12 lower-case hex digits; session names must not look like one.
std::string new_session_id();
bool is_session_id(std::string_view text);

// Container and volume names, by which the engine itself refuses a second holder of an exclusive workspace.
std::string container_name(std::string_view session_id);
// One name for the container and the volume of a persistent workspace: unique over instance, owner and id.
std::string workspace_object_name(std::string_view instance, std::string_view owner, std::string_view workspace_id);

} // namespace sandbox::domain
