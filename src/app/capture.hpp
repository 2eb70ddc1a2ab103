// SPDX-License-Identifier: Apache-2.0
// Output kept for a JSON result: the first and the last half of a limit, whatever comes, and a count of what fell
// between them.
//
//   Capture capture(64 * 1000);
//   capture.add(bytes);
//   const CapturedText text = capture.text();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sandbox::app {

struct CapturedText {
    std::string text;           // valid UTF-8, or base64 when the bytes are not text
    bool is_base64 = false;
    std::uint64_t bytes = 0;    // produced
    std::uint64_t dropped = 0;  // left out; a line that says so stands in their place
    bool truncated() const { return dropped > 0; }
};

class Capture {
  public:
    explicit Capture(std::uint64_t limit);
    void add(std::string_view bytes);
    // Decoded after joining, so that a character cut at a chunk's border is whole again.
    CapturedText text() const;

  private:
    std::string joined_tail() const;

    std::size_t m_head_limit;
    std::size_t m_tail_limit;
    std::string m_head;
    std::string m_tail;           // a ring once it is full
    std::size_t m_tail_start = 0; // oldest byte of the ring
    std::uint64_t m_total = 0;
};

} // namespace sandbox::app
