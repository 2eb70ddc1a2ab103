// SPDX-License-Identifier: Apache-2.0
// What a killed copy leaves is removed by the next one into the same directory, and nothing else is.
#include "fixture.hpp"

#include "util/tree_writer.hpp"

#include <atomic>
#include <csignal>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::tests;

namespace {

constexpr const char* k_left = "/.sandbox-cp-0123456789abcdef";

// What a copy looks like that was killed in the middle.
void leave(const std::string& path) {
    make_directories(path + "/root/sub", 0700);
    write_file(path + "/root/sub/half", "half");
    for (const char* name : {"/root", ""}) REQUIRE(::chmod((path + name).c_str(), 0700) == 0);
}

Fd open_directory(const std::string& path) { return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }

std::size_t count_left(const std::string& path) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
        if (entry.path().filename().string().starts_with(".sandbox-cp-")) ++count;
    }
    return count;
}

} // namespace

TEST_CASE_FIXTURE(Fixture, "what a killed copy left goes with the next one, on the host and in the session") {
    write_file(host + "/f", "f");
    leave(workdir + k_left);
    put(host + "/f", "f");
    CHECK_FALSE(exists(workdir + k_left));
    REQUIRE(::chmod(host.c_str(), 02755) == 0); // new directories in it are setgid, too
    leave(host + k_left);
    REQUIRE(::chmod((host + k_left).c_str(), 02700) == 0);
    get("f", host + "/g");
    CHECK_FALSE(exists(host + k_left));
    CHECK(content_of(host + "/g") == "f");
}

TEST_CASE_FIXTURE(Fixture, "a copy at work is left alone until it is killed") {
    const Fd parent = open_directory(host);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const StagingDirectory staging(parent.get());
        for (;;) ::pause();
    }
    // Made, and a moment later locked.
    while (count_left(host) == 0) ::usleep(1000);
    ::usleep(100'000);
    { const StagingDirectory other(parent.get()); }
    CHECK(count_left(host) == 1);
    REQUIRE(::kill(child, SIGKILL) == 0);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    CHECK(count_left(host) == 1);
    { const StagingDirectory other(parent.get()); }
    CHECK(count_left(host) == 0);
}

TEST_CASE_FIXTURE(Fixture, "nothing is swept that is not surely of a copy of this user") {
    const std::string link = host + k_left;
    leave(outside + "/precious");
    REQUIRE(::symlink((outside + "/precious").c_str(), link.c_str()) == 0);
    const std::string of_another = host + "/.sandbox-cp-1123456789abcdef";
    leave(of_another);
    REQUIRE(::chown(of_another.c_str(), 1000, 1000) == 0);
    const std::string open_to_all = host + "/.sandbox-cp-2123456789abcdef";
    leave(open_to_all);
    REQUIRE(::chmod(open_to_all.c_str(), 0755) == 0);
    write_file(host + "/.sandbox-cp-3123456789abcdef", "a file");
    for (const char* name : {"/.sandbox-cp-mine", "/.sandbox-cp-0123456789abcdef0", "/x.sandbox-cp-0123456789abcdef"}) leave(host + name);
    // Links inside what is swept go as links.
    const std::string swept = host + "/.sandbox-cp-4123456789abcdef";
    leave(swept);
    REQUIRE(::symlink((outside + "/precious").c_str(), (swept + "/root/link").c_str()) == 0);
    { const StagingDirectory next(open_directory(host).get()); }
    CHECK_FALSE(exists(swept));
    CHECK(content_of(link + "/root/sub/half") == "half");
    CHECK(content_of(of_another + "/root/sub/half") == "half");
    CHECK(content_of(open_to_all + "/root/sub/half") == "half");
    CHECK(count_left(host) == 6);
    CHECK(exists(host + "/x.sandbox-cp-0123456789abcdef/root/sub/half"));
}

TEST_CASE_FIXTURE(Fixture, "a sweep is bounded, and the next one goes on") {
    for (char digit : std::string("0123456789abcdef")) {
        for (const char* rest : {"123456789abcdef", "223456789abcdef"}) leave(host + "/.sandbox-cp-" + digit + rest);
    }
    { const StagingDirectory next(open_directory(host).get()); }
    CHECK(count_left(host) == 16);
    { const StagingDirectory next(open_directory(host).get()); }
    CHECK(count_left(host) == 0);
}

TEST_CASE_FIXTURE(Fixture, "copies at once into one directory do not take each other's ground away") {
    std::vector<std::thread> copies;
    std::atomic<int> failed = 0;
    for (int i = 0; i < 4; ++i) {
        copies.emplace_back([&] {
            const Fd parent = open_directory(host);
            for (int round = 0; round < 300; ++round) {
                try {
                    const StagingDirectory staging(parent.get());
                    if (::mkdirat(staging.fd(), "root", 0700) != 0) ++failed;
                } catch (const Error&) {
                    ++failed;
                }
            }
        });
    }
    for (auto& copy : copies) copy.join();
    CHECK(failed == 0);
    CHECK(count_left(host) == 0);
}
