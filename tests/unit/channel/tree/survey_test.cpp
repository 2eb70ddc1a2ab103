// SPDX-License-Identifier: Apache-2.0
// Inventories through the real worker: their order, what they hold of contents, and what a hostile one may not say.
#include "fixture.hpp"

#include "agent/files_messages.hpp"
#include "channel/survey.hpp"

#include <algorithm>
#include <cerrno>
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::tests;

namespace {

std::vector<InventoryEntry> survey(Peer& peer, const channel::SurveyOptions& options = {}) {
    std::vector<InventoryEntry> found;
    channel::survey(peer.link(), options, [&](const InventoryEntry& entry) { found.push_back(entry); });
    return found;
}

std::string paths(const std::vector<InventoryEntry>& entries) {
    std::string text;
    for (const auto& entry : entries) text += entry.path + " ";
    return text;
}

channel::SurveyOptions with_texts(std::uint32_t max_size) {
    channel::SurveyOptions options;
    options.content.max_size = max_size;
    options.content.texts = true;
    return options;
}

const InventoryEntry& at(const std::vector<InventoryEntry>& entries, std::string_view path) {
    return *std::find_if(entries.begin(), entries.end(), [&](const InventoryEntry& entry) { return entry.path == path; });
}

} // namespace

TEST_CASE_FIXTURE(Fixture, "all that is in the workdir, in the order of the paths' bytes") {
    for (const char* name : {"a", "a-", "a-/deep", "a.d", "b", ".git"}) make_directories(workdir + "/" + name, 0750);
    for (const char* file : {"a/z", "a-/deep/x", "a-b", "a0", "a.d/f", "b/caf\xc3\xa9", "b/bad\xff", ".git/config"}) write_file(workdir + "/" + file, "x");
    REQUIRE(::symlink("/etc", (workdir + "/link").c_str()) == 0);
    REQUIRE(::mkfifo((workdir + "/pipe").c_str(), 0600) == 0);
    make_directories(workdir + "/.sandbox-cp-0123456789abcdef", 0700); // an unfinished copy
    const auto found = survey(worker);
    CHECK(paths(found) == "a a- a-/deep a-/deep/x a-b a.d a.d/f a/z a0 b b/bad\xff b/caf\xc3\xa9 link pipe ");
    CHECK(at(found, "link").link == "/etc");
    CHECK(at(found, "a").mode == 0750);
    CHECK(at(found, "a").type == InventoryType::directory);
    CHECK(at(found, "a-b").size == 1);
    CHECK(at(found, "a-b").ctime_ns > 0);
    CHECK(at(found, "pipe").type == InventoryType::fifo);
    channel::SurveyOptions options;
    options.repositories = true;
    options.paths = {".git", "a/z"};
    CHECK(paths(survey(worker, options)) == ".git .git/config a a/z ");
}

TEST_CASE_FIXTURE(Fixture, "content of small texts, digests of what is none, as long as the budget lasts") {
    write_file(workdir + "/a", "text");
    write_file(workdir + "/b", std::string("bi\0nary", 7));
    write_file(workdir + "/c", "longer than that");
    write_file(workdir + "/d", "");
    make_directories(workdir + "/.git", 0755);
    write_file(workdir + "/.git/x", "own");
    auto options = with_texts(10);
    options.repositories = true;
    auto found = survey(worker, options);
    CHECK(at(found, "a").content == "text");
    CHECK(at(found, "b").content_kind == InventoryEntry::Content::digest);
    CHECK(at(found, "b").content == as_view(sha256(std::string_view("bi\0nary", 7))));
    CHECK(at(found, "c").content_kind == InventoryEntry::Content::none);
    CHECK(at(found, "d").content_kind == InventoryEntry::Content::bytes);
    CHECK(at(found, ".git/x").content_kind == InventoryEntry::Content::none);
    options.content.max_total = 6;
    found = survey(worker, options);
    CHECK(at(found, "a").content == "text");
    CHECK(at(found, "b").content_kind == InventoryEntry::Content::none);
    options = with_texts(10);
    options.content.max_files = 1;
    CHECK(at(survey(worker, options), "d").content_kind == InventoryEntry::Content::none);
    options = with_texts(100);
    options.content.only = {path_hash("c")};
    found = survey(worker, options);
    CHECK(at(found, "a").content_kind == InventoryEntry::Content::none);
    CHECK(at(found, "c").content == "longer than that");
    options = with_texts(100);
    options.content.since_ns = at(found, "c").ctime_ns + 1'000'000'000;
    CHECK(at(survey(worker, options), "c").content_kind == InventoryEntry::Content::none);
    options = with_texts(100);
    options.content.texts = false;
    CHECK(at(survey(worker, options), "a").content == as_view(sha256("text")));
}

