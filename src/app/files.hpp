// SPDX-License-Identifier: Apache-2.0
// Single files of a running session, for scripts and for tools: list, read by pages, write, make, remove. Paths are those of cp.
//
//   const auto list = list_files(context, parse_location("job-981:output"), {});
//   const auto text = read_text(context, parse_location("job-981:output/report.md"), {});
#pragma once

#include "app/context.hpp"
#include "app/copy.hpp"
#include "channel/files.hpp"

#include <map>
#include <string>
#include <vector>

namespace sandbox::app {

// PATH in each of the owner's sessions that has all of these labels, by their names where they have one.
std::vector<Location> in_selected_sessions(Context& context, const std::map<std::string, std::string>& labels, const std::vector<std::string>& paths);

// Each throws what its part of channel/files.hpp throws, usage for a place that is in no session, session_gone for a session that does not run,
// and takes the path from `place`, not from the options.
channel::FileList list_files(Context& context, const Location& place, channel::ListFilesOptions options);
bool make_directory(Context& context, const Location& place, channel::MakeDirectoryOptions options);
std::uint64_t remove_file(Context& context, const Location& place, channel::RemoveFileOptions options);

// Whatever comes of the file passes export.scan first: then all of it is fetched, to $TMPDIR, also for a page. limits.maxFile bounds the page,
// and refuses a larger file where all of it is wanted.
channel::FilePage read_file(Context& context, const Location& place, const PageWanted& wanted, const channel::FileSink& write);
// The same into memory: limits.maxOutput bytes where `wanted.max_bytes` does not say how many.
channel::FileText read_text(Context& context, const Location& place, PageWanted wanted);

// What comes from `fd` up to its end. limits.maxFile holds where the options say nothing of it.
channel::WrittenFile write_file(Context& context, const Location& place, int fd, channel::WriteFileOptions options);
channel::WrittenFile write_file(Context& context, const Location& place, std::string_view content, channel::WriteFileOptions options);

} // namespace sandbox::app
