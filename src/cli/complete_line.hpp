// SPDX-License-Identifier: Apache-2.0
// Where the cursor stands in a line that is still being typed. Pure, and forgiving: what is wrong in front of the cursor
// is the parser's to say, and completion's to be silent about.
//
//   const Place place = find_place({"exec", "--timeout", ""});   // a value, after its option
#pragma once

#include "cli/command.hpp"

#include <map>
#include <string>
#include <vector>

namespace sandbox::cli {

struct Place {
    enum class Kind { nothing, verb, option, value };
    Kind kind = Kind::nothing;
    std::string word;   // what is typed of it so far
    std::string before; // what stands in front of it in the same word: "--file="
    Completer completer = Completer::nothing; // of a value
    std::string value;                        // what a value is called in help
    std::string group;                        // verb: the words of it that are there: "workspace"
    const Command* command = nullptr;         // null: the verb is not complete
    std::vector<Option> options;              // what may be given
    std::map<std::string, std::vector<std::string>> given;
    std::vector<std::string> arguments;
};

// `words` as they stand after the program's name, the last one up to the cursor, which may be empty.
Place find_place(const std::vector<std::string>& words);

} // namespace sandbox::cli
