// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.hpp"

#include "cli/attached_exec.hpp"
#include "cli/help.hpp"
#include "cli/manifest_options.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"

#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <set>

using namespace sandbox;
using namespace sandbox::cli;
using Words = std::vector<std::string>;

namespace {

std::string hint_of(const Words& line) {
    try {
        parse_line(line);
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::usage);
        return error.hint();
    }
    FAIL("parsed");
    return {};
}

} // namespace

TEST_CASE("a command that has no session before it begins with the first argument") {
    CHECK(parse_line({"run", "--image", "i", "ls", "-l"}).arguments == Words{"ls", "-l"});
    CHECK(parse_line({"run", "--image", "i", "--", "-x", "--", "y"}).arguments == Words{"-x", "--", "y"});
    CHECK(parse_line({"run", "git", "--", "f", ""}).arguments == Words{"git", "--", "f", ""});
    CHECK(parse_line({"run", "true", "--json"}).json == false);
    CHECK(parse_line({"run", "--image", "i", "--json", "true"}).json == true);
    CHECK(find_verb({"run", "--image", "i", "--json", "--wrong", "true"}).json == true);
    CHECK_THROWS_AS(parse_line({"run", "--image", "i"}), Error);
    CHECK(hint_of({"with", "--imgae", "i", "true"}).find("--image") != std::string::npos);
}

TEST_CASE("the keys to detach") {
    CHECK(parse_detach_keys("ctrl-p,ctrl-q") == "\x10\x11");
    CHECK(parse_detach_keys("ctrl-],x") == "\x1dx");
    CHECK(parse_detach_keys("ctrl-@") == std::string(1, '\0'));
    CHECK(parse_detach_keys("none").empty());
    for (const char* wrong : {"ctrl-", "ctrl-pp", "p,,q", "ctrl-p,", "shift-p", "ctrl-1"}) CHECK_THROWS_AS(parse_detach_keys(wrong), Error);
}

TEST_CASE("what follows the session belongs to the command") {
    CHECK(parse_line({"exec", "S", "ls", "-l"}).arguments == Words{"S", "ls", "-l"});
    CHECK(parse_line({"exec", "S", "--", "-x"}).arguments == Words{"S", "-x"});
    CHECK(parse_line({"exec", "S", "--", "a", "--", "b"}).arguments == Words{"S", "a", "--", "b"});
    CHECK(parse_line({"exec", "S", "--", "printf", "%s", ""}).arguments == Words{"S", "printf", "%s", ""});
    CHECK(parse_line({"exec", "S", "sh", "-c", "x", "_", "--timeout"}).arguments ==
          Words{"S", "sh", "-c", "x", "_", "--timeout"});
    CHECK(parse_line({"exec", "S", "sh", "--json"}).json == false);
}

TEST_CASE("options come before the session, in every spelling") {
    const auto parsed = parse_line({"--json", "exec", "-it", "-e", "A=1", "--env=B=2", "--timeout", "5s", "S", "true"});
    CHECK(parsed.command->name == "exec");
    CHECK(parsed.json);
    CHECK(parsed.options.at("env") == Words{"A=1", "B=2"});
    CHECK(parsed.options.at("timeout") == Words{"5s"});
    CHECK(parsed.options.contains("interactive"));
    CHECK(parsed.options.contains("tty"));
    CHECK(parsed.arguments == Words{"S", "true"});
}

TEST_CASE("an option after the session is refused with the right order") {
    CHECK(hint_of({"exec", "S", "--timeout", "5s", "--", "true"}).ends_with("sandbox exec --timeout 5s S -- true"));
    CHECK(hint_of({"exec", "S", "-it", "sh"}).ends_with("sandbox exec -it S -- sh"));
}

TEST_CASE("a global option's argument is not taken for the verb") {
    const auto parsed = parse_line({"--owner", "exec", "ps"});
    CHECK(parsed.command->name == "ps");
    CHECK(parsed.options.at("owner") == Words{"exec"});
}

