// SPDX-License-Identifier: Apache-2.0
#include "app/stats.hpp"
#include "cli/human_size.hpp"
#include "cli/lifecycle_documents.hpp"
#include "cli/lifecycle_output.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "domain/units.hpp"
#include "util/terminal.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <poll.h>
#include <unistd.h>

namespace sandbox::cli {
namespace {

using app::Usage;

constexpr Milliseconds k_interval{1000};
constexpr Milliseconds k_shortest_interval{100};

std::vector<Option> options() {
    return {{"follow", 'f', "", "again and again, until interrupted"},
            {"interval", 0, "DURATION", "time between two measurements (1s)"},
            label_option(),
            all_owners_option()};
}

std::string size_cell(const std::optional<std::uint64_t>& bytes) { return bytes ? human_size(static_cast<double>(*bytes)) : "-"; }

std::string percent(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f%%", value);
    return text;
}

// "1.5 MiB / 1.0 GiB"; nothing where neither is known.
std::string pair_of(const std::string& first, const std::string& second) { return first == "-" && second == "-" ? "" : first + " / " + second; }

std::string memory_cell(const Usage& usage) {
    if (!usage.sample) return "";
    const auto& sample = *usage.sample;
    return pair_of(size_cell(sample.memory), sample.memory_limit > 0 ? size_cell(sample.memory_limit) : "-");
}

std::string memory_percent(const Usage& usage) {
    if (!usage.sample || usage.sample->memory_limit == 0) return "";
    return percent(100 * static_cast<double>(usage.sample->memory) / static_cast<double>(usage.sample->memory_limit));
}

std::string pids_cell(const Usage& usage) {
    if (!usage.sample) return "";
    const auto& limit = usage.sample->pids_limit;
    return std::to_string(usage.sample->pids) + (limit ? " / " + std::to_string(*limit) : "");
}

// Columns as data: what docker stats shows, and the workspace.
struct Column {
    const char* header;
    std::string (*cell)(const Usage&);
};

const std::vector<Column>& columns() {
    static const std::vector<Column> all{
        {"ID", [](const Usage& usage) { return usage.row.id; }},
        {"NAME", [](const Usage& usage) { return usage.row.name; }},
        {"STATE", [](const Usage& usage) { return std::string(state::state_name(usage.state)) + (usage.error ? "?" : ""); }},
        {"CPU %", [](const Usage& usage) { return usage.cpu_percent ? percent(*usage.cpu_percent) : std::string(); }},
        {"MEM USAGE / LIMIT", memory_cell},
        {"MEM %", memory_percent},
        {"NET I/O", [](const Usage& usage) { return usage.sample ? pair_of(size_cell(usage.sample->network_in), size_cell(usage.sample->network_out)) : ""; }},
        {"BLOCK I/O", [](const Usage& usage) { return usage.sample ? pair_of(size_cell(usage.sample->block_read), size_cell(usage.sample->block_written)) : ""; }},
        {"PIDS", pids_cell},
        {"DISK", [](const Usage& usage) { return usage.disk ? size_cell(usage.disk) : std::string(); }}};
    return all;
}

std::string usage_table(const std::vector<Usage>& usages) {
    std::vector<std::string> header;
    for (const auto& column : columns()) header.emplace_back(column.header);
    std::vector<std::vector<std::string>> rows;
    for (const auto& usage : usages) {
        auto& row = rows.emplace_back();
        for (const auto& column : columns()) row.push_back(column.cell(usage));
    }
    return table(header, rows);
}

Milliseconds interval(const Invocation& call) {
    const auto text = call.value("interval");
    if (!text) return k_interval;
    const Milliseconds time = domain::parse_duration(*text);
    if (time < k_shortest_interval || time > std::chrono::hours(1)) throw Error(ErrorCode::usage, "--interval takes 100ms to 1h");
    return time;
}

// A reader that went away ends the program as SIGPIPE would, also while nothing is printed.
void pause_for(Milliseconds time) {
    pollfd out{STDOUT_FILENO, 0, 0};
    if (::poll(&out, 1, static_cast<int>(time.count())) < 0 && errno != EINTR) throw errno_error("cannot wait");
    if ((out.revents & (POLLERR | POLLNVAL)) != 0) throw Error(ErrorCode::interrupted, "standard output is closed").signal(SIGPIPE);
}

app::SessionSelection selection(const Invocation& call) {
    if (!call.arguments().empty() || !call.labels().empty()) return selection_of(call, call.arguments(), "stats");
    return {.all_owners = call.has("all-owners")}; // looking: all of them are meant where none is named
}

void print(const Invocation& call, const std::vector<Usage>& usages, const std::vector<app::SessionFailure>& failures) {
    if (call.json() && call.has("follow")) {
        std::string lines;
        for (const auto& usage : usages) lines += usage_line(usage);
        print_out(lines);
    } else if (call.json()) {
        print_out(usages_document(usages, failures));
    } else if (call.has("follow") && is_terminal(STDOUT_FILENO)) {
        print_out("\x1b[H\x1b[2J" + usage_table(usages));
    } else if (!usages.empty()) {
        print_out(usage_table(usages));
    }
}

int run(Invocation& call) {
    const auto wanted = selection(call);
    const Milliseconds time = interval(call);
    app::Meter meter(call.context(), wanted);
    auto usages = meter.measure();
    const int status = print_failures(meter.failures());
    const bool follows = call.has("follow");
    if (usages.empty() && !call.quiet() && !call.json() && status == 0) say("no sessions of " + whose(call) + " to measure");
    // A rate takes two looks.
    for (bool goes_on = !usages.empty() || (follows && wanted.names.empty()); goes_on;) {
        pause_for(time);
        usages = meter.measure();
        if (follows && usages.empty() && !wanted.names.empty()) return status; // all that were named have ended
        if (!follows) break;
        print(call, usages, {});
    }
    print(call, usages, meter.failures());
    return status;
}

} // namespace

const Command k_stats{
    .name = "stats",
    .alias = "",
    .group = "sessions",
    .summary = "what sessions use: processor, memory, processes, network, disk",
    .usage = "[OPTIONS] [SESSION...]",
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session, true}},
    .options = options,
    .examples = [] { return std::vector<std::string_view>{"sandbox stats", "sandbox stats -f job-981", "sandbox --json stats -l app=ci"}; },
    .details = "Measures twice and shows the difference, for every session of the owner unless some are named. CPU % is of one processor,\n"
               "DISK what is in the workspace. With --json and -f each measurement of a session is one object a line.",
    .run = run};

} // namespace sandbox::cli
