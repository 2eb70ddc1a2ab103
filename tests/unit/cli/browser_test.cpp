// SPDX-License-Identifier: Apache-2.0
#include "cli/browser.hpp"

#include <doctest/doctest.h>

using namespace sandbox::cli;

TEST_CASE("$BROWSER is a list of commands, in which %s is the address") {
    using Commands = std::vector<std::vector<std::string>>;
    const std::string url = "http://127.0.0.1:1/?t=%s";
    CHECK(browser_commands("", url) == Commands{{"xdg-open", url}});
    CHECK(browser_commands(": :", url) == Commands{{"xdg-open", url}});
    CHECK(browser_commands("firefox", url) == Commands{{"firefox", url}, {"xdg-open", url}});
    CHECK(browser_commands("firefox -P other --url=%s:w3m  %s:lynx", url) ==
          Commands{{"firefox", "-P", "other", "--url=" + url}, {"w3m", url}, {"lynx", url}, {"xdg-open", url}});
    CHECK(browser_commands("b %s%s", url) == Commands{{"b", url + url}, {"xdg-open", url}});
}
