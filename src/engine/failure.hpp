// SPDX-License-Identifier: Apache-2.0
// What an engine's error answer means: absence of one object, or an Error with the code that callers act upon.
//
//   if (is_absent(response, "container")) return std::nullopt;
//   if (!response.ok()) throw failure(response, "cannot start container " + name);
#pragma once

#include "engine/transport.hpp"
#include "util/error.hpp"

#include <string_view>

namespace sandbox::engine {

// True only for a 404 by which the engine speaks about an object of that kind ("container", "volume", "image",
// "network"); a path that the engine does not know, or a proxy's page, is no absence.
bool is_absent(const Response& response, std::string_view kind);
// The engine's own words, safe to print; the status where it has none.
std::string failure_text(const Response& response);
// An Error for an answer that is no success, "context: the engine's words".
Error failure(const Response& response, std::string_view context);
// For words that came without a status (inside a stream).
Error failure_from_text(std::string_view text, std::string_view context);

} // namespace sandbox::engine
