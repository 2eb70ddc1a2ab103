// SPDX-License-Identifier: Apache-2.0
#include "app/schedule.hpp"

#include "util/shell.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace sandbox::app::doctor {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view k_blank = " \t";
constexpr std::string_view k_variable = "SANDBOX_STATE_DIR";

std::string_view trimmed(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(k_blank), text.size()));
    return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

// The commands of a line by the shell's quoting (POSIX.1-2017, XCU 2.2), each as its words.
class ShellLine {
  public:
    explicit ShellLine(std::string_view text) : m_text(text) {
        while (m_at < m_text.size()) take();
        end_command();
    }
    std::vector<Words> commands() && { return std::move(m_commands); }

  private:
    void take() {
        const char c = m_text[m_at++];
        if (c == '\'') return quote_single();
        if (c == '"') return quote_double();
        if (c == '\\') return escape();
        if (c == '#' && !m_is_word) return void(m_at = m_text.size());
        if (k_blank.find(c) != std::string_view::npos) return end_word();
        if (std::string_view(";&|()\n").find(c) != std::string_view::npos) return end_command();
        add(c);
    }
    void quote_single() {
        const auto end = std::min(m_text.find('\'', m_at), m_text.size());
        m_word += m_text.substr(m_at, end - m_at);
        m_is_word = true;
        m_at = end + 1;
    }
    void quote_double() {
        m_is_word = true;
        while (m_at < m_text.size() && m_text[m_at] != '"') {
            const bool is_escape = m_text[m_at] == '\\' && m_at + 1 < m_text.size() && std::string_view("$`\"\\").find(m_text[m_at + 1]) != std::string_view::npos;
            if (is_escape) ++m_at;
            m_word += m_text[m_at++];
        }
        ++m_at;
    }
    void escape() {
        if (m_at < m_text.size()) add(m_text[m_at++]);
    }
    void add(char c) {
        m_word += c;
        m_is_word = true;
    }
    void end_word() {
        if (m_is_word) m_words.push_back(std::move(m_word));
        m_word.clear();
        m_is_word = false;
    }
    void end_command() {
        end_word();
        if (!m_words.empty()) m_commands.push_back(std::move(m_words));
        m_words.clear();
    }

    std::string_view m_text;
    std::size_t m_at = 0;
    std::string m_word;
    bool m_is_word = false; // an empty one in quotes is one too
    Words m_words;
    std::vector<Words> m_commands;
};

