// SPDX-License-Identifier: Apache-2.0
// The one network that `network: bridge` means: shared by all sessions of an engine, with traffic between containers
// off (on the default bridge sessions reach each other), and never one for each session, whose pool runs out.
//
//   spec.network = network_for(context, engine, manifest.network.mode);
#pragma once

#include "app/context.hpp"
#include "domain/manifest.hpp"

#include <string>

namespace sandbox::app {

// "none", or the name of our network after making sure it is there. Throws engine_error.
std::string network_for(Context& context, engine::Client& engine, const std::string& engine_id, domain::NetworkMode mode);

} // namespace sandbox::app
