// SPDX-License-Identifier: Apache-2.0
#include "app/network.hpp"

#include "domain/labels.hpp"

namespace sandbox::app {

std::string network_for(Context& context, engine::Client& engine, domain::NetworkMode mode) {
    if (mode == domain::NetworkMode::none) return "none";
    constexpr const char* k_name = "sandbox-bridge";
    engine.ensure_network(k_name, {{"com.docker.network.bridge.enable_icc", "false"}},
                          {{domain::k_label_instance, context.store().instance()},
                           {domain::k_label_owner, "sandbox"},
                           {domain::k_label_role, domain::k_role_network},
                           {domain::k_label_expires, domain::k_expires_never}});
    return k_name;
}

} // namespace sandbox::app
