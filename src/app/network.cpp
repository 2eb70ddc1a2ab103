// SPDX-License-Identifier: Apache-2.0
#include "app/network.hpp"

#include "domain/labels.hpp"
#include "engine/podman.hpp"
#include "util/error.hpp"

namespace sandbox::app {

std::string network_for(Context& context, engine::Client& engine, const std::string& engine_id, domain::NetworkMode mode) {
    if (mode == domain::NetworkMode::none) return "none";
    if (engine::is_podman(engine_id)) {
        throw Error(ErrorCode::failed, "network: bridge: Podman cannot keep the sessions of one network from each other")
            .hint("leave the network out (none is the default), or use a Docker engine");
    }
    constexpr const char* k_name = "sandbox-bridge";
    engine.ensure_network(k_name, {{"com.docker.network.bridge.enable_icc", "false"}},
                          {{domain::k_label_instance, context.store().instance()},
                           {domain::k_label_owner, "sandbox"},
                           {domain::k_label_role, domain::k_role_network},
                           {domain::k_label_expires, domain::k_expires_never}});
    return k_name;
}

} // namespace sandbox::app