TEST_CASE("verbs and options have a did-you-mean") {
    CHECK(hint_of({"destory", "S"}).find("destroy") != std::string::npos);
    CHECK(hint_of({"ps", "--jsn"}).find("--json") != std::string::npos);
    CHECK(hint_of({"exec", "--tiemout", "5s", "S", "true"}).find("--timeout") != std::string::npos);
    CHECK(hint_of({"create", "-v", "a:b"}).find("sandbox cp") != std::string::npos);
    CHECK(hint_of({"create", "alpine"}).find("--image") != std::string::npos);
    CHECK(hint_of({"workspace"}).find("--help") != std::string::npos);
}

TEST_CASE("counts of arguments") {
    CHECK_THROWS_AS(parse_line({"exec", "S"}), Error);
    CHECK_THROWS_AS(parse_line({"cp", "a"}), Error);
    CHECK_THROWS_AS(parse_line({"cp", "a", "b", "c"}), Error);
    CHECK(parse_line({"rm", "a", "b"}).arguments == Words{"a", "b"});
}

TEST_CASE("aliases name the same command") {
    CHECK(parse_line({"rm", "a"}).command == parse_line({"destroy", "a"}).command);
    CHECK(parse_line({"ls"}).command == parse_line({"ps"}).command);
}

TEST_CASE("a negative value reaches its option") {
    CHECK(parse_line({"exec", "--timeout", "-1s", "S", "true"}).options.at("timeout") == Words{"-1s"});
}

TEST_CASE("every command has help with its usage, and no two options of one command share a name") {
    for (const auto& command : commands()) {
        CAPTURE(command.name);
        CHECK_FALSE(command.summary.empty());
        CHECK_FALSE(command.examples().empty());
        CHECK(help_for(command).find("usage: sandbox " + std::string(command.name)) == 0);
        std::set<std::string> names;
        std::set<char> letters;
        auto options = command.options();
        options.insert(options.end(), global_options().begin(), global_options().end());
        for (const auto& option : options) {
            CAPTURE(option.name);
            CHECK(names.insert(option.name).second);
            if (option.letter != 0) CHECK(letters.insert(option.letter).second);
            CHECK_FALSE(option.summary.ends_with('.'));
        }
    }
}

TEST_CASE("the grammar of an env file") {
    const TempDir directory;
    const std::string path = directory.path() + "/env";
    AtomicFile file(AT_FDCWD, path, 0600);
    write_all(file.fd(), "\xEF\xBB\xBF# comment\r\nA=1\r\n\nB=\"x\" # y\nC=\nD=a=b");
    file.publish();
    CHECK(read_env_file(path) == Words{"A=1", "B=\"x\" # y", "C=", "D=a=b"});
    AtomicFile bad(AT_FDCWD, path, 0600);
    write_all(bad.fd(), "A=1\n=x\n");
    bad.publish();
    CHECK_THROWS_WITH_AS(read_env_file(path), doctest::Contains(":2"), Error);
}

TEST_CASE("a name alone takes its value from here, or is left out") {
    ::setenv("SANDBOX_TEST_VALUE", "here", 1);
    ::unsetenv("SANDBOX_TEST_UNSET");
    CHECK(complete_env("SANDBOX_TEST_VALUE") == "SANDBOX_TEST_VALUE=here");
    CHECK_FALSE(complete_env("SANDBOX_TEST_UNSET"));
    CHECK(complete_env("X=") == "X=");
    CHECK_THROWS_AS(complete_env("=x"), Error);
}

TEST_CASE("a boolean alone is true and takes no other word for its value") {
    const auto parsed = parse_line({"create", "--readonly-rootfs", "--name", "ro"});
    CHECK(parsed.options.at("readonly-rootfs") == Words{"true"});
    CHECK(parsed.options.at("name") == Words{"ro"});
    CHECK(parse_line({"create", "--auto-destroy", "false"}).options.at("auto-destroy") == Words{"false"});
    CHECK(parse_line({"create", "--auto-destroy=false"}).options.at("auto-destroy") == Words{"false"});
    CHECK(parse_line({"create", "--auto-destroy=no"}).options.at("auto-destroy") == Words{"no"});
}

