// SPDX-License-Identifier: Apache-2.0
#include "app/lifecycle.hpp"
#include "cli/lifecycle_output.hpp"
#include "cli/manifest_options.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "domain/longest_life.hpp"
#include "domain/units.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cstdint>

namespace sandbox::cli {
namespace {

std::vector<Option> options() {
    return {{"ttl", 0, "DURATION", "how long from now on, instead of the last argument"}, label_option(), all_owners_option()};
}

bool is_duration(const std::string& text) {
    try {
        domain::parse_duration(text);
        return true;
    } catch (const Error&) {
        // A number without a unit is meant as one, whatever sessions are called.
        if (text.find_first_not_of("0123456789.") == std::string::npos) throw;
        return false;
    }
}

// The last argument where it is one, and there is something before it that says which sessions are meant.
std::optional<std::string> take_duration(const Invocation& call, std::vector<std::string>& names) {
    if (auto given = call.value("ttl")) return given;
    const std::size_t others = call.labels().empty() ? 1 : 0;
    if (names.size() <= others || !is_duration(names.back())) return std::nullopt;
    std::string text = std::move(names.back());
    names.pop_back();
    return text;
}

Milliseconds checked(const Invocation& call, const std::string& text) {
    const Milliseconds ttl = domain::parse_duration(text);
    if (ttl.count() <= 0) throw Error(ErrorCode::usage, "0 would end the session at once").hint("sandbox destroy SESSION ends it");
    if (ttl > domain::k_longest_life) throw Error(ErrorCode::usage, printable(text) + " is longer than 365d");
    check_ceilings(call, "lifecycle.ttl", text, "extend " + text);
    return ttl;
}

void print_ends(const app::LifecycleReport& report, bool is_one) {
    std::string text;
    for (const auto& session : report.sessions) {
        const std::string end = session.row.expires_ms > 0 ? format_rfc3339(session.row.expires_ms) : "-";
        text += is_one ? end + "\n" : session.row.id + "  " + end + "\n";
    }
    print_out(text);
}

int run(Invocation& call) {
    std::vector<std::string> names = call.arguments();
    const auto text = take_duration(call, names);
    const auto selection = selection_of(call, names, "extend");
    std::optional<Milliseconds> ttl;
    if (text) ttl = checked(call, *text);
    const auto report = app::extend_sessions(call.context(), selection, ttl);
    if (!call.json()) print_ends(report, selection.names.size() == 1);
    return print_changes(call, report);
}

} // namespace

const Command k_extend{
    .name = "extend",
    .alias = "",
    .group = "sessions",
    .summary = "move the end of sessions, or only renew their idle time",
    .usage = "[OPTIONS] SESSION... [DURATION] | -l KEY=VALUE [DURATION]",
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session, true}},
    .options = options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox extend job-981 1h", "sandbox extend job-981", "sandbox extend -l app=ci 30m"};
    },
    .details = "With a duration the end is now and that long, sooner or later than it was; it is printed. Without one only the idle time\n"
               "begins anew, and the end that it has is printed. A config's ceiling on lifecycle.ttl bounds each call.",
    .run = run};

} // namespace sandbox::cli
