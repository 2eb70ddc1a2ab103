// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"

#include "util/error.hpp"

#include <cstring>

namespace sandbox::engine {
namespace {

constexpr std::size_t k_block = 512;

// The header of POSIX.1-1988 (ustar); every field is text.
struct UstarHeader {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6];
    char version[2];
    char user[32];
    char group[32];
    char device_major[8];
    char device_minor[8];
    char prefix[155];
    char padding[12];
};
static_assert(sizeof(UstarHeader) == k_block);

// Octal with a closing NUL; GNU's base 256 for what does not fit, which every engine's reader knows.
template <std::size_t N> void put_number(char (&field)[N], std::uint64_t value) {
    std::uint64_t rest = value;
    field[N - 1] = '\0';
    for (std::size_t i = N - 1; i-- > 0; rest >>= 3) field[i] = static_cast<char>('0' + (rest & 7));
    if (rest == 0) return;
    for (std::size_t i = N; i-- > 0; value >>= 8) field[i] = static_cast<char>(value & 0xFF);
    field[0] = static_cast<char>(0x80);
}

void put_checksum(UstarHeader& header) {
    std::memset(header.checksum, ' ', sizeof header.checksum);
    unsigned char bytes[k_block];
    std::memcpy(bytes, &header, k_block);
    std::uint64_t sum = 0;
    for (const unsigned char byte : bytes) sum += byte;
    char digits[7];
    put_number(digits, sum);
    std::memcpy(header.checksum, digits, sizeof digits);
}

} // namespace

std::string tar_of(std::string_view name, std::string_view content, std::uint32_t mode, std::uint32_t uid,
                   std::uint32_t gid, bool directory) {
    std::string path(name);
    if (directory && !path.ends_with('/')) path += '/';
    UstarHeader header{};
    if (path.empty() || path.size() > sizeof header.name) {
        throw Error(ErrorCode::internal, "a name of " + std::to_string(path.size()) + " bytes for a small archive");
    }
    std::memcpy(header.name, path.data(), path.size());
    put_number(header.mode, mode & 07777);
    put_number(header.uid, uid);
    put_number(header.gid, gid);
    put_number(header.size, content.size());
    put_number(header.mtime, 0);
    header.type = directory ? '5' : '0';
    std::memcpy(header.magic, "ustar", sizeof header.magic);
    std::memcpy(header.version, "00", sizeof header.version);
    put_checksum(header);

    std::string archive(k_block, '\0');
    std::memcpy(archive.data(), &header, k_block);
    archive += content;
    archive.append((k_block - content.size() % k_block) % k_block, '\0');
    archive.append(2 * k_block, '\0'); // end of archive
    return archive;
}

} // namespace sandbox::engine
