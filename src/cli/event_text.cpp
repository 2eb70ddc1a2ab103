// SPDX-License-Identifier: Apache-2.0
#include "cli/event_text.hpp"

#include "util/time.hpp"

#include <variant>

namespace sandbox::cli {
namespace {

using state::Event;
using state::EventKind;

std::string text_of(const Event& event, std::string_view name) {
    for (const auto& [key, value] : event.details) {
        if (key != name) continue;
        if (const auto* text = std::get_if<std::string>(&value)) return *text;
        if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
        return std::get<bool>(value) ? "true" : "false";
    }
    return {};
}

// "1 file", "2 files".
std::string counted(const std::string& count, const std::string& one) { return count + " " + one + (count == "1" ? "" : "s"); }

// How an exec ended, in the words of a person.
std::string exec_end(const Event& event) {
    const std::string outcome = text_of(event, "outcome");
    if (outcome == "failed") return "failed (" + text_of(event, "error") + ")";
    std::string text = outcome == "exited" ? "exit " + text_of(event, "exitStatus") : outcome;
    for (const auto& [key, value] : event.details) {
        if (key == "wallMs" && std::holds_alternative<std::int64_t>(value)) {
            text += " after " + format_duration(Milliseconds(std::get<std::int64_t>(value)));
        }
    }
    return text;
}

} // namespace

std::string event_text(const Event& event) {
    switch (event.kind) {
    case EventKind::created: return text_of(event, "image");
    case EventKind::exec_started: return text_of(event, "command");
    case EventKind::exec_ended: return exec_end(event) + ": " + text_of(event, "command");
    case EventKind::written:
    case EventKind::exported: return text_of(event, "path") + " (" + counted(text_of(event, "files"), "file") + ", " + counted(text_of(event, "bytes"), "byte") + ")";
    case EventKind::destroyed:
    case EventKind::expired: return text_of(event, "reason");
    case EventKind::collected: return text_of(event, "what") + " " + text_of(event, "id") + " (" + text_of(event, "why") + ")";
    }
    return {};
}

} // namespace sandbox::cli
