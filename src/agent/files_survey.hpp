// SPDX-License-Identifier: Apache-2.0
// Takes the inventory of a directory: every entry below it in the order of the paths' bytes, told by its metadata alone wherever no
// content is asked for. Follows no link and changes nothing.
//
//   const TreeCounts counts = take_inventory(std::move(directory), message, encoder);
#pragma once

#include "agent/files_messages.hpp"
#include "util/fd.hpp"
#include "util/tree_record.hpp"

namespace sandbox::agent {

// A directory that this user cannot read is an entry that says so. Throws Error (limit_exceeded as the message asks).
TreeCounts take_inventory(Fd directory, const SurveyMessage& message, TreeEncoder& out);

} // namespace sandbox::agent
