// SPDX-License-Identifier: Apache-2.0
// The kernel's count of processes that it killed for want of memory in this container's cgroup, v1 or v2.
//
//   OomCounter counter;
//   const auto before = counter.read();
#pragma once

#include "util/fd.hpp"

#include <cstdint>

namespace sandbox::agent {

class OomCounter {
  public:
    OomCounter();
    // 0 where the container has no memory cgroup of its own to look at.
    std::uint64_t read() const;
    int fd() const { return m_file.get(); }

  private:
    Fd m_file;
};

} // namespace sandbox::agent
