// SPDX-License-Identifier: Apache-2.0
#include "app/copy.hpp"

#include "app/archive_reader.hpp"
#include "app/copy_stopped.hpp"
#include "app/events.hpp"
#include "app/exec.hpp"
#include "app/export_scan.hpp"
#include "app/interrupt.hpp"
#include "app/sessions.hpp"
#include "util/descriptor_path.hpp"
#include "util/error.hpp"
#include "util/fd.hpp"
#include "util/fs.hpp"
#include "util/stream_writer.hpp"
#include "util/tar_encoder.hpp"
#include "util/text.hpp"
#include "util/tree_path.hpp"
#include "util/tree_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <vector>

namespace sandbox::app {
namespace {

std::string resolve_link(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), ::free);
    if (!real) throw errno_error(printable(path));
    return real.get();
}

// As for cp(1), a link at the target stands for what it names, which takes the copy or refuses it: a device by another name is no
// less one.
std::string through_link(const std::string& target) {
    struct stat info {};
    if (::lstat(target.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return target;
    if (::stat(target.c_str(), &info) != 0) {
        throw Error(ErrorCode::conflict, quoted(target) + " is a link that leads nowhere").hint("remove it, or name the file itself");
    }
    refuse_special(info.st_mode, target);
    return resolve_link(target);
}

// The host side of a copy into a session: what the target is called if it is put inside a directory.
channel::TransferStats put(const channel::Link& link, const Location& source, const Location& target,
                           const CopyOptions& options, std::optional<std::uint64_t> max_file) {
    struct stat info{};
    if (::lstat(source.path.c_str(), &info) != 0) throw errno_error(printable(source.path));
    std::string path = source.path;
    std::string name = base_name(path);
    // A trailing slash on a link means what it points to, as for every program that opens it.
    if (S_ISLNK(info.st_mode) && (options.follow_link || path.ends_with('/'))) path = resolve_link(path);
    channel::PutOptions put_options;
    put_options.target = target.path;
    put_options.target_must_be_directory = target.path.ends_with('/');
    put_options.max_file = max_file;
    put_options.progress = options.progress;
    if (!means_contents(source.path)) put_options.source_name = name.empty() ? base_name(resolve_link(path)) : std::move(name);
    return channel::put_tree(link, path, put_options);
}

// "S:" is the workdir.
std::string inside(const Location& place) { return place.path.empty() ? "." : place.path; }

// A session with a way to it, and what to say when that does not lead there.
class Reached {
  public:
    Reached(Context& context, const std::string& name, const CopyOptions& options)
        : m_context(context), m_target(open_for_exec(context, name)), m_link(link_to(context, m_target.row)),
          m_max_file(options.max_file ? options.max_file : m_target.manifest.limits.max_file) {}

    const channel::Link& link() const { return m_link; }
    const domain::Manifest& manifest() const { return m_target.manifest; }
    std::optional<std::uint64_t> max_file() const { return m_max_file; }

    // For the error of a copy between two sessions, which does not say whose it is.
    void explain_unless_it_answers(const Error& error) const {
        try {
            channel::status(m_link);
        } catch (const Error&) {
            explain_unreachable(m_context, m_target.row, error);
        }
    }

    // The event of what was copied, and its figures again.
    channel::TransferStats recorded(state::EventKind kind, const std::string& path, const channel::TransferStats& stats) const {
        record(m_context, kind, m_target.row,
               {{"path", path}, {"files", static_cast<std::int64_t>(stats.files)}, {"bytes", static_cast<std::int64_t>(stats.bytes)}});
        return stats;
    }

    // Into a session that runs. A stopped one would be written to by the engine: as another user, without staging, and what broke off
    // would stay half done; so nothing is.
    template <typename Body> channel::TransferStats put(Body body) const {
        return attempt(body, [this]() -> channel::TransferStats {
            throw Error(ErrorCode::session_gone, who() + " is stopped, and takes no files").hint("out of it they can still be copied");
        });
    }
    channel::TransferStats get(const channel::GetOptions& options) const {
        return attempt([&](const channel::Link& link) { return channel::get_tree(link, options); },
                       [&] { return get_stopped(m_context, m_target, options); });
    }
    channel::TransferStats get_archive(channel::ArchiveGetOptions options) const {
        bool is_begun = false;
        options.write = [&is_begun, write = std::move(options.write)](std::string_view bytes, const std::function<bool(int)>& wait_writable) {
            is_begun = true;
            write(bytes, wait_writable);
        };
        return attempt([&](const channel::Link& link) { return channel::get_archive(link, options); },
                       [&] { return get_stopped_archive(m_context, m_target, options); }, is_begun);
    }
    bool is_stopped() const { return app::is_stopped(m_context, m_target.row); }

  private:
    std::string who() const { return "session " + quoted(m_target.row.name.empty() ? m_target.row.id : m_target.row.name); }

    template <typename Body, typename Stopped> channel::TransferStats attempt(Body body, Stopped stopped, const bool& is_begun = false) const {
        try {
            return body(m_link);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::session_unreachable) throw;
            if (is_begun || !is_stopped()) explain_unreachable(m_context, m_target.row, error);
        }
        return stopped();
    }

    Context& m_context;
    ExecTarget m_target;
    channel::Link m_link;
    std::optional<std::uint64_t> m_max_file;
};

// A target that takes bytes and no name: a device, a pipe, a descriptor. As for cp(1), it is written into and never replaced.
class StreamTarget {
  public:
    // Before anything else is opened: see open_descriptor_path().
    explicit StreamTarget(const Location& target) : m_path(target.path) {
        if (!target.session.empty()) return;
        m_file = open_descriptor_path(m_path);
        struct stat info {};
        if (m_file ? ::fstat(m_file->get(), &info) != 0 : ::stat(m_path.c_str(), &info) != 0) return;
        if (S_ISDIR(info.st_mode)) m_file.reset();
        m_is_stream = m_file || S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode);
    }

    bool is_stream() const { return m_is_stream; }

    // All of a regular file. Looks for a signal whenever the reader of a pipe makes it wait.
    void take(const std::string& source, Interrupt& interrupt) {
        struct stat info {};
        if (::lstat(source.c_str(), &info) != 0) throw errno_error("cannot look at the copy");
        if (S_ISDIR(info.st_mode)) throw Error(ErrorCode::conflict, "cannot copy a directory into " + quoted(m_path) + ", which is none");
        if (S_ISLNK(info.st_mode)) {
            throw Error(ErrorCode::conflict, "cannot copy a link into " + quoted(m_path)).hint("-L copies what it points to");
        }
        const Fd file = open_regular_file(source);
        if (!m_file) m_file = open_target(interrupt);
        write(file.get(), interrupt);
    }

  private:
    // A named pipe nobody reads from yet is waited for, as cp(1) does.
    Fd open_target(Interrupt& interrupt) const {
        for (;;) {
            Fd file(::open(m_path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
            if (file) return file;
            if (errno != ENXIO) throw errno_error("cannot write to " + printable(m_path));
            interrupt.wait(k_between_looks);
        }
    }

    void write(int from, Interrupt& interrupt) const {
        StreamWriter writer(m_file->get());
        const auto wait_writable = interrupt.wait_writable();
        std::vector<char> buffer(k_piece);
        while (const std::size_t count = read_some(from, buffer)) {
            interrupt.check();
            try {
                writer.write(std::string_view(buffer.data(), count), wait_writable);
            } catch (Error& error) {
                error.context(printable(m_path));
                throw;
            }
        }
    }

    static constexpr Milliseconds k_between_looks{20};
    static constexpr std::size_t k_piece = 64 << 10;
    std::string m_path;
    std::optional<Fd> m_file;
    bool m_is_stream = false;
};

std::optional<std::uint64_t> smaller(std::optional<std::uint64_t> one, std::optional<std::uint64_t> other) {
    if (one && other) return std::min(*one, *other);
    return one ? one : other;
}

// A tree that export.scan has passed where there is one, kept on the host until it goes where it is to go.
class StagedTree {
  public:
    StagedTree(const Reached& from, const std::string& source, const CopyOptions& options, const ExportScan& scan) {
        channel::GetOptions get{source, path(), from.max_file(), options.follow_link, options.progress};
        if (scan.is_set()) get.inspect = scan.inspector([this] { m_interrupt.check(); });
        m_stats = from.get(get);
    }
    std::string path() const { return m_directory.path() + "/tree"; }
    void write_into(StreamTarget& target) { target.take(path(), m_interrupt); }
    const channel::TransferStats& stats() const { return m_stats; }

    void write_archive(const ArchiveSink& write, std::string root) {
        const auto wait_writable = m_interrupt.wait_writable();
        TarEncoder archive([&](std::string_view bytes) { write(bytes, wait_writable); }, std::move(root));
        TreeDecoder decoder(true);
        TreeEncoder encoder([&](std::string_view chunk) {
            m_interrupt.check();
            decoder.feed(chunk, archive);
        });
        read_tree(open_tree_source(PathBase::anywhere(), path()), {}, encoder);
        encoder.flush();
        decoder.finish();
        archive.finish();
    }

  private:
    Interrupt m_interrupt;
    TempDir m_directory;
    channel::TransferStats m_stats;
};

// Both sessions are the caller's own: each is looked up as for every other use.
channel::TransferStats relay(Context& context, const Location& source, const Location& target, const CopyOptions& options) {
    const Reached from(context, source.session, options);
    const Reached to(context, target.session, options);
    channel::RelayOptions relay_options;
    relay_options.source = source.path;
    relay_options.follow_link = options.follow_link;
    relay_options.put.target = inside(target);
    relay_options.put.target_must_be_directory = target.path.ends_with('/');
    relay_options.put.progress = options.progress;
    relay_options.put.max_file = smaller(from.max_file(), to.max_file());
    if (!means_contents(source.path)) relay_options.put.source_name = base_name(source.path);
    const auto both_recorded = [&](const channel::TransferStats& stats) {
        from.recorded(state::EventKind::exported, source.path, stats);
        return to.recorded(state::EventKind::written, relay_options.put.target, stats);
    };
    const ExportScan scan(from.manifest());
    const auto through_host = [&] {
        const StagedTree tree(from, source.path, options, scan);
        return both_recorded(to.put([&](const channel::Link& link) { return channel::put_tree(link, tree.path(), relay_options.put); }));
    };
    if (scan.is_set()) return through_host();
    try {
        return both_recorded(channel::copy_tree(from.link(), to.link(), relay_options));
    } catch (const Error& error) {
        if (error.code() != ErrorCode::session_unreachable) throw;
        if (from.is_stopped()) return through_host();
        for (const Reached* side : {&from, &to}) side->explain_unless_it_answers(error);
        throw;
    }
}

} // namespace

Location parse_location(std::string_view text) {
    const auto colon = text.find(':');
    const bool is_host = colon == std::string_view::npos || text.starts_with('.') || text.starts_with('/') ||
                         text.substr(0, colon).find('/') != std::string_view::npos;
    if (is_host) return {{}, std::string(text)};
    if (colon == 0) {
        throw Error(ErrorCode::usage, quoted(text) + " names no session before its colon")
            .hint("a host path that starts with a colon: ./" + printable(text));
    }
    return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

channel::TransferStats copy(Context& context, const Location& from, const Location& target,
                            const CopyOptions& options) {
    const Location source{from.session, from.session.empty() ? from.path : inside(from)};
    if (source.session.empty() && target.session.empty()) {
        throw Error(ErrorCode::usage, "neither side is in a session")
            .hint("name one side SESSION:PATH, as in: sandbox cp report.md job-981:input/");
    }
    if (source.path.empty()) throw Error(ErrorCode::usage, "the source's path is empty");
    if (source.session.empty() && open_descriptor_path(source.path)) {
        throw Error(ErrorCode::usage, quoted(source.path) + " is an open descriptor, which has no name to go by")
            .hint("sandbox exec -i S sh -c 'cat >FILE' takes what comes on standard input");
    }
    StreamTarget stream(target);
    if (target.path.empty() && target.session.empty()) throw Error(ErrorCode::usage, "the target's path is empty");
    if (!source.session.empty() && !target.session.empty()) return relay(context, source, target, options);
    const bool is_put = source.session.empty();
    const Reached session(context, is_put ? target.session : source.session, options);
    if (is_put) {
        const auto stats = session.put([&](const channel::Link& link) {
            return put(link, source, {target.session, inside(target)}, options, session.max_file());
        });
        return session.recorded(state::EventKind::written, inside(target), stats);
    }
    if (stream.is_stream()) {
        StagedTree tree(session, source.path, options, ExportScan(session.manifest()));
        tree.write_into(stream);
        return session.recorded(state::EventKind::exported, source.path, tree.stats());
    }
    channel::GetOptions get{source.path, through_link(target.path), session.max_file(), options.follow_link, options.progress};
    std::optional<Interrupt> interrupt;
    if (const ExportScan scan(session.manifest()); scan.is_set()) {
        interrupt.emplace();
        get.inspect = scan.inspector([&] { interrupt->check(); });
    }
    return session.recorded(state::EventKind::exported, source.path, session.get(get));
}

channel::TransferStats copy_archive_in(Context& context, int fd, const Location& target, const CopyOptions& options) {
    const Reached session(context, target.session, options);
    ArchiveReader archive(fd, "the archive");
    const auto input = [&archive](std::span<char> buffer, const ArchiveReader::Wait& wait) { return archive.read(buffer, wait); };
    const auto stats = session.put([&](const channel::Link& link) {
        return channel::put_archive(link, input, {inside(target), false, session.max_file(), options.progress});
    });
    return session.recorded(state::EventKind::written, inside(target), stats);
}

channel::TransferStats copy_archive_out(Context& context, const Location& from, ArchiveSink write, const CopyOptions& options) {
    const Location source{from.session, inside(from)};
    const Reached session(context, source.session, options);
    if (const ExportScan scan(session.manifest()); scan.is_set()) {
        StagedTree tree(session, source.path, options, scan);
        const std::string name = means_contents(source.path) ? "" : base_name(source.path);
        tree.write_archive(write, name.empty() ? "." : name);
        return session.recorded(state::EventKind::exported, source.path, tree.stats());
    }
    const auto stats = session.get_archive({source.path, session.max_file(), options.follow_link, std::move(write), options.progress});
    return session.recorded(state::EventKind::exported, source.path, stats);
}

} // namespace sandbox::app
