// SPDX-License-Identifier: Apache-2.0
#include "cli/complete_line.hpp"

#include <algorithm>
#include <utility>

namespace sandbox::cli {
namespace {

class LineReader {
  public:
    LineReader() { m_place.options = global_options(); }

    void take(const std::string& word);
    Place finish(const std::string& word);

  private:
    bool is_option(const std::string& word) const { return !m_only_arguments && word.size() > 1 && word.front() == '-'; }
    // Behind the session of an exec, the words are those of a program that we do not know.
    bool is_beyond_us() const { return m_is_lost || (m_place.command && m_place.command->stops_at_first_argument && !m_place.arguments.empty()); }
    const Option* find(auto&& wanted) const {
        const auto found = std::ranges::find_if(m_place.options, wanted);
        return found == m_place.options.end() ? nullptr : &*found;
    }
    const Option* named(std::string_view name) const {
        return find([name](const Option& option) { return option.name == name; });
    }
    void take_long(const std::string& word);
    void take_letters(const std::string& word);
    void take_verb(const std::string& word);
    void settle_boolean(const std::string& word);
    void want(Completer completer, std::string_view value, std::string before, std::string word);
    void want_argument(const std::string& word);

    Place m_place;
    std::string m_pending; // the option whose value is the next word
    bool m_only_arguments = false;
    bool m_is_lost = false; // no command begins like this
};

void LineReader::take_long(const std::string& word) {
    const auto equals = word.find('=');
    const Option* option = named(word.substr(2, equals == std::string::npos ? equals : equals - 2));
    if (option == nullptr) return;
    if (equals != std::string::npos) m_place.given[option->name].push_back(word.substr(equals + 1));
    else if (option->value.empty()) m_place.given[option->name].push_back("true");
    else m_pending = option->name;
}

void LineReader::take_letters(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
        const Option* option = find([&](const Option& one) { return one.letter == word[i]; });
        if (option == nullptr) return;
        if (option->value.empty()) {
            m_place.given[option->name].push_back("true");
        } else {
            if (i + 1 < word.size()) m_place.given[option->name].push_back(word.substr(i + 1));
            else m_pending = option->name;
            return;
        }
    }
}

void LineReader::take_verb(const std::string& word) {
    const std::string name = m_place.group.empty() ? word : m_place.group + " " + word;
    const Command* command = find_command(name);
    if (command != nullptr && !command->hidden) {
        m_place.command = command;
        const auto options = command->options();
        m_place.options.insert(m_place.options.begin(), options.begin(), options.end());
    } else if (m_place.group.empty() && is_group(word)) {
        m_place.group = word;
    } else {
        m_is_lost = true;
    }
}

// A boolean alone means true: the next word is its value only where it is one.
void LineReader::settle_boolean(const std::string& word) {
    if (m_pending.empty() || named(m_pending)->value != k_boolean_value || word == "true" || word == "false") return;
    m_place.given[std::exchange(m_pending, {})].push_back("true");
}

void LineReader::take(const std::string& word) {
    if (is_beyond_us()) return;
    settle_boolean(word);
    if (!m_pending.empty()) m_place.given[std::exchange(m_pending, {})].push_back(word);
    else if (word == "--" && !m_only_arguments) m_only_arguments = true;
    else if (is_option(word)) word.starts_with("--") ? take_long(word) : take_letters(word);
    else if (m_place.command == nullptr) take_verb(word);
    else m_place.arguments.push_back(word);
}

void LineReader::want(Completer completer, std::string_view value, std::string before, std::string word) {
    m_place.kind = Place::Kind::value;
    m_place.completer = completer;
    m_place.value = value;
    m_place.before = std::move(before);
    m_place.word = std::move(word);
}

void LineReader::want_argument(const std::string& word) {
    const auto& positionals = m_place.command->positionals;
    if (positionals.empty()) return;
    const std::size_t index = std::min(m_place.arguments.size(), positionals.size() - 1);
    if (index < m_place.arguments.size() && !positionals[index].repeatable) return;
    want(positionals[index].completer, positionals[index].name, "", word);
}

Place LineReader::finish(const std::string& word) {
    m_place.word = word;
    if (is_beyond_us()) return std::move(m_place);
    if (word.starts_with('-')) settle_boolean(word);
    const auto equals = word.find('=');
    if (!m_pending.empty()) {
        const Option* option = named(m_pending);
        want(option->completer, option->value, "", word);
    } else if (!m_only_arguments && word.starts_with("--") && equals != std::string::npos) {
        const Option* option = named(word.substr(2, equals - 2));
        if (option != nullptr && !option->value.empty()) {
            want(option->completer, option->value, word.substr(0, equals + 1), word.substr(equals + 1));
        }
    } else if (!m_only_arguments && word.starts_with('-')) {
        m_place.kind = Place::Kind::option;
    } else if (m_place.command != nullptr) {
        want_argument(word);
    } else if (!m_only_arguments) {
        m_place.kind = Place::Kind::verb;
    }
    return std::move(m_place);
}

} // namespace

Place find_place(const std::vector<std::string>& words) {
    LineReader reader;
    if (words.empty()) return reader.finish("");
    for (auto word = words.begin(); word + 1 != words.end(); ++word) reader.take(*word);
    return reader.finish(words.back());
}

} // namespace sandbox::cli
