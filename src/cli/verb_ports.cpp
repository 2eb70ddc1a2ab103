// SPDX-License-Identifier: Apache-2.0
#include "app/ports.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/ports_documents.hpp"
#include "cli/verbs.hpp"
#include "domain/forward_spec.hpp"
#include "domain/units.hpp"
#include "util/text.hpp"

#include <algorithm>

namespace sandbox::cli {
namespace {

constexpr std::chrono::seconds k_patience{60};

std::vector<Option> wait_options() { return {{"timeout", 0, "DURATION", "wait no longer than this (60s)"}}; }

// What each listener of a port has to say, said once where several say the same.
template <typename Say> std::string joined(const app::PortView& view, Say say_it) {
    std::vector<std::string> texts;
    for (const auto& listener : view.listening) {
        std::string text = say_it(listener);
        if (!text.empty() && std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
    }
    return texts.empty() ? "-" : join(texts, ",");
}

std::vector<std::string> row_of(const app::PortView& view) {
    return {std::to_string(view.port),
            joined(view, [](const auto& one) { return one.address; }),
            joined(view, [](const auto& one) { return one.process; }),
            joined(view, [](const auto& one) { return one.pid == 0 ? "" : std::to_string(one.pid); }),
            view.host_port ? "127.0.0.1:" + std::to_string(*view.host_port) : view.declared ? "declared" : "-"};
}

int run_ports(Invocation& call) {
    const auto views = app::session_ports(call.context(), call.arguments().front());
    if (call.json()) {
        print_out(ports_document(views));
        return 0;
    }
    if (views.empty()) {
        if (!call.quiet()) say("nothing listens in session " + quoted(call.arguments().front()) + ", and its manifest publishes no port");
        return 0;
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto& view : views) rows.push_back(row_of(view));
    print_out(table({"PORT", "LISTENING", "PROCESS", "PID", "PUBLISHED"}, rows));
    return 0;
}

int run_wait(Invocation& call) {
    std::vector<std::uint16_t> ports;
    for (std::size_t i = 1; i < call.arguments().size(); ++i) ports.push_back(domain::parse_port(call.arguments()[i]));
    const auto timeout = call.value("timeout") ? domain::parse_duration(*call.value("timeout")) : std::chrono::milliseconds(k_patience);
    const auto views = app::wait_for_ports(call.context(), call.arguments().front(), ports, timeout);
    if (call.json()) print_out(ports_document(views));
    return 0;
}

} // namespace

const Command k_ports{
    .name = "ports",
    .alias = "",
    .group = "ports",
    .summary = "which ports of a session are declared, published and served",
    .usage = "[OPTIONS] SESSION",
    .min_arguments = 1,
    .max_arguments = 1,
    .positionals = {{"SESSION", Completer::session}},
    .options = no_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox ports $S", "sandbox --json ports $S"}; },
    .details = "Lists the TCP ports that something listens on inside, at which addresses and by which process, and where the\n"
               "engine publishes those that the manifest declares. Looking does not count as use of the session.",
    .run = run_ports};

const Command k_wait_port{
    .name = "wait-port",
    .alias = "",
    .group = "ports",
    .summary = "wait until ports are listened on inside a session",
    .usage = "[OPTIONS] SESSION PORT...",
    .min_arguments = 2,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session}, {"PORT", Completer::nothing, true}},
    .options = wait_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox wait-port $S 8000", "sandbox wait-port --timeout 5m $S 5173 5432"}; },
    .details = "A port that the engine publishes takes connections before anything serves it. This looks inside, so a client\n"
               "that connects afterwards is served. When the time is over the message says what listens instead (status 1).",
    .run = run_wait};

} // namespace sandbox::cli
