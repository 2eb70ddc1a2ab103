// SPDX-License-Identifier: Apache-2.0
#include "state/events.hpp"

#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <array>
#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox::state {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t k_longest_text = 512;
constexpr std::size_t k_longest_line = 64 << 10; // none is: what is longer was not written by append()
constexpr std::size_t k_instance_bytes = 8 << 20;
constexpr int k_instance_kept = 4;
constexpr std::size_t k_session_bytes = 64 << 10;
constexpr int k_session_kept = 1;

struct Name {
    EventKind kind;
    std::string_view name;
};
constexpr std::array k_names{
    Name{EventKind::created, "session.created"},     Name{EventKind::exec_started, "exec.started"},
    Name{EventKind::exec_ended, "exec.ended"},       Name{EventKind::written, "file.written"},
    Name{EventKind::exported, "file.exported"},      Name{EventKind::destroyed, "session.destroyed"},
    Name{EventKind::expired, "session.expired"},     Name{EventKind::collected, "gc.removed"},
    Name{EventKind::extended, "session.extended"},   Name{EventKind::paused, "session.paused"},
    Name{EventKind::resumed, "session.resumed"},     Name{EventKind::stopped, "session.stopped"},
    Name{EventKind::started, "session.started"},     Name{EventKind::process_started, "process.started"},
    Name{EventKind::process_stopped, "process.stopped"},
};

// Cut at the start of a character.
std::string shortened_text(std::string_view bytes) {
    std::string text = to_valid_utf8(bytes);
    if (text.size() <= k_longest_text) return text;
    std::size_t end = k_longest_text;
    while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end) + "...";
}

Json json_of(const Event::Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return shortened_text(*text);
    if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
    return std::get<bool>(value);
}

bool is_same_file(int fd, const std::string& path) {
    struct stat opened {};
    struct stat named {};
    return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

} // namespace

std::string_view event_name(EventKind kind) {
    for (const Name& name : k_names) {
        if (name.kind == kind) return name.name;
    }
    return "unknown";
}

std::optional<EventKind> event_from_name(std::string_view text) {
    for (const Name& name : k_names) {
        if (name.name == text) return name.kind;
    }
    return std::nullopt;
}

std::vector<std::string> event_names() {
    std::vector<std::string> names;
    for (const Name& name : k_names) names.emplace_back(name.name);
    return names;
}

std::string event_line(const Event& event) {
    Json json{{"time", format_rfc3339_ms(event.time_ms)}, {"event", event_name(event.kind)}};
    if (!event.session.empty()) json["session"] = event.session;
    if (!event.name.empty()) json["name"] = to_valid_utf8(event.name);
    if (!event.owner.empty()) json["owner"] = to_valid_utf8(event.owner);
    for (const auto& [name, value] : event.details) json[name] = json_of(value);
    return json.dump();
}

std::optional<Event> parse_event(std::string_view line) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    Event event;
    bool has_kind = false;
    for (const auto& [name, value] : json.items()) {
        const std::string text = value.is_string() ? value.get<std::string>() : std::string();
        if (name == "time") event.time_ms = parse_rfc3339(text).value_or(0);
        else if (name == "event") {
            const auto kind = event_from_name(text);
            has_kind = kind.has_value();
            event.kind = kind.value_or(EventKind::created);
        } else if (name == "session") event.session = text;
        else if (name == "name") event.name = text;
        else if (name == "owner") event.owner = text;
        else if (value.is_string()) event.details.emplace_back(name, text);
        else if (value.is_boolean()) event.details.emplace_back(name, value.get<bool>());
        else if (value.is_number_integer()) event.details.emplace_back(name, value.get<std::int64_t>());
    }
    if (!has_kind || event.time_ms == 0) return std::nullopt;
    return event;
}

EventLog EventLog::of_instance(const std::string& state_directory) {
    return {state_directory + "/events.jsonl", k_instance_bytes, k_instance_kept};
}

EventLog EventLog::of_session(const std::string& session_directory) {
    return {session_directory + "/execs.jsonl", k_session_bytes, k_session_kept};
}

