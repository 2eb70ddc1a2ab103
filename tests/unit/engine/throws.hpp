// SPDX-License-Identifier: Apache-2.0
// The Error that a call throws, to look at its code, message and hint.
//
//   CHECK(error_of([&] { client.id(); }).code() == ErrorCode::engine_unreachable);
#pragma once

#include "util/error.hpp"

namespace sandbox::engine {

template <typename Call> Error error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    return Error(ErrorCode::internal, "nothing was thrown");
}

inline bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

} // namespace sandbox::engine
