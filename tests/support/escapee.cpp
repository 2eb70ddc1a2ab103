// SPDX-License-Identifier: Apache-2.0
// Ways out of an exec's end, for test_escapes.py. Static, so that it runs in any image: escapee thread|chain|limits|init
#include <csignal>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

void* stay(void*) {
    for (;;) ::pause();
}

// The main thread ends: the process looks like a zombie, and its other thread goes on.
void hide_behind_a_zombie() {
    pthread_t thread;
    ::pthread_create(&thread, nullptr, stay, nullptr);
    std::puts("up");
    std::fflush(stdout);
    ::pthread_exit(nullptr);
}

// Never the same process for longer than it takes to fork, each in a session of its own.
void hop() {
    for (;;) {
        if (::fork() > 0) ::_exit(0);
        ::setsid();
    }
}

// Takes from its supervisor, or from PID 1, the right to open files.
void disarm(pid_t pid, rlim_t files) {
    const rlimit few{files, files};
    if (::prlimit(pid, RLIMIT_NOFILE, &few, nullptr) != 0) std::perror("prlimit");
    std::puts("up");
    std::fflush(stdout);
    stay(nullptr);
}

} // namespace

int main(int argc, char** argv) {
    ::signal(SIGTERM, SIG_IGN);
    const char* how = argc > 1 ? argv[1] : "";
    if (std::strcmp(how, "thread") == 0) hide_behind_a_zombie();
    if (std::strcmp(how, "limits") == 0) disarm(::getppid(), 6);
    if (std::strcmp(how, "init") == 0) disarm(1, 3);
    if (std::strcmp(how, "chain") != 0) return 2;
    for (int i = 0; i < 4; ++i) {
        if (::fork() == 0) hop();
    }
    std::puts("up");
    std::fflush(stdout);
    stay(nullptr);
}
