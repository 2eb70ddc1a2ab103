// SPDX-License-Identifier: Apache-2.0
// The whole program as a function: words in, exit status out. The one place where errors are caught and shown.
//
//   int main(int argc, char** argv) { return sandbox::cli::run({argv + 1, argv + argc}); }
#pragma once

#include <string>
#include <vector>

namespace sandbox::cli {

int run(const std::vector<std::string>& line);

} // namespace sandbox::cli
