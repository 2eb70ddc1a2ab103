// SPDX-License-Identifier: Apache-2.0
// Several documents, flags over them, and the table of keys that both are made from.
#include "domain/manifest.hpp"

#include "domain/manifest_decode.hpp"
#include "expect_error.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace sandbox::domain;
using namespace sandbox::tests;
using sandbox::ErrorCode;

namespace {

struct Given {
    const char* path;
    const char* value;
    const char* origin = "--set";
};
Manifest with(std::initializer_list<Given> flags, const std::string& text = "image: x\n") {
    ManifestBuilder builder;
    builder.add_document("m.yaml", text, ".");
    for (const Given& flag : flags) builder.set(flag.path, flag.value, flag.origin);
    return builder.build();
}
sandbox::Error refused(std::initializer_list<Given> flags) {
    auto error = error_of([&] { with(flags); });
    CHECK(error.code() == ErrorCode::usage);
    return error;
}
Manifest merged(const std::string& first, const std::string& second) {
    ManifestBuilder builder;
    builder.add_document("a.yaml", "image: x\n" + first, "a");
    builder.add_document("b.yaml", second, "b");
    return builder.build();
}

} // namespace

TEST_CASE("maps merge, everything else is replaced, the later one wins") {
    const Manifest m = merged("env: {A: 1, B: 1}\nlimits: {pids: 5, cpus: 2}\ndirectories: [a]\nuser: u\n",
                              "env: {B: 2}\nlimits: {pids: 6}\ndirectories: [b]\nimage: y\n");
    CHECK(m.image == "y");
    CHECK(m.user == "u");
    CHECK(m.env.at("A").value == "1");
    CHECK(m.env.at("B").value == "2");
    CHECK(m.limits.pids == 6);
    CHECK(m.limits.cpus == doctest::Approx(2));
    CHECK(m.seeds.size() == 1);
    CHECK(m.seeds.at(0).path == "b");
}

TEST_CASE("one env value or file replaces another whole") {
    CHECK(merged("env: {A: {fromEnv: X}}\n", "env: {A: {fromFile: y}}\n").env.at("A").value == "b/y");
    CHECK(merged("files: {f: {text: x, mode: 0755}}\n", "files: {f: {fromFile: y}}\n").seeds.at(0).content == "b/y");
}

TEST_CASE("spellings merge as what they mean") {
    CHECK(merged("metadata: {a: 1}\n", "labels: {b: 2}\n").labels.size() == 2);
    CHECK(merged("workspace: p\n", "workspace: {shared: true}\n").workspace.shared);
    CHECK(merged("workspace: {mode: ephemeral}\n", "workspace: q\n").workspace.id == "q");
    CHECK(merged("workspace: p\n", "workspace: {mode: ephemeral}\n").workspace.id.empty());
    CHECK(merged("env: {A: 1}\n", "env:\n").env.size() == 1);
}

TEST_CASE("an error points at the document that brought the value") {
    CHECK(contains(error_of([] { merged("limits: {pids: x}\n", "user: u\n"); }).message(), "a.yaml:2:16:"));
    CHECK(contains(error_of([] { merged("limits: {pids: 1}\n", "limits: {pids: x}\n"); }).message(), "b.yaml:1:16:"));
    CHECK(merged("limits: {pids: x}\n", "limits: {pids: 7}\n").limits.pids == 7);
}

TEST_CASE("each document's paths are its own folder's") {
    const Manifest m = merged("files: {a: {fromFile: f}}\n", "files: {b: {fromFile: f}}\n");
    CHECK(m.seeds.at(0).content == "a/f");
    CHECK(m.seeds.at(1).content == "b/f");
}

TEST_CASE("flags win over documents, whatever the order") {
    ManifestBuilder builder;
    builder.set("limits.memory", "256MB", "--memory");
    builder.add_document("m.yaml", "image: x\nlimits: {memory: 1GB, pids: 9}\n", ".");
    const Manifest m = builder.build();
    CHECK(m.limits.memory == 256'000'000);
    CHECK(m.limits.pids == 9);
}

TEST_CASE("flags alone make a manifest") {
    ManifestBuilder builder;
    builder.set("image", "x", "--image");
    CHECK(builder.build().image == "x");
}

