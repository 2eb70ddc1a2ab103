// SPDX-License-Identifier: Apache-2.0
#include "app/capabilities.hpp"

#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace sandbox::app {
namespace {

// By number, as in linux/capability.h.
constexpr std::array<std::string_view, 41> k_names{
    "CHOWN",         "DAC_OVERRIDE",     "DAC_READ_SEARCH", "FOWNER",    "FSETID",     "KILL",       "SETGID",
    "SETUID",        "SETPCAP",          "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW",
    "IPC_LOCK",      "IPC_OWNER",        "SYS_MODULE",      "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT",
    "SYS_ADMIN",     "SYS_BOOT",         "SYS_NICE",        "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD",
    "LEASE",         "AUDIT_WRITE",      "AUDIT_CONTROL",   "SETFCAP",   "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG",
    "WAKE_ALARM",    "BLOCK_SUSPEND",    "AUDIT_READ",      "PERFMON",   "BPF",        "CHECKPOINT_RESTORE"};

constexpr std::uint64_t k_all = (1ULL << k_names.size()) - 1;

std::uint64_t bits_of(std::string_view name) {
    std::string plain(name);
    std::ranges::transform(plain, plain.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (plain == "ALL") return k_all;
    if (plain.starts_with("CAP_")) plain.erase(0, 4);
    const auto found = std::ranges::find(k_names, plain);
    return found == k_names.end() ? 0 : 1ULL << (found - k_names.begin());
}

std::uint64_t bits_of(const std::vector<std::string>& names) {
    std::uint64_t bits = 0;
    for (const auto& name : names) bits |= bits_of(name);
    return bits;
}

// What docker gives a container that asks for nothing.
std::uint64_t default_set() {
    return bits_of({"CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP",
                    "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE"});
}

} // namespace

CapabilitySet capabilities_of(const std::vector<std::string>& drop, const std::vector<std::string>& add) {
    const std::uint64_t added = bits_of(add);
    return {(default_set() & ~bits_of(drop)) | added, added};
}

std::string capability_names(std::uint64_t bits) {
    if (bits == 0) return "none";
    if ((bits & k_all) == k_all) return "all";
    std::vector<std::string> names;
    for (std::size_t i = 0; i < k_names.size(); ++i) {
        if ((bits >> i & 1) != 0) names.emplace_back(k_names[i]);
    }
    for (std::size_t i = k_names.size(); i < 64; ++i) {
        if ((bits >> i & 1) != 0) names.push_back(std::to_string(i));
    }
    return join(names, ",");
}

} // namespace sandbox::app
