// SPDX-License-Identifier: Apache-2.0
// The only file that sees yaml-cpp. Its events build our tree; nodes of its own are never made, so no scalar is ever
// resolved and no limit can be passed before we have looked.
#include "domain/yaml.hpp"

#include "domain/shown.hpp"
#include "util/format.hpp"
#include "util/text.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_map>

namespace sandbox::domain {
namespace {

constexpr std::size_t k_max_depth = 64;
constexpr std::size_t k_max_nodes = 100'000;
constexpr std::size_t k_max_bytes = 8 << 20;
constexpr std::string_view k_tag_prefix = "tag:yaml.org,2002:";

// What a subtree costs, aliases expanded.
struct Weight {
    std::size_t nodes = 1;
    std::size_t bytes = 0;
    std::size_t depth = 1;

    void add(const Weight& child) {
        nodes += child.nodes;
        bytes += child.bytes;
        depth = std::max(depth, child.depth + 1);
    }
};

struct Built {
    YamlNodePtr node;
    Weight weight;
};

// A list or map whose end has not been seen.
struct Open {
    std::shared_ptr<YamlNode> node;
    Weight weight;
    YAML::anchor_t anchor = 0;
    std::optional<std::string> key; // map: the key whose value comes next
    YamlMark key_mark;
    std::unordered_map<std::string, YamlMark> keys;
};

class TreeBuilder final : public YAML::EventHandler {
  public:
    explicit TreeBuilder(std::shared_ptr<const YamlSource> source) : m_source(std::move(source)) {}

    YamlNodePtr root() const { return m_root; }
    YamlMark to_mark(const YAML::Mark& mark) const {
        const auto from = [](int value) { return static_cast<std::size_t>(std::max(0, value)); };
        return YamlMark{m_source, from(mark.line), from(mark.column)};
    }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        finish(make_node(YamlNode::Kind::null, mark), Weight{}, anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = m_anchors.find(anchor);
        if (found == m_anchors.end()) throw located(to_mark(mark), "this alias is inside of what it stands for");
        const Built target = found->second;
        count(mark, target.weight);
        attach(target, to_mark(mark));
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        auto node = make_node(YamlNode::Kind::scalar, mark);
        node->plain = tag == "?";
        node->binary = check_tag(mark, tag, "str") == "binary";
        node->text = node->binary ? decode_binary(mark, value) : value;
        Weight weight;
        weight.bytes = node->text.size();
        count(mark, weight);
        finish(std::move(node), weight, anchor);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        check_tag(mark, tag, "seq");
        open(YamlNode::Kind::list, mark, anchor);
    }
    void OnSequenceEnd() override { close(); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        check_tag(mark, tag, "map");
        open(YamlNode::Kind::map, mark, anchor);
    }
    void OnMapEnd() override { close(); }

  private:
    std::shared_ptr<YamlNode> make_node(YamlNode::Kind kind, const YAML::Mark& mark) const {
        auto node = std::make_shared<YamlNode>();
        node->kind = kind;
        node->mark = to_mark(mark);
        return node;
    }

    // The tag's short name, or an error when it is neither `expected` nor, for scalars, "binary".
    std::string_view check_tag(const YAML::Mark& mark, std::string_view tag, std::string_view expected) const {
        if (tag.empty() || tag == "?" || tag == "!") return expected;
        if (tag.starts_with(k_tag_prefix)) {
            const std::string_view name = tag.substr(k_tag_prefix.size());
            if (name == expected || (name == "binary" && expected == "str")) return name;
        }
        throw located(to_mark(mark), formatted("unknown tag \"{}\"", shown(tag)))
            .hint("only !!str and !!binary have a meaning here; values are read from their text");
    }

    std::string decode_binary(const YAML::Mark& mark, const std::string& value) const {
        auto bytes = base64_decode(value);
        if (!bytes) throw located(to_mark(mark), "!!binary is followed by something that is not base64");
        return *std::move(bytes);
    }

    // Before anything is attached: an alias bomb must not exist even for a moment.
    void count(const YAML::Mark& mark, const Weight& weight) {
        m_total.nodes += weight.nodes;
        m_total.bytes += weight.bytes;
        if (m_stack.size() + weight.depth > k_max_depth) {
            throw located(to_mark(mark), formatted("nested more than {} levels deep", k_max_depth));
        }
        if (m_total.nodes > k_max_nodes || m_total.bytes > k_max_bytes) {
            throw located(to_mark(mark), "the document is too big once its aliases are expanded");
        }
    }

    void open(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
        count(mark, Weight{});
        Open& level = m_stack.emplace_back();
        level.node = make_node(kind, mark);
        level.anchor = anchor;
    }

    void close() {
        Open level = std::move(m_stack.back());
        m_stack.pop_back();
        finish(std::move(level.node), level.weight, level.anchor);
    }

    void finish(std::shared_ptr<YamlNode> node, const Weight& weight, YAML::anchor_t anchor) {
        const Built built{std::move(node), weight};
        if (anchor != 0) m_anchors[anchor] = built;
        attach(built, built.node->mark);
    }

