// SPDX-License-Identifier: Apache-2.0
#include "app/create.hpp"
#include "app/destroy.hpp"
#include "cli/creation.hpp"
#include "cli/documents.hpp"
#include "cli/manifest_options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "domain/units.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>

namespace sandbox::cli {
namespace {

std::vector<Option> options() {
    std::vector<Option> all = creation_options();
    all.push_back({"reuse", 0, "", "take the running session of that --name, if it is of the same manifest"});
    all.push_back({"dry-run", 0, "", "print what would be made, and make nothing"});
    return all;
}

// Which of the manifest's keys plan_text() shows in words of its own; of the others, those that somebody has set.
bool is_in_words(std::string_view path) {
    constexpr std::array<std::string_view, 17> k_shown{"version", "image", "name", "workdir", "workspace.mode", "workspace.id", "user", "network",
                                                       "limits.memory", "limits.cpus", "limits.pids", "lifecycle.ttl", "lifecycle.idleTimeout",
                                                       "security.readonlyRootfs", "security.dropCapabilities", "security.addCapabilities", "directories"};
    return std::ranges::find(k_shown, path) != k_shown.end() || path.starts_with("env.") || path.starts_with("files.");
}

std::string plan_text(const domain::Manifest& manifest, const std::vector<domain::EffectiveValue>& values, const std::string& owner) {
    std::vector<std::vector<std::string>> rows{
        {"image", manifest.image},
        {"name", manifest.name},
        {"owner", owner},
        {"workdir", manifest.workdir},
        {"workspace", manifest.workspace.id.empty() ? "ephemeral" : "persistent " + manifest.workspace.id},
        {"user", manifest.user.empty() ? "the image's" : manifest.user},
        {"network", manifest.network == domain::NetworkMode::none ? "none" : "bridge"},
        {"memory", domain::format_size(manifest.limits.memory)},
        {"cpus", std::to_string(manifest.limits.cpus).substr(0, 4)},
        {"pids", std::to_string(manifest.limits.pids)},
        {"ttl", domain::format_duration_exact(manifest.lifecycle.ttl)},
        {"idle time-out", domain::format_duration_exact(manifest.lifecycle.idle_timeout)},
        {"read-only root", manifest.security.readonly_rootfs ? "yes" : "no"},
        {"capabilities", "drop " + join(manifest.security.drop_capabilities, ",") +
                             (manifest.security.add_capabilities.empty()
                                  ? ""
                                  : ", add " + join(manifest.security.add_capabilities, ","))}};
    for (const auto& [name, value] : manifest.env) {
        const bool is_literal = value.kind == domain::EnvValue::Kind::literal;
        rows.push_back({"env " + name, is_literal ? "(literal)" : "(from " + value.value + ")"});
    }
    for (const auto& seed : manifest.seeds) {
        rows.push_back({seed.kind == domain::Seed::Kind::directory ? "directory" : "file", seed.path});
    }
    for (const auto& value : values) {
        if (!value.origin.empty() && !is_in_words(value.path)) rows.push_back({value.path, value_cell(value)});
    }
    return table({"WOULD", "MAKE"}, rows);
}

int run(Invocation& call) {
    const auto builder = session_builder(call);
    const auto manifest = session_manifest(builder);
    if (call.has("reuse") && manifest.name.empty()) {
        throw Error(ErrorCode::usage, "--reuse needs a name").hint("--name NAME says which session is meant");
    }
    app::CreateOptions how = create_options(call, builder);
    how.reuse = call.has("reuse");
    if (call.has("dry-run")) {
        app::read_host_inputs(manifest, how.roots);
        print_out(call.json() ? plan_document(manifest, call.context().owner())
                              : plan_text(manifest, builder.values(), call.context().owner()));
        return 0;
    }
    follow_creation(call);
    const auto made = app::create_session(call.context(), manifest, how);
    tell_made(call, made, manifest);
    if (!call.quiet() && !domain::exports_of(manifest).empty()) say("note: export.files in the manifest is for sandbox run and sandbox with; sandbox cp copies out of this one");
    try {
        print_out(call.json() ? created_document(made) : made.row.id + "\n");
    } catch (const Error&) {
        if (made.reused) throw; // others may know it
        // Whoever asked for it will never know its id: it would live on unused until its TTL.
        app::DestroySelection unseen;
        unseen.names = {made.row.id};
        app::destroy_sessions(call.context(), unseen);
        throw;
    }
    return 0;
}

} // namespace

const Command k_create{
    .name = "create",
    .alias = "",
    .group = "sessions",
    .summary = "make a session from a manifest and flags; prints its id",
    .usage = "[-f MANIFEST]... [OPTIONS]",
    .options = options,
    .examples = [] {
        return std::vector<std::string_view>{"S=$(sandbox create -f ticket.yaml)",
                                             "sandbox create --image sandbox/base --name web --ttl 10m --memory 256MB",
                                             "sandbox create -f base.yaml -f ci.yaml --set workspace.shared=true"};
    },
    .details = "Every manifest key that has a flag is its last segment in kebab-case (lifecycle.idleTimeout is\n"
               "--idle-timeout); --set PATH=VALUE reaches the rest. A flag beats the manifest.",
    .run = run};

} // namespace sandbox::cli
