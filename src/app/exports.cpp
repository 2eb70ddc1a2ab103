// SPDX-License-Identifier: Apache-2.0
#include "app/exports.hpp"

#include "app/copy.hpp"
#include "app/copy_alarm.hpp"
#include "app/sessions.hpp"
#include "channel/files.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <filesystem>
#include <set>
#include <unistd.h>

namespace sandbox::app {
namespace {

namespace fs = std::filesystem;

// The path, or the folder above it that is there; a link counts as there wherever it leads.
fs::path nearest_existing(const fs::path& path) {
    fs::path place = path;
    std::error_code ignored;
    while (place.has_relative_path() && fs::symlink_status(place, ignored).type() == fs::file_type::not_found) place = place.parent_path();
    return place.empty() ? fs::path(".") : place;
}

bool is_directory(const std::string& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

// What is at the path in the session, links followed: whether a directory, or nothing. Anything else where that cannot be told.
enum class Inside { directory, nothing, other };

Inside look_inside(Context& context, const state::SessionRow& session, const std::string& path) {
    try {
        channel::list_files(link_to(context, session), {.path = path + "/.", .depth = 0, .max_entries = 1});
        return Inside::directory;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::interrupted) throw;
        return error.code() == ErrorCode::not_found ? Inside::nothing : Inside::other; // the copy says what is wrong with it
    }
}

channel::TransferStats copy_one(Context& context, const state::SessionRow& session, const ExportItem& item) {
    const fs::path target(item.target);
    const bool is_folder = !target.has_filename(); // "results/"
    const fs::path folder = is_folder ? target : target.parent_path();
    if (!folder.empty()) fs::create_directories(folder);
    const bool merges = is_directory(item.target) && look_inside(context, session, item.path) == Inside::directory;
    CopyOptions options;
    options.follow_link = true;
    return copy(context, {session.id, merges ? item.path + "/." : item.path}, {{}, item.target}, options);
}

// What was not found may be on the host's side, too.
void tell_what_is_missing(Context& context, const state::SessionRow& session, Exported& done) {
    try {
        if (look_inside(context, session, done.item.path) != Inside::nothing) return;
    } catch (const Error& interrupted) {
        done.error = interrupted;
        return;
    }
    done.is_absent = done.item.optional;
    if (done.is_absent) done.error.reset();
    else if (done.error->hint().empty()) done.error->hint("export.optional names what need not be there");
}

Exported export_one(Context& context, const state::SessionRow& session, const ExportItem& item) {
    Exported done{item, {}, false, {}};
    try {
        done.stats = copy_one(context, session, item);
    } catch (const Error& error) {
        done.error = error;
    } catch (const fs::filesystem_error& error) {
        done.error = errno_error("cannot make the folder of " + printable(item.target), error.code().value());
    }
    if (done.error && done.error->code() == ErrorCode::not_found) tell_what_is_missing(context, session, done);
    return done;
}

} // namespace

void check_export_targets(const std::vector<ExportItem>& items, const HostRoots& roots) {
    std::set<fs::path> targets;
    for (const auto& item : items) {
        const std::string where = "export.files." + printable(item.path);
        const fs::path target(item.target);
        if (!targets.insert(target.lexically_normal()).second) throw Error(ErrorCode::usage, where + ": " + sandbox::quoted(item.target) + " is the target of another export, too");
        const fs::path place = nearest_existing(target);
        if (!fs::exists(place)) throw Error(ErrorCode::conflict, where + ": " + sandbox::quoted(place.string()) + " is a link that leads nowhere");
        if (fs::is_fifo(place)) throw Error(ErrorCode::conflict, where + ": " + sandbox::quoted(place.string()) + " is a named pipe, which may have no reader then");
        check_stays_below(where, place.string(), roots);
        const fs::path written = place == target && !fs::is_directory(place) ? nearest_existing(place.parent_path()) : place;
        if (!fs::is_directory(written)) throw Error(ErrorCode::conflict, where + ": " + sandbox::quoted(written.string()) + " is no directory");
        if (::access(written.c_str(), W_OK | X_OK) != 0) throw errno_error(where + ": " + printable(written.string()));
    }
}

std::vector<Exported> export_all(Context& context, const state::SessionRow& session, const std::vector<ExportItem>& items,
                                 std::optional<Milliseconds> within) {
    const CopyAlarm alarm(within);
    std::vector<Exported> all;
    std::optional<Error> interrupted;
    for (const auto& item : items) {
        if (interrupted) {
            all.push_back({item, {}, false, interrupted});
            continue;
        }
        all.push_back(export_one(context, session, item));
        auto& error = all.back().error;
        if (!error || error->code() != ErrorCode::interrupted) continue;
        if (alarm.is_over()) error = Error(ErrorCode::failed, "it was not out within " + format_duration(*within));
        interrupted = error;
    }
    return all;
}

std::optional<Error> export_error(const std::vector<Exported>& exports) {
    std::vector<std::string> failures;
    std::string hint;
    for (const auto& done : exports) {
        if (!done.error) continue;
        failures.push_back("cannot export " + printable(done.item.path) + " to " + printable(done.item.target) + ": " + done.error->message());
        if (hint.empty()) hint = done.error->hint();
    }
    if (failures.empty()) return std::nullopt;
    Error error(ErrorCode::export_failed, join(failures, "; "));
    return hint.empty() ? error : error.hint(hint);
}

} // namespace sandbox::app
