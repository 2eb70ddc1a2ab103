// SPDX-License-Identifier: Apache-2.0
// One line on a terminal about how far a copy is, from the moment when somebody may wonder; erased at the end. On anything else than
// a terminal there is none.
//
//   ProgressLine progress(!call.quiet()); options.progress = [&](std::uint64_t bytes) { progress.add(bytes); };
#pragma once

#include <cstdint>

namespace sandbox::cli {

class ProgressLine {
  public:
    explicit ProgressLine(bool wanted);
    ProgressLine(const ProgressLine&) = delete;
    ~ProgressLine();
    void add(std::uint64_t bytes);

  private:
    bool m_enabled;
    bool m_is_shown = false;
    std::int64_t m_started;
    std::int64_t m_next; // when it is to be drawn again
    std::uint64_t m_bytes = 0;
};

} // namespace sandbox::cli
