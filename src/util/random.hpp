// SPDX-License-Identifier: Apache-2.0
// Randomness from the kernel, for ids and secrets.
//
//   const std::string id = random_hex(6);   // twelve hex digits
#pragma once

#include <cstddef>
#include <string>

namespace sandbox {

// `count` bytes from getrandom(2). Throws Error.
std::string random_bytes(std::size_t count);
// 2*count lower-case hex digits.
std::string random_hex(std::size_t count);

} // namespace sandbox
