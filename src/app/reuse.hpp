// SPDX-License-Identifier: Apache-2.0
// `create --reuse`: the running session of a name, where it was made of the same manifest.
//
//   if (const auto row = find_reusable(context, manifest)) return *row;
#pragma once

#include "app/context.hpp"
#include "domain/manifest.hpp"

#include <optional>

namespace sandbox::app {

// Absent when no session of that name runs; one that is being made is waited for. Throws conflict, naming the first key
// that differs.
std::optional<state::SessionRow> find_reusable(Context& context, const domain::Manifest& manifest);

} // namespace sandbox::app
