// SPDX-License-Identifier: Apache-2.0
#include "cli/event_text.hpp"

#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <variant>

namespace sandbox::cli {
namespace {

using state::Event;
using state::EventKind;

const Event::Value* detail(const Event& event, std::string_view name) {
    const auto found = std::ranges::find(event.details, name, [](const auto& one) -> std::string_view { return one.first; });
    return found == event.details.end() ? nullptr : &found->second;
}

std::string text_of(const Event& event, std::string_view name) {
    const auto* value = detail(event, name);
    if (value == nullptr) return {};
    if (const auto* text = std::get_if<std::string>(value)) return *text;
    if (const auto* number = std::get_if<std::int64_t>(value)) return std::to_string(*number);
    return std::get<bool>(*value) ? "true" : "false";
}

std::uint64_t number_of(const Event& event, std::string_view name) {
    const auto* number = std::get_if<std::int64_t>(detail(event, name));
    return number == nullptr ? 0 : static_cast<std::uint64_t>(*number);
}

// "web (p1)".
std::string process_of(const Event& event) {
    const std::string name = text_of(event, "processName");
    const std::string id = text_of(event, "process");
    return name.empty() ? id : name + " (" + id + ")";
}

// How an exec ended, in the words of a person.
std::string exec_end(const Event& event) {
    const std::string outcome = text_of(event, "outcome");
    if (outcome == "failed") return "failed (" + text_of(event, "error") + ")";
    std::string text = outcome == "exited" ? "exit " + text_of(event, "exitCode") : outcome;
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
    case EventKind::exported: return text_of(event, "path") + " (" + counted(number_of(event, "files"), "file") + ", " + counted(number_of(event, "bytes"), "byte") + ")";
    case EventKind::destroyed: return text_of(event, "reason");
    case EventKind::expired: {
        const std::string when = text_of(event, "expiredAt");
        return text_of(event, "reason") + (when.empty() ? "" : ", at " + when);
    }
    case EventKind::extended:
    case EventKind::started: return "until " + text_of(event, "expiresAt");
    case EventKind::paused:
    case EventKind::resumed:
    case EventKind::stopped: return text_of(event, "reason");
    case EventKind::process_started: return process_of(event) + ": " + text_of(event, "command");
    case EventKind::process_stopped: {
        const std::string outcome = text_of(event, "outcome");
        return process_of(event) + (outcome == "stopped" ? "" : " (" + outcome + ")") + ": " + text_of(event, "command");
    }
    case EventKind::collected: return text_of(event, "what") + " " + text_of(event, "id") + " (" + text_of(event, "why") + ")";
    }
    return {};
}

} // namespace sandbox::cli
