// SPDX-License-Identifier: Apache-2.0
// What may stand at the end of an unfinished line: the answer that the scripts in completions/ get from
//
//   sandbox __complete -- WORD...
//
// WORDs are those after the program's name, without their quotes; the last one reaches up to the cursor and may be
// empty. The answer is one line for each candidate, and status 0, whatever there is to say:
//
//   VALUE<TAB>DESCRIPTION    replaces the last word. Only what begins like it is listed. A value that ends in ':', '='
//                            or '/' goes on: no space follows it. The description may be missing, with its tab.
//   :files<TAB>BEFORE        the host's files may stand there too, after the text BEFORE in the same word; the shell
//   :directories<TAB>BEFORE  knows best how to list and quote them. No value begins with a colon.
//
// Values and descriptions hold no control characters; values may hold whatever else a file can be called, and must be
// quoted. Nothing is changed, no idle time is renewed, nothing is printed to stderr, and it is over within two seconds.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sandbox::cli {

struct Candidate {
    std::string value;
    std::string description;
};

struct Completion {
    enum class Files { none, directories, all };
    std::vector<Candidate> candidates;
    Files files = Files::none;
    std::string before; // what stands in front of a file in the word
};

Completion complete(const std::vector<std::string>& words);
std::string completion_text(const Completion& completion);

} // namespace sandbox::cli