TEST_CASE_FIXTURE(Fixture, "more than one chunk, and bounds on both sides") {
    for (int i = 0; i < 5000; ++i) write_file(workdir + "/" + std::to_string(i) + std::string(60, 'n'), "");
    const auto found = survey(worker);
    CHECK(found.size() == 5000);
    CHECK(std::is_sorted(found.begin(), found.end(), [](const auto& one, const auto& other) { return one.path < other.path; }));
    channel::SurveyOptions options;
    options.max_entries = 4999;
    CHECK(error_of([&] { survey(worker, options); }).first == ErrorCode::limit_exceeded);
}

TEST_CASE("an agent from before there were inventories is told of, and not asked") {
    bool was_asked = false;
    Peer peer([&](agent::FramedStream& connection) { was_asked = connection.read_view().has_value(); });
    peer.version = agent::k_survey_version - 1;
    const auto [code, message] = error_of([&] { survey(peer); });
    CHECK(code == ErrorCode::failed);
    CHECK(message.find("older sandbox") != std::string::npos);
    peer.join();
    CHECK_FALSE(was_asked);
}

TEST_CASE("an agent that breaks off, says what no walk gives, or does not end") {
    const auto lie = [](const std::function<void(agent::FramedStream&)>& say, const channel::SurveyOptions& options = {}) {
        Peer peer([&](agent::FramedStream& connection) {
            connection.read_view();
            try {
                say(connection);
            } catch (const Error&) {
                // The client has seen enough.
            }
        });
        return error_of([&] { survey(peer, options); }).first;
    };
    CHECK(lie([](agent::FramedStream&) {}) == ErrorCode::session_unreachable);
    CHECK(lie([](agent::FramedStream& connection) { connection.write(agent::FrameType::data, "x"); connection.write(agent::FrameType::data, ""); }) ==
          ErrorCode::protocol_error);
    CHECK(lie([](agent::FramedStream& connection) { connection.write(agent::FrameType::hello, "x"); }) == ErrorCode::protocol_error);
    channel::SurveyOptions few;
    few.max_entries = 1000;
    CHECK(lie([](agent::FramedStream& connection) {
              TreeEncoder out([&](std::string_view chunk) { connection.write(agent::FrameType::data, chunk); });
              InventoryEncoder entries(out);
              for (std::uint32_t i = 1;; ++i) {
                  InventoryEntry entry;
                  const std::string digits = std::to_string(i);
                  entry.path = std::string(12 - digits.size(), '0') + digits;
                  entries.entry(entry);
              }
          }, few) == ErrorCode::limit_exceeded);
}

TEST_CASE("what is asked for comes over as it is, and no more of it than there may be") {
    agent::SurveyMessage message;
    message.paths = {"a", "b/c"};
    message.repositories = true;
    message.max_content = 7;
    message.texts = true;
    message.since_ns = -5;
    message.only_hashed = true;
    message.hashes = {1, UINT64_MAX};
    message.max_ms = 9;
    const std::string payload = agent::encode(message).substr(5);
    const auto read = agent::decode_survey(payload);
    CHECK(read.paths == message.paths);
    CHECK(read.since_ns == -5);
    CHECK(read.hashes == message.hashes);
    CHECK(read.max_ms == 9);
    CHECK(read.repositories);
    CHECK_THROWS_AS(agent::decode_survey(payload + "x"), agent::WireError);
    CHECK_THROWS_AS(agent::decode_survey(payload.substr(0, payload.size() - 1)), agent::WireError);
    message.paths.assign(agent::k_max_survey_paths + 1, "x");
    CHECK_THROWS_AS(agent::decode_survey(agent::encode(message).substr(5)), agent::WireError);
    message.paths.clear();
    message.hashes.assign(agent::k_max_survey_hashes + 1, 1);
    CHECK_THROWS_AS(agent::decode_survey(agent::encode(message).substr(5)), agent::WireError);
}