TEST_CASE("environment flags are literal") {
    const Manifest m = with({{"env", "A=b=c", "-e"}, {"env", "B=", "-e"}, {"env", "J={\"a\": 1}", "-e"},
                             {"env", "N=a\nb", "-e"}, {"env", "H", "-e"}, {"env.D.x", "[1]"}, {"env", "X=\xFF", "-e"}});
    CHECK(m.env.at("A").value == "b=c");
    CHECK(m.env.at("B").value.empty());
    CHECK(m.env.at("J").value == "{\"a\": 1}");
    CHECK(m.env.at("N").value == "a\nb");
    CHECK(m.env.at("H").kind == EnvValue::Kind::from_env);
    CHECK(m.env.at("H").value == "H");
    CHECK(m.env.at("D.x").value == "[1]");
    CHECK(m.env.at("X").value == "\xFF");
    CHECK(with({{"env", "{A: {fromEnv: B}}"}}).env.at("A").kind == EnvValue::Kind::from_env);
    CHECK(contains(refused({{"env", "=x", "-e"}}).message(), "-e: "));
}

TEST_CASE("a flag's error does not show an environment's value") {
    using namespace std::string_literals;
    ManifestBuilder builder;
    builder.set("image", "x", "--image");
    builder.set("env", "TOKEN=s3cret\0"s, "-e");
    CHECK_FALSE(contains(error_of([&] { builder.build(); }).message(), "s3cret"));
}

TEST_CASE("labels, tmpfs and files from flags") {
    const Manifest m = with({{"labels", "a=1", "-l"}, {"labels", "b", "-l"}, {"labels.c.d", "2"}, {"metadata.e", "3"},
                             {"tmpfs", "/a"}, {"tmpfs", "/b:1MB"}, {"tmpfs", "/c:size=1m"}, {"tmpfs", "/d=2KB"},
                             {"files", "f=text"}, {"files.g/h.txt", "x"}, {"files.i", "{text: y, mode: 0700}"}});
    CHECK(m.labels == std::map<std::string, std::string>{{"a", "1"}, {"b", ""}, {"c.d", "2"}, {"e", "3"}});
    CHECK(m.tmpfs == std::map<std::string, std::uint64_t>{{"/a", 64'000'000}, {"/b", 1'000'000}, {"/c", 1 << 20}, {"/d", 2000}});
    CHECK(m.seeds.at(0).content == "text");
    CHECK(m.seeds.at(1).path == "g/h.txt");
    CHECK(m.seeds.at(2).mode == 0700);
    CHECK(contains(refused({{"tmpfs", "/tmp:rw,size=1m"}}).message(), "other than the size"));
    refused({{"files", "f"}});
    // As a file's name it would be silently right, and is never meant.
    refused({{"files.repo.fromGit", "https://host/repo"}});
    CHECK(with({{"image", "x"}, {"files.read.fromage", "x"}}).seeds.at(0).path == "read.fromage");
}

TEST_CASE("list flags add up by origin, take commas, and replace the document's") {
    const std::string text = "image: x\nsecurity: {dropCapabilities: [KILL]}\n";
    CHECK(with({{"security.dropCapabilities", "CHOWN,cap_setuid"}, {"security.dropCapabilities", "SETGID"}}, text)
              .security.drop_capabilities == std::vector<std::string>{"CHOWN", "SETUID", "SETGID"});
    CHECK(with({{"security.dropCapabilities", "CHOWN", "--set"}, {"security.dropCapabilities", "SETGID", "--drop-capabilities"}})
              .security.drop_capabilities == std::vector<std::string>{"SETGID"});
    CHECK(with({{"security.dropCapabilities", "[]"}}, text).security.drop_capabilities.empty());
    CHECK(with({{"directories", "[{path: a, mode: 0700}]"}, {"directories", "b"}}).seeds.size() == 2);
    CHECK(contains(refused({{"publish", "8080:80", "--publish"}, {"network", "bridge"}}).hint(), "engine chooses"));
}

TEST_CASE("sections, short forms and extensions from flags") {
    CHECK(with({{"limits", "{memory: 1GB, pids: 7}"}, {"limits.pids", "8"}}).limits.pids == 8);
    CHECK(with({{"workspace", "project-42", "--workspace"}, {"workspace.shared", "true"}}).workspace.shared);
    CHECK(with({{"workspace", "{id: p, readonly: true}"}}).workspace.readonly);
    CHECK(with({{"network", "none", "--network"}}, "image: x\nnetwork: bridge\n").network == NetworkMode::none);
    CHECK(with({{"policy.exec.maxTimeout", "5m"}}).extensions_json == R"({"policy":{"exec":{"maxTimeout":"5m"}}})");
}

