// SPDX-License-Identifier: Apache-2.0
// Paths in the workdir never lead out of it: with openat2, without it, and while somebody swaps a directory for a link.
#include "fixture.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::tests;

namespace {

// From here on openat2 is unknown to this thread, as it is on older kernels and in gVisor.
void forget_openat2() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{std::size(program), program};
    REQUIRE(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

struct Confined : Fixture {
    Peer session{[this](agent::FramedStream& connection) {
        if (!has_openat2) forget_openat2();
        const auto frame = connection.read_frame();
        agent::SessionContext context;
        context.workdir = workdir;
        const agent::OpenMessage open = agent::decode_open(frame->payload);
        agent::run_file_worker(connection, open.operation, open.version, context);
    }};
    bool has_openat2 = true;

    Confined() {
        write_file(host + "/f", "f");
        write_file(outside + "/secret", "s");
        make_directories(workdir + "/in", 0755);
        REQUIRE(::symlink(outside.c_str(), (workdir + "/out").c_str()) == 0);
        REQUIRE(::symlink("../outside", (workdir + "/relative").c_str()) == 0);
        REQUIRE(::symlink("in", (workdir + "/inside").c_str()) == 0);
        REQUIRE(::symlink((workdir + "/in").c_str(), (workdir + "/absolute").c_str()) == 0);
        REQUIRE(::symlink((workdir + "/../outside").c_str(), (workdir + "/round").c_str()) == 0);
        REQUIRE(::symlink((workdir + "/loop").c_str(), (workdir + "/loop").c_str()) == 0);
    }
    void put_file(const std::string& target) {
        channel::PutOptions options;
        options.target = target;
        options.source_name = "f";
        channel::put_tree(session.link(), host + "/f", options);
    }
    void check_confined() {
        for (const std::string target : {"../x", "out/x", "relative/", "in/../../x", "round/x", "absolute/../../x", "absolute/../round/x"}) {
            CAPTURE(target);
            CHECK(error_of([&] { put_file(target); }).first == ErrorCode::denied);
            CHECK(error_of([&] { put_file(workdir + "//./" + target); }).first == ErrorCode::denied);
        }
        for (const std::string source : {"../outside/secret", "out/secret", "relative/secret", "relative/", "round/secret", "round/", "absolute/../round/secret"}) {
            CAPTURE(source);
            const channel::GetOptions options{source, host + "/got", {}};
            CHECK(error_of([&] { channel::get_tree(session.link(), options); }).first == ErrorCode::denied);
        }
        const std::vector<channel::Entry> entries{{"out/x", channel::Entry::Kind::file, "x", {}}};
        CHECK(error_of([&] { channel::put_entries(session.link(), entries); }).first == ErrorCode::denied);
        CHECK_FALSE(exists(host + "/got"));
        CHECK(describe(outside, false) == " 16877\n/secret 33188 s\n");
        put_file("in/../in/./");
        CHECK(exists(workdir + "/in/f"));
        CHECK_THROWS_AS(put_file("loop/x"), Error);
    }
    void check_links_inside() {
        for (const std::string target : {"inside", "absolute", "absolute/.", "absolute/../inside/", "absolute/../absolute"}) {
            CAPTURE(target);
            ::unlink((workdir + "/in/f").c_str());
            put_file(target);
            CHECK(exists(workdir + "/in/f"));
        }
        const std::vector<channel::Entry> entries{{"absolute/made/x", channel::Entry::Kind::file, "x", {}}};
        channel::put_entries(session.link(), entries);
        CHECK(content_of(workdir + "/in/made/x") == "x");
        for (const std::string source : {"absolute/made/x", "inside/made/x", "absolute/../in/made/x"}) {
            CAPTURE(source);
            channel::get_tree(session.link(), {source, host + "/got", {}});
            CHECK(content_of(host + "/got") == "x");
            ::unlink((host + "/got").c_str());
        }
        CHECK(error_of([&] { put_file("absolute/made/x/y"); }).first == ErrorCode::conflict);
    }
};

} // namespace

TEST_CASE_FIXTURE(Confined, "paths in the workdir never lead out of it") {
    check_confined();
    CHECK(error_of([&] { put_file("relative"); }).first == ErrorCode::denied);
    check_links_inside();
}

TEST_CASE_FIXTURE(Confined, "without openat2 neither, and links that stay inside lead where they do with it") {
    has_openat2 = false;
    check_confined();
    check_links_inside();
}

TEST_CASE_FIXTURE(Confined, "a directory that flips between itself and a link out receives inside or not at all") {
    for (const bool is_known : {true, false}) {
        has_openat2 = is_known;
        const std::string d = workdir + "/d";
        make_directories(d, 0755);
        std::atomic<bool> done = false;
        std::thread flipper([&] {
            while (!done) {
                ::rename(d.c_str(), (workdir + "/aside").c_str());
                if (::symlink(outside.c_str(), d.c_str()) == 0) ::unlink(d.c_str());
                ::rename((workdir + "/aside").c_str(), d.c_str());
            }
        });
        for (int i = 0; i < 200; ++i) {
            try {
                put_file("d/x" + std::to_string(i));
            } catch (const Error&) {
                // Whatever it met, what counts is below.
            }
            session.join();
        }
        done = true;
        flipper.join();
        CHECK(describe(outside, false) == " 16877\n/secret 33188 s\n");
    }
}
