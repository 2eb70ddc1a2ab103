// SPDX-License-Identifier: Apache-2.0
#include "app/managed.hpp"
#include "app/managed_reach.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <list>
#include <poll.h>
#include <set>

namespace sandbox::app {
namespace {

using channel::Follow;
using channel::LogPiece;
using channel::LogQuery;
using channel::LogReader;
using channel::ManagedProcess;

// How often one looks for processes that were started meanwhile.
constexpr std::int64_t k_look_again_ms = 1000;

// One of the logs that are read side by side, with the piece that comes next of it.
struct Source {
    Source(const channel::Link& link, const ManagedProcess& which, LogQuery query, Follow follow) : process(which), reader(link, query, follow) {}

    ManagedProcess process;
    LogReader reader;
    std::optional<LogPiece> piece;
    bool is_begun = false; // something of it was given
    bool is_lost = false;
};

// The log of one whose keeper was killed is lost; that of the others is not.
bool is_readable(const ManagedProcess& process) { return process.state != channel::ManagedState::aborted; }

// Until something is there, or the time (milliseconds) is up.
void await(std::vector<pollfd>& set, int output, int time) {
    set.push_back({output, 0, 0});
    if (::poll(set.data(), set.size(), time) < 0 && errno != EINTR) throw errno_error("cannot wait for output");
    const bool is_read = (set.back().revents & (POLLERR | POLLNVAL)) == 0;
    set.pop_back();
    if (!is_read) throw Error(ErrorCode::interrupted, "standard output is closed").signal(SIGPIPE);
}

class Merge {
  public:
    Merge(const channel::Link& link, const LogQuery& query, Follow follow, const MergedSink& sink)
        : m_link(link), m_query(query), m_follow(follow), m_sink(sink) {}

    // Whether any of them has ever printed something.
    bool run() {
        add_new();
        // Whoever starts later is heard from its first word on.
        m_query.tail.reset();
        if (m_follow == Follow::no) give([this](Source& source) { return next(source); });
        else follow();
        for (const Source& source : m_sources) note_position(source);
        if (m_lost.empty()) return m_has_printed;
        throw Error(ErrorCode::aborted, "the rest of what " + join(m_lost, " and ") + " printed is lost: too many others have ended since, or its keeper was killed");
    }

  private:
    void follow() {
        for (std::int64_t look_at = boot_now_ms() + k_look_again_ms; !m_sources.empty();) {
            follow_until(look_at);
            if (m_has_expired || (boot_now_ms() < look_at && !m_sources.empty())) continue;
            add_new();
            look_at = boot_now_ms() + k_look_again_ms;
        }
    }

    void add_new() {
        for (const ManagedProcess& process : channel::list_processes(m_link)) {
            if (!m_known.insert(process.id).second) continue;
            if (!is_readable(process)) {
                m_sink.on_lost(process);
                continue;
            }
            LogQuery query = m_query;
            query.process = process.id;
            m_sources.emplace_back(m_link, process, query, m_follow);
        }
    }

    // Pieces as `take` gets them of each source, the earliest first, until it gets none of any.
    template <typename Take> void give(const Take& take) {
        for (;;) {
            Source* first = nullptr;
            for (Source& source : m_sources) {
                if (!source.piece) source.piece = take(source);
                if (source.piece && (first == nullptr || source.piece->time_ms < first->piece->time_ms)) first = &source;
            }
            if (first == nullptr) return;
            first->is_begun = true;
            m_sink.on_piece(first->process, *first->piece);
            first->piece.reset();
        }
    }

    void follow_until(std::int64_t until) {
        std::vector<pollfd> set;
        bool has_bytes = false;
        for (Source& source : m_sources) {
            set.push_back({source.reader.fd(), POLLIN, 0});
            has_bytes = has_bytes || source.reader.has_bytes();
        }
        const std::int64_t left = std::clamp<std::int64_t>(until - boot_now_ms(), 0, k_look_again_ms);
        await(set, m_sink.output, has_bytes ? 0 : static_cast<int>(left));
        auto entry = set.cbegin();
        for (Source& source : m_sources) {
            if ((entry++)->revents != 0 || source.reader.has_bytes()) fill(source);
        }
        give([this](Source& source) { return buffered(source); });
        for (const Source& source : m_sources) {
            note_position(source);
            m_has_expired = m_has_expired || (source.reader.is_over() && source.reader.process().expired);
        }
        m_sources.remove_if([](const Source& source) { return source.is_lost || source.reader.is_over(); });
    }

    // One that had ended may have made room for another since it was listed, or have lost its log.
    std::optional<LogPiece> buffered(Source& source) {
        try {
            return source.reader.buffered();
        } catch (const Error& error) {
            if (error.code() != ErrorCode::not_found && error.code() != ErrorCode::aborted) throw;
            lose(source, error.code() == ErrorCode::aborted);
            return std::nullopt;
        }
    }

    std::optional<LogPiece> next(Source& source) {
        for (;;) {
            auto piece = buffered(source);
            if (piece || source.is_lost || source.reader.is_over()) return piece;
            fill(source);
        }
    }

    // A keeper that is killed takes its log along, and ends nobody else's.
    void fill(Source& source) {
        try {
            source.reader.fill();
        } catch (const Error& error) {
            if (error.code() != ErrorCode::session_unreachable) throw;
            const auto processes = channel::list_processes(m_link);
            const auto found = std::ranges::find(processes, source.process.id, &ManagedProcess::id);
            if (found != processes.end() && is_readable(*found)) throw;
            lose(source, found != processes.end());
        }
    }

    // Told of when all the others have been given. One that went before it was begun with is as if it had gone before it was listed.
    void lose(Source& source, bool is_aborted) {
        source.is_lost = true;
        if (source.is_begun) m_lost.push_back(source.process.name.empty() ? source.process.id : printable(source.process.name));
        else if (is_aborted) m_sink.on_lost(source.process);
    }

    // At the end it is behind all that was printed, also where nothing of that was asked for.
    void note_position(const Source& source) { m_has_printed = m_has_printed || source.is_begun || source.reader.position() > 0; }

    const channel::Link& m_link;
    LogQuery m_query;
    Follow m_follow;
    const MergedSink& m_sink;
    std::list<Source> m_sources;
    std::set<std::string> m_known;
    std::vector<std::string> m_lost;
    bool m_has_printed = false;
    bool m_has_expired = false; // the session, and it is not asked for more
};

} // namespace

ManagedProcess read_log(Context& context, const state::SessionRow& row, const LogQuery& query, Follow follow, const LogSink<const LogPiece&>& sink) {
    return reach(context, row, [&](const channel::Link& link) {
        return outliving_keeper(link, query.process, "what process " + quoted(query.process) + " printed is lost", [&] {
            LogReader reader(link, query, follow);
            for (;;) {
                while (const auto piece = reader.buffered()) sink.on_piece(*piece);
                if (reader.is_over()) return reader.process();
                std::vector<pollfd> set{{reader.fd(), POLLIN, 0}};
                if (!reader.has_bytes()) await(set, sink.output, -1);
                reader.fill();
            }
        });
    });
}

bool read_all_logs(Context& context, const state::SessionRow& row, const LogQuery& query, Follow follow, const MergedSink& sink) {
    return reach(context, row, [&](const channel::Link& link) { return Merge(link, query, follow, sink).run(); });
}

} // namespace sandbox::app
