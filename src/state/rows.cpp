// SPDX-License-Identifier: Apache-2.0
#include "state/rows.hpp"

#include "util/error.hpp"

#include <array>
#include <utility>

namespace sandbox::state {
namespace {

// These names are in every database and in --json: they are never changed.
constexpr std::array k_names{
    std::pair{SessionState::creating, std::string_view("creating")},
    std::pair{SessionState::running, std::string_view("running")},
    std::pair{SessionState::paused, std::string_view("paused")},
    std::pair{SessionState::stopped, std::string_view("stopped")},
    std::pair{SessionState::lost, std::string_view("lost")},
    std::pair{SessionState::destroying, std::string_view("destroying")},
    std::pair{SessionState::failed, std::string_view("failed")},
    std::pair{SessionState::destroyed, std::string_view("destroyed")},
    std::pair{SessionState::expired, std::string_view("expired")},
};

} // namespace

std::string_view state_name(SessionState state) {
    for (const auto& [value, name] : k_names) {
        if (value == state) return name;
    }
    throw Error(ErrorCode::internal, "session state without a name");
}

SessionState state_from_name(std::string_view name) {
    for (const auto& [value, known] : k_names) {
        if (known == name) return value;
    }
    throw Error(ErrorCode::internal, "unknown session state \"" + std::string(name) + "\"");
}

} // namespace sandbox::state
