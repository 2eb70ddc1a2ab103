// SPDX-License-Identifier: Apache-2.0
// Sets of capabilities(7) as bits, from the lists that manifests and engines have and from what the kernel prints.
//
//   const auto set = capabilities_of({"ALL"}, {"NET_RAW"});   // allowed: NET_RAW alone
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sandbox::app {

struct CapabilitySet {
    std::uint64_t allowed = 0;
    std::uint64_t named = 0; // those of `allowed` that were added by name
};
// docker's reading: its default set, less what is dropped, and what is added. Names with or without CAP_, in any case; one that
// this version does not know adds nothing.
CapabilitySet capabilities_of(const std::vector<std::string>& drop, const std::vector<std::string>& add);
// Comma-separated, without CAP_; "none" and "all" for the ends.
std::string capability_names(std::uint64_t bits);

} // namespace sandbox::app
