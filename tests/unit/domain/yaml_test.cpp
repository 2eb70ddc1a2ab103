// SPDX-License-Identifier: Apache-2.0
#include "domain/yaml.hpp"

#include "expect_error.hpp"

#include <doctest/doctest.h>

using namespace sandbox::domain;
using namespace sandbox::tests;

namespace {

YamlNodePtr parse(std::string text) {
    return parse_yaml(std::make_shared<YamlSource>(YamlSource{"m.yaml", std::move(text), ".", YamlOrigin::document}));
}
std::string message_of(const std::string& text) {
    return error_of([&] { parse(text); }).message();
}
std::string scalar(const YamlNodePtr& root, std::string_view key) {
    const auto* entry = root->find(key);
    REQUIRE(entry != nullptr);
    REQUIRE(entry->value->is(YamlNode::Kind::scalar));
    return entry->value->text;
}
std::string repeat(const std::string& part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
}

} // namespace

TEST_CASE("scalars keep their text") {
    const auto root = parse("a: no\nb: 1.10\nc: 22:22\nd: 0644\ne: \"null\"\nf: 1e3\ng: !!str 5\nh: !!str ~\n");
    CHECK(scalar(root, "a") == "no");
    CHECK(scalar(root, "b") == "1.10");
    CHECK(scalar(root, "c") == "22:22");
    CHECK(scalar(root, "d") == "0644");
    CHECK(scalar(root, "e") == "null");
    CHECK(scalar(root, "f") == "1e3");
    CHECK(scalar(root, "g") == "5");
    CHECK(scalar(root, "h") == "~");
    CHECK(root->find("a")->value->plain);
    CHECK_FALSE(root->find("e")->value->plain);
}

TEST_CASE("nodes know where they stand, behind a BOM and with CRLF too") {
    const auto root = parse("\xEF\xBB\xBF" "a: x\r\nb:\r\n  - y\r\n");
    CHECK(root->find("a")->mark.line == 0);
    CHECK(root->find("a")->mark.column == 0);
    CHECK(root->find("b")->mark.line == 1);
    CHECK(root->find("b")->value->items.at(0)->mark.line == 2);
    CHECK(root->find("b")->value->items.at(0)->mark.column == 4);
}

TEST_CASE("block scalars are byte-exact by YAML's rules") {
    const auto root = parse("clip: |\n  one\n  two\n\nstrip: |-\n  one\nkeep: |+\n  one\n\nfold: >\n  one\n  two\n");
    CHECK(scalar(root, "clip") == "one\ntwo\n");
    CHECK(scalar(root, "strip") == "one");
    CHECK(scalar(root, "keep") == "one\n\n");
    CHECK(scalar(root, "fold") == "one two\n");
    CHECK(scalar(parse("a: |\r\n  #!/bin/sh\r\n  exit\r\n"), "a") == "#!/bin/sh\nexit\n");
    CHECK(scalar(parse("a: |\n  no newline at the end"), "a") == "no newline at the end");
}

TEST_CASE("an empty document is an empty map") {
    for (const char* text : {"", "\n", "# only a comment\n", "---\n", "null\n", "\xEF\xBB\xBF"}) {
        CAPTURE(text);
        CHECK(parse(text)->is(YamlNode::Kind::map));
        CHECK(parse(text)->entries.empty());
    }
}

TEST_CASE("double keys are refused with both places") {
    const auto message = message_of("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n");
    CHECK(message == "m.yaml:5:3: double key \"c\", first given in line 3\n    c: 3\n    ^");
    CHECK(contains(message_of("{a: 1, \"a\": 2}"), "double key"));
}

TEST_CASE("several documents and left-overs are refused") {
    CHECK(contains(message_of("a: 1\n---\nb: 2\n"), "m.yaml:3:1: a second document"));
    CHECK(contains(message_of("a: 1\n---\n"), "a second document"));
    CHECK(contains(message_of("{a: 1} b"), "belongs to nothing above"));
    CHECK(contains(message_of("  a: 1\nb: 2\n"), "belongs to nothing above"));
    CHECK(parse("---\na: 1\n...\n")->entries.size() == 1);
}

TEST_CASE("tags other than text and binary are refused") {
    CHECK(scalar(parse("a: !!binary aGk="), "a") == "hi");
    CHECK(parse("a: !!binary aGk=")->find("a")->value->binary);
    CHECK(contains(message_of("a: !!binary 'a'"), "not base64"));
    CHECK(contains(message_of("a: !ruby/object x"), "m.yaml:1:4: unknown tag"));
    CHECK(contains(message_of("a: !!int 5"), "unknown tag"));
    CHECK(contains(message_of("a: !!python/object:os.system [x]"), "unknown tag"));
}

