// SPDX-License-Identifier: Apache-2.0
#include "app/managed.hpp"
#include "app/sessions.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/process_documents.hpp"
#include "cli/times.hpp"
#include "cli/verbs.hpp"
#include "util/fd.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <unistd.h>

namespace sandbox::cli {
namespace {

using channel::Follow;
using channel::LogPiece;
using channel::ManagedProcess;
using channel::OutputStream;

// A line longer than this is passed on in parts.
constexpr std::size_t k_longest_line = 64 << 10;

std::vector<Option> logs_options() {
    return {{"follow", 'f', "", "go on with what comes, until nothing runs any more"},
            {"tail", 'n', "LINES", "only the last so many lines", false, false, Completer::nothing},
            {"since", 0, "WHEN", "from then on: a time (2026-11-29T18:20:00Z) or an age (10m)", false, false, Completer::nothing},
            {"timestamps", 't', "", "the time before each line"}};
}

std::vector<Option> proc_logs_options() {
    auto options = logs_options();
    options.push_back({"after", 0, "OFFSET", "what comes behind this offset: `next` of the last line that --json gave", false, false, Completer::nothing});
    return options;
}

template <typename Number> Number parse_count(const std::string& option, const std::string& text) {
    Number value{};
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure == std::errc{} && end == text.data() + text.size()) return value;
    throw Error(ErrorCode::usage, "--" + option + " " + quoted(text) + " is no number");
}

channel::LogQuery query_from(const Invocation& call) {
    channel::LogQuery query;
    if (const auto text = call.value("tail"); text && *text != "all") query.tail = parse_count<std::uint32_t>("tail", *text);
    if (const auto text = call.value("since")) query.since_ms = parse_since(*text);
    if (const auto text = call.value("after")) query.after = parse_count<std::uint64_t>("after", *text);
    return query;
}

// Where a stream of the process goes to here. Nobody's standard error has to be read.
void pass_on(OutputStream stream, std::string_view bytes) {
    if (stream == OutputStream::out) return print_out(bytes);
    try {
        write_all(STDERR_FILENO, bytes);
    } catch (const Error&) {
    }
}

// Whole lines with something in front, of several streams that come in pieces.
class PrefixedLines {
  public:
    using Prefix = std::function<std::string(const ManagedProcess&, std::int64_t time_ms)>;
    explicit PrefixedLines(Prefix prefix) : m_prefix(std::move(prefix)) {}

    void add(const ManagedProcess& process, const LogPiece& piece) {
        Partial& partial = m_partial[{process.id, piece.stream}];
        if (partial.text.empty()) partial.prefix = m_prefix(process, piece.time_ms);
        partial.text += piece.bytes;
        std::string lines;
        std::size_t begin = 0;
        for (auto end = partial.text.find('\n'); end != std::string::npos; end = partial.text.find('\n', begin)) {
            lines += partial.prefix + partial.text.substr(begin, end + 1 - begin);
            begin = end + 1;
            partial.prefix = m_prefix(process, piece.time_ms);
        }
        partial.text.erase(0, begin);
        if (partial.text.size() > k_longest_line) lines += partial.prefix + std::exchange(partial.text, {}) + "\n";
        pass_on(piece.stream, lines);
    }

    // What comes next of this process, if anything, does not go on where its lines end.
    void finish(const std::string& process) {
        for (auto partial = m_partial.begin(); partial != m_partial.end();) {
            const auto& [id, stream] = partial->first;
            if (id == process && !partial->second.text.empty()) pass_on(stream, partial->second.prefix + partial->second.text + "\n");
            partial = id == process ? m_partial.erase(partial) : std::next(partial);
        }
    }

    void finish() {
        while (!m_partial.empty()) finish(std::string(m_partial.begin()->first.first));
    }

