// SPDX-License-Identifier: Apache-2.0
// What both sides say to each other around a tree's records. put_tree and get_tree open with `put` and `get`; put_entries
// has nothing to say before its records. Whoever receives the tree ends it with `done`, or the agent with `failure`.
//
//   connection.write(encode(PutMessage{.target = "/workspace/in", .source_name = "data"}));
#pragma once

#include "agent/wire.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::agent {

// Longer paths cannot be said; PATH_MAX is 4096.
inline constexpr std::size_t k_max_path_field = 64 << 10;
inline constexpr std::size_t k_max_failure_text = 4 << 10;

struct PutMessage {
    std::string target;
    std::string source_name;
    bool must_be_directory = false;
    bool make_parents = false;
    std::optional<std::uint64_t> max_file;
    // Records in any order, into a directory that must be there unless make_parents. Since k_rich_trees_version.
    bool is_archive = false;
};
std::string encode(const PutMessage& message);
PutMessage decode_put(std::string_view payload);

struct GetMessage {
    std::string source;
    std::optional<std::uint64_t> max_file;
    bool follow_link = false; // said only when set: an agent from before there was one serves all else
};
std::string encode(const GetMessage& message);
GetMessage decode_get(std::string_view payload);

// The names in one directory that begin with `prefix`, in no order, at most k_max_names: all fit in one frame.
inline constexpr std::size_t k_max_name = 255; // NAME_MAX
inline constexpr std::size_t k_max_names = 4000;
static_assert(k_max_names * (k_max_name + 5) + 8 < k_max_frame);
struct ListMessage {
    std::string directory; // as in a copy; empty: the workdir
    std::string prefix;
};
std::string encode(const ListMessage& message);
ListMessage decode_list(std::string_view payload);

struct ListedName {
    std::string name;
    bool is_directory = false;
};
struct NamesMessage {
    std::vector<ListedName> names;
};
std::string encode(const NamesMessage& message);
NamesMessage decode_names(std::string_view payload);

// What an inventory of the workdir is to hold. Whatever it is not to hold costs no look at it either.
inline constexpr std::size_t k_max_survey_paths = 1000;
inline constexpr std::size_t k_max_survey_hashes = 32 << 10;
struct SurveyMessage {
    std::vector<std::string> paths; // relative to the workdir: these and what is below them (and above); none: all
    bool repositories = false;      // go into .git as well
    // Content of files up to `max_content` bytes (0: none) whose ctime is not before `since_ns`, as long as `max_files` and `max_total`
    // last: the bytes of texts where `texts` is set, a digest else. With `only_hashed` of those alone whose path's hash is here.
    std::uint32_t max_content = 0;
    bool texts = false;
    std::int64_t since_ns = INT64_MIN;
    std::uint64_t max_files = UINT64_MAX;
    std::uint64_t max_total = UINT64_MAX;
    bool only_hashed = false;
    std::vector<std::uint64_t> hashes;
    // limit_exceeded after so many entries, or so long.
    std::uint64_t max_entries = UINT64_MAX;
    std::uint32_t max_ms = UINT32_MAX;
};
std::string encode(const SurveyMessage& message);
SurveyMessage decode_survey(std::string_view payload);

struct DoneMessage {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    std::uint64_t skipped = 0;
};
std::string encode(const DoneMessage& message);
DoneMessage decode_done(std::string_view payload);

} // namespace sandbox::agent
