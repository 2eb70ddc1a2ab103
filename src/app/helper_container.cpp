// SPDX-License-Identifier: Apache-2.0
#include "app/helper_container.hpp"

#include "domain/labels.hpp"
#include "util/error.hpp"
#include "util/random.hpp"
#include "util/time.hpp"

namespace sandbox::app {
namespace {

constexpr std::int64_t k_most_use_ms = 10 * 60 * 1000; // one upload of an agent, or a look at an image

} // namespace

HelperContainer::HelperContainer(Context& context, engine::Client& engine, const std::string& image,
                                 const std::string& volume, const std::string& target, const std::string& session,
                                 const std::string& name)
    : m_engine(engine) {
    const std::int64_t now = wall_now_ms();
    engine::ContainerSpec spec;
    spec.name = name.empty() ? "sandbox-helper-" + random_hex(6) : name;
    spec.image = image;
    spec.entrypoint = {"/never-started"};
    spec.network = "none";
    spec.labels = {{domain::k_label_instance, context.store().instance()},
                   {domain::k_label_owner, context.owner()},
                   {domain::k_label_role, domain::k_role_helper},
                   {domain::k_label_created, format_rfc3339(now)},
                   {domain::k_label_expires, format_rfc3339(now + k_most_use_ms)}};
    if (!session.empty()) spec.labels[domain::k_label_session] = session;
    engine::Mount mount;
    mount.source = volume;
    mount.target = target;
    mount.no_copy = true;
    spec.mounts.push_back(std::move(mount));
    m_id = engine.create_container(spec);
}

HelperContainer::~HelperContainer() {
    try {
        m_engine.remove_container(m_id);
    } catch (const Error&) {
        // gc finds it by its labels.
    }
}

} // namespace sandbox::app
