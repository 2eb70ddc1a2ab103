// SPDX-License-Identifier: Apache-2.0
#include "engine/container_control.hpp"

#include "engine/client_impl.hpp"
#include "util/text.hpp"

namespace sandbox::engine {
namespace {

std::string about(const char* what, std::string_view id) { return std::string(what) + " container " + printable(id); }

} // namespace

ContainerControl::ContainerControl(Endpoint endpoint, Timeouts timeouts) : m_calls(std::make_unique<Calls>(std::move(endpoint), timeouts)) {}
ContainerControl::~ContainerControl() = default;

void ContainerControl::pause(std::string_view id) {
    expect_ok(m_calls->post(object_path("containers", id, "pause"), {}, true), about("cannot pause", id));
}

void ContainerControl::unpause(std::string_view id) {
    expect_ok(m_calls->post(object_path("containers", id, "unpause"), {}, true), about("cannot resume", id));
}

std::optional<ContainerStats> ContainerControl::stats(std::string_view id) {
    // Without one-shot (since 1.41) an engine takes a second to tell a rate, which it is not asked for here.
    const Response response = m_calls->get(object_path("containers", id, "stats") + "?stream=false&one-shot=true");
    if (is_absent(response, "container")) return std::nullopt;
    expect_ok(response, about("cannot measure", id));
    return parse_stats(response.body);
}

} // namespace sandbox::engine
