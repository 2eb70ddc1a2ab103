// SPDX-License-Identifier: Apache-2.0
// The JSON documents of the file tools.
//
//   print_out(list_document({location, list}));
#pragma once

#include "app/files.hpp"
#include "util/error.hpp"

#include <string>
#include <utility>
#include <vector>

namespace sandbox::cli {

struct ListedFiles {
    app::Location place;
    channel::FileList list;
};
// What was named, as it was named, and why it failed.
using FailedPlaces = std::vector<std::pair<std::string, Error>>;

std::string list_document(const ListedFiles& listed);
// Of several places.
std::string lists_document(const std::vector<ListedFiles>& all, const FailedPlaces& failures);
std::string page_document(const app::Location& place, const channel::FileText& text);
std::string written_document(const app::Location& place, const channel::WrittenFile& written);
std::string made_directories_document(const std::vector<std::string>& made, const std::vector<std::string>& existing, const FailedPlaces& failures);
std::string removed_files_document(const std::vector<std::string>& removed, const std::vector<std::string>& missing, std::uint64_t entries,
                                   const FailedPlaces& failures);

// "2026-01-31T12:00:00.123456789Z"
std::string rfc3339_of_ns(std::int64_t ns);

} // namespace sandbox::cli
