// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal_text.hpp"

#include <doctest/doctest.h>

using sandbox::cli::TerminalText;

TEST_CASE("lines and tabs stay, and what a terminal would obey is shown") {
    TerminalText text;
    CHECK(text.add("a\tb\n\033[31m\r\n") == "a\tb\n\\x1b[31m\\r\n");
    CHECK(text.finish() == "");
}

TEST_CASE("a character that is cut between two pieces is one") {
    const std::string whole = "x\303\251\342\202\254\360\237\230\200y";
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
        CAPTURE(cut);
        TerminalText text;
        std::string shown = text.add(whole.substr(0, cut));
        shown += text.add(whole.substr(cut));
        CHECK(shown + text.finish() == whole);
    }
    TerminalText text;
    CHECK(text.add("x\303") == "x");
    CHECK(text.finish() == "\357\277\275");
}
