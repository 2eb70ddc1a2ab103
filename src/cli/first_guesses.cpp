// SPDX-License-Identifier: Apache-2.0
#include "cli/first_guesses.hpp"

#include <array>

namespace sandbox::cli {
namespace {

struct Guess {
    std::string_view command; // empty: any
    std::string_view word;
    std::string_view hint;
};

constexpr std::array k_verbs{
    Guess{"", "kill", "sandbox destroy ends a session and everything in it"},
    Guess{"", "delete", "sandbox destroy SESSION"},
    Guess{"", "list", "sandbox ps lists sessions"},
    Guess{"", "prune", "sandbox gc clears what expired or leaked"},
    Guess{"", "images", "images are the engine's; sandbox image bootstrap and image import make new ones"},
    Guess{"", "volume", "sandbox workspace ls lists persistent workspaces"},
    Guess{"", "pull", "sandbox create pulls what its manifest names; sandbox image import brings a file"},
    Guess{"", "build", "build images with your own tools; sandbox image import brings the result"},
    Guess{"", "attach", "sandbox exec -it SESSION sh"},
    Guess{"", "new", "sandbox create"},
};

constexpr std::array k_options{
    Guess{"", "-v", "host directories are never mounted: bring files in with `files:` in the manifest or sandbox cp"},
    Guess{"", "--volume", "host directories are never mounted: bring files in with `files:` or sandbox cp"},
    Guess{"", "--mount", "host directories are never mounted: bring files in with `files:` or sandbox cp"},
    Guess{"", "--privileged", "sessions are never privileged; --add-capabilities adds a single one"},
    Guess{"create", "-d", "create always returns at once: leave -d out"},
    Guess{"create", "--detach", "create always returns at once: leave --detach out"},
    Guess{"create", "--rm", "sessions remove themselves: leave --rm out"},
    Guess{"create", "--net", "--network none or --network bridge"},
    Guess{"create", "--cap-add", "--add-capabilities NAME"},
    Guess{"create", "--cap-drop", "--drop-capabilities NAME (ALL by default)"},
    Guess{"create", "--read-only", "--readonly-rootfs"},
    Guess{"create", "--disk", "there is no portable limit on a volume's size; bound single files with --max-file"},
    Guess{"create", "--gpus", "devices are not passed into sessions"},
    Guess{"exec", "-d", "a background command: end it with & in sh -c; it lives as long as the session"},
    Guess{"exec", "--detach", "a background command: end it with & in sh -c; it lives as long as the session"},
    Guess{"exec", "-u", "commands run as the session's user; set `user:` in the manifest"},
    Guess{"exec", "--user", "commands run as the session's user; set `user:` in the manifest"},
    Guess{"cp", "-a", "modes and times are kept anyway; owners become the session's user"},
    Guess{"cp", "-r", "directories are copied whole anyway: leave -r out"},
    Guess{"ps", "--filter", "-l KEY=VALUE selects by label"},
    Guess{"ps", "--format", "--json gives every field"},
};

constexpr std::array k_arguments{
    Guess{"create", "", "the image is an option: sandbox create --image IMAGE; a name is one too: --name NAME"},
    Guess{"ps", "", "sandbox inspect SESSION shows one session"},
};

template <typename Table>
std::optional<std::string> look_up(const Table& table, std::string_view command, std::string_view word) {
    for (const Guess& guess : table) {
        if ((guess.command.empty() || guess.command == command) && (guess.word.empty() || guess.word == word)) {
            return std::string(guess.hint);
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<std::string> hint_for_verb(std::string_view verb) { return look_up(k_verbs, "", verb); }

std::optional<std::string> hint_for_option(std::string_view command, std::string_view option) {
    return look_up(k_options, command, option);
}

std::optional<std::string> hint_for_argument(std::string_view command, std::string_view argument) {
    return look_up(k_arguments, command, argument);
}

} // namespace sandbox::cli
