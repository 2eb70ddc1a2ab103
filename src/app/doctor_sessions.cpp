// SPDX-License-Identifier: Apache-2.0
#include "app/doctor_checks.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

namespace sandbox::app::doctor {
namespace {

constexpr std::size_t k_most_sessions = 50; // each costs the engine an exec

std::string name_of(const state::SessionRow& row) { return row.name.empty() ? row.id : row.name; }

std::string differences_in(const Isolation& isolation) {
    std::vector<std::string> parts;
    for (const auto& aspect : isolation.aspects) {
        if (aspect.differs) parts.push_back(aspect.name + " (asked " + aspect.asked + ", has " + printable(aspect.inside.value_or(aspect.engine)) + ")");
    }
    return join(parts, ", ");
}

bool is_running(const state::SessionRow& row) { return row.state == state::SessionState::running; }

} // namespace

Findings check_sessions(Examination& examination) {
    constexpr const char* k_check = "session_isolation";
    if (examination.store == nullptr) return without_state(examination, k_check);
    auto rows = examination.store->list({.owner = examination.context.owner(), .labels = {}, .include_closed = false});
    std::erase_if(rows, [](const auto& row) { return !is_running(row); });
    if (rows.empty()) return {ok(k_check, "no session of owner " + examination.context.owner() + " runs")};
    const std::size_t count = std::min(rows.size(), k_most_sessions);
    const auto depth = examination.options.quick ? Depth::engine_only : Depth::inside;
    std::vector<std::string> differing;
    std::vector<std::string> unasked;
    for (std::size_t i = 0; i < count; ++i) {
        try {
            const auto isolation = isolation_of(examination.context, rows[i], depth);
            const std::string text = differences_in(isolation);
            if (!text.empty()) differing.push_back(name_of(rows[i]) + ": " + text);
            else if (isolation.aspects.empty()) unasked.push_back(name_of(rows[i]) + ": " + isolation.unknown);
        } catch (const Error& error) {
            if (error.signal() != 0) throw;
            unasked.push_back(name_of(rows[i]) + ": " + error.message());
        }
    }
    Findings findings;
    if (!differing.empty()) {
        findings.push_back(problem(k_check, counted(differing.size(), "session") + " with another isolation than asked for", "sandbox inspect --effective SESSION shows each aspect; destroy and create it anew"));
        findings.back().details = differing;
    } else if (unasked.size() < count) {
        findings.push_back(ok(k_check, counted(count - unasked.size(), "session") + (depth == Depth::inside ? " as isolated as asked for" : " as isolated as asked for, by what the engine says")));
    }
    if (!unasked.empty()) {
        findings.push_back(unknown("session_isolation_unknown", counted(unasked.size(), "session") + " could not be compared", "sandbox ps shows their states"));
        findings.back().details = unasked;
    }
    if (count < rows.size()) findings.push_back(unknown("session_isolation_rest", counted(rows.size() - count, "more session") + " not looked at"));
    return findings;
}

} // namespace sandbox::app::doctor