TEST_CASE("unknown paths are usage errors with the nearest key") {
    CHECK(contains(refused({{"limits.memry", "1GB"}}).message(), "--set: unknown key \"limits.memry\"; did you mean \"limits.memory\"?"));
    CHECK(contains(refused({{"memory", "1GB"}}).message(), "did you mean \"limits.memory\"?"));
    refused({{"", "x"}});
    refused({{".", "x"}});
    refused({{"limits.", "x"}});
    CHECK(contains(refused({{"limits", "x"}}).message(), "has keys, and no value of its own"));
    refused({{"env.", "x"}});
    refused({{"limits.memory.x", "1"}});
    CHECK(contains(refused({{"limits", "{pidz: 3}"}}).message(), "did you mean \"pids\"?"));
    CHECK(contains(refused({{"limits.memory", "1XB", "--memory"}}).message(), "--memory: \"1XB\" is not a size"));
    CHECK(contains(refused({{"user", "\xFF", "--user"}}).message(), "not UTF-8"));
}

TEST_CASE("what a flag and a document say together is checked") {
    CHECK(error_of([] { with({{"limits.timeout", "2h", "--timeout"}}); }).code() == ErrorCode::usage);
    const auto error = error_of([] { with({{"lifecycle.ttl", "1m", "--ttl"}}, "image: x\nlimits: {timeout: 2m}\n"); });
    CHECK(contains(error.message(), "m.yaml:2:19:"));
}

TEST_CASE("host paths typed as flags are relative to where they were typed") {
    CHECK(with({{"security.seccomp", "../profile.json", "--seccomp"}}).security.seccomp == "../profile.json");
}

TEST_CASE("a builder moves, and builds as often as wanted") {
    ManifestBuilder first;
    first.set("image", "x", "--image");
    ManifestBuilder second(std::move(first));
    CHECK(second.build().image == "x");
    second.set("image", "y", "--image");
    CHECK(second.build().image == "y");
}

TEST_CASE("flags are unique over the manifest") {
    std::set<std::string> flags;
    std::set<std::string_view> paths;
    for (const ManifestKey& key : manifest_keys()) {
        CAPTURE(key.path);
        CHECK(paths.insert(key.path).second);
        CHECK_FALSE(key.summary.empty());
        CHECK_FALSE(key.summary.ends_with('.'));
        CHECK((key.type == KeyType::choice) == !key.choices.empty());
        if (const auto flag = flag_of(key)) CHECK(flags.insert(*flag).second);
    }
    CHECK(flags.count("--idle-timeout") == 1);
    CHECK(flags.count("--network") == 1);
    CHECK(flags.count("--workspace") == 1);
    CHECK(flags.count("--readonly-rootfs") == 1);
    CHECK_FALSE(flag_of(*find_key("workspace.id")));
    CHECK_FALSE(flag_of(*find_key("checkpoint.store")));
}

TEST_CASE("the table's defaults are the manifest's") {
    const std::string plain = to_canonical_json(with({}));
    for (const ManifestKey& key : manifest_keys()) {
        if (key.default_text.empty() || is_extension(key.path)) continue;
        CAPTURE(key.path);
        ManifestBuilder builder;
        builder.set("image", "x", "--image");
        builder.set(key.path, key.default_text, "--set");
        CHECK(to_canonical_json(builder.build()) == plain);
    }
}

TEST_CASE("every key of the table is read") {
    for (const ManifestKey& key : manifest_keys()) {
        CAPTURE(key.path);
        // A list of lists suits no key, so whoever reads this key must say so; an unread one would be unknown.
        std::string text = "[[[]]]";
        for (std::string_view path = key.path; !path.empty();) {
            const std::size_t dot = path.rfind('.');
            text = "{" + std::string(path.substr(dot == std::string_view::npos ? 0 : dot + 1)) + ": " + text + "}";
            path = dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
        }
        ManifestBuilder builder;
        builder.add_document("m.yaml", text, ".");
        const auto error = error_of([&] { builder.build(); });
        CHECK(error.code() == ErrorCode::manifest_invalid);
        CHECK_FALSE(contains(error.message(), "unknown key"));
        CHECK_FALSE(contains(error.message(), "no image"));
    }
}
