// SPDX-License-Identifier: Apache-2.0
#include "app/lifecycle_change.hpp"
#include "app/waiting.hpp"
#include "cli/lifecycle_documents.hpp"
#include "cli/lifecycle_output.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "domain/units.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <cstdint>

namespace sandbox::cli {
namespace {

constexpr int k_timed_out = 124;

std::vector<Option> options() {
    return {{"timeout", 0, "DURATION", "wait no longer than this; ends with 124 then"}, label_option(), all_owners_option()};
}

std::optional<Milliseconds> patience(const Invocation& call) {
    const auto text = call.value("timeout");
    if (!text) return std::nullopt;
    return domain::parse_duration(*text);
}

void tell(const Invocation& call, const app::EndedSession& ended) {
    if (call.json()) print_out(ended_line(ended));
    else if (!ended.error) print_out(printable(ended.what) + "\n");
}

// Those that live on when the time is over.
int give_up(const Invocation& call, const std::vector<state::SessionRow>& left, Milliseconds patience) {
    if (left.empty()) return 0;
    const std::string who = left.size() == 1 ? app::title_of(left.front()) : counted(left.size(), "session");
    const Error error(ErrorCode::timed_out, who + " did not end within " + format_duration(patience));
    if (call.json()) {
        for (const auto& row : left) print_out(not_ended_line(row, error));
    }
    print_error(error);
    return k_timed_out;
}

int run(Invocation& call) {
    auto selection = selection_of(call, call.arguments(), "wait");
    selection.overdue = app::Overdue::all; // they may be ending just now
    const auto time = patience(call);
    std::vector<app::SessionFailure> unknown;
    std::vector<app::SessionFailure> failures;
    std::vector<state::SessionRow> rows;
    for (auto& one : app::select_sessions(call.context(), selection, unknown)) rows.push_back(std::move(one.row));
    if (rows.empty() && unknown.empty() && !call.quiet()) say("nothing matched");
    std::optional<std::int64_t> until;
    if (time) until = boot_now_ms() + time->count();
    app::Waiting waiting(call.context(), std::move(rows));
    while (const auto ended = waiting.next(until)) {
        tell(call, *ended);
        if (ended->error) failures.push_back({ended->row.name.empty() ? ended->row.id : ended->row.name, *ended->error});
    }
    for (const auto& [target, error] : unknown) {
        if (call.json()) print_out(unknown_line(target, error));
    }
    failures.insert(failures.begin(), unknown.begin(), unknown.end());
    const int status = print_failures(failures);
    const int late = give_up(call, waiting.left(), time.value_or(Milliseconds(0)));
    return status != 0 ? status : late;
}

} // namespace

const Command k_wait{
    .name = "wait",
    .alias = "",
    .group = "sessions",
    .summary = "wait until sessions have ended, and say why they did",
    .usage = "[OPTIONS] SESSION... | -l KEY=VALUE",
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session, true}},
    .options = options,
    .examples = [] { return std::vector<std::string_view>{"sandbox wait job-981", "sandbox wait --timeout 10m -l app=ci"}; },
    .details = "Whoever waits is at work: a session that is waited for does not idle. One that has ended within the last 7 days is told at\n"
               "once. With --json each end is one object a line.",
    .run = run};

} // namespace sandbox::cli
