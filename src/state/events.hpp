// SPDX-License-Identifier: Apache-2.0
// What happened to sessions, as JSON lines in files that are only appended to. A record waits for no disk and a full one
// costs no operation: then its event is missing.
//
//   EventLog log = EventLog::of_instance(store.directory());
//   log.append({.kind = EventKind::exec_ended, .session = row.id, ..., .details = {{"exitStatus", 0}}});
#pragma once

#include "util/fd.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sandbox::state {

enum class EventKind { created, exec_started, exec_ended, written, exported, destroyed, expired, collected, extended, paused, resumed, stopped, started,
                       process_started, process_stopped };
// "session.created", "exec.ended", ...: as they stand in the file and on the command line.
std::string_view event_name(EventKind kind);
std::optional<EventKind> event_from_name(std::string_view name);
std::vector<std::string> event_names();

struct Event {
    using Value = std::variant<std::string, std::int64_t, bool>;
    EventKind kind = EventKind::created;
    std::int64_t time_ms = 0; // wall; 0: stamped by append()
    std::string session{};    // id; empty for what gc took that belonged to none
    std::string name{};
    std::string owner{};
    std::vector<std::pair<std::string, Value>> details{}; // camelCase names; texts longer than 512 bytes are cut
};

// One line of JSON without its end: valid UTF-8, "time" in RFC 3339.
std::string event_line(const Event& event);
// Absent for a line that is damaged or of a kind that this version does not know.
std::optional<Event> parse_event(std::string_view line);

// PATH, and before it PATH.1 (newer) to PATH.N (oldest).
class EventLog {
  public:
    EventLog(std::string path, std::size_t max_bytes, int kept) : m_path(std::move(path)), m_max_bytes(max_bytes), m_kept(kept) {}
    // <state directory>/events.jsonl: everything, 40 MiB at most.
    static EventLog of_instance(const std::string& state_directory);
    // The ended execs of one session, gone with its directory.
    static EventLog of_session(const std::string& session_directory);

    const std::string& path() const { return m_path; }
    // Whether it was written. Whoever appends holds a shared lock and makes sure that the file still has its name; who
    // moves files on holds it alone: nothing is ever added to a file that was moved on.
    bool append(Event event) const noexcept;
    // The files that are newer than the open one, all without one (-1), oldest first.
    std::deque<Fd> open_after(int last) const;

  private:
    std::string numbered(int number) const { return m_path + "." + std::to_string(number); }
    Fd open_current() const;
    void move_on() const;

    std::string m_path;
    std::size_t m_max_bytes;
    int m_kept;
};

// Goes through a log from its oldest event, each once, whatever is moved on meanwhile.
class EventReader {
  public:
    using Take = std::function<void(const Event&)>;
    explicit EventReader(EventLog log);

    // Every event that is there now and was not given before, oldest first. Damaged lines are passed over.
    void read(const Take& take);
    // Readable (poll(2)) when there may be more; -1 where the kernel has no inotify to give: then ask now and then.
    int fd() const { return m_watch.get(); }

  private:
    void read_to_end(int fd, const Take& take);
    void forget_notices();

    EventLog m_log;
    Fd m_watch;
    std::deque<Fd> m_files; // the last one may still grow
    std::string m_rest;     // of a line that is not whole yet
    bool m_overlong = false;
};

} // namespace sandbox::state
