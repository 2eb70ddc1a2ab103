// SPDX-License-Identifier: Apache-2.0
#include "app/doctor_checks.hpp"
#include "domain/units.hpp"
#include "util/text.hpp"

#include <cstdio>
#include <unistd.h>

namespace sandbox::app::doctor {
namespace {

constexpr std::uint64_t k_little_space = 256 << 20;

std::string octal(mode_t mode) {
    char text[16];
    std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode));
    return text;
}

std::string place(const Examination& examination) { return quoted(examination.context.state_directory()); }

} // namespace

Findings check_state_directory(Examination& examination) {
    constexpr const char* k_check = "state_directory";
    const std::string directory = examination.context.state_directory();
    examination.state = state::diagnose(directory);
    const auto& found = examination.state;
    if (!found.error.empty()) return {problem(k_check, found.error, "give its path back to this user, or name another with --state-dir")};
    if (!found.exists) return {ok(k_check, quoted(directory) + " is not there yet: the first session makes it")};
    if (!found.is_directory) return {problem(k_check, quoted(directory) + " is not a directory", "move it away, or name another place with --state-dir")};
    if (found.owner != ::geteuid()) {
        return {problem(k_check, quoted(directory) + " belongs to uid " + std::to_string(found.owner), "run sandbox as that user, or give --state-dir a directory of your own")};
    }
    if (!found.write_error.empty()) {
        return {problem(k_check, quoted(directory) + " cannot be written: " + found.write_error, "make it writable for this user, or name another place with --state-dir")};
    }
    if ((found.mode & 077) != 0) {
        return {warning(k_check, quoted(directory) + " has mode " + octal(found.mode) + ": others may enter it", "chmod 0700 " + directory)};
    }
    return {ok(k_check, quoted(directory) + ", mode " + octal(found.mode))};
}

Findings check_state_readable(Examination& examination) {
    constexpr const char* k_check = "state_readable";
    using enum state::Diagnosis::Database;
    const auto& found = examination.state;
    if (!found.exists || !found.is_directory || !found.error.empty()) return {};
    if (found.database == unusable) {
        return {problem(k_check, found.database_error, found.database_hint.empty() ? "look at the file, or name another --state-dir" : found.database_hint)};
    }
    if (found.is_suspect) {
        return {warning(k_check, "a damaged page was met in state.db: the next command checks the whole of it", "sandbox ps; then sandbox doctor --repair")};
    }
    if (found.database == absent && found.has_identity) {
        return {problem(k_check, "state.db is missing, though the instance " + found.instance + " has one", "sandbox doctor --repair rebuilds what the engine's labels tell")};
    }
    if (found.database == absent) return {ok(k_check, "there is no state.db yet")};
    if (found.database == old_schema) return {ok(k_check, "state.db is of an older version: the next command brings it up to date")};
    if (!found.has_identity) {
        return {warning(k_check, "the file `instance` is missing or is none; state.db has a copy of it", "sandbox doctor --repair writes it anew")};
    }
    examination.store = examination.context.peek();
    if (examination.store == nullptr) return {unknown(k_check, "state.db cannot be read without changing it", "sandbox ps")};
    const auto rows = examination.store->list({});
    return {ok(k_check, "instance " + found.instance + ", " + counted(rows.size(), "open session"))};
}

Findings check_state_machine(Examination& examination) {
    constexpr const char* k_check = "state_machine";
    const auto& found = examination.state;
    if (!found.has_identity) return {};
    if (found.on_its_machine) return {ok(k_check, "the state was made on this machine")};
    return {problem(k_check, "the state in " + place(examination) + " was made on another machine: until that is settled gc leaves orphans alone",
                    "sandbox doctor --repair, if it was moved here; if it is a copy, name another --state-dir")};
}

Findings check_state_disk(Examination& examination) {
    constexpr const char* k_check = "state_disk";
    const auto& found = examination.state;
    if (found.total_bytes == 0) return {unknown(k_check, "the file system of " + place(examination) + " does not tell its size")};
    const std::string type = found.file_system.empty() ? "a file system" : found.file_system;
    Findings findings;
    if (found.is_remote) {
        findings.push_back(warning("state_file_system", "the state is on " + type + ": locks and SQLite's journal are not safe there", "put the state on a local disk: --state-dir or SANDBOX_STATE_DIR"));
    } else {
        findings.push_back(ok("state_file_system", type + ", local"));
    }
    const std::uint64_t unit = found.free_bytes >= 10'000'000'000 ? 1'000'000'000 : 1'000'000;
    const std::string space = domain::format_size(found.free_bytes / unit * unit) + " free";
    const bool is_short = found.free_bytes < k_little_space;
    findings.push_back(is_short ? warning(k_check, space + " for the state", "free space on the disk of " + place(examination)) : ok(k_check, space));
    return findings;
}

} // namespace sandbox::app::doctor
