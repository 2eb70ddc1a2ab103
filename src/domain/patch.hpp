// SPDX-License-Identifier: Apache-2.0
// One change as a patch in git's form, which `git apply` and `patch -p1` take. What no patch can say, or for which content is missing, is
// one line between the patches that both skip.
//
//   std::cout << patch_of(change).text;
#pragma once

#include "domain/changes.hpp"

#include <string>
#include <string_view>

namespace sandbox::domain {

struct Patch {
    std::string text;      // empty: a patch does not hold such a thing (a directory)
    bool is_whole = true;  // false: some of it is only told, by a line
    std::uint64_t bytes = 0; // of the files' contents in it
};
// Contents are the texts in the change's entries; one that came as a digest is a binary file.
Patch patch_of(const Change& change);

// A path as git writes it: in double quotes and with escapes where there is anything that a line or a terminal could not hold.
std::string quoted_path(std::string_view prefix, std::string_view path);

} // namespace sandbox::domain
