// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"

#include "util/error.hpp"
#include "util/tar_header.hpp"

#include <cstring>

namespace sandbox::engine {

std::string tar_of(std::string_view name, std::string_view content, std::uint32_t mode, std::uint32_t uid,
                   std::uint32_t gid, bool directory) {
    std::string path(name);
    if (directory && !path.ends_with('/')) path += '/';
    TarHeader header{};
    if (path.empty() || path.size() > sizeof header.name) {
        throw Error(ErrorCode::internal, "a name of " + std::to_string(path.size()) + " bytes for a small archive");
    }
    std::memcpy(header.name, path.data(), path.size());
    put_tar_number(header.mode, mode & 07777);
    put_tar_number(header.uid, uid);
    put_tar_number(header.gid, gid);
    put_tar_number(header.size, content.size());
    put_tar_number(header.mtime, 0);
    header.type = directory ? '5' : '0';
    std::memcpy(header.magic, "ustar", sizeof header.magic);
    std::memcpy(header.version, "00", sizeof header.version);
    put_tar_checksum(header);

    std::string archive(k_tar_block, '\0');
    std::memcpy(archive.data(), &header, k_tar_block);
    archive += content;
    archive.append(tar_padding(content.size()), '\0');
    archive.append(2 * k_tar_block, '\0'); // end of archive
    return archive;
}

} // namespace sandbox::engine