TEST_CASE("a switch may be written with its value") {
    CHECK(parse_line({"create", "--dry-run=true"}).options.contains("dry-run"));
    CHECK_FALSE(parse_line({"create", "--dry-run=false"}).options.contains("dry-run"));
    CHECK_THROWS_WITH_AS(parse_line({"create", "--dry-run=client"}), "--dry-run is true or false, not \"client\"", Error);
    CHECK_THROWS_WITH_AS(parse_line({"ps", "-q=x"}), "-q is true or false, not \"x\"", Error);
    CHECK_THROWS_WITH_AS(parse_line({"exec", "-it=x", "S", "x"}), "-t is true or false, not \"x\"", Error);
    const auto half = parse_line({"exec", "-it=false", "S", "x"});
    CHECK(half.options.contains("interactive"));
    CHECK_FALSE(half.options.contains("tty"));
    CHECK(parse_line({"exec", "S", "x", "--tty=no"}).arguments == Words{"S", "x", "--tty=no"});
}

TEST_CASE("a letter's value may follow an =, as docker has it") {
    CHECK(parse_line({"create", "-m=1g"}).options.at("memory") == Words{"1g"});
    CHECK(parse_line({"create", "-m="}).options.at("memory") == Words{""});
    CHECK(parse_line({"create", "-m=-1"}).options.at("memory") == Words{"-1"});
    CHECK(parse_line({"ps", "-l=a=b"}).options.at("label") == Words{"a=b"});
    CHECK(parse_line({"exec", "-ie=A=1", "S", "x"}).options.at("env") == Words{"A=1"});
    CHECK(parse_line({"exec", "-eA=1", "S", "x"}).options.at("env") == Words{"A=1"});
    CHECK_THROWS_WITH_AS(parse_line({"ps", "-x=1"}), "unknown option -x of sandbox ps", Error);
}

TEST_CASE("an option takes one word, whatever it is, and an empty one with =") {
    CHECK(parse_line({"create", "--name", "--image", "--image=x"}).options.at("name") == Words{"--image"});
    const auto parsed = parse_line({"create", "--name=", "--image", "x"});
    CHECK(parsed.options.at("name") == Words{""});
    CHECK(parsed.options.at("image") == Words{"x"});
    CHECK_THROWS_WITH_AS(parse_line({"exec", "-ie"}), "-e needs a value", Error);
    CHECK(parse_line({"exec", "-ie", "A=1", "S", "x"}).options.at("env") == Words{"A=1"});
    CHECK(parse_line({"exec", "-ieA=1", "S", "x"}).options.at("env") == Words{"A=1"});
    CHECK(parse_line({"exec", "-eA", "S", "x", "-e"}).arguments == Words{"S", "x", "-e"});
}

TEST_CASE("an option before the command is one of all commands, or of the one that follows") {
    CHECK(parse_line({"-a", "ps"}).options.contains("all"));
    CHECK(parse_line({"--owner=me", "ps"}).options.at("owner") == Words{"me"});
    CHECK_THROWS_WITH_AS(parse_line({"-n", "x", "ps"}), "unknown option -n", Error);
    CHECK(hint_of({"-l", "a=b", "destroy"}) == "a command's options follow it: sandbox destroy -l KEY=VALUE");
    CHECK(hint_of({"--patch", "x"}) == "a command's options follow it: sandbox diff --patch");
}

TEST_CASE("global options alone are no command") {
    CHECK(hint_of({"--owner"}).find("--help") != std::string::npos);
    CHECK(hint_of({"--state-dir", "ps"}).find("--help") != std::string::npos);
    CHECK(parse_line({}).wants_help);
    CHECK(parse_line({"--json", "--help"}).wants_help);
}
