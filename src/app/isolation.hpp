// SPDX-License-Identifier: Apache-2.0
// The isolation that a session really has against what was asked for: the manifest, what the engine holds the container to
// now, and what the kernel says inside. A pure comparison.
//
//   for (const Aspect& aspect : compare_isolation(manifest, container, inside)) if (aspect.differs) warn(aspect);
#pragma once

#include "app/context.hpp"
#include "app/inside.hpp"
#include "domain/manifest.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sandbox::app {

struct Aspect {
    std::string name;                  // "capabilities", "memory", ...: stable
    std::string asked;                 // by the manifest; empty: it left it to image or engine
    std::string engine;                // what the engine says the container has; empty: it does not say
    std::optional<std::string> inside; // what the kernel says there; absent: not known, or nothing to be seen from there
    bool differs = false;
};

// `inside` null: nobody could look.
std::vector<Aspect> compare_isolation(const domain::Manifest& manifest, const engine::ContainerInfo& container, const Inside* inside);
struct Isolation {
    std::vector<Aspect> aspects; // empty: nothing could be compared, and `unknown` says why
    std::string unknown;
};
enum class Depth { engine_only, inside };
// Asks the engine, and where wanted looks inside. Changes nothing, and is no activity. Throws what the engine's calls throw.
Isolation isolation_of(Context& context, const state::SessionRow& row, Depth depth);

} // namespace sandbox::app
