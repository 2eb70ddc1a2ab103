// SPDX-License-Identifier: Apache-2.0
#include "app/inside.hpp"

#include "app/agent_volume.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <poll.h>
#include <span>

namespace sandbox::app {
namespace {

using Files = std::map<std::string, std::string, std::less<>>;

constexpr std::size_t k_most_printed = 2 << 20;
constexpr std::uint64_t k_no_v1_limit = 1ULL << 60; // v1 says "no limit" with a number near 2^63

template <typename Number> std::optional<Number> number_of(std::string_view text, int base = 10) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
    Number value{};
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    for (auto& word : split(line, ' ')) {
        for (auto& part : split(word, '\t')) {
            if (!part.empty()) words.push_back(std::move(part));
        }
    }
    return words;
}

std::optional<Files> take_apart(std::string_view printed) {
    Files files;
    while (!printed.empty()) {
        const auto line = printed.find('\n');
        const auto space = printed.substr(0, line).rfind(' ');
        if (line == std::string_view::npos || space == std::string_view::npos) return std::nullopt;
        const auto size = number_of<std::size_t>(printed.substr(space + 1, line - space - 1));
        if (!size || *size > printed.size() - line - 1) return std::nullopt;
        files.emplace(printed.substr(0, space), printed.substr(line + 1, *size));
        printed.remove_prefix(std::min(printed.size(), line + 1 + *size + 1));
    }
    return files;
}

const std::string* find(const Files& files, std::string_view path) {
    const auto found = files.find(path);
    return found == files.end() ? nullptr : &found->second;
}

// Lines "Name:\tvalues" of proc_pid_status(5).
void read_status(const std::string& status, Inside& inside) {
    for (const auto& line : split(status, '\n')) {
        const auto colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::string name = line.substr(0, colon);
        const auto values = words_of(line.substr(colon + 1));
        if (values.empty()) continue;
        if (name == "Uid" && values.size() > 1) inside.uid = number_of<std::uint32_t>(values[1]);
        if (name == "Gid" && values.size() > 1) inside.gid = number_of<std::uint32_t>(values[1]);
        if (name == "CapEff") inside.effective_caps = number_of<std::uint64_t>(values[0], 16);
        if (name == "CapBnd") inside.bounding_caps = number_of<std::uint64_t>(values[0], 16);
        if (name == "NoNewPrivs") inside.no_new_privileges = values[0] == "1";
        if (name == "Seccomp") inside.seccomp = number_of<int>(values[0]);
    }
}

// "size=62500k" among the options of a tmpfs.
std::optional<std::uint64_t> size_option(const std::string& options) {
    for (const auto& option : split(options, ',')) {
        if (!option.starts_with("size=") || !option.ends_with('k')) continue;
        if (const auto kib = number_of<std::uint64_t>(option.substr(5, option.size() - 6))) return *kib * 1024;
    }
    return std::nullopt;
}

// proc_pid_mountinfo(5): ID PARENT DEV ROOT TARGET OPTIONS [TAGS...] - TYPE SOURCE SUPER_OPTIONS
std::vector<InsideMount> mounts_in(const std::string& text) {
    std::vector<InsideMount> mounts;
    for (const auto& line : split(text, '\n')) {
        const auto words = words_of(line);
        const auto dash = std::ranges::find(words, "-");
        if (words.size() < 6 || dash == words.end() || words.end() - dash < 4) continue;
        const auto options = split(words[5], ',');
        InsideMount mount{words[4], dash[1], std::ranges::find(options, "ro") != options.end(), {}};
        if (mount.type == "tmpfs") mount.size = size_option(dash[3]);
        mounts.push_back(std::move(mount));
    }
    return mounts;
}

std::vector<std::string> interfaces_in(const std::string& text) {
    // Ends of tunnels that the kernel puts into every network namespace, down and without an address.
    constexpr std::array<std::string_view, 10> k_kernels{"lo",       "tunl0", "gre0",    "gretap0", "erspan0",
                                                         "ip_vti0", "ip6_vti0", "sit0", "ip6tnl0", "ip6gre0"};
    std::vector<std::string> found;
    for (const auto& line : split(text, '\n')) {
        const auto colon = line.find(':');
        if (colon == std::string::npos) continue;
        const auto words = words_of(line.substr(0, colon));
        if (words.size() == 1 && std::ranges::find(k_kernels, words[0]) == k_kernels.end()) found.push_back(words[0]);
    }
    return found;
}

// A number, or "max"; 0: no limit.
std::optional<std::uint64_t> limit_in(const std::string* text) {
    if (text == nullptr) return std::nullopt;
    if (text->starts_with("max")) return 0;
    const auto value = number_of<std::uint64_t>(*text);
    return value && *value >= k_no_v1_limit ? std::optional<std::uint64_t>(0) : value;
}

std::optional<double> cpus_in(const Files& files) {
    if (const auto* both = find(files, "/sys/fs/cgroup/cpu.max")) {
        const auto words = words_of(both->substr(0, both->find('\n')));
        if (words.size() == 2 && words[0] == "max") return 0;
        const auto quota = words.size() == 2 ? number_of<std::int64_t>(words[0]) : std::nullopt;
        const auto period = words.size() == 2 ? number_of<std::int64_t>(words[1]) : std::nullopt;
        if (!quota || !period || *period <= 0) return std::nullopt;
        return static_cast<double>(*quota) / static_cast<double>(*period);
    }
    const auto* quota_text = find(files, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    const auto* period_text = find(files, "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    const auto quota = quota_text ? number_of<std::int64_t>(*quota_text) : std::nullopt;
    const auto period = period_text ? number_of<std::int64_t>(*period_text) : std::nullopt;
    if (!quota || !period || *period <= 0) return std::nullopt;
    return *quota <= 0 ? 0 : static_cast<double>(*quota) / static_cast<double>(*period);
}

void read_limits(const Files& files, Inside& inside) {
    const auto either = [&](const char* v1, const char* v2) {
        const auto newer = limit_in(find(files, v2));
        return newer ? newer : limit_in(find(files, v1));
    };
    inside.memory = either("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max");
    inside.pids = either("/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids.max");
    inside.cpus = cpus_in(files);
    // v1 counts memory and swap together. A limit of 0 on v2 is "no swap", not "no limit".
    if (const auto* swap = find(files, "/sys/fs/cgroup/memory.swap.max")) {
        if (!swap->starts_with("max")) inside.swap = number_of<std::uint64_t>(*swap);
    } else if (const auto both = limit_in(find(files, "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes"))) {
        if (*both > 0 && inside.memory && *inside.memory > 0) inside.swap = *both - std::min(*both, *inside.memory);
    }
}

// By a client of its own, whose patience is the deadline's: the engine may be stuck at this one container.
std::string read_all(const engine::Endpoint& endpoint, std::string_view container, Milliseconds deadline) {
    const std::int64_t until = boot_now_ms() + deadline.count();
    engine::Client engine(endpoint, {.connect = deadline, .header = deadline, .slow_header = deadline});
    auto stream = engine.exec(container, {.argv = {k_agent_path, "facts"}, .user = {}, .workdir = "/", .env = {}}).stream;
    std::string printed;
    std::array<char, 65536> buffer;
    while (printed.size() < k_most_printed) {
        if (!stream->buffered()) {
            pollfd entry{stream->poll_fd(), POLLIN, 0};
            const auto left = until - boot_now_ms();
            if (left <= 0 || ::poll(&entry, 1, static_cast<int>(left)) == 0) return {};
        }
        const std::size_t count = stream->read(buffer);
        if (count == 0) return printed;
        printed.append(buffer.data(), count);
    }
    return {};
}

} // namespace

std::optional<Inside> parse_facts(std::string_view printed, Whose whose) {
    const auto files = take_apart(printed);
    if (!files || files->empty()) return std::nullopt;
    Inside inside;
    const auto* status = whose == Whose::first_process ? find(*files, "/proc/1/status") : nullptr;
    if (status == nullptr) status = find(*files, "/proc/self/status");
    if (status != nullptr) read_status(*status, inside);
    if (const auto* mounts = find(*files, "/proc/self/mountinfo")) inside.mounts = mounts_in(*mounts);
    if (const auto* devices = find(*files, "/proc/self/net/dev")) inside.interfaces = interfaces_in(*devices);
    read_limits(*files, inside);
    return inside;
}

std::optional<Inside> look_inside(engine::Client& engine, const engine::ContainerInfo& container, Milliseconds deadline) {
    if (!container.running || container.paused) return std::nullopt;
    const bool has_own_pids = std::ranges::find(container.settings.host_namespaces, "pid") == container.settings.host_namespaces.end();
    try {
        return parse_facts(read_all(engine.endpoint(), container.id, deadline), has_own_pids ? Whose::first_process : Whose::own);
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        return std::nullopt;
    }
}

} // namespace sandbox::app
