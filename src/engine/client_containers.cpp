// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"

#include "engine/answers.hpp"
#include "engine/client_impl.hpp"
#include "engine/matches.hpp"
#include "engine/requests.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>

namespace sandbox::engine {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view k_all_hex = "0123456789abcdef";
constexpr std::size_t k_id_length = 64;

// Engines take any prefix of an id. Something that could be one must be looked at before it is acted upon.
bool could_be_prefix(std::string_view id) {
    return id.size() < k_id_length && id.find_first_not_of(k_all_hex) == std::string_view::npos;
}

std::string about(const char* what, std::string_view id) { return std::string(what) + " container " + printable(id); }

} // namespace

std::string Client::create_container(const ContainerSpec& spec) {
    std::string path = "/containers/create";
    if (!spec.name.empty()) path += "?name=" + percent_encode(spec.name);
    const Response response = m_impl->post(path, create_container_body(spec), true);
    expect_ok(response, about("cannot create", spec.name));
    Created created = parse_created(response.body);
    m_impl->warnings = std::move(created.warnings);
    return created.id;
}

void Client::start_container(std::string_view id) {
    const Response response = m_impl->post(object_path("containers", id, "start"), {}, true);
    // 304: it runs already.
    if (response.status != 304) expect_ok(response, about("cannot start", id));
}

void Client::kill_container(std::string_view id, std::string_view signal) {
    const std::string path = object_path("containers", id, "kill") + "?signal=" + percent_encode(signal);
    expect_ok(m_impl->post(path, {}, true), about("cannot signal", id));
}

void Client::stop_container(std::string_view id, std::chrono::seconds grace) {
    const std::string path = object_path("containers", id, "stop") + "?t=" + std::to_string(grace.count());
    Request request{.method = "POST", .target = path};
    request.header_timeout = m_impl->transport.timeouts().slow_header + grace;
    const Response response = m_impl->call(std::move(request));
    if (response.status != 304) expect_ok(response, about("cannot stop", id));
}

std::optional<ContainerInfo> Client::inspect_container(std::string_view id) {
    const Response response = m_impl->get(object_path("containers", id, "json"));
    if (is_absent(response, "container")) return std::nullopt;
    expect_ok(response, about("cannot inspect", id));
    ContainerInfo info = parse_container(response.body);
    if (info.id != id && info.name != id) return std::nullopt;
    return info;
}

bool Client::wait_container_gone(std::string_view id, milliseconds deadline) {
    for (Backoff backoff(deadline);; backoff.pause()) {
        if (!inspect_container(id)) return true;
        if (backoff.is_over()) return false;
    }
}

bool Client::remove_container(std::string_view id, milliseconds deadline) {
    if (could_be_prefix(id) && !inspect_container(id)) return false;
    Request request{.method = "DELETE", .target = object_path("containers", id) + "?force=1&v=1"};
    // One call that hangs must not outlive the deadline by much; a kernel that is busy unmounting gets a second at least.
    request.header_timeout = std::min(m_impl->transport.timeouts().slow_header, std::max(deadline, milliseconds(1000)));
    bool existed = false;
    std::string last = "it is still there";
    for (Backoff backoff(deadline);; backoff.pause()) {
        const Response response = m_impl->call(request);
        if (is_absent(response, "container")) return existed;
        existed = true;
        // 409 is "removal in progress" by somebody else (AutoRemove, another destroy); 500 a mount that is busy for a
        // moment. Both pass.
        if (!response.ok()) last = failure_text(response);
        if (response.ok() || response.status == 409) {
            const auto wait = std::min(backoff.left(), milliseconds(1000));
            if (wait_container_gone(id, wait)) return true;
        }
        if (backoff.is_over()) {
            throw Error(ErrorCode::cleanup_failed,
                        about("cannot remove", id) + " within " + format_duration(deadline) + ": " + last);
        }
    }
}

std::vector<ContainerInfo> Client::list_containers(const Filter& filter) {
    const Response response = m_impl->get("/containers/json?all=1&filters=" + percent_encode(filters_json(filter)));
    expect_ok(response, "cannot list containers");
    auto list = parse_container_list(response.body);
    std::erase_if(list, [&](const ContainerInfo& container) { return !matches(filter, container); });
    return list;
}

} // namespace sandbox::engine
