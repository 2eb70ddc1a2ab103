// SPDX-License-Identifier: Apache-2.0
#include "agent/embedded.hpp"
#include "agent/wire.hpp"
#include "cli/documents.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "util/text.hpp"

namespace sandbox::cli {
namespace {

int run_version(Invocation& call) {
    std::string agents;
    for (const auto& agent : agent::embedded_agents()) {
        agents += (agents.empty() ? "" : ", ") + std::string(agent.architecture) + " " +
                  std::string(agent.digest.substr(0, 16));
    }
    const std::string protocol = std::to_string(agent::k_protocol_version);
    if (call.json()) {
        print_out(object_document({{"version", SANDBOX_VERSION}, {"agentProtocol", protocol}, {"agents", agents}}));
    } else {
        print_out("sandbox " SANDBOX_VERSION "\n");
        if (call.has("verbose")) print_out("agent protocol " + protocol + "; agents: " + agents + "\n");
    }
    return 0;
}

int run_help(Invocation& call) {
    const std::string name = join(call.arguments(), " ");
    if (name.empty()) {
        print_out(overview());
        return 0;
    }
    if (const Command* command = find_command(name)) {
        print_out(help_for(*command));
        return 0;
    }
    const std::string group = group_help(name);
    if (group.empty()) {
        throw Error(ErrorCode::usage, "unknown command \"" + printable(name) + "\"").hint("sandbox --help lists them");
    }
    print_out(group);
    return 0;
}

} // namespace

const Command k_version{
    .name = "version",
    .alias = "",
    .group = "administration",
    .summary = "show the version (with --verbose, the agent's too)",
    .usage = "",
    .options = no_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox version --json"}; },
    .details = "",
    .run = run_version};

const Command k_help{
    .name = "help",
    .alias = "",
    .group = "administration",
    .summary = "show help on a command",
    .usage = "[COMMAND]",
    .max_arguments = 2,
    .positionals = {{"COMMAND", Completer::command, true}},
    .options = no_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox help exec"}; },
    .details = "",
    .run = run_help};

} // namespace sandbox::cli
