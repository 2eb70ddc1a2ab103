// SPDX-License-Identifier: Apache-2.0
#include "app/context.hpp"

#include "domain/names.hpp"
#include "util/environment.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <unistd.h>

namespace sandbox::app {
namespace {

// What was not given, from the environment.
void complete(std::optional<std::string>& setting, std::string variable) {
    if (!setting && !variable.empty()) setting = std::move(variable);
}

} // namespace

Context::Context(Settings settings) : m_settings(std::move(settings)) {
    complete(m_settings.owner, environment("SANDBOX_OWNER"));
    complete(m_settings.engine, environment("SANDBOX_ENGINE"));
    if (m_settings.owner) domain::check_owner(*m_settings.owner);
    m_owner = m_settings.owner.value_or("uid:" + std::to_string(::getuid()));
}

Context Context::sibling(std::mutex& telling) {
    const auto one_at_a_time = [&telling](const auto& tell) {
        return [&telling, &tell](const auto& what) {
            const std::lock_guard lock(telling);
            tell(what);
        };
    };
    Context other(m_settings);
    other.m_reserve = m_reserve;
    other.progress = one_at_a_time(progress);
    other.on_event = one_at_a_time(on_event);
    other.warn = one_at_a_time(warn);
    return other;
}

state::Store& Context::keep(state::Store store) {
    m_store = std::move(store);
    if (!m_store->warning().empty()) warn(m_store->warning());
    return *m_store;
}

std::string Context::state_directory() const { return state::default_state_directory(m_settings.state_directory); }

state::Store& Context::store() {
    if (m_store) return *m_store;
    return keep(state::Store::open(state_directory(), m_reserve));
}

state::Store& Context::lookup() {
    if (m_store) return *m_store;
    return keep(state::Store::open_for_lookup(state_directory(), m_reserve));
}

const state::Store* Context::peek() {
    if (!m_store) m_store = state::Store::peek(state_directory());
    return m_store ? &*m_store : nullptr;
}

engine::Client& Context::client_for(const engine::Endpoint& endpoint) {
    auto& client = m_clients[endpoint.url];
    if (!client) client = std::make_unique<engine::Client>(endpoint);
    return *client;
}

engine::Client& Context::engine() { return client_for(engine::Endpoint::resolve(m_settings.engine)); }

engine::Client& Context::engine_of(const std::string& endpoint, const std::string& engine_id) {
    engine::Client& client = client_for(engine::Endpoint::parse(endpoint));
    auto& verified = m_verified[endpoint];
    if (verified.empty()) verified = client.id();
    if (verified != engine_id) {
        throw Error(ErrorCode::engine_unreachable, "another engine answers at " + endpoint + " (" + printable(verified) +
                                                       "); this was made by " + printable(engine_id))
            .hint("start the engine that made it, or point its address back to it; nothing was changed");
    }
    return client;
}

} // namespace sandbox::app
