// SPDX-License-Identifier: Apache-2.0
// A tar archive of the host, plain or compressed (gzip, zstd), told by its first bytes and not by its name.
//
//   ArchiveReader archive(file.get(), "vendor.tar.zst"); while (const std::size_t count = archive.read(buffer)) ...
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sandbox::app {

class Decompressor;

class ArchiveReader {
  public:
    using Wait = std::function<void(int fd)>; // returns when the descriptor can be read, or throws

    // Reads `fd`, which stays the caller's, from where it is; `name` stands in errors. Nothing is read yet.
    ArchiveReader(int fd, std::string name);
    ~ArchiveReader();
    // Tells the format by the first bytes. Throws Error: failed for one that is not read, limit_exceeded for one that wants more
    // memory than it is given.
    void begin(const Wait& wait = {});
    // The next bytes of the tar; 0 at its end. Throws as begin() does, and where the compressed data is damaged or cut.
    std::size_t read(std::span<char> buffer, const Wait& wait = {});

  private:
    std::size_t fill(const Wait& wait);
    std::size_t step(std::span<char> buffer);
    int m_fd;
    std::string m_name;
    bool m_is_begun = false;
    std::unique_ptr<Decompressor> m_decompressor; // null: it is plain
    std::string m_buffer;
    std::string_view m_input; // what of the buffer is not used yet
};

} // namespace sandbox::app
