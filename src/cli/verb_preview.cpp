// SPDX-License-Identifier: Apache-2.0
#include "app/preview.hpp"
#include "cli/browser.hpp"
#include "cli/output.hpp"
#include "cli/ports_documents.hpp"
#include "cli/until_interrupted.hpp"
#include "cli/verbs.hpp"
#include "domain/forward_spec.hpp"
#include "domain/units.hpp"

namespace sandbox::cli {
namespace {

std::vector<Option> options() {
    return {{"listen", 0, "[ADDRESS:]PORT", "where to listen (127.0.0.1, at a free port)", false, false, Completer::nothing},
            {"wait", 0, "DURATION", "wait first until something listens on the port, no longer than this"},
            {"open", 0, "", "open it in a browser: $BROWSER, else xdg-open"}};
}

int run(Invocation& call) {
    app::PreviewOptions wanted;
    wanted.port = domain::parse_port(call.arguments()[1]);
    if (const auto text = call.value("listen")) {
        const auto where = domain::parse_listen(*text);
        wanted.address = where.address;
        wanted.host_port = where.host_port;
    }
    if (const auto text = call.value("wait")) wanted.wait = domain::parse_duration(*text);
    bool has_begun = false;
    const auto on_ready = [&](const app::PreviewReady& ready) {
        has_begun = true;
        print_out(call.json() ? preview_document(ready, wanted.port) : ready.url + "\n");
        if (wanted.address == "0.0.0.0" || wanted.address == "::") say("it takes connections at every address of this machine, without encryption");
        if (call.has("open")) open_browser(ready.url);
    };
    return until_interrupted(has_begun, [&] { app::preview(call.context(), call.arguments().front(), wanted, on_ready); });
}

} // namespace

const Command k_preview{
    .name = "preview",
    .alias = "",
    .group = "ports",
    .summary = "show a web server of a session to a browser, behind a token",
    .usage = "[OPTIONS] SESSION PORT",
    .min_arguments = 2,
    .max_arguments = 2,
    .positionals = {{"SESSION", Completer::session}, {"PORT", Completer::nothing}},
    .options = options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox preview $S 5173", "sandbox preview --open --wait 60s $S 5173", "sandbox preview --listen 8080 $S 80"};
    },
    .details = "Prints one URL, whose token is good as long as the preview lasts: until it is interrupted or the session ends.\n"
               "Without the token nothing of the session is shown. It needs no network of the session's, and reaches a server\n"
               "that listens on 127.0.0.1 or ::1 inside. WebSockets pass. Nothing is cached, and no other page may frame it.",
    .run = run};

} // namespace sandbox::cli
