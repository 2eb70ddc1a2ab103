// SPDX-License-Identifier: Apache-2.0
// Commands as data: one value each, in one table, from which parsing, help, man pages and completion are made.
//
//   for (const Command& command : commands()) std::cout << command.name << '\n';
#pragma once

#include "app/context.hpp"
#include "cli/config_files.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::cli {

// The `value` of a boolean option: --x and --x=true are the same, --x=false is the opposite.
inline constexpr std::string_view k_boolean_value = "true|false";

// What may stand in a place of the line, so that a shell can offer it (complete.hpp).
enum class Completer {
    by_value,     // what its name in help says: FILE, DIR and MANIFEST are host paths, a|b|c one of these, else free text
    nothing,      // free text, whatever its name says
    session,      // a live session of the owner
    session_path, // SESSION:PATH, or a host path
    path_inside,  // a path in the session that stands before it
    workspace,    // a persistent workspace of the owner
    owner,        // whoever has a session here
    label,        // KEY=VALUE as sessions and workspaces have it
    manifest_key, // PATH=VALUE
    manifest_path, // the path of a manifest's key
    event_kind,   // "exec.ended"
    variable,     // the name of an environment variable
    command,      // the words of a command
};

struct Option {
    std::string name;    // "timeout", without dashes
    char letter = 0;     // 't' for -t; 0: none
    std::string value;   // what stands for its argument in help; empty: a switch
    std::string summary; // one line, no full stop
    bool repeatable = false;
    bool hidden = false; // understood, and not offered
    Completer completer = Completer::by_value;
    std::string_view environment = {}; // the variable that is read where the option is not given; empty: none
};

struct Positional {
    std::string_view name; // as in the usage line: "SESSION"
    Completer completer = Completer::by_value;
    bool repeatable = false;
};

// What the user typed, taken apart, and what a command works with.
class Invocation {
  public:
    Invocation(std::map<std::string, std::vector<std::string>> options, std::vector<std::string> arguments);

    bool has(std::string_view option) const;
    std::optional<std::string> value(std::string_view option) const;
    std::vector<std::string> values(std::string_view option) const;
    const std::vector<std::string>& arguments() const { return m_arguments; }
    // -l/--label k=v as a map. Throws usage.
    std::map<std::string, std::string> labels() const;

    bool json() const { return has("json"); }
    bool quiet() const { return has("quiet"); }
    app::Context& context() { return m_context; }
    // Read at the first asking. Throws what read_config_files() throws.
    const std::vector<ConfigFile>& config_files() const;

  private:
    std::map<std::string, std::vector<std::string>> m_options;
    std::vector<std::string> m_arguments;
    app::Context m_context;
    mutable std::optional<std::vector<ConfigFile>> m_config_files;
};

enum class StatusRule { own, passed_through }; // passed_through: sandbox's own failures are 125

struct Command {
    std::string_view name;    // "workspace ls"
    std::string_view alias;   // "rm"; empty: none
    std::string_view group;   // as in the list of commands
    std::string_view summary; // one line, no full stop
    std::string_view usage;   // what follows the name: "[OPTIONS] SESSION [--] COMMAND [ARG...]"
    std::size_t min_arguments = 0;
    std::size_t max_arguments = 0; // SIZE_MAX: any number
    std::vector<Positional> positionals{};
    bool stops_at_first_argument = false; // what follows the first argument belongs to the command to be run
    std::size_t own_arguments = 1;        // how many words stand before that command: 1, or 0 where it is the first argument
    StatusRule status = StatusRule::own;
    std::vector<Option> (*options)();
    std::vector<std::string_view> (*examples)();
    std::string_view details; // a paragraph or two for --help; may be empty
    int (*run)(Invocation&);
    bool hidden = false; // for scripts of ours: not in help, not in the manual
};

std::span<const Command> commands();
const std::vector<Option>& global_options();
// By name or alias; absent when there is none.
const Command* find_command(std::string_view name);
// Whether it is the first word of commands of two: "workspace".
bool is_group(std::string_view word);

} // namespace sandbox::cli
