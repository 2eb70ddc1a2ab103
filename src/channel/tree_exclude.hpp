// SPDX-License-Identifier: Apache-2.0
// Which entries of a host tree a list of patterns leaves out. A pattern without a slash matches names anywhere ("*.o",
// ".git"), one with a slash paths from the root ("build/*.log", "/dist"); a slash at its end means directories only, and
// "**" crosses slashes.
//
//   options.exclude = exclude_matcher({".git", "node_modules/"});
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::channel {

// Empty (matching nothing) for no patterns.
std::function<bool(std::string_view path, bool is_directory)> exclude_matcher(const std::vector<std::string>& patterns);

} // namespace sandbox::channel
