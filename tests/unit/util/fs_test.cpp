// SPDX-License-Identifier: Apache-2.0
#include "util/fs.hpp"

#include "util/ending_signals.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <optional>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace sandbox;

namespace {

std::size_t entries(const std::string& directory) {
    struct stat info {};
    ::stat(directory.c_str(), &info);
    return info.st_nlink;
}

} // namespace

TEST_CASE("an atomic file is seen whole or not at all") {
    const TempDir directory;
    const std::string path = directory.path() + "/f";
    {
        AtomicFile file(AT_FDCWD, path, 0640);
        write_all(file.fd(), "first");
        CHECK(std::filesystem::is_empty(directory.path())); // what is killed here leaves nothing
        file.publish();
    }
    CHECK(read_file(path) == "first");
    struct stat info {};
    ::stat(path.c_str(), &info);
    CHECK((info.st_mode & 0777) == 0640);
    {
        AtomicFile abandoned(AT_FDCWD, path, 0600);
        write_all(abandoned.fd(), "second");
    }
    CHECK(read_file(path) == "first");
    ::unlink(path.c_str());
    CHECK(::rmdir(directory.path().c_str()) == 0); // no temporary is left
}

TEST_CASE("a mode that cannot be set leaves no temporary behind") {
    const TempDir directory;
    const pid_t child = ::fork();
    if (child == 0) {
        // As a file system without modes does: fchmod(2) fails, and nothing else.
        std::array<sock_filter, 4> program{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmod, 0, 1),
                                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
        const sock_fprog filter{program.size(), program.data()};
        if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) ::_exit(2);
        try {
            const AtomicFile file(AT_FDCWD, directory.path() + "/f", 0600);
            ::_exit(3);
        } catch (const Error&) {
            ::_exit(std::filesystem::is_empty(directory.path()) ? 0 : 4);
        }
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("publishing over a directory fails and leaves it") {
    const TempDir directory;
    const std::string path = directory.path() + "/d";
    make_directories(path + "/sub", 0755);
    AtomicFile file(AT_FDCWD, path, 0600);
    CHECK_THROWS_AS(file.publish(), Error);
    CHECK(entries(path) == 3);
}

TEST_CASE("what a killed process left of its temporary directory goes with the next one") {
    const TempDir base;
    REQUIRE(::setenv("TMPDIR", base.path().c_str(), 1) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const TempDir left;
        make_directories(left.path() + "/a/b", 0700);
        ::chmod((left.path() + "/a").c_str(), 0);
        ::_exit(0); // as a kill does, past the destructor
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(entries(base.path()) == 3);
    {
        const TempDir first;
        CHECK(entries(base.path()) == 3);
        const TempDir second;
        CHECK(entries(base.path()) == 4); // one that is in use stays
    }
    CHECK(entries(base.path()) == 2);
    ::unsetenv("TMPDIR");
}

TEST_CASE("a lock excludes others until it goes, and its file may be removed while it is held") {
    const TempDir directory;
    const std::string path = directory.path() + "/lock";
    {
        const FileLock lock = FileLock::acquire(path);
        CHECK_FALSE(FileLock::try_acquire(path));
    }
    auto lock = FileLock::try_acquire(path);
    REQUIRE(lock);
    lock->remove_file();
    // The name is free: a new lock is on a new file.
    CHECK(FileLock::try_acquire(path));
}

TEST_CASE("waiting for a lock ends by a signal that is held back, and by none that is ignored") {
    const TempDir directory;
    const std::string path = directory.path() + "/lock";
    auto holder = std::make_optional(FileLock::acquire(path));
    sigset_t before;
    const sigset_t held = ending_signals();
    ::pthread_sigmask(SIG_BLOCK, &held, &before);
    ::raise(SIGTERM);
    try {
        FileLock::acquire(path);
        FAIL("the lock is held");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::interrupted);
        CHECK(error.signal() == SIGTERM);
    }
    ::signal(SIGHUP, SIG_IGN);
    ::raise(SIGHUP);
    std::jthread releaser([&] { holder.reset(); });
    CHECK_NOTHROW(FileLock::acquire(path));
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::signal(SIGHUP, SIG_DFL);
}

TEST_CASE("who asks for a lock's holder makes no file and is no holder") {
    const TempDir directory;
    const std::string path = directory.path() + "/lock";
    CHECK_FALSE(FileLock::is_held(path));
    CHECK_FALSE(read_file(path));
    {
        const FileLock lock = FileLock::acquire(path);
        CHECK(FileLock::is_held(path));
    }
    CHECK_FALSE(FileLock::is_held(path));
    CHECK(FileLock::try_acquire(path));
}

TEST_CASE("who asks while the holder takes the file away does not bring it back") {
    const TempDir directory;
    const std::string path = directory.path() + "/lock";
    std::atomic<bool> over = false;
    std::thread asker([&] {
        while (!over) (void)FileLock::is_held(path);
    });
    int left = 0;
    for (int round = 0; round < 2000; ++round) {
        FileLock::acquire(path).remove_file();
        if (read_file(path)) ++left;
    }
    over = true;
    asker.join();
    CHECK(left == 0);
}

TEST_CASE("a lock is never taken through a link") {
    const TempDir directory;
    const std::string path = directory.path() + "/lock";
    REQUIRE(::symlink("elsewhere", path.c_str()) == 0);
    CHECK_THROWS_AS(FileLock::acquire(path), Error);
}

TEST_CASE("reading is bounded and absence is no error") {
    const TempDir directory;
    const std::string path = directory.path() + "/f";
    CHECK_FALSE(read_file(path));
    AtomicFile file(AT_FDCWD, path, 0600);
    write_all(file.fd(), std::string(100, 'x'));
    file.publish();
    CHECK(read_file(path, 100)->size() == 100);
    try {
        read_file(path, 99);
        FAIL("the limit was not kept");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::limit_exceeded);
    }
}

TEST_CASE("removing a tree follows no link and takes absence well") {
    const TempDir directory;
    const std::string kept = directory.path() + "/kept";
    const std::string gone = directory.path() + "/gone";
    make_directories(kept + "/inside", 0755);
    make_directories(gone + "/a/b", 0755);
    REQUIRE(::symlink(kept.c_str(), (gone + "/a/link").c_str()) == 0);
    remove_tree(gone);
    remove_tree(gone);
    CHECK(::access(gone.c_str(), F_OK) != 0);
    CHECK(::access((kept + "/inside").c_str(), F_OK) == 0);
}

TEST_CASE("a temporary directory is private and goes with its object") {
    std::string path;
    {
        const TempDir directory;
        path = directory.path();
        struct stat info {};
        REQUIRE(::stat(path.c_str(), &info) == 0);
        CHECK((info.st_mode & 0777) == 0700);
    }
    CHECK(::access(path.c_str(), F_OK) != 0);
}
