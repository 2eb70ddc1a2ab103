// SPDX-License-Identifier: Apache-2.0
#include "app/lifecycle.hpp"
#include "app/sessions.hpp"
#include "app/wall_end.hpp"
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

// "-5m" and "+1h", as if the end were moved by so much.
Error not_relative(const std::string& text) {
    return Error(ErrorCode::usage, quoted(text) + " is no new end: extend takes how long the session lives from now on, sooner or later than it was to end")
        .hint("sandbox extend SESSION " + printable(text.substr(1)) + " ends it " + printable(text.substr(1)) + " from now; sandbox destroy SESSION ends it at once");
}

bool is_relative(const std::string& text) {
    return text.size() > 1 && (text.front() == '-' || text.front() == '+') && text.find_first_of("0123456789") == 1;
}

bool is_duration(const std::string& text) {
    if (is_relative(text)) throw not_relative(text);
    try {
        domain::parse_duration(text);
        return true;
    } catch (const Error&) {
        // A number without a unit is meant as one, whatever sessions are called.
        if (text.find_first_not_of("0123456789.") == std::string::npos) throw;
        return false;
    }
}

bool is_session(Invocation& call, const std::string& name) {
    try {
        app::find_session(call.context().lookup(), call.context().owner(), name);
        return true;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::not_found) throw;
        return false;
    }
}

// A duration may be the name of a session, and so may a number. What is a duration and no name stands in the wrong place.
void check_order(Invocation& call, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i + 1 < names.size(); ++i) {
        const bool is_number = names[i].find_first_not_of("0123456789.") == std::string::npos;
        if (is_number || is_session(call, names[i]) || !is_duration(names[i])) continue;
        std::vector<std::string> others = names;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        throw Error(ErrorCode::usage, quoted(names[i]) + " stands where a session is named")
            .hint(printable("the duration comes last: sandbox extend " + join(others, " ") + " " + names[i]));
    }
}

// "1hr" and "99999d": meant as a duration unless it is the name of a session. Throws what is wrong with it.
void check_is_no_duration(Invocation& call, const std::string& text) {
    const bool has_number = !text.empty() && text.front() >= '0' && text.front() <= '9';
    if (has_number && !is_session(call, text)) domain::parse_duration(text);
}

// The last argument where it is one, and there is something before it that says which sessions are meant.
std::optional<std::string> take_duration(Invocation& call, std::vector<std::string>& names) {
    if (auto given = call.value("ttl")) {
        if (is_relative(*given)) throw not_relative(*given);
        return given;
    }
    const std::size_t others = call.labels().empty() ? 1 : 0;
    if (names.size() <= others) return std::nullopt;
    if (!is_duration(names.back())) {
        check_is_no_duration(call, names.back());
        return std::nullopt;
    }
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
        const std::string end = session.row.expires_ms > 0 ? format_rfc3339(app::wall_end_ms(session.row)) : "-";
        text += is_one ? end + "\n" : session.row.id + "  " + end + "\n";
    }
    print_out(text);
}

int run(Invocation& call) {
    std::vector<std::string> names = call.arguments();
    const auto text = take_duration(call, names);
    if (!text) check_order(call, names);
    auto selection = selection_of(call, names, "extend");
    if (text) selection.overdue = app::Overdue::kept;
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
