// SPDX-License-Identifier: Apache-2.0
// The JSON of sessions that were changed, waited for and measured; documents.cpp makes it with the rest.
//
//   print_out(changes_document(report));
#pragma once

#include "app/lifecycle.hpp"
#include "app/stats.hpp"
#include "app/waiting.hpp"

#include <string>
#include <vector>

namespace sandbox::cli {

std::string changes_document(const app::LifecycleReport& report);
// One line each.
std::string ended_line(const app::EndedSession& ended);
std::string not_ended_line(const state::SessionRow& row, const Error& error);
// Of what was named and is no session: an id or a name.
std::string unknown_line(const std::string& target, const Error& error);
std::string usage_line(const app::Usage& usage);
std::string usages_document(const std::vector<app::Usage>& usages, const std::vector<app::SessionFailure>& failures);

} // namespace sandbox::cli
