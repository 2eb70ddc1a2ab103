// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), small enough for every layer: digests of manifests and of the names made from them. Bulk data
// goes through libcrypto, which uses the CPU's own instructions.
//
//   sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#pragma once

#include <string>
#include <string_view>

namespace sandbox {

// 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

} // namespace sandbox
