// SPDX-License-Identifier: Apache-2.0
// Archives that somebody made by hand, put into a session: what is in order is unpacked, the rest refused whole.
#include "fixture.hpp"

#include "util/tar_header.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::tests;

namespace {

std::string member(std::string_view name, char type, std::string_view content = {}, std::string_view link = {}, std::uint32_t mode = 0644) {
    TarHeader header{};
    name.copy(header.name, sizeof header.name);
    link.copy(header.link, sizeof header.link);
    put_tar_number(header.mode, mode);
    put_tar_number(header.size, content.size());
    put_tar_number(header.mtime, 1000);
    header.type = type;
    std::memcpy(header.magic, "ustar", sizeof header.magic);
    put_tar_checksum(header);
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes += content;
    bytes.append(tar_padding(content.size()), '\0');
    return bytes;
}

const std::string k_end(2 * k_tar_block, '\0');

struct ArchiveFixture : Fixture {
    channel::TransferStats put_tar(const std::string& bytes, const std::string& target = "dir", std::optional<std::uint64_t> max_file = {}) {
        const std::string path = host + "/archive.tar";
        write_file(path, bytes);
        const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        return channel::put_archive(worker.link(), [&](std::span<char> buffer, const std::function<void(int)>& wait_readable) {
                                        wait_readable(file.get());
                                        return read_some(file.get(), buffer);
                                    },
                                    {target, false, max_file, {}});
    }
    ErrorCode refused(const std::string& bytes) { return error_of([&] { put_tar(bytes); }).first; }
    ArchiveFixture() { make_directories(workdir + "/dir", 0755); }
};

} // namespace

TEST_CASE_FIXTURE(ArchiveFixture, "members in any order, with parents missing, late or named twice") {
    const std::string good = member("./", '5', {}, {}, 0700) + member("deep/er/file", '0', "deep") + member("twice", '0', "one") +
                             member("deep/", '5', {}, {}, 0550) + member("deep/er/second", '0', "second", {}, 04755) +
                             member("twice", '0', "two") + member("was-file", '0', "f") + member("./was-file//", '5') + member("hard", '1', {}, "./deep/er/file") + member("soft", '2', {}, "/etc/passwd") +
                             member("pipe", '6') + k_end + "whatever follows the end";
    const auto stats = put_tar(good);
    CHECK(stats.skipped == 1);
    CHECK(content_of(workdir + "/dir/deep/er/file") == "deep");
    CHECK(content_of(workdir + "/dir/twice") == "two");
    CHECK(S_ISDIR(stat_of(workdir + "/dir/was-file").st_mode));
    CHECK((stat_of(workdir + "/dir/deep").st_mode & 07777) == 0550);
    CHECK(stat_of(workdir + "/dir/deep").st_mtim.tv_sec == 1000);
    CHECK((stat_of(workdir + "/dir/deep/er").st_mode & 07777) == 0755);
    CHECK((stat_of(workdir + "/dir/deep/er/second").st_mode & 07777) == 04755);
    CHECK(stat_of(workdir + "/dir/hard").st_ino == stat_of(workdir + "/dir/deep/er/file").st_ino);
    CHECK(S_ISLNK(stat_of(workdir + "/dir/soft").st_mode));
    CHECK((stat_of(workdir + "/dir").st_mode & 07777) == 0755); // what is there keeps its mode
}

TEST_CASE_FIXTURE(ArchiveFixture, "what leads out of the target, or is no file, is refused whole") {
    const std::string good = member("good", '0', "good");
    const std::vector<std::pair<ErrorCode, std::string>> hostile{
        {ErrorCode::denied, member("../x", '0', "x")},
        {ErrorCode::denied, member("a/../../x", '0', "x")},
        {ErrorCode::denied, member("/tmp/x", '0', "x")},
        {ErrorCode::denied, member("hard", '1', {}, "../../outside/x")},
        {ErrorCode::denied, member("hard", '1', {}, "/etc/passwd")},
        {ErrorCode::protocol_error, member("hard", '1', {}, "nothing")},
        {ErrorCode::protocol_error, member("hard", '1', {}, ".")},
        {ErrorCode::protocol_error, member("a", '2', {}, outside) + member("a/x", '0', "x")},
        {ErrorCode::protocol_error, member("a/", '5') + member("a", '2', {}, outside) + member("a/x", '0', "x")},
        {ErrorCode::protocol_error, member("l", '2', {}, "/etc/passwd") + member("hard", '1', {}, "l")},
        {ErrorCode::failed, member("null", '3')},
        {ErrorCode::failed, member("disk", '4')},
        {ErrorCode::protocol_error, member("", '0', "x")},
        {ErrorCode::protocol_error, member(".", '0', "x")},
        {ErrorCode::protocol_error, member("x", 'Q')},
        {ErrorCode::protocol_error, member("x", '2', {}, "")},
        {ErrorCode::protocol_error, std::string(k_tar_block, 'x')},
    };
    for (std::size_t i = 0; i < hostile.size(); ++i) {
        CAPTURE(i);
        CHECK(refused(good + hostile[i].second + k_end) == hostile[i].first);
        CHECK(describe(workdir, false).find("good") == std::string::npos);
        CHECK(describe(workdir, false).find(".sandbox") == std::string::npos);
        CHECK_FALSE(exists(outside + "/x"));
    }
}

