// SPDX-License-Identifier: Apache-2.0
// Output that is given away only when all of it is there: a list that breaks off half-way, or half a patch, must look like neither.
//
//   Spool spool; spool.add(line); ... spool.print();
#pragma once

#include "util/fd.hpp"

#include <string>
#include <string_view>

namespace sandbox::cli {

// Up to a mebibyte in memory, more in a file without a name.
class Spool {
  public:
    void add(std::string_view text);
    // To standard output. Throws as print_out().
    void print();

  private:
    std::string m_text;
    Fd m_file;
};

} // namespace sandbox::cli
