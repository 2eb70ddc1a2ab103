// SPDX-License-Identifier: Apache-2.0
// The inventory of a session's workdir (util/inventory.hpp): what is in it now, told by metadata, and by content where that is asked for.
//
//   survey(link, {.paths = {"src"}}, [&](InventoryEntry& entry) { finder.take(entry); });
#pragma once

#include "channel/agent_client.hpp"
#include "util/inventory.hpp"

namespace sandbox::channel {

// What an inventory of the workdir is to hold. Repositories' own files never come with content.
struct SurveyOptions {
    std::vector<std::string> paths; // relative to the workdir: these and what is above and below them; none: all
    bool repositories = false;      // .git as well
    struct Content {
        std::uint32_t max_size = 0;       // of one file; 0: none
        bool texts = false;               // the bytes of texts, and digests of other files; otherwise digests only
        std::int64_t since_ns = INT64_MIN; // of files whose ctime is not before
        std::uint64_t max_files = UINT64_MAX;
        std::uint64_t max_total = UINT64_MAX;
        std::optional<std::vector<std::uint64_t>> only; // of those alone whose path has one of these hashes (path_hash)
    } content{};
    std::uint64_t max_entries = UINT64_MAX;
    Milliseconds max_time{UINT32_MAX};
};
inline constexpr std::size_t k_max_survey_paths = 1000;    // `paths`
inline constexpr std::size_t k_max_survey_content = 32'000; // `content.only`
// Calls `each` with the entries in order. Looking: never counts as activity. Throws session_unreachable; failed for an agent of before
// there were inventories; limit_exceeded past max_entries or max_time, of which the agent's word is not relied on.
void survey(const Link& link, const SurveyOptions& options, const std::function<void(InventoryEntry&)>& each);

} // namespace sandbox::channel