TEST_CASE_FIXTURE(ArchiveFixture, "a cut archive publishes nothing, wherever it was cut") {
    const std::string bytes = member("a", '0', std::string(1000, 'a')) + member("b", '0', "b") + k_end;
    for (const std::size_t length : {std::size_t{0}, std::size_t{100}, k_tar_block, std::size_t{1000}, 3 * k_tar_block, 4 * k_tar_block, 5 * k_tar_block}) {
        CAPTURE(length);
        CHECK(refused(bytes.substr(0, length)) == ErrorCode::protocol_error);
        CHECK_FALSE(exists(workdir + "/dir/a"));
    }
    CHECK(put_tar(bytes).files == 2);
}

TEST_CASE_FIXTURE(ArchiveFixture, "it goes into a directory that is there, and nothing larger than the limit with it") {
    const std::string bytes = member("a", '0', std::string(1000, 'a')) + k_end;
    CHECK(error_of([&] { put_tar(bytes, "missing"); }).first == ErrorCode::not_found);
    write_file(workdir + "/file", "f");
    CHECK(error_of([&] { put_tar(bytes, "file"); }).first != ErrorCode::internal);
    CHECK(content_of(workdir + "/file") == "f");
    CHECK(error_of([&] { put_tar(bytes, "dir", 999); }).first == ErrorCode::limit_exceeded);
    CHECK_FALSE(exists(workdir + "/dir/a"));
    worker.version = 1;
    CHECK(error_of([&] { put_tar(bytes); }).second.find("older sandbox") != std::string::npos);
}

TEST_CASE_FIXTURE(ArchiveFixture, "what comes out as an archive goes in again as the same tree") {
    make_directories(workdir + "/tree/empty", 0711);
    write_file(workdir + "/tree/file", std::string(100'000, 'f'), 0640);
    REQUIRE(::link((workdir + "/tree/file").c_str(), (workdir + "/tree/hard").c_str()) == 0);
    write_file(workdir + "/tree/suid", "s", 04755);
    write_file(workdir + "/tree/" + std::string(255, 'n'), "long");
    write_file(workdir + "/tree/\xff\xfe", "no UTF-8");
    REQUIRE(::symlink(std::string(300, 't').c_str(), (workdir + "/tree/link").c_str()) == 0);
    const Fd sparse(::open((workdir + "/tree/sparse").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    REQUIRE(::pwrite(sparse.get(), "end", 3, 1'000'000) == 3);
    set_mtime(workdir + "/tree/suid", -1, 500'000'000);
    set_mtime(workdir + "/tree/empty", -2, 0);
    set_mtime(workdir + "/tree/file", 1'700'000'000, 123'456'789);
    std::string bytes;
    channel::ArchiveGetOptions options;
    options.source = "tree/.";
    options.write = [&](std::string_view piece, const std::function<bool(int)>&) { bytes += piece; };
    const auto stats = channel::get_archive(worker.link(), options);
    CHECK(put_tar(bytes).files == stats.files);
    CHECK((stat_of(workdir + "/dir/suid").st_mode & 07777) == 0755);
    REQUIRE(::chmod((workdir + "/tree/suid").c_str(), 0755) == 0);
    CHECK(content_of(workdir + "/dir/sparse") == content_of(workdir + "/tree/sparse"));
    for (const auto& root : {workdir + "/tree", workdir + "/dir"}) {
        REQUIRE(::unlink((root + "/sparse").c_str()) == 0);
        REQUIRE(::chmod(root.c_str(), 0755) == 0); // what is there keeps its mode
        set_mtime(root, 5, 0);
    }
    CHECK(describe(workdir + "/dir") == describe(workdir + "/tree"));
    CHECK(stat_of(workdir + "/dir/hard").st_ino == stat_of(workdir + "/dir/file").st_ino);
}
