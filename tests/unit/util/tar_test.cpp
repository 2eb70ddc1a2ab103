// SPDX-License-Identifier: Apache-2.0
#include "util/error.hpp"
#include "util/tar_decoder.hpp"
#include "util/tar_encoder.hpp"
#include "util/tar_header.hpp"

#include <doctest/doctest.h>
#include <vector>

using namespace sandbox;

namespace {

struct Seen final : TreeVisitor {
    std::vector<TreeRecord> records;
    std::vector<std::pair<std::uint64_t, std::string>> data;
    int ends = 0;
    void on_record(const TreeRecord& record) override { records.push_back(record); }
    void on_data(std::uint64_t offset, std::string_view bytes) override {
        if (!data.empty() && data.back().first + data.back().second.size() == offset) data.back().second += bytes;
        else data.emplace_back(offset, bytes);
    }
    void on_file_end() override { ++ends; }
};

Seen decode(std::string_view bytes, std::size_t piece = 1) {
    Seen seen;
    TarDecoder decoder;
    for (std::size_t at = 0; at < bytes.size(); at += piece) decoder.feed(bytes.substr(at, piece), seen);
    decoder.finish();
    return seen;
}

TarHeader header_of(std::string_view name, char type, std::uint64_t size) {
    TarHeader header{};
    name.copy(header.name, sizeof header.name);
    put_tar_number(header.mode, 0644);
    put_tar_number(header.size, size);
    header.type = type;
    std::memcpy(header.magic, "ustar", sizeof header.magic);
    return header;
}

std::string member(TarHeader header, std::string_view content) {
    put_tar_checksum(header);
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes += content;
    return bytes.append(tar_padding(content.size()), '\0');
}

std::string pax(std::string_view records) { return member(header_of("pax", 'x', records.size()), records); }

const std::string k_end(2 * k_tar_block, '\0');

} // namespace

