// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"

#include "util/text.hpp"

namespace sandbox::cli {

Option label_option() {
    return {"label", 'l', "KEY=VALUE", "only those with this label; all given ones must match", true, false, Completer::label};
}
Option all_owners_option() { return {"all-owners", 0, "", "every owner's, not only yours"}; }
std::string whose(Invocation& call) { return call.has("all-owners") ? "any owner" : "owner " + printable(call.context().owner()); }
std::vector<Option> no_options() { return {}; }

const std::vector<Option>& global_options() {
    static const std::vector<Option> options{
        {"json", 0, "", "one JSON document on standard output"},
        {"quiet", 0, "", "say nothing but errors"},
        {"verbose", 0, "", "say more about what is done"},
        {"owner", 0, "NAME", "whose sessions are meant (SANDBOX_OWNER; uid:<uid> by default)", false, false, Completer::owner, "SANDBOX_OWNER"},
        {"engine", 0, "URL", "the engine for new sessions (SANDBOX_ENGINE, then as docker: DOCKER_HOST, its context)", false, false, Completer::nothing, "SANDBOX_ENGINE"},
        {"state-dir", 0, "DIR", "where the state is kept (SANDBOX_STATE_DIR)", false, false, Completer::by_value, "SANDBOX_STATE_DIR"},
        {"config", 0, "FILE", "this config file instead of yours, over /etc/sandbox/config.yaml (SANDBOX_CONFIG)", false, false, Completer::by_value, "SANDBOX_CONFIG"},
        {"no-input", 0, "", "never ask anything (SANDBOX_NO_INPUT)"},
        {"yes", 'y', "", "take every question as answered with yes"},
        {"color", 0, "auto|always|never", "when to use colour; output has none so far"},
        {"help", 'h', "", "show help"},
    };
    return options;
}

} // namespace sandbox::cli
