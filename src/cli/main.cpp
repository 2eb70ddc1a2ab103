// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

int main(int argc, char** argv) { return sandbox::cli::run({argv + 1, argv + argc}); }