// Open, with a shared lock, and still the file of that name.
Fd EventLog::open_current() const {
    for (;;) {
        Fd file(::open(m_path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!file || ::flock(file.get(), LOCK_SH) != 0) return {};
        if (is_same_file(file.get(), m_path)) return file;
        // It was moved on, or its directory was removed: then there is nothing to open the next time round.
    }
}

bool EventLog::append(Event event) const noexcept {
    try {
        if (event.time_ms == 0) event.time_ms = wall_now_ms();
        off_t size = 0;
        {
            const Fd file = open_current();
            size = file ? ::lseek(file.get(), 0, SEEK_END) : -1;
            if (size < 0) return false;
            // A disk that was full left half a line, which must not spoil this one. O_APPEND keeps programs apart.
            char last = '\n';
            if (size > 0 && ::pread(file.get(), &last, 1, size - 1) != 1) return false;
            const std::string line = (last == '\n' ? "" : "\n") + event_line(event) + "\n";
            if (::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) return false;
            size += static_cast<off_t>(line.size());
        }
        if (static_cast<std::size_t>(size) >= m_max_bytes) move_on();
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

// While somebody appends or opens the files, the next one to append gets to do it.
void EventLog::move_on() const {
    const Fd file(::open(m_path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;
    struct stat info {};
    if (!is_same_file(file.get(), m_path) || ::fstat(file.get(), &info) != 0) return;
    if (static_cast<std::size_t>(info.st_size) < m_max_bytes) return;
    for (int number = m_kept; number > 1; --number) ::rename(numbered(number - 1).c_str(), numbered(number).c_str());
    ::rename(m_path.c_str(), numbered(1).c_str());
}

std::deque<Fd> EventLog::open_after(int last) const {
    const Fd lock = open_current(); // nothing is moved on as long as it is held
    std::deque<Fd> files;
    const auto open = [&](const std::string& path) {
        Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        if (!file && errno != ENOENT) throw errno_error("cannot read " + path);
        if (!file) return;
        if (last >= 0 && is_same_file(last, path)) files.clear();
        else files.push_back(std::move(file));
    };
    for (int number = m_kept; number > 0; --number) open(numbered(number));
    open(m_path);
    return files;
}

EventReader::EventReader(EventLog log) : m_log(std::move(log)), m_watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    const std::string directory = m_log.path().substr(0, m_log.path().rfind('/'));
    if (m_watch && ::inotify_add_watch(m_watch.get(), directory.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0) m_watch.reset();
}

void EventReader::forget_notices() {
    std::array<char, 4096> notices{};
    while (m_watch && ::read(m_watch.get(), notices.data(), notices.size()) > 0) {
    }
}

void EventReader::read(const Take& take) {
    forget_notices(); // before looking: what comes meanwhile is noticed anew
    for (;;) {
        // What is newer is opened before the last of the old is read, so that this has come to its end.
        for (Fd& newer : m_log.open_after(m_files.empty() ? -1 : m_files.back().get())) m_files.push_back(std::move(newer));
        if (m_files.empty()) return;
        read_to_end(m_files.front().get(), take);
        if (m_files.size() == 1) return;
        m_files.pop_front();
        m_rest.clear();
        m_overlong = false;
    }
}

void EventReader::read_to_end(int fd, const Take& take) {
    std::array<char, 64 << 10> buffer{};
    for (;;) {
        const ssize_t count = ::read(fd, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw errno_error("cannot read " + m_log.path());
        if (count == 0) return;
        m_rest.append(buffer.data(), static_cast<std::size_t>(count));
        std::size_t start = 0;
        for (std::size_t end; (end = m_rest.find('\n', start)) != std::string::npos; start = end + 1) {
            const auto event = std::exchange(m_overlong, false) ? std::nullopt : parse_event(std::string_view(m_rest).substr(start, end - start));
            if (event) take(*event);
        }
        m_rest.erase(0, start);
        if (m_rest.size() > k_longest_line) {
            m_rest.clear();
            m_overlong = true;
        }
    }
}

} // namespace sandbox::state
