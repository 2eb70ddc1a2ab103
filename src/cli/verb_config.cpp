// SPDX-License-Identifier: Apache-2.0
// `config show`: what is in force for a manifest and flags, and who said so.
#include "cli/manifest_documents.hpp"
#include "cli/manifest_options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "util/text.hpp"

namespace sandbox::cli {
namespace {

int run_show(Invocation& call) {
    const auto builder = manifest_builder(call);
    if (const auto problems = hook_problems(call); !problems.empty()) throw problems.front();
    ConfigView view{{}, builder.values(), builder.ceilings(), config_hooks(call)};
    for (const auto& file : call.config_files()) view.files.push_back(file.path);
    if (call.json()) {
        print_out(config_document(view));
        return 0;
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto& value : view.values) rows.push_back({value.path, value_cell(value), value.origin.empty() ? "built-in" : value.origin});
    for (const auto& ceiling : view.ceilings) rows.push_back({"ceiling of " + ceiling.path, ceiling.value, ceiling.origin});
    for (const auto& hook : view.hooks) {
        rows.push_back({"hook of " + std::string(state::event_name(hook.kind)), printable(join(hook.command, " ")), hook.origin});
    }
    print_out(table({"KEY", "VALUE", "FROM"}, rows));
    if (view.files.empty() && !call.quiet()) say("no config file was found");
    return 0;
}

} // namespace

const Command k_config_show{
    .name = "config show",
    .alias = "",
    .group = "administration",
    .summary = "show each value in force and where it comes from",
    .usage = "[-f MANIFEST]... [OPTIONS]",
    .options = manifest_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox config show", "sandbox config show -f ticket.yaml --memory 2GB --json"}; },
    .details = "A flag beats the manifest, which beats $XDG_CONFIG_HOME/sandbox/config.yaml, which beats\n"
               "/etc/sandbox/config.yaml, which beats the built-in default. --config FILE is read instead of your own. A config\n"
               "has a manifest's keys under `defaults:`, and under `ceilings:` what nothing may exceed: a value over a ceiling\n"
               "is refused with exit status 6, a built-in default over one comes down to it. Under `hooks:` it has commands\n"
               "that are run when something happens, as in `exec.ended: [logger, -t, sandbox]`, with the event on their input.",
    .run = run_show};

} // namespace sandbox::cli
