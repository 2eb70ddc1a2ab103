// SPDX-License-Identifier: Apache-2.0
// Debian has fmt as a shared library only, and a static program can't use that: here it comes from the headers.
#define FMT_HEADER_ONLY 1
#include "util/format.hpp"

#include <fmt/format.h>

namespace sandbox {

std::string format_arguments(fmt::string_view format, fmt::format_args arguments) { return fmt::vformat(format, arguments); }

} // namespace sandbox
