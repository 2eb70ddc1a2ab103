// SPDX-License-Identifier: Apache-2.0
#include "cli/fs_places.hpp"

#include "app/files.hpp"
#include "cli/output.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

namespace sandbox::cli {
namespace {

std::vector<app::Location> selected(Invocation& call) {
    for (const auto& word : call.arguments()) {
        if (app::parse_location(word).session.empty()) continue;
        throw Error(ErrorCode::usage, quoted(word) + " names a session, and so does -l").hint("with -l only the path: " + printable(word.substr(word.find(':') + 1)));
    }
    auto places = app::in_selected_sessions(call.context(), call.labels(), call.arguments());
    if (places.empty() && !call.quiet()) say("nothing matched");
    return places;
}

// `fs ls -la` and `fs ls -l web:` are habits of another ls.
void refuse_long_listing(const Invocation& call) {
    for (const auto& text : call.values("label")) {
        if (text.find('=') != std::string::npos) continue;
        throw Error(ErrorCode::usage, "--label " + printable(text) + " is not KEY=VALUE").hint("-l selects by label, and a list is a long one anyway: sandbox fs ls SESSION:PATH");
    }
}

} // namespace

app::Location place_in_session(const std::string& word) {
    app::Location place = app::parse_location(word);
    if (!place.session.empty()) return place;
    throw Error(ErrorCode::usage, quoted(word) + " names no path in a session").hint("SESSION:PATH names one; SESSION: alone is the workdir");
}

std::string name_of_place(const app::Location& place) { return place.session + ":" + place.path; }

Places::Places(Invocation& call) {
    refuse_long_listing(call);
    if (call.arguments().empty() && call.has("label")) {
        throw Error(ErrorCode::usage, "no path was named").hint("-l says which sessions; the path in each of them follows it, . for the workdir");
    }
    if (call.arguments().empty()) throw Error(ErrorCode::usage, "nothing was named").hint("SESSION:PATH names one; SESSION: alone is the workdir");
    if (call.has("label")) {
        m_places = selected(call);
        return;
    }
    for (const auto& word : call.arguments()) m_places.push_back(place_in_session(word));
    m_is_one = m_places.size() == 1;
}

void Places::each(const std::function<void(const app::Location&)>& act) {
    for (const auto& place : m_places) {
        try {
            act(place);
        } catch (Error& error) {
            if (m_is_one || error.signal() > 0) throw;
            // What is wrong with one of several must say which.
            error.context(printable(name_of_place(place)));
            print_error(error);
            m_failures.emplace_back(name_of_place(place), error);
        }
    }
}

} // namespace sandbox::cli
