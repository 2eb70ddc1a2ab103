// SPDX-License-Identifier: Apache-2.0
#include "cli/browser.hpp"

#include "cli/output.hpp"
#include "util/environment.hpp"
#include "util/error.hpp"
#include "util/process.hpp"
#include "util/text.hpp"

namespace sandbox::cli {
namespace {

constexpr std::string_view k_address = "%s";

std::vector<std::string> with_address(const std::string& command, const std::string& url) {
    std::vector<std::string> words;
    bool has_address = false;
    for (std::string& word : split(command, ' ')) {
        if (word.empty()) continue;
        for (auto at = word.find(k_address); at != std::string::npos; at = word.find(k_address, at + url.size())) {
            word.replace(at, k_address.size(), url);
            has_address = true;
        }
        words.push_back(std::move(word));
    }
    if (!words.empty() && !has_address) words.push_back(url);
    return words;
}

} // namespace

std::vector<std::vector<std::string>> browser_commands(std::string_view setting, const std::string& url) {
    std::vector<std::vector<std::string>> commands;
    for (const std::string& one : split(setting, ':')) {
        if (auto words = with_address(one, url); !words.empty()) commands.push_back(std::move(words));
    }
    commands.push_back({"xdg-open", url});
    return commands;
}

// The browser may be the program that was started: it outlives the preview, so nobody waits for it.
void open_browser(const std::string& url) {
    std::string why;
    for (const auto& command : browser_commands(environment("BROWSER"), url)) {
        try {
            [[maybe_unused]] static Child* const browser = new Child(
                {.argv = command, .in = Stdio::null(), .out = Stdio::null(), .err = Stdio::null(), .group = ProcessGroup::session});
            return;
        } catch (const Error& error) {
            why = error.message();
        }
    }
    say("no browser was opened: " + why);
}

} // namespace sandbox::cli
