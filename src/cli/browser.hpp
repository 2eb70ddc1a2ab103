// SPDX-License-Identifier: Apache-2.0
// Which commands open a page in a person's browser, as xdg-open and others read $BROWSER.
//
//   for (const auto& command : browser_commands(environment("BROWSER"), url)) ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sandbox::cli {

// In the order in which they are tried. `setting` is a list of commands between colons; "%s" in one stands for the address, which else follows it.
// xdg-open where there are none.
std::vector<std::vector<std::string>> browser_commands(std::string_view setting, const std::string& url);

// Starts the first of them that can be started, with no streams and no terminal of ours, and says so on stderr where none can.
void open_browser(const std::string& url);

} // namespace sandbox::cli
