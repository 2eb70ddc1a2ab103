// SPDX-License-Identifier: Apache-2.0
#include "app/doctor.hpp"
#include "cli/doctor_documents.hpp"
#include "cli/doctor_text.hpp"
#include "cli/hooks.hpp"
#include "cli/manifest_options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "state/instance.hpp"
#include "util/text.hpp"

#include <algorithm>

namespace sandbox::cli {
namespace {

constexpr const char* k_base_image = "sandbox/base:latest";

std::vector<Option> options() {
    return {{"image", 0, "IMAGE", "try a throw-away session of this image [the config's, or sandbox/base:latest]"},
            {"quick", 0, "", "try no session, and look into none"},
            {"repair", 0, "", "take over a moved state, and bring back rows that were lost; deletes nothing"},
            {"instance", 0, "ID", "with --repair, on an empty state: bring back what has this id in its labels", false, false, Completer::nothing}};
}

// What is wrong, in one line; the rest of the lines show the place.
app::Finding broken_config(const Error& error) {
    auto lines = split(error.message(), '\n');
    app::Finding finding{{}, "config", app::FindingStatus::problem, lines.front(), error.hint(), {}};
    if (finding.fix.empty()) finding.fix = "correct it; sandbox config show says what is in force";
    finding.details.assign(lines.begin() + 1, lines.end());
    return finding;
}

void read_config(const Invocation& call, app::DoctorOptions& options) {
    try {
        const auto builder = manifest_builder(call);
        for (const auto& value : builder.values()) {
            if (value.path == "image" && !value.value.empty()) options.default_images.push_back(value.value);
        }
        const auto ceilings = builder.ceilings();
        options.has_ceilings = !ceilings.empty();
        options.network_is_capped = std::ranges::any_of(ceilings, [](const auto& one) { return one.path == "network" && one.value == "none"; });
        std::vector<std::string> names;
        for (const auto& file : call.config_files()) names.push_back(file.path);
        for (const auto& problem : hook_problems(call)) options.config.push_back(broken_config(problem));
        if (!options.config.empty()) return;
        options.config.push_back({{}, "config", app::FindingStatus::ok, names.empty() ? "no config file: built-in defaults, and no ceilings" : join(names, ", "), {}, {}});
    } catch (const Error& error) {
        options.config.push_back(broken_config(error));
    }
}

std::string counts(const app::DoctorReport& report) {
    const auto count = [&](app::FindingStatus status) { return std::ranges::count(report.findings, status, &app::Finding::status); };
    return "problems: " + std::to_string(count(app::FindingStatus::problem)) + ", warnings: " + std::to_string(count(app::FindingStatus::warning)) +
           ", not known: " + std::to_string(count(app::FindingStatus::unknown));
}

int run(Invocation& call) {
    app::DoctorOptions how;
    how.image = call.value("image");
    how.quick = call.has("quick");
    how.repair = call.has("repair");
    how.instance = call.value("instance");
    if (how.instance && !how.repair) throw Error(ErrorCode::usage, "--instance goes with --repair");
    if (how.instance && !state::is_instance_id(*how.instance)) {
        throw Error(ErrorCode::usage, "--instance " + printable(*how.instance) + " is no instance's id").hint("16 hex digits: sandbox doctor lists the other instances of an engine");
    }
    if (how.quick && how.image) throw Error(ErrorCode::usage, "--quick tries no session, so --image has no meaning with it");
    read_config(call, how);
    how.default_images.emplace_back(k_base_image);
    const auto report = app::examine(call.context(), how);
    if (call.json()) print_out(doctor_document(report));
    else print_out(call.quiet() ? complaints_text(report) : doctor_text(report));
    if (!call.json() && !call.quiet()) say(counts(report));
    return report.is_healthy() ? 0 : 1;
}

} // namespace

const Command k_doctor{
    .name = "doctor",
    .alias = "",
    .group = "administration",
    .summary = "look at engine, limits, state and what is left behind; say what to do",
    .usage = "[OPTIONS]",
    .options = options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox doctor", "sandbox doctor --quick --json", "sandbox doctor --image node:22-bookworm",
                                             "sandbox doctor --repair"};
    },
    .details = "Ends with 0 when nothing is a problem, warnings allowed, and with 1 when something is; an engine that does not\n"
               "answer is a finding like any other. It changes nothing without --repair, and leaves nothing of the session that\n"
               "it tries. With --quiet only warnings and problems are printed. The checklist at the end is for production.",
    .run = run};

} // namespace sandbox::cli
