// SPDX-License-Identifier: Apache-2.0
// What a session's workspace held when the session was made, kept in its directory on the host: the metadata of everything, and what was in
// small files as far as that costs little.
//
//   record_baseline(link, directory); ... Baseline baseline(directory); while (const auto entry = baseline.next()) ...
#pragma once

#include "channel/survey.hpp"
#include "util/inventory.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sandbox::app {

// Larger files are told by their metadata alone, and no patch is made of them.
inline constexpr std::uint32_t k_max_kept_file = 256 << 10;

// Never fails a creation for its own sake: where it can't be had, or takes too long, the file says so. Throws session_unreachable and
// interrupted.
void record_baseline(const channel::Link& link, const std::string& session_directory);

class Baseline {
  public:
    // Throws failed when there is none, saying why.
    explicit Baseline(const std::string& session_directory);
    // In order. Throws protocol_error when the file is damaged.
    std::optional<InventoryEntry> next();
    // Nothing in it was changed later than this, and what was changed at this very tick of the kernel's clock may have been again.
    std::int64_t since_ns() const { return m_since_ns; }

  private:
    std::optional<InventoryReader> m_reader;
    std::int64_t m_since_ns = INT64_MIN;
    std::uint64_t m_left = 0;
};

} // namespace sandbox::app