std::vector<Words> shell_commands(std::string_view text) { return ShellLine(text).commands(); }

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_assignment(std::string_view word) {
    const auto name = word.substr(0, std::min(word.find('='), word.size()));
    return name.size() < word.size() && !name.empty() && std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

std::optional<std::string> value_of(std::string_view word, std::string_view name) {
    if (!word.starts_with(name) || word.size() == name.size() || word[name.size()] != '=') return std::nullopt;
    return std::string(word.substr(name.size() + 1));
}

// Looks for what is meant in one command, through what changes the user and the environment in front of it.
class CommandReader {
  public:
    CommandReader(const Words& words, std::string user, std::string state_directory) : m_words(words), m_found{{}, std::move(user), std::move(state_directory)} {}

    std::optional<ScheduledCommand> read() {
        for (m_at = 0; m_at < m_words.size(); ++m_at) {
            const std::string& word = m_words[m_at];
            const auto program = base_name(word);
            if (word.find(' ') != std::string::npos) { // sh -c "...", or a path with a space in it
                if (auto found = inside(word)) return found;
            }
            if (program == "docker" || program == "podman") return prune();
            else if (program.starts_with("sandbox") && !is_assignment(word)) return gc();
            else if (program == "sudo" || program == "runuser") take_over(program);
            else if (program == "su") take_user_of_su();
            else take_setting(word);
        }
        return std::nullopt;
    }

  private:
    std::optional<ScheduledCommand> inside(const std::string& line) const {
        if (is_assignment(line)) return std::nullopt;
        for (const auto& words : shell_commands(line)) {
            if (auto found = CommandReader(words, m_found.user, m_found.state_directory).read()) return found;
        }
        return std::nullopt;
    }

    const std::string& next() {
        static const std::string none;
        return ++m_at < m_words.size() ? m_words[m_at] : none;
    }

    // To root, unless a user follows; and sudo(8) keeps no environment.
    void take_over(std::string_view program) {
        m_changes_user = true;
        m_found.user = "root";
        if (program == "sudo") m_found.state_directory.clear();
    }

    void take_setting(const std::string& word) {
        if (const auto value = value_of(word, k_variable)) m_found.state_directory = *value;
        if (!m_changes_user) return;
        if (word == "-u" || word == "--user") m_found.user = next();
        else if (const auto user = value_of(word, "--user")) m_found.user = *user;
    }

    void take_user_of_su() {
        const auto is_name = [](const std::string& word) { return !word.starts_with('-'); };
        const auto name = std::find_if(m_words.begin() + static_cast<std::ptrdiff_t>(m_at) + 1, m_words.end(), is_name);
        m_found.user = name == m_words.end() || name->find(' ') != std::string::npos ? "root" : *name;
    }

    std::optional<ScheduledCommand> gc() {
        constexpr std::array<std::string_view, 4> with_value{"--owner", "--engine", "--config", "--color"};
        std::string verb;
        for (++m_at; m_at < m_words.size(); ++m_at) {
            const std::string& word = m_words[m_at];
            if (word == "--dry-run") return std::nullopt;
            if (word == "--state-dir") m_found.state_directory = next();
            else if (const auto value = value_of(word, "--state-dir")) m_found.state_directory = *value;
            else if (std::ranges::find(with_value, word) != with_value.end()) ++m_at;
            else if (verb.empty() && !word.starts_with('-')) verb = word;
        }
        if (verb != "gc") return std::nullopt;
        m_found.kind = ScheduledCommand::Kind::gc;
        return m_found;
    }

    // Not the filter that spares our workspaces, and a whole system's prune only with its volumes.
    std::optional<ScheduledCommand> prune() {
        const auto has = [&](std::string_view word) { return std::ranges::find(m_words, word) != m_words.end(); };
        const bool is_spared = std::ranges::any_of(m_words, [](const auto& word) { return word.find("label!=sandbox.") != std::string::npos; });
        if (!has("prune") || is_spared || (!has("volume") && !(has("system") && has("--volumes")))) return std::nullopt;
        m_found.kind = ScheduledCommand::Kind::prune;
        return m_found;
    }

    const Words& m_words;
    ScheduledCommand m_found;
    std::size_t m_at = 0;
    bool m_changes_user = false;
};

// The lines of one file, from its first to its last: what a line sets holds for those after it.
class FileReader {
  public:
    FileReader(ScheduleFile kind, std::string user) : m_kind(kind), m_user(std::move(user)) {}

    std::vector<ScheduledCommand> read(std::string_view text) {
        std::string whole(text);
        if (m_kind == ScheduleFile::script || m_kind == ScheduleFile::unit) join_continued(whole);
        const auto lines = split(whole, '\n');
        // A unit's settings hold for it as a whole, wherever they stand.
        for (const auto& line : lines) {
            if (m_kind == ScheduleFile::unit) take_unit_setting(trimmed(line));
        }
        for (const auto& line : lines) take_line(trimmed(line));
        return std::move(m_found);
    }

  private:
    static void join_continued(std::string& text) {
        for (auto at = text.find("\\\n"); at != std::string::npos; at = text.find("\\\n", at)) text.replace(at, 2, " ");
    }

    void take_line(std::string_view line) {
        if (line.empty() || line.front() == '#' || line.front() == ';') return;
        switch (m_kind) {
        case ScheduleFile::system_crontab:
        case ScheduleFile::user_crontab: return take_crontab_line(line);
        case ScheduleFile::script: return take_script_line(line);
        case ScheduleFile::unit: return take_unit_line(line);
        }
    }

    void take_commands(std::string_view line, const std::string& user) {
        for (const auto& words : shell_commands(line)) {
            if (auto found = CommandReader(words, user, m_state_directory).read()) m_found.push_back(std::move(*found));
        }
    }

    static std::string_view without_fields(std::string_view line, int count) {
        for (; count > 0; --count) line = trimmed(line.substr(std::min(line.find_first_of(k_blank), line.size())));
        return line;
    }

    // crontab(5): a schedule begins with a number, a star or an "@", and the rest are variables.
    void take_crontab_line(std::string_view line) {
        if (std::isdigit(static_cast<unsigned char>(line.front())) == 0 && line.front() != '*' && line.front() != '@') {
            const auto equals = line.find('=');
            if (equals == std::string_view::npos || trimmed(line.substr(0, equals)) != k_variable) return;
            const auto words = shell_commands(line.substr(equals + 1));
            m_state_directory = words.empty() ? "" : words.front().front();
            return;
        }
        line = without_fields(line, line.front() == '@' ? 1 : 5);
        std::string user = m_user;
        if (m_kind == ScheduleFile::system_crontab) {
            user = line.substr(0, std::min(line.find_first_of(k_blank), line.size()));
            line = without_fields(line, 1);
        }
        take_commands(before_input(line), user);
    }

    // From the first "%" on it is the command's input; "\%" is one.
    static std::string before_input(std::string_view line) {
        std::string command;
        for (std::size_t i = 0; i < line.size() && line[i] != '%'; ++i) {
            if (line.substr(i).starts_with("\\%")) ++i;
            command += line[i];
        }
        return command;
    }

    void take_script_line(std::string_view line) {
        for (const auto& words : shell_commands(line)) {
            const bool is_export = words.front() == "export";
            if (!std::all_of(words.begin() + (is_export ? 1 : 0), words.end(), is_assignment)) continue;
            for (const auto& word : words) m_state_directory = value_of(word, k_variable).value_or(m_state_directory);
        }
        take_commands(line, m_user);
    }

    void take_unit_setting(std::string_view line) {
        if (line.starts_with("User=")) m_user = trimmed(line.substr(5));
        if (!line.starts_with("Environment=")) return;
        for (const auto& words : shell_commands(line.substr(12))) {
            for (const auto& word : words) m_state_directory = value_of(word, k_variable).value_or(m_state_directory);
        }
    }

    void take_unit_line(std::string_view line) {
        const auto equals = line.find('=');
        if (!line.starts_with("ExecStart") || equals == std::string_view::npos) return;
        line.remove_prefix(equals + 1);
        line.remove_prefix(std::min(line.find_first_not_of("@-:+!"), line.size()));
        std::string command(line);
        for (auto at = command.find("%%"); at != std::string::npos; at = command.find("%%", at + 1)) command.erase(at, 1);
        take_commands(command, m_user);
    }

    ScheduleFile m_kind;
    std::string m_user;
    std::string m_state_directory;
    std::vector<ScheduledCommand> m_found;
};

} // namespace

std::vector<ScheduledCommand> scheduled_commands(std::string_view text, ScheduleFile kind, const std::string& user) {
    return FileReader(kind, user).read(text);
}

std::string crontab_command(const std::vector<std::string>& words) {
    std::string command;
    for (const auto& word : words) command += (command.empty() ? "" : " ") + shell_quoted(word);
    for (auto at = command.find('%'); at != std::string::npos; at = command.find('%', at + 2)) command.insert(at, 1, '\\');
    return command;
}

} // namespace sandbox::app::doctor
