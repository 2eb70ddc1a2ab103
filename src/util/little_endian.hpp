// SPDX-License-Identifier: Apache-2.0
// Unsigned numbers as bytes, the least significant first, whatever the machine's own order is.
//
//   char* end = put_little_endian(to, std::uint32_t{7});
#pragma once

#include <cstddef>

namespace sandbox {

// Writes sizeof(T) bytes; returns what follows them.
template <typename T> char* put_little_endian(char* to, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) *to++ = static_cast<char>(value >> (8 * i) & 255);
    return to;
}

// Reads sizeof(T) bytes and moves on past them.
template <typename T> T get_little_endian(const char*& from) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value = static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(*from++)) << (8 * i));
    }
    return value;
}

} // namespace sandbox
