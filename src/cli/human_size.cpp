// SPDX-License-Identifier: Apache-2.0
#include "cli/human_size.hpp"

#include <array>
#include <cstdio>

namespace sandbox::cli {

std::string human_size(double bytes) {
    constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
    char text[32];
    std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units.at(unit));
    return text;
}

} // namespace sandbox::cli
