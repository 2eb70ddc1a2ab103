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
            if (!process.is_alive() || contains(stopped, process.pid)) continue;
            found_new = true;
            send_signal(process, SIGSTOP);
            stopped.insert(std::upper_bound(stopped.begin(), stopped.end(), process.pid), process.pid);
        }
        if (!found_new) return;
    }
}

} // namespace

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
    Process now;
    const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!read_process(proc.get(), std::to_string(process.pid).c_str(), now) || now.start != process.start) return true;
    return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0 || errno != EPERM;
}

int end_all(const std::function<std::vector<Process>()>& targets, const std::function<void()>& reap) {
    freeze(targets);
    const std::int64_t give_up = boot_now_ms() + k_give_up_ms;
    for (long pause = 1;; pause = std::min(pause * 2, 20L)) {
        int alive = 0;
        int refused = 0;
        for (const Process& process : targets()) {
            if (!process.is_alive()) continue;
            ++alive;
            if (!send_signal(process, SIGKILL)) ++refused;
        }
        reap();
        if (alive == refused || boot_now_ms() >= give_up) return alive;
        nap(pause);
    }
}

} // namespace sandbox::agent
