// SPDX-License-Identifier: Apache-2.0
// Where a path of a client leads, as an entry of an open directory, so that what is done to it is done to nothing else.
//
//   const Place place = find_place(location, Links::followed); ::unlinkat(place.directory.get(), place.name.c_str(), 0);
#pragma once

#include "agent/files_location.hpp"
#include "util/fd.hpp"

#include <optional>
#include <string>
#include <sys/stat.h>

namespace sandbox::agent {

struct Place {
    Fd directory; // O_PATH
    std::string name;
    std::optional<struct stat> there; // what is of that name; a link only where links are not followed
};

enum class Links { followed, taken };
// With `taken` a link at the end is the entry itself. Else it is followed as far as the path itself may lead, also to where nothing is yet.
// `make_parents` makes the directories on the way. Throws Error: conflict where the path names no entry of its own ("", "/", ".."), not_found
// where a directory on the way is missing, denied where it leads out of the workdir.
Place find_place(const Location& location, Links links, bool make_parents = false);

// Says of a file what it is, where that is not what was expected: "a directory", "a named pipe".
std::string_view kind_of_file(mode_t mode);

} // namespace sandbox::agent