TEST_CASE("numbers: octal, base 256 both ways, and what is neither") {
    CHECK(tar_number(std::string_view("0000644\0", 8)) == 0644);
    CHECK(tar_number("     17 ") == 15);
    CHECK(tar_number(std::string_view("\0\0\0", 3)) == 0);
    CHECK(tar_number("77777777777 ") == 077777777777);
    CHECK_FALSE(tar_number("12x45").has_value());
    CHECK_FALSE(tar_number("-1").has_value());
    char field[12];
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{077777777777}, std::uint64_t{0100000000000}, std::uint64_t{9} << 30}) {
        put_tar_number(field, value);
        CHECK(tar_number({field, sizeof field}) == static_cast<std::int64_t>(value));
    }
    CHECK(tar_number(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe", 12)) == -2);
    CHECK_FALSE(tar_number(std::string_view("\x80\x01\0\0\0\0\0\0\0\0\0\0", 12)).has_value()); // more than 64 bits
}

TEST_CASE("pax records count their own length") {
    CHECK(pax_record("path", "x") == "9 path=x\n");
    CHECK(pax_record("a", std::string(93, 'v')).size() == 99);
    CHECK(pax_record("a", std::string(94, 'v')).substr(0, 4) == "101 ");
    std::string keys;
    const auto each = [&](std::string_view key, std::string_view value) { keys += std::string(key) + "=" + std::string(value) + ";"; };
    CHECK(for_each_pax_record(pax_record("a", "1\n2") + pax_record("b", "=="), each));
    CHECK(keys == "a=1\n2;b===;");
    for (const char* bad : {"7 a=bc", "99 a=b\n", "x a=b\n", "6 a=b\n\n", "5 ab\n", "5 =b\n", "0 a=b\n", "18446744073709551616 a=b\n"}) {
        CAPTURE(bad);
        CHECK_FALSE(for_each_pax_record(bad, [](std::string_view, std::string_view) {}));
    }
}

TEST_CASE("times before the epoch and between the seconds") {
    const auto time_of = [](std::string_view text) {
        const Seen seen = decode(pax(pax_record("mtime", text)) + member(header_of("f", '0', 0), "") + k_end);
        return std::pair(seen.records.at(0).mtime_seconds, seen.records.at(0).mtime_nanoseconds);
    };
    CHECK(time_of("1.5") == std::pair(std::int64_t{1}, 500'000'000U));
    CHECK(time_of("-1.5") == std::pair(std::int64_t{-2}, 500'000'000U));
    CHECK(time_of("-0.25") == std::pair(std::int64_t{-1}, 750'000'000U));
    CHECK(time_of("-3") == std::pair(std::int64_t{-3}, 0U));
    CHECK(time_of("1700000000.1234567899") == std::pair(std::int64_t{1'700'000'000}, 123'456'789U));
    CHECK_THROWS_AS(time_of("now"), Error);
}

TEST_CASE("long names of GNU and pax, sizes of pax") {
    const std::string name = std::string(200, 'd') + "/" + std::string(200, 'f');
    const std::string gnu = member(header_of("././@LongLink", 'L', name.size() + 1), name + '\0') +
                            member(header_of("././@LongLink", 'K', 301), std::string(300, 't') + '\0') + member(header_of("short", '2', 0), "");
    Seen seen = decode(gnu + k_end);
    CHECK(seen.records.at(0).path == name);
    CHECK(seen.records.at(0).link == std::string(300, 't'));
    seen = decode(pax(pax_record("path", name) + pax_record("size", "3")) + member(header_of("short", '0', 0), "abc") + k_end, 7);
    CHECK(seen.records.at(0).path == name);
    CHECK(seen.data.at(0).second == "abc");
    TarHeader ustar = header_of("name", '0', 0);
    std::memcpy(ustar.prefix, "pre/fix", 7);
    CHECK(decode(member(ustar, "") + k_end).records.at(0).path == "pre/fix/name");
}

TEST_CASE("sparse files of GNU tar's four formats") {
    const std::string stored = "headtail";
    const auto check = [&](const std::string& bytes) {
        for (const std::size_t piece : {std::size_t{1}, std::size_t{513}, std::size_t{1} << 20}) {
            const Seen seen = decode(bytes + k_end, piece);
            REQUIRE(seen.records.size() == 1);
            CHECK(seen.records[0].path == "f");
            CHECK(seen.records[0].sparse);
            CHECK(seen.records[0].size == 10'000'000'000);
            REQUIRE(seen.data.size() == 2);
            CHECK(seen.data[0] == std::pair(std::uint64_t{0}, std::string("head")));
            CHECK(seen.data[1] == std::pair(std::uint64_t{9'999'999'996}, std::string("tail")));
            CHECK(seen.ends == 1);
        }
    };
    TarHeader old = header_of("f", 'S', stored.size());
    char* raw = reinterpret_cast<char*>(&old);
    put_tar_number({raw + 386, 12}, 0);
    put_tar_number({raw + 398, 12}, 4);
    put_tar_number({raw + 410, 12}, 9'999'999'996);
    put_tar_number({raw + 422, 12}, 4);
    put_tar_number({raw + 483, 12}, 10'000'000'000);
    std::memcpy(old.magic, "ustar ", sizeof old.magic);
    check(member(old, stored));
    const std::string size = pax_record("GNU.sparse.size", "10000000000");
    check(pax(size + pax_record("GNU.sparse.numblocks", "2") + pax_record("GNU.sparse.offset", "0") + pax_record("GNU.sparse.numbytes", "4") +
              pax_record("GNU.sparse.offset", "9999999996") + pax_record("GNU.sparse.numbytes", "4")) + member(header_of("f", '0', 8), stored));
    check(pax(size + pax_record("GNU.sparse.name", "f") + pax_record("GNU.sparse.map", "0,4,9999999996,4")) + member(header_of("odd", '0', 8), stored));
    std::string map = "2\n0\n4\n9999999996\n4\n";
    map.resize(k_tar_block, '\0');
    check(pax(pax_record("GNU.sparse.major", "1") + pax_record("GNU.sparse.minor", "0") + pax_record("GNU.sparse.name", "f") +
              pax_record("GNU.sparse.realsize", "10000000000")) + member(header_of("odd", '0', 520), map + stored));
    // A map that does not fit its file.
    for (const char* bad : {"0,4,2,4", "0,9", "0,4", "9999999999,8", "0,18446744073709551615", "5"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(decode(pax(size + pax_record("GNU.sparse.map", bad)) + member(header_of("f", '0', 8), stored) + k_end), Error);
    }
    CHECK_THROWS_AS(decode(pax(pax_record("GNU.sparse.major", "2")) + member(header_of("f", '0', 8), stored) + k_end), Error);
}

TEST_CASE("the root's own name is a record where it is asked for, and no way out") {
    const auto named = [](std::string_view name, char type) { return member(header_of(name, type, 0), ""); };
    const std::string archive = named("/", '5') + named("/a", '0') + named("/dir/", '5') + k_end;
    CHECK_THROWS_AS(decode(archive), Error);
    CHECK(decode(named("./", '5') + named("./a", '0') + k_end).records.size() == 1);
    Seen seen;
    TarDecoder decoder(std::nullopt, TarRoot::record);
    decoder.feed(archive, seen);
    decoder.finish();
    REQUIRE(seen.records.size() == 3);
    CHECK(seen.records[0].path == "");
    CHECK(seen.records[1].path == "a");
    CHECK(seen.records[2].path == "dir");
    for (const auto& bad : {named("/../a", '0'), named("/.", '0'), named("/", '2')}) {
        TarDecoder strict(std::nullopt, TarRoot::record);
        CHECK_THROWS_AS(strict.feed(bad + k_end, seen), Error);
    }
}

TEST_CASE("an encoded tree says what the records said, 8 GiB and more included") {
    std::string bytes;
    bool is_kept = true;
    TarEncoder encoder([&](std::string_view piece) { if (is_kept) bytes += piece; }, "root");
    TreeRecord record;
    record.type = TreeType::directory;
    record.mode = 0755;
    record.mtime_seconds = -2;
    record.mtime_nanoseconds = 250'000'000;
    encoder.on_record(record);
    record.type = TreeType::file;
    record.path = std::string(255, 'n');
    record.mode = 06644;
    record.size = 5;
    record.xattrs = {{"user.origin", std::string("a\0b", 3)}};
    encoder.on_record(record);
    encoder.on_data(2, "cde");
    encoder.on_file_end();
    record = {};
    record.type = TreeType::hard_link;
    record.path = "hard";
    record.link = std::string(255, 'n');
    encoder.on_record(record);
    encoder.finish();
    CHECK(bytes.size() % k_tar_block == 0);
    const Seen seen = decode(bytes, 100);
    REQUIRE(seen.records.size() == 3);
    CHECK(seen.records[0].path == "root");
    CHECK(seen.records[0].mtime_seconds == -2);
    CHECK(seen.records[0].mtime_nanoseconds == 250'000'000);
    CHECK(seen.records[1].path == "root/" + std::string(255, 'n'));
    CHECK(seen.records[1].mode == 0644);
    CHECK(seen.records[1].xattrs.at(0).value == std::string("a\0b", 3));
    CHECK(seen.data.at(0) == std::pair(std::uint64_t{0}, std::string("\0\0cde", 5)));
    CHECK(seen.records[2].link == "root/" + std::string(255, 'n'));
}

TEST_CASE("a size past the octal field is written so that every reader understands it") {
    std::string bytes;
    TarEncoder encoder([&](std::string_view piece) { if (bytes.size() < 100'000) bytes += piece; }, "f");
    TreeRecord record;
    record.size = std::uint64_t{9} << 30;
    encoder.on_record(record);
    encoder.on_data(0, std::string(200'000, 'x')); // enough for the headers to come out
    CHECK(bytes.find("size=9663676416\n") != std::string::npos);
}
