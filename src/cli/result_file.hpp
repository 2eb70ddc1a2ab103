// SPDX-License-Identifier: Apache-2.0
// Where --result goes: a regular file appears whole or not at all, and a device, a pipe or a descriptor is written to
// as it is.
//
//   ResultFile file(path);   // before the work
//   file.write(document);    // after it
#pragma once

#include "util/fd.hpp"
#include "util/fs.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace sandbox::cli {

class ResultFile {
  public:
    // Throws an errno error when it cannot be written to.
    explicit ResultFile(const std::string& path);
    // Throws Error, which names it.
    void write(std::string_view document);

  private:
    std::string m_what; // "--result FILE"
    std::optional<AtomicFile> m_file;
    Fd m_stream;
};

} // namespace sandbox::cli
