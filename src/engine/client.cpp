// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"

#include "engine/answers.hpp"
#include "engine/client_impl.hpp"

#include <algorithm>
#include <thread>

namespace sandbox::engine {
namespace {

// The engine's whole range; an engine that does not say its oldest version takes everything older.
VersionRange their_range(const Response& answer) {
    expect_ok(answer, "cannot ask the engine for its version");
    const VersionAnswer version = parse_version(answer.body);
    const auto newest = parse_api_version(version.api_version);
    if (!newest) throw Error(ErrorCode::protocol_error, "this is no engine: it tells no API version");
    const auto oldest = parse_api_version(version.min_api_version);
    return {oldest.value_or(ApiVersion{1, 0}), *newest};
}

} // namespace

std::string object_path(std::string_view collection, std::string_view id, std::string_view action) {
    if (id.empty()) throw Error(ErrorCode::internal, "a call about an object without an id");
    std::string path = "/" + std::string(collection) + "/" + percent_encode(id);
    if (!action.empty()) path += "/" + std::string(action);
    return path;
}

void expect_ok(const Response& response, std::string_view context) {
    if (!response.ok()) throw failure(response, context);
}

std::chrono::milliseconds Backoff::left() const {
    return std::max(std::chrono::milliseconds(0), std::chrono::ceil<std::chrono::milliseconds>(m_until - Clock::now()));
}

void Backoff::pause() {
    std::this_thread::sleep_for(std::min(m_next, left()));
    m_next = std::min(m_next * 2, std::chrono::milliseconds(200));
}

ApiVersion Calls::version() {
    if (negotiated) return *negotiated;
    // /_ping costs a tenth of /version, for which dockerd runs two programs, but does not tell the oldest version.
    // That one only matters where the engine is newer than we are.
    const Response ping = transport.call({.method = "GET", .target = "/_ping"});
    const auto newest = ping.ok() ? parse_api_version(ping.head.find("Api-Version").value_or("")) : std::nullopt;
    const bool settled = newest && *newest >= k_our_versions.oldest && *newest <= k_our_versions.newest;
    negotiated = settled ? *newest : choose_version(their_range(transport.call({.method = "GET", .target = "/version"})));
    return *negotiated;
}

std::string Calls::versioned(std::string_view path) { return "/v" + version().text() + std::string(path); }

Response Calls::call(Request request) {
    request.target = versioned(request.target);
    return transport.call(request);
}

Response Calls::post(std::string_view path, std::string body, bool slow) {
    Request request{.method = "POST", .target = std::string(path), .body = std::move(body)};
    if (slow) request.header_timeout = transport.timeouts().slow_header;
    return call(std::move(request));
}

Exchange Calls::open(Request request) {
    request.target = versioned(request.target);
    return transport.open(request);
}

Client::Client(Endpoint endpoint, Timeouts timeouts) : m_impl(std::make_unique<Impl>(std::move(endpoint), timeouts)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

const Endpoint& Client::endpoint() const { return m_impl->transport.endpoint(); }
std::vector<std::string> Client::last_warnings() const { return m_impl->warnings; }

EngineInfo Client::info() {
    const Response info = m_impl->get("/info");
    expect_ok(info, "cannot ask the engine about itself");
    EngineInfo result = parse_info(info.body);
    result.api_version = m_impl->version().text();
    return result;
}

std::string Client::id() {
    const Response info = m_impl->get("/info");
    expect_ok(info, "cannot ask the engine about itself");
    return parse_info(info.body).id;
}

} // namespace sandbox::engine