TEST_CASE("aliases are followed within bounds, and bombs are refused") {
    CHECK(scalar(parse("a: &x text\nb: *x\n"), "b") == "text");
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 9; ++i) {
        const std::string previous = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + previous + repeat(", " + previous, 9) + "]\n";
    }
    CHECK(contains(message_of(bomb), "too big once its aliases are expanded"));
    CHECK(contains(message_of("a: &a " + std::string(100'000, 'x') + "\nb: [" + repeat("*a, ", 100) + "]\n"), "too big"));
    CHECK(contains(message_of("a: &a [*a]\n"), "inside of what it stands for"));
    CHECK(contains(message_of("a: *nothing\n"), "anchor is not defined"));
    // A chain of anchors, each a little deeper than the one before.
    std::string chain = "a0: &a0 " + repeat("[", 30) + repeat("]", 30) + "\n";
    for (int i = 1; i < 5; ++i) {
        chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " " + repeat("[", 30) + "*a" +
                 std::to_string(i - 1) + repeat("]", 30) + "\n";
    }
    CHECK(contains(message_of(chain), "levels deep"));
}

TEST_CASE("merge keys and keys that are no text are refused") {
    CHECK(contains(message_of("a: {<<: {b: c}}"), "merge keys"));
    CHECK(scalar(parse("\"<<\": x"), "<<") == "x");
    CHECK(contains(message_of("? [a]\n: b\n"), "a key must be text, not a list"));
    CHECK(contains(message_of("~: b\n"), "a key must be text, not null"));
}

TEST_CASE("deep nesting ends in an error, not in the stack's end") {
    for (const char* part : {"[", "{a: ", "- ", "? ", "[a: ", "{", "!!seq [", "&a ["}) {
        CAPTURE(part);
        CHECK(error_of([&] { parse(repeat(part, 100'000)); }).code() == sandbox::ErrorCode::manifest_invalid);
    }
    CHECK(contains(message_of(repeat("[", 70) + repeat("]", 70)), "nested more than 64 levels deep"));
    CHECK(parse("a: " + repeat("[", 60) + repeat("]", 60))->entries.size() == 1);
}

TEST_CASE("what is no text for YAML is refused before the parser sees it") {
    using namespace std::string_literals;
    CHECK(message_of("a: x\0y\n"s) == "m.yaml:1:5: control character 0x00, which YAML does not allow\n  a: x\\x00y\n      ^");
    CHECK(contains(message_of("a: b\nc: \x04\nd: e\n"), "m.yaml:2:4: control character 0x04"));
    CHECK(contains(message_of("a: b\nc: \xC3\xBC\xFF\n"), "m.yaml:2:5: this is not UTF-8"));
    CHECK(contains(message_of("\xFF\xFE" "a"), "m.yaml:1:1: this is not UTF-8"));
    CHECK(contains(message_of("a: |\n" + repeat("  0123456789\n", 350'000)), "over 4 MiB"));
}

TEST_CASE("a torn document is never taken for a whole one") {
    for (const char* text : {"a: \"x\n", "a: 'x\n", "a: \"x", "a: \"x\r\n", "a: \"x\n\n\n"}) {
        CAPTURE(text);
        CHECK(contains(message_of(text), "m.yaml:1:6: a quote is opened and never closed"));
    }
    for (const char* text : {"a: [\n", "a: {b: c\n", "{\"a\": \"b\"", "{"}) {
        CAPTURE(text);
        CHECK(error_of([&] { parse(text); }).code() == sandbox::ErrorCode::manifest_invalid);
    }
    CHECK(scalar(parse("a: \"x\\n...\\ny\"\n"), "a") == "x\n...\ny");
}

TEST_CASE("a tab in the indentation is called by its name") {
    CHECK(contains(message_of("a:\n\tb: c\n"), "m.yaml:2:1: a tab in the indentation"));
    CHECK(contains(message_of("a:\n  b: c\n\td: e\n"), "m.yaml:3:1: a tab in the indentation"));
}

TEST_CASE("JSON is read, tabs, escapes and surrogate pairs included") {
    const auto root = parse("{\n\t\"a\":\"\\ud83d\\ude00\",\n\t\"b\":\"\\\\ud83d\\/\\u00e9\",\"c\":[1,true,null]\n}\n");
    CHECK(scalar(root, "a") == "\xF0\x9F\x98\x80");
    CHECK(scalar(root, "b") == "\\ud83d/\xC3\xA9");
    CHECK(root->find("c")->value->items.at(0)->text == "1");
    CHECK(root->find("c")->value->items.at(2)->is(YamlNode::Kind::null));
    CHECK(error_of([] { parse("{\"a\": \"\\ud83d\"}"); }).code() == sandbox::ErrorCode::manifest_invalid);
}

TEST_CASE("the caret counts characters, and long lines are cut around it") {
    CHECK(contains(message_of("\"\xC3\xBC\xC3\xBC\": !x y\n"), "m.yaml:1:7: unknown tag \"!x\"\n  \"\xC3\xBC\xC3\xBC\": !x y\n        ^"));
    const auto message = message_of("{a: " + std::string(1000, 'b') + ", c: !x y" + std::string(1000, ' ') + "}");
    CHECK(message.size() < 400);
    CHECK(contains(message, "c: !x y"));
    CHECK_FALSE(contains(message_of("a: !x \x1b"), "\x1b"));
    CHECK_FALSE(contains(message_of("a: !x \xC2\x9B"), "\xC2\x9B"));
}

TEST_CASE("a flag's error is usage and does not show its text") {
    const auto source = std::make_shared<YamlSource>(YamlSource{"--env", "{TOKEN: [secret", ".", YamlOrigin::flag});
    const auto error = error_of([&] { parse_yaml(source); });
    CHECK(error.code() == sandbox::ErrorCode::usage);
    CHECK(contains(error.message(), "--env: "));
    CHECK_FALSE(contains(error.message(), "secret"));
}
