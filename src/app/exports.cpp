// SPDX-License-Identifier: Apache-2.0
#include "app/exports.hpp"

#include "app/copy.hpp"
#include "util/text.hpp"

#include <csignal>
#include <ctime>
#include <filesystem>
#include <unistd.h>

namespace sandbox::app {
namespace {

namespace fs = std::filesystem;

// Makes a copy that takes too long end as a signal would: TERM comes to this process when the time is over.
class CopyAlarm {
  public:
    explicit CopyAlarm(std::optional<Milliseconds> within) {
        if (!within) return;
        sigevent event{};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGTERM;
        // The signal is held back outside of a copy: it must not end this process, whose session is still there.
        sigset_t term;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        ::pthread_sigmask(SIG_BLOCK, &term, &m_before);
        m_is_set = ::timer_create(CLOCK_MONOTONIC, &event, &m_timer) == 0;
        if (!m_is_set) return;
        itimerspec when{};
        when.it_value = {within->count() / 1000, within->count() % 1000 * 1'000'000};
        ::timer_settime(m_timer, 0, &when, nullptr);
    }
    CopyAlarm(const CopyAlarm&) = delete;
    CopyAlarm& operator=(const CopyAlarm&) = delete;
    ~CopyAlarm() {
        if (!m_is_set) return;
        ::timer_delete(m_timer);
        sigset_t term;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        const timespec now{};
        ::sigtimedwait(&term, nullptr, &now);
        ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
    }

  private:
    bool m_is_set = false;
    timer_t m_timer{};
    sigset_t m_before{};
};

fs::path nearest_existing(const fs::path& path) {
    fs::path place = path;
    std::error_code ignored;
    while (place.has_relative_path() && !fs::exists(place, ignored)) place = place.parent_path();
    return place.empty() ? fs::path(".") : place;
}

bool is_directory(const std::string& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

channel::TransferStats copy_one(Context& context, const std::string& session, const ExportItem& item) {
    const auto parent = fs::path(item.target).parent_path();
    if (!parent.empty()) fs::create_directories(parent);
    CopyOptions options;
    options.follow_link = true;
    const Location target{{}, item.target};
    if (is_directory(item.target)) {
        try {
            return copy(context, {session, item.path + "/."}, target, options);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::conflict) throw; // else it is no directory, and goes into this one under its name
        }
    }
    return copy(context, {session, item.path}, target, options);
}

Exported export_one(Context& context, const std::string& session, const ExportItem& item) {
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
    for (const auto& item : items) {
        const std::string where = "export.files." + printable(item.path);
        const fs::path place = nearest_existing(item.target);
        check_stays_below(where, place.string(), roots);
        const bool is_target = place == fs::path(item.target);
        const fs::path written = is_target && !fs::is_directory(place) ? nearest_existing(place.parent_path()) : place;
        if (!fs::is_directory(written)) throw Error(ErrorCode::conflict, where + ": " + sandbox::quoted(written.string()) + " is no directory");
        if (::access(written.c_str(), W_OK | X_OK) != 0) throw errno_error(where + ": " + printable(written.string()));
    }
}

std::vector<Exported> export_all(Context& context, const std::string& session, const std::vector<ExportItem>& items, std::optional<Milliseconds> within) {
    const CopyAlarm alarm(within);
    std::vector<Exported> all;
    std::optional<Error> interrupted;
    for (const auto& item : items) {
        if (interrupted) {
            all.push_back({item, {}, false, interrupted});
            continue;
        }
        all.push_back(export_one(context, session, item));
        const auto& error = all.back().error;
        if (error && error->code() == ErrorCode::interrupted) interrupted = error;
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
