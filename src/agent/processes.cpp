// SPDX-License-Identifier: Apache-2.0
#include "agent/processes.hpp"

#include "util/fd.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

constexpr int k_freeze_passes = 16;
constexpr std::int64_t k_give_up_ms = 5000;

// proc(5): pid (comm) state ppid ... with starttime as field 22. The name may hold spaces and parentheses, so what counts
// starts after the last one.
bool parse_stat(const char* text, Process& process) {
    const char* after_name = std::strrchr(text, ')');
    if (after_name == nullptr || after_name[1] != ' ') return false;
    process.state = after_name[2];
    char* at = nullptr;
    process.parent = static_cast<pid_t>(std::strtol(after_name + 3, &at, 10));
    for (int field = 5; field <= 21; ++field) std::strtoll(at, &at, 10);
    process.start = std::strtoull(at, nullptr, 10);
    return true;
}

bool read_process(int proc, const char* name, Process& process) {
    std::array<char, 32> path{};
    std::strncat(path.data(), name, 16);
    std::strcat(path.data(), "/stat");
    const Fd file(::openat(proc, path.data(), O_RDONLY | O_CLOEXEC));
    if (!file) return false;
    std::array<char, 1024> text{};
    if (::read(file.get(), text.data(), text.size() - 1) <= 0) return false;
    process.pid = static_cast<pid_t>(std::strtol(name, nullptr, 10));
    return parse_stat(text.data(), process);
}

bool contains(const std::vector<pid_t>& sorted, pid_t pid) { return std::binary_search(sorted.begin(), sorted.end(), pid); }

void nap(long milliseconds) {
    const timespec pause{0, milliseconds * 1'000'000};
    ::nanosleep(&pause, nullptr);
}

// Stops what can be stopped until a pass finds nothing that was not stopped before.
void freeze(const std::function<std::vector<Process>()>& targets) {
    std::vector<pid_t> stopped;
    for (int pass = 0; pass < k_freeze_passes; ++pass) {
        bool found_new = false;
        for (const Process& process : targets()) {
            if (!process.looks_alive() || contains(stopped, process.pid)) continue;
            found_new = true;
            send_signal(process, SIGSTOP);
            stopped.insert(std::upper_bound(stopped.begin(), stopped.end(), process.pid), process.pid);
        }
        if (!found_new) return;
    }
}

} // namespace

OwnChildren::OwnChildren() : m_file(::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC)) {}

std::optional<std::vector<pid_t>> OwnChildren::pids() const {
    std::vector<pid_t> pids;
    if (!m_file) {
        const std::vector<Process> all = list_processes();
        if (all.empty()) return std::nullopt; // this process itself would be there
        for (const Process& process : all) {
            if (process.parent == ::getpid()) pids.push_back(process.pid);
        }
        return pids;
    }
    std::string text;
    std::array<char, 4096> piece{};
    for (;;) {
        const ssize_t count = ::pread(m_file.get(), piece.data(), piece.size(), static_cast<off_t>(text.size()));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return std::nullopt;
        if (count == 0) break;
        text.append(piece.data(), static_cast<std::size_t>(count));
    }
    const char* at = text.c_str();
    for (char* end = nullptr;; at = end) {
        const long pid = std::strtol(at, &end, 10);
        if (end == at) return pids;
        pids.push_back(static_cast<pid_t>(pid));
    }
}

std::vector<Process> list_processes() {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
    std::vector<Process> processes;
    if (!directory) return processes;
    while (const dirent* entry = ::readdir(directory.get())) {
        Process process;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        if (read_process(::dirfd(directory.get()), entry->d_name, process)) processes.push_back(process);
    }
    return processes;
}

std::optional<Process> find_process(pid_t pid) {
    Process process;
    const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!proc || !read_process(proc.get(), std::to_string(pid).c_str(), process)) return std::nullopt;
    return process;
}

bool is_there(const Process& process) {
    const auto now = find_process(process.pid);
    return now && now->start == process.start;
}

std::vector<Process> descendants_of(pid_t root, const std::vector<Process>& all, const std::vector<pid_t>& spared) {
    std::vector<Process> found;
    std::vector<pid_t> parents{root};
    while (!parents.empty()) {
        const pid_t parent = parents.back();
        parents.pop_back();
        for (const Process& process : all) {
            if (process.parent != parent || std::find(spared.begin(), spared.end(), process.pid) != spared.end()) continue;
            found.push_back(process);
            parents.push_back(process.pid);
        }
    }
    return found;
}

std::vector<Process> descendants_of(pid_t root) { return descendants_of(root, list_processes()); }

bool send_signal(const Process& process, int signal) {
    const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
    if (!handle && errno == ENOSYS) return ::kill(process.pid, signal) == 0 || errno != EPERM;
    if (!handle) return errno != EPERM;
    // The descriptor holds whoever has the pid now; only the start time says whether that is still the one meant.
    if (!is_there(process)) return true;
    return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0 || errno != EPERM;
}

int end_all(const OwnChildren& children, const std::function<std::vector<pid_t>()>& spared, const std::function<void()>& reap) {
    freeze([&] { return descendants_of(::getpid(), list_processes(), spared()); });
    const std::int64_t give_up = boot_now_ms() + k_give_up_ms;
    for (long pause = 0;; pause = std::min(pause + 1, 20L)) {
        reap();
        const auto pids = children.pids();
        const std::vector<pid_t> kept = spared();
        int left = pids ? 0 : 1;
        int refused = 0;
        for (const pid_t pid : pids.value_or(std::vector<pid_t>{})) {
            if (std::find(kept.begin(), kept.end(), pid) != kept.end()) continue;
            ++left;
            // Not waited for yet, so the pid is nobody else's.
            if (::kill(pid, SIGKILL) != 0 && errno == EPERM) ++refused;
        }
        if ((pids && left == refused) || boot_now_ms() >= give_up) return left;
        if (pause > 0) nap(pause);
    }
}

void end_strangers(const std::function<std::vector<Process>()>& targets, const std::function<void()>& reap) {
    freeze(targets);
    const std::int64_t give_up = boot_now_ms() + k_give_up_ms;
    for (long pause = 1;; pause = std::min(pause * 2, 20L)) {
        int alive = 0;
        int refused = 0;
        for (const Process& process : targets()) {
            ++alive;
            if (!send_signal(process, SIGKILL)) ++refused;
        }
        reap();
        if (alive == refused || boot_now_ms() >= give_up) return;
        nap(pause);
    }
}

} // namespace sandbox::agent
