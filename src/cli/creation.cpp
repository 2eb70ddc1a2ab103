// SPDX-License-Identifier: Apache-2.0
#include "cli/creation.hpp"

#include "cli/hooks.hpp"
#include "cli/manifest_options.hpp"
#include "cli/output.hpp"
#include "domain/units.hpp"
#include "util/terminal.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <filesystem>
#include <unistd.h>

namespace sandbox::cli {
namespace {

app::ChannelChoice channel_choice(const Invocation& call) {
    const std::string text = call.value("channel").value_or("auto");
    if (text == "auto") return app::ChannelChoice::automatic;
    if (text == "socket") return app::ChannelChoice::socket;
    if (text == "bridge") return app::ChannelChoice::bridge;
    throw Error(ErrorCode::usage, "--channel " + printable(text) + " is not auto, socket or bridge");
}

Milliseconds wait_time(const Invocation& call) {
    const auto text = call.value("wait");
    if (!text) return Milliseconds(0);
    try {
        return domain::parse_duration(*text);
    } catch (Error& error) {
        throw error.context("--wait");
    }
}

bool talks(const Invocation& call) { return !call.quiet() && !call.json() && is_terminal(STDERR_FILENO); }

std::string summary(const app::CreatedSession& made, const domain::Manifest& manifest) {
    return "made " + made.row.id + (made.row.name.empty() ? "" : " (" + made.row.name + ")") + ": image " +
           manifest.image + ", network " + (manifest.network == domain::NetworkMode::none ? "none" : "bridge") + ", " +
           std::to_string(manifest.limits.cpus).substr(0, 4) + " cpu, memory " +
           domain::format_size(manifest.limits.memory) + ", lives " + format_duration(manifest.lifecycle.ttl) +
           (manifest.lifecycle.idle_timeout.count() > 0
                ? " (" + format_duration(manifest.lifecycle.idle_timeout) + " idle)"
                : "");
}

} // namespace

std::vector<Option> creation_options() {
    std::vector<Option> all = manifest_options();
    all.push_back({"wait", 0, "DURATION", "wait for a place where a ceiling bounds the number of sessions"});
    all.push_back({"channel", 0, "auto|socket|bridge", "how to reach the agent [auto]"});
    all.push_back({"rm", 0, "", "remove it when it ends, whatever the manifest says; the default, accepted for docker's habits"});
    return all;
}

domain::ManifestBuilder session_builder(const Invocation& call) {
    auto builder = manifest_builder(call);
    if (!call.has("rm")) return builder;
    for (const auto& value : builder.values()) {
        if (value.path != "lifecycle.autoDestroy" || !value.origin.starts_with("--") || value.value == "true") continue;
        if (value.value == "false") throw Error(ErrorCode::usage, "--rm and " + value.origin + " ask for the opposite");
        builder.build(); // says what is wrong with it, before it is overwritten
    }
    builder.set("lifecycle.autoDestroy", "true", "--rm");
    return builder;
}

domain::Manifest session_manifest(const domain::ManifestBuilder& builder) {
    auto manifest = builder.build();
    for (auto& [name, value] : manifest.env) {
        // It is read again when the session is started again, from wherever that is.
        if (value.kind == domain::EnvValue::Kind::from_file) value.value = std::filesystem::absolute(value.value).string();
    }
    return manifest;
}

app::CreateOptions create_options(Invocation& call, const domain::ManifestBuilder& builder) {
    app::CreateOptions how;
    how.channel = channel_choice(call);
    how.roots = host_roots(call);
    how.admission = {builder.capacity(), wait_time(call)};
    how.check_reopen = workspace_check(call);
    return how;
}

void follow_creation(Invocation& call) {
    if (talks(call) || call.has("verbose")) call.context().progress = [](std::string_view line) { say(line); };
}

void tell_made(const Invocation& call, const app::CreatedSession& made, const domain::Manifest& manifest) {
    if (call.quiet()) return;
    for (const auto& note : made.notes) say("note: " + note);
    for (const auto& section : domain::sections_kept_for_later(manifest)) {
        say("note: " + section + " in the manifest has no effect: nothing in this version carries it out");
    }
    if (talks(call) && !made.reused) say(summary(made, manifest));
}

} // namespace sandbox::cli
