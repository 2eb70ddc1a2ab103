// SPDX-License-Identifier: Apache-2.0
// A tar archive on the host, plain or compressed (gzip, zstd), told by its first bytes and not by its name.
//
//   ArchiveFile archive("vendor.tar.zst"); while (const std::size_t count = archive.read(buffer)) ...
#pragma once

#include "util/fd.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace sandbox::app {

class Decompressor;

class ArchiveFile {
  public:
    // Throws Error: it cannot be opened, is no regular file, or is of a format that is not read.
    explicit ArchiveFile(const std::string& path);
    ~ArchiveFile();
    // The next bytes of the tar; 0 at its end. Throws Error when the compressed file is damaged or cut.
    std::size_t read(std::span<char> buffer);

  private:
    void fill();
    std::string m_path;
    Fd m_file;
    std::unique_ptr<Decompressor> m_decompressor; // null: it is plain
    std::string m_input;
    std::size_t m_used = 0;
};

} // namespace sandbox::app
