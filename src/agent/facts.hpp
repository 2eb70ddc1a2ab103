// SPDX-License-Identifier: Apache-2.0
// What the kernel says of the container: the few files that tell what holds in it, on any image, for `inspect --effective`
// and `doctor`. Started by an engine exec; it reads, prints and ends.
//
//   if (verb == "facts") return run_facts();
#pragma once

namespace sandbox::agent {

// For each file that is there "PATH SIZE\n", its bytes and a newline, to standard output. Returns the exit status.
int run_facts();

} // namespace sandbox::agent
