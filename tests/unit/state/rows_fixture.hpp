// SPDX-License-Identifier: Apache-2.0
// Rows for the tests of the state, and whether two are the same.
#pragma once

#include "state/rows.hpp"
#include "util/error.hpp"

#include <functional>
#include <string>
#include <tuple>

namespace sandbox::state {

inline SessionRow plain_row(const std::string& id) {
    SessionRow row;
    row.id = id;
    row.owner = "uid:0";
    return row;
}

inline SessionRow leasing_row(const std::string& id, const std::string& workspace) {
    SessionRow row = plain_row(id);
    row.workspace_id = workspace;
    row.exclusive = true;
    return row;
}

// Every column differs from its default and from its neighbours.
inline SessionRow full_row(const std::string& id) {
    SessionRow row;
    row.id = id;
    row.name = "name-of-" + id;
    row.owner = "acme/ci";
    row.state = SessionState::running;
    row.endpoint = "unix:///var/run/docker.sock";
    row.engine_id = "engine";
    row.container_name = "sandbox-" + id;
    row.container_id = "c0ffee";
    row.volume = "volume";
    row.workspace_id = "workspace-of-" + id;
    row.exclusive = true;
    row.channel = ChannelKind::bridge;
    row.image = "busybox";
    row.manifest_json = "{\"version\":1}";
    row.manifest_digest = "sha256:0";
    row.labels = {{"job", "981"}, {"tenant", "acme"}};
    row.created_ms = 1'700'000'000'001;
    row.expires_ms = 1'700'000'000'002;
    row.expires_boot_ms = 3;
    row.boot_id = "boot";
    row.idle_timeout_ms = 4;
    row.closed_ms = 5;
    row.reason = "reason";
    return row;
}

inline bool same(const SessionRow& a, const SessionRow& b) {
    const auto all = [](const SessionRow& r) {
        return std::tie(r.id, r.name, r.owner, r.state, r.endpoint, r.engine_id, r.container_name, r.container_id, r.volume,
                        r.workspace_id, r.exclusive, r.channel, r.image, r.manifest_json, r.manifest_digest, r.labels, r.created_ms,
                        r.expires_ms, r.expires_boot_ms, r.boot_id, r.idle_timeout_ms, r.closed_ms, r.reason);
    };
    return all(a) == all(b);
}

inline Error failure_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error;
    }
    return Error(ErrorCode::internal, "did not fail");
}

} // namespace sandbox::state
