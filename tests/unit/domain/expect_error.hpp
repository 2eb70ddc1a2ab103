// SPDX-License-Identifier: Apache-2.0
// What a call throws, as a value that a check can look into.
#pragma once

#include "util/error.hpp"

#include <string>

namespace sandbox::tests {

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// The Error of `call`; one with the message "nothing was thrown" when there was none.
template <typename Call> Error error_of(Call call) {
    try {
        call();
    } catch (const Error& failure) {
        return failure;
    }
    return Error(ErrorCode::internal, "nothing was thrown");
}

} // namespace sandbox::tests
