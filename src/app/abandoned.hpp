// SPDX-License-Identifier: Apache-2.0
// Why a session ended whose process (run, with) was killed (presence.hpp).
#pragma once

#include <string_view>

namespace sandbox::app {

inline constexpr std::string_view k_abandoned = "the sandbox that it was made for was killed";

} // namespace sandbox::app