  private:
    struct Partial {
        std::string prefix;
        std::string text;
    };
    Prefix m_prefix;
    std::map<std::pair<std::string, OutputStream>, Partial> m_partial;
};

void tell_of_hole(PrefixedLines& lines, const ManagedProcess& process, const std::string& who, std::uint64_t bytes) {
    lines.finish(process.id);
    say(who + counted(bytes, "byte") + " of older output were dropped here");
}

std::string stamp(const Invocation& call, std::int64_t time_ms) { return call.has("timestamps") ? format_rfc3339_ms(time_ms) + " " : ""; }

int run_proc_logs(Invocation& call) {
    auto query = query_from(call);
    const auto row = app::find_open_session(call.context().lookup(), call.context().owner(), call.arguments().front());
    query.process = call.arguments()[1];
    const Follow follow = call.has("follow") ? Follow::yes : Follow::no;
    LogLines documents;
    PrefixedLines stamped([&](const ManagedProcess&, std::int64_t time_ms) { return stamp(call, time_ms); });
    ManagedProcess named; // each line of JSON says whose it is
    if (call.json()) query.process = (named = app::find_process(call.context(), row, query.process)).id;
    const auto on_piece = [&](const LogPiece& piece) {
        if (call.json()) print_out(documents.add(named, piece));
        else if (piece.dropped > 0) tell_of_hole(stamped, named, "", piece.dropped);
        else if (call.has("timestamps")) stamped.add(named, piece);
        else pass_on(piece.stream, piece.bytes);
    };
    app::read_log(call.context(), row, query, follow, {on_piece, STDOUT_FILENO});
    if (call.json()) print_out(documents.finish());
    stamped.finish();
    return 0;
}

int run_logs(Invocation& call) {
    const auto query = query_from(call);
    const auto row = app::find_open_session(call.context().lookup(), call.context().owner(), call.arguments().front());
    LogLines documents;
    PrefixedLines lines([&](const ManagedProcess& process, std::int64_t time_ms) { return stamp(call, time_ms) + app::called(process) + " | "; });
    bool is_silent = true;
    const auto on_piece = [&](const ManagedProcess& process, const LogPiece& piece) {
        is_silent = false;
        if (call.json()) print_out(documents.add(process, piece));
        else if (piece.dropped > 0) tell_of_hole(lines, process, app::called(process) + ": ", piece.dropped);
        else lines.add(process, piece);
    };
    const auto on_lost = [&](const ManagedProcess& process) {
        is_silent = false;
        say("what " + app::called(process) + " printed is lost: its keeper in the session was killed");
        if (call.json()) print_out(lost_log_line(process));
    };
    const bool has_printed = app::read_all_logs(call.context(), row, query, call.has("follow") ? Follow::yes : Follow::no, {{on_piece, STDOUT_FILENO}, on_lost});
    if (call.json()) print_out(documents.finish());
    lines.finish();
    if (!is_silent || call.json() || call.quiet()) return 0;
    const std::string nobody = "no managed process of " + quoted(call.arguments().front()) + " has printed anything";
    if (!has_printed) say(nobody);
    else if (query.since_ms > 0) say(nobody + " since then");
    return 0;
}

} // namespace

const Command k_proc_logs{
    .name = "proc logs",
    .alias = "",
    .group = "processes",
    .summary = "what a managed process prints and has printed",
    .usage = "[OPTIONS] SESSION PROCESS",
    .min_arguments = 2,
    .max_arguments = 2,
    .positionals = {{"SESSION", Completer::session}, {"PROCESS"}},
    .options = proc_logs_options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox proc logs $S web", "sandbox proc logs -f --tail 20 $S web", "sandbox proc logs --json --after 4096 $S web"};
    },
    .details = "Its standard output and error, each where it belongs. The last of each stream is kept, as much as limits.maxOutput says;\n"
               "where something older was dropped, a line on stderr says so. Only -f counts as activity.",
    .run = run_proc_logs};

const Command k_logs{
    .name = "logs",
    .alias = "",
    .group = "processes",
    .summary = "what all managed processes of a session print, as one",
    .usage = "[OPTIONS] SESSION",
    .min_arguments = 1,
    .max_arguments = 1,
    .positionals = {{"SESSION", Completer::session}},
    .options = logs_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox logs $S", "sandbox logs -f --tail 10 $S", "sandbox logs --json --since 5m $S"}; },
    .details = "Ordered by time, each line with the name of its process. With -f, processes that are started meanwhile join in.",
    .run = run_logs};

} // namespace sandbox::cli