    void attach(const Built& built, const YamlMark& mark) {
        if (m_stack.empty()) {
            m_root = built.node;
            return;
        }
        Open& level = m_stack.back();
        level.weight.add(built.weight);
        if (level.node->is(YamlNode::Kind::list)) {
            level.node->items.push_back(built.node);
        } else if (!level.key) {
            take_key(level, *built.node, mark);
        } else {
            level.node->entries.push_back({*std::move(level.key), level.key_mark, built.node});
            level.key.reset();
        }
    }

    static void take_key(Open& level, const YamlNode& key, const YamlMark& mark) {
        if (!key.is(YamlNode::Kind::scalar)) {
            throw located(mark, formatted("a key must be text, not {}", kind_name(key.kind)));
        }
        if (key.plain && key.text == "<<") {
            throw located(mark, "merge keys (<<) are not read")
                .hint("give -f twice: the maps of the second file merge into the first");
        }
        const auto [first, is_new] = level.keys.emplace(key.text, mark);
        if (!is_new) {
            throw located(mark, formatted("double key \"{}\", first given in line {}", shown(key.text),
                                            first->second.line + 1));
        }
        level.key = key.text;
        level.key_mark = mark;
    }

    std::shared_ptr<const YamlSource> m_source;
    YamlNodePtr m_root;
    std::vector<Open> m_stack;
    std::map<YAML::anchor_t, Built> m_anchors;
    Weight m_total{0, 0, 0};
};

bool indents_with_tab(std::string_view text, std::size_t line) {
    for (; line > 0; --line) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) return false;
        text.remove_prefix(end + 1);
    }
    const std::size_t tab = text.find('\t');
    return tab != std::string_view::npos && text.find_first_not_of(" \t") > tab;
}

// The end of the last line with something on it: where a document that ends too early is shown to end.
YamlMark last_written(const YamlMark& mark) {
    const std::string_view text = mark.source->text;
    const std::size_t last = text.find_last_not_of(" \t\r\n");
    if (last == std::string_view::npos) return mark;
    const std::string_view before = text.substr(0, last + 1);
    const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    if (line >= mark.line) return mark;
    return {mark.source, line, before.size() - (line == 0 ? 0 : before.rfind('\n') + 1)};
}

Error syntax_error(const YamlMark& mark, const std::string& message) {
    const std::string& text = mark.source->text;
    // The parser stumbles at the tab's own line or at the one after it.
    for (const std::size_t line : {mark.line, mark.line - 1}) {
        if (line <= mark.line && indents_with_tab(text, line)) {
            return located(YamlMark{mark.source, line, 0}, "a tab in the indentation, where YAML takes only spaces");
        }
    }
    if (message == YAML::ErrorMsg::EOF_IN_SCALAR || message == YAML::ErrorMsg::DOC_IN_SCALAR) {
        return located(last_written(mark), "a quote is opened and never closed");
    }
    return located(last_written(mark), message);
}

// yaml-cpp takes the end of the text for the end of a quoted scalar when a line break comes before it, so a torn file
// would pass. A document end inside of quotes it refuses.
std::string with_end_marker(std::string text) {
    if (text.ends_with('\n')) text += "...\n";
    return text;
}

void refuse_second_document(YAML::Parser& parser, const std::shared_ptr<const YamlSource>& source) {
    TreeBuilder second(source);
    if (!parser.HandleNextDocument(second)) return;
    const YamlMark mark = second.root() ? second.root()->mark : YamlMark{source, 0, 0};
    // The parser takes what is left over for a next document, marker or not.
    if (source->text.find("\n---") == std::string::npos) {
        throw located(mark, "this belongs to nothing above it").hint("check the indentation and the brackets");
    }
    throw located(mark, "a second document starts here")
        .hint("a manifest is one document; give -f twice to combine two files");
}

} // namespace

const YamlNode::Entry* YamlNode::find(std::string_view key) const {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.key == key; });
    return found == entries.end() ? nullptr : &*found;
}

const YamlNode::Entry* find_path(const YamlNode& root, std::string_view path) {
    const YamlNode* node = &root;
    const YamlNode::Entry* entry = nullptr;
    for (const auto& name : split(path, '.')) {
        entry = node == nullptr ? nullptr : node->find(name);
        node = entry == nullptr ? nullptr : entry->value.get();
    }
    return entry;
}

std::string_view kind_name(YamlNode::Kind kind) {
    switch (kind) {
    case YamlNode::Kind::null: return "null";
    case YamlNode::Kind::scalar: return "text";
    case YamlNode::Kind::list: return "a list";
    case YamlNode::Kind::map: return "a map";
    }
    return "";
}

YamlNodePtr parse_yaml(std::shared_ptr<const YamlSource> source) {
    check_yaml_text(source);
    std::istringstream input(with_end_marker(with_joined_surrogates(source->text)));
    TreeBuilder builder(source);
    try {
        YAML::Parser parser(input);
        if (parser.HandleNextDocument(builder)) refuse_second_document(parser, source);
    } catch (const YAML::Exception& failure) {
        throw syntax_error(builder.to_mark(failure.mark), failure.msg);
    }
    YamlNodePtr root = builder.root();
    if (root != nullptr && !root->is(YamlNode::Kind::null)) return root;
    auto empty = std::make_shared<YamlNode>();
    empty->kind = YamlNode::Kind::map;
    empty->mark = YamlMark{std::move(source), 0, 0};
    return empty;
}

} // namespace sandbox::domain
