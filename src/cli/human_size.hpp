// SPDX-License-Identifier: Apache-2.0
// A size as people read it, rounded.
//
//   human_size(1536) == "1.5 KiB"
#pragma once

#include <string>

namespace sandbox::cli {

std::string human_size(double bytes);

} // namespace sandbox::cli
