// SPDX-License-Identifier: Apache-2.0
// The 512-byte header in front of every member of a tar archive (POSIX.1-1988, "ustar", with GNU's base-256 numbers), and the
// records of pax headers (POSIX.1-2001), for which see pax(1) and tar(5).
//
//   TarHeader header{}; put_tar_number(header.size, 42); put_tar_checksum(header);
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sandbox {

inline constexpr std::size_t k_tar_block = 512;

struct TarHeader {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6]; // "ustar\0" of POSIX, "ustar " of old GNU archives, whose rest of the header differs
    char version[2];
    char user[32];
    char group[32];
    char device_major[8];
    char device_minor[8];
    char prefix[155];
    char padding[12];
};
static_assert(sizeof(TarHeader) == k_tar_block);

// A text field, which ends at its first NUL or is full.
template <std::size_t N> std::string_view tar_text(const char (&field)[N]) { return {field, ::strnlen(field, N)}; }

// Octal, or GNU's base 256, which may be negative. Absent when it is neither, or needs more than 64 bits.
std::optional<std::int64_t> tar_number(std::string_view field);
// Octal with a closing NUL; base 256 for what does not fit.
void put_tar_number(std::span<char> field, std::uint64_t value);

void put_tar_checksum(TarHeader& header);
bool has_right_checksum(const TarHeader& header);

// How many bytes follow `size` bytes of content up to the next block.
inline std::size_t tar_padding(std::uint64_t size) { return (k_tar_block - size % k_tar_block) % k_tar_block; }

// "LENGTH KEY=VALUE\n", the length counting itself.
std::string pax_record(std::string_view key, std::string_view value);
// Calls `each` in order. False when the text is not records from its start to its end.
bool for_each_pax_record(std::string_view text, const std::function<void(std::string_view key, std::string_view value)>& each);

} // namespace sandbox
