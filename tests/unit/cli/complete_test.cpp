// SPDX-License-Identifier: Apache-2.0
#include "cli/complete.hpp"

#include "cli/complete_line.hpp"
#include "util/fs.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <doctest/doctest.h>
#include <set>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::cli;
using Words = std::vector<std::string>;

namespace {

Words values(const Words& line) {
    Words found;
    for (const auto& candidate : complete(line).candidates) found.push_back(candidate.value);
    return found;
}

bool offers(const Words& line, const std::string& value) {
    const Words found = values(line);
    return std::ranges::find(found, value) != found.end();
}

} // namespace

TEST_CASE("the first word is a command, a family or an alias; hidden ones are not offered") {
    CHECK(values({"exe"}) == Words{"exec"});
    CHECK(offers({""}, "workspace"));
    CHECK(offers({""}, "rm"));
    CHECK_FALSE(offers({""}, "workspace ls"));
    CHECK(values({"__"}).empty());
    CHECK(values({"workspace", ""}) == Words{"ls", "inspect", "rm"});
    CHECK(values({"workspace", "r"}) == Words{"rm"});
    CHECK(complete({"ex"}).candidates.front().description == find_command("exec")->summary);
}

TEST_CASE("options of the command and global ones, each once unless it may be repeated") {
    CHECK(values({"exec", "--time"}) == Words{"--timeout"});
    CHECK(offers({"exec", "-"}, "--owner"));
    CHECK(offers({"--"}, "--json"));
    CHECK_FALSE(offers({"exec", "--timeout", "5s", "--"}, "--timeout"));
    CHECK_FALSE(offers({"exec", "--timeout=5s", "--"}, "--timeout"));
    CHECK_FALSE(offers({"exec", "-i", "--"}, "--interactive"));
    CHECK(offers({"exec", "-e", "A=1", "--"}, "--env"));
}

TEST_CASE("values that are one of a few, in both spellings") {
    CHECK(values({"create", "--network", ""}) == Words{"none", "bridge"});
    CHECK(values({"create", "--network=b"}) == Words{"--network=bridge"});
    CHECK(values({"create", "--readonly-rootfs", "t"}) == Words{"true"});
    CHECK(values({"create", "--readonly-rootfs", "--netw"}) == Words{"--network"});
    CHECK(values({"create", "--readonly-rootfs", "--network", "b"}) == Words{"bridge"});
    CHECK(values({"--color", "a"}) == Words{"auto", "always"});
    CHECK(values({"completion", ""}) == Words{"bash", "zsh", "fish"});
    CHECK(values({"completion", "bash", ""}).empty());
    CHECK(values({"exec", "--timeout", ""}).empty());
}

TEST_CASE("manifest keys, and their values") {
    CHECK(values({"create", "--set", "limits.mem"}) == Words{"limits.memory="});
    CHECK(values({"create", "--set", "network="}) == Words{"network=none", "network=bridge"});
    CHECK(values({"create", "--set=workspace.shared=t"}) == Words{"--set=workspace.shared=true"});
    CHECK(values({"create", "--set", "limits.memory="}).empty());
}

TEST_CASE("the shell completes host files, behind what is there of the word") {
    const auto file = complete({"create", "--manifest=ma"});
    CHECK(file.files == Completion::Files::all);
    CHECK(file.before == "--manifest=");
    CHECK(completion_text(file) == ":files\t--manifest=\n");
    CHECK(complete({"create", "-f", "ma"}).files == Completion::Files::all);
    CHECK(complete({"--state-dir", ""}).files == Completion::Files::directories);
    CHECK(complete({"image", "import", ""}).files == Completion::Files::all);
    CHECK(complete({"exec", "-w", ""}).files == Completion::Files::none);
    CHECK(complete({"exec", ""}).files == Completion::Files::none);
}

TEST_CASE("a copy has one side in a session") {
    CHECK(complete({"cp", ""}).files == Completion::Files::all);
    CHECK(complete({"cp", "web:out", ""}).files == Completion::Files::all);
    CHECK(complete({"cp", "web:out"}).files == Completion::Files::none);
    CHECK(complete({"cp", "file", "x"}).files == Completion::Files::none);
    CHECK(complete({"cp", "./a:b"}).files == Completion::Files::all);
}

TEST_CASE("what follows the session of an exec is not ours") {
    const Place place = find_place({"exec", "web", "ls", "--ti"});
    CHECK(place.kind == Place::Kind::nothing);
    CHECK(values({"exec", "web", "--ti"}).empty());
    CHECK(find_place({"exec", "-it", "we"}).completer == Completer::session);
    CHECK(find_place({"exec", "--", "we"}).completer == Completer::session);
    CHECK(find_place({"--owner", "ex", "exec", ""}).completer == Completer::session);
}

TEST_CASE("a line that is wrong is no reason to say anything") {
    CHECK(complete({"nosuch", ""}).candidates.empty());
    CHECK(complete({"workspace", "nosuch", ""}).candidates.empty());
    CHECK(complete({"--owner", "two words", "exec", ""}).candidates.empty());
    CHECK(complete({"exec", "--nosuch=", ""}).candidates.empty());
    CHECK_NOTHROW(complete({"-", ":", "=", "--=", ""}));
    CHECK_NOTHROW(complete({"cp", ":x", ":y"}));
    CHECK_FALSE(complete({}).candidates.empty());
    CHECK(completion_text(complete({"exec", "--timeout", "5"})).empty());
}

TEST_CASE("looking makes no state directory") {
    const TempDir directory;
    const std::string state = directory.path() + "/state";
    CHECK(complete({"--state-dir", state, "exec", ""}).candidates.empty());
    CHECK(complete({"--state-dir", state, "cp", "web:"}).candidates.empty());
    CHECK(complete({"--state-dir", state, "destroy", "-l", ""}).candidates.empty());
    CHECK(::access(state.c_str(), F_OK) != 0);
}

TEST_CASE("help's argument is a command, and -e's a variable") {
    ::setenv("SANDBOX_TEST_COMPLETION", "1", 1);
    CHECK(values({"help", "des"}) == Words{"destroy"});
    CHECK(values({"help", "workspace", "i"}) == Words{"inspect"});
    CHECK(values({"exec", "-e", "SANDBOX_TEST_COMPL"}) == Words{"SANDBOX_TEST_COMPLETION"});
}

TEST_CASE("every place for an argument says what it is") {
    for (const auto& command : commands()) {
        CAPTURE(command.name);
        CHECK(command.positionals.empty() == (command.max_arguments == 0));
        if (command.positionals.empty()) continue;
        const bool is_open = command.positionals.back().repeatable;
        CHECK((is_open || command.positionals.size() == command.max_arguments));
        CHECK((command.max_arguments != SIZE_MAX || is_open));
        if (command.hidden) continue;
        for (const auto& positional : command.positionals) {
            CHECK(command.usage.find(positional.name) != std::string_view::npos);
        }
    }
}
