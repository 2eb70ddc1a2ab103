// SPDX-License-Identifier: Apache-2.0
#include "app/forward.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/ports_documents.hpp"
#include "cli/until_interrupted.hpp"
#include "cli/verbs.hpp"
#include "util/text.hpp"

#include <cerrno>
#include <cstring>

namespace sandbox::cli {
namespace {

std::string refused_text(const std::string& session, std::uint16_t port, int error) {
    const std::string which = "port " + std::to_string(port) + " of session " + quoted(session);
    if (error == ECONNREFUSED) return "nothing listens on " + which + "; sandbox wait-port " + printable(session) + " " + std::to_string(port) + " waits until something does";
    return which + " cannot be reached: " + std::strerror(error);
}

int run(Invocation& call) {
    const std::string& session = call.arguments().front();
    std::vector<domain::ForwardSpec> specs;
    for (std::size_t i = 1; i < call.arguments().size(); ++i) specs.push_back(domain::parse_forward(call.arguments()[i]));
    domain::check_distinct(specs);
    app::ForwardObserver observer;
    bool has_begun = false;
    observer.on_ready = [&](const state::SessionRow& row, const std::vector<domain::ForwardSpec>& bound) {
        has_begun = true;
        if (call.json()) return print_out(forwards_document(row.id, bound));
        for (const auto& one : bound) {
            if (!call.quiet()) say(domain::address_and_port(one.address, one.host_port) + " -> " + printable(session) + ":" + std::to_string(one.port));
        }
    };
    observer.on_refused = [&](std::uint16_t port, int error) { say(refused_text(session, port, error)); };
    return until_interrupted(has_begun, [&] { app::forward(call.context(), session, specs, observer); });
}

} // namespace

const Command k_forward{
    .name = "forward",
    .alias = "",
    .group = "ports",
    .summary = "carry connections to ports of this machine into a session",
    .usage = "[OPTIONS] SESSION [[ADDRESS:]HOST_PORT:]PORT...",
    .min_arguments = 2,
    .max_arguments = SIZE_MAX,
    .positionals = {{"SESSION", Completer::session}, {"PORT", Completer::nothing, true}},
    .options = no_options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox forward $S 5173", "sandbox forward $S 8080:80 :5432", "sandbox forward $S '[::1]:8080:80'",
                                             "sandbox --json forward $S 0:8000 >ports.json &"};
    },
    .details = "Goes through the session's agent: it needs no network of the session's, and reaches servers that listen on 127.0.0.1\n"
               "or ::1 inside. Listens on 127.0.0.1 unless another address is named; HOST_PORT 0 or none before the colon takes a\n"
               "free port. Until it is interrupted or the session ends. While it runs the session is in use.",
    .run = run};

} // namespace sandbox::cli
