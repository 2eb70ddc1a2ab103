// SPDX-License-Identifier: Apache-2.0
#include "app/exports.hpp"

#include "app/copy.hpp"
#include "app/sessions.hpp"
#include "channel/files.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <csignal>
#include <ctime>
#include <filesystem>
#include <set>
#include <unistd.h>

namespace sandbox::app {
namespace {

namespace fs = std::filesystem;

sigset_t term_alone() {
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    return term;
}

// Makes a copy that takes too long end as a signal would: TERM comes to this process when the time is over.
class CopyAlarm {
  public:
    explicit CopyAlarm(std::optional<Milliseconds> within) {
        if (!within) return;
        sigevent event{};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGTERM;
        // The signal is held back outside of a copy, for it must not end this process, whose session is still there; and it is heard by the
        // copy though the caller may have this process ignore it.
        const sigset_t term = term_alone();
        ::pthread_sigmask(SIG_BLOCK, &term, &m_mask);
        struct sigaction heard {};
        heard.sa_handler = SIG_DFL;
        ::sigaction(SIGTERM, &heard, &m_action);
        if (::timer_create(CLOCK_MONOTONIC, &event, &m_timer.emplace()) != 0) throw errno_error("cannot set a timer");
        itimerspec when{};
        when.it_value = {within->count() / 1000, within->count() % 1000 * 1'000'000};
        ::timer_settime(*m_timer, 0, &when, nullptr);
        m_until = boot_now_ms() + within->count();
    }
    CopyAlarm(const CopyAlarm&) = delete;
    CopyAlarm& operator=(const CopyAlarm&) = delete;
    ~CopyAlarm() {
        if (!m_timer) return;
        ::timer_delete(*m_timer);
        const sigset_t term = term_alone();
        const timespec now{};
        ::sigtimedwait(&term, nullptr, &now);
        ::sigaction(SIGTERM, &m_action, nullptr);
        ::pthread_sigmask(SIG_SETMASK, &m_mask, nullptr);
    }
    bool is_over() const { return m_timer && boot_now_ms() >= m_until; }

  private:
    std::optional<timer_t> m_timer;
    std::int64_t m_until = 0;
    struct sigaction m_action {};
    sigset_t m_mask{};
};

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

bool is_directory_inside(const channel::Link& link, const std::string& path) {
    try {
        const auto found = channel::list_files(link, {.path = path + "/.", .depth = 0, .max_entries = 1});
        return !found.entries.empty() && found.entries.front().type == InventoryType::directory;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::interrupted) throw;
        return false; // the copy says what is wrong with it
    }
}

channel::TransferStats copy_one(Context& context, const state::SessionRow& session, const ExportItem& item) {
    const fs::path target(item.target);
    const bool is_folder = !target.has_filename(); // "results/"
    const fs::path folder = is_folder ? target : target.parent_path();
    if (!folder.empty()) fs::create_directories(folder);
    const bool merges = is_directory(item.target) && is_directory_inside(link_to(context, session), item.path);
    CopyOptions options;
    options.follow_link = true;
    return copy(context, {session.id, merges ? item.path + "/." : item.path}, {{}, item.target}, options);
}

Exported export_one(Context& context, const state::SessionRow& session, const ExportItem& item) {
    Exported done{item, {}, false, {}};
    try {
        done.stats = copy_one(context, session, item);
    } catch (const Error& error) {
        done.is_absent = item.optional && error.code() == ErrorCode::not_found;
        if (!done.is_absent) done.error = error;
    } catch (const fs::filesystem_error& error) {
        done.error = errno_error("cannot make the folder of " + printable(item.target), error.code().value());
    }
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
        if (hint.empty() && done.error->code() == ErrorCode::not_found) hint = "export.optional names what need not be there";
    }
    if (failures.empty()) return std::nullopt;
    Error error(ErrorCode::export_failed, join(failures, "; "));
    return hint.empty() ? error : error.hint(hint);
}

} // namespace sandbox::app
