// SPDX-License-Identifier: Apache-2.0
// Images without a registry: a root file system from a file, or made from this system's packages.
//
//   bootstrap_busybox(context, "sandbox/base:latest");
#pragma once

#include "app/context.hpp"

#include <string>
#include <vector>

namespace sandbox::app {

inline constexpr const char* k_base_image = "sandbox/base:latest";

// A root file system as tar (plain, gzip, xz, zstd or bzip2, as the engine takes it) under a tag; "-" is standard input. Returns the id.
std::string import_image(Context& context, const std::string& file, const std::string& tag);
// BusyBox and its applets, from the system's statically linked busybox.
std::string bootstrap_busybox(Context& context, const std::string& tag);
// A minimal Debian through mmdebstrap, with these packages on top.
std::string bootstrap_debian(Context& context, const std::string& tag, const std::string& suite,
                             const std::vector<std::string>& packages);

} // namespace sandbox::app
