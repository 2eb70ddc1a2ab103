// SPDX-License-Identifier: Apache-2.0
#include "app/files.hpp"

#include "app/events.hpp"
#include "app/exec.hpp"
#include "app/explained.hpp"
#include "app/export_scan.hpp"
#include "app/interrupt.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace sandbox::app {
namespace {

// A session as one of these operations needs it.
class OpenSession {
  public:
    OpenSession(Context& context, const Location& place) : m_context(context), m_target(open_for_exec(context, session_of(place))) {}

    const domain::Manifest& manifest() const { return m_target.manifest; }

    // What `body` makes of the link; a session that does not answer is told for what it is.
    template <typename Body> auto with(Body body) const {
        return explained(m_context, m_target.row, [&] { return body(link_to(m_context, m_target.row)); });
    }

    void record(state::EventKind kind, const std::string& path, std::uint64_t bytes) const {
        app::record(m_context, kind, m_target.row, {{"path", path}, {"files", std::int64_t{1}}, {"bytes", static_cast<std::int64_t>(bytes)}});
    }

  private:
    static const std::string& session_of(const Location& place) {
        if (!place.session.empty()) return place.session;
        throw Error(ErrorCode::usage, quoted(place.path) + " is in no session").hint("name it SESSION:PATH");
    }

    Context& m_context;
    ExecTarget m_target;
};

// "S:" is the workdir.
std::string inside(const Location& place) { return place.path.empty() ? "." : place.path; }

bool is_whole(const PageWanted& wanted) {
    return wanted.unit == PageUnit::bytes && wanted.start == 0 && wanted.count == UINT64_MAX && wanted.max_bytes == UINT64_MAX;
}

// The bytes of a page, from the host's copy of the file.
std::uint64_t write_range(int fd, const PageRange& range, const channel::FileSink& write, Interrupt& interrupt) {
    std::array<char, 64 << 10> block;
    const auto wait_writable = interrupt.wait_writable();
    std::uint64_t at = range.begin;
    while (at < range.end) {
        interrupt.check();
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), range.end - at));
        const ssize_t count = ::pread(fd, block.data(), wanted, static_cast<off_t>(at));
        if (count < 0) throw errno_error("cannot read the copy");
        if (count == 0) break;
        write({block.data(), static_cast<std::size_t>(count)}, wait_writable);
        at += static_cast<std::uint64_t>(count);
    }
    return at - range.begin;
}

channel::FilePage read_scanned(const OpenSession& session, const ExportScan& scan, channel::ReadFileOptions options, const channel::FileSink& write) {
    constexpr const char* k_name = "file";
    const PageWanted wanted = std::exchange(options.page, {});
    options.max_file = session.manifest().limits.max_file;
    Interrupt interrupt;
    const TempDir directory;
    const Fd folder(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const Fd file(::openat(folder.get(), k_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) throw errno_error("cannot make a temporary file");
    auto page = session.with([&](const channel::Link& link) {
        return channel::read_page(link, options, [&](std::string_view bytes, const auto&) { write_all(file.get(), bytes); });
    });
    try {
        scan.inspector([&interrupt] { interrupt.check(); })(folder.get(), k_name);
    } catch (Error& error) {
        error.context(printable(options.path));
        throw;
    }
    page.range = find_page(file.get(), page.bytes, wanted, [&interrupt] { interrupt.check(); });
    page.bytes = write_range(file.get(), page.range, write, interrupt);
    return page;
}

channel::FilePage read_from(const OpenSession& session, const Location& place, const PageWanted& wanted, const channel::FileSink& write) {
    channel::ReadFileOptions options{.path = inside(place), .page = wanted};
    if (const auto limit = session.manifest().limits.max_file) {
        if (is_whole(wanted)) options.max_file = limit;
        options.page.max_bytes = std::min(options.page.max_bytes, std::max<std::uint64_t>(*limit, 1));
    }
    const ExportScan scan(session.manifest());
    const auto page = scan.is_set() ? read_scanned(session, scan, options, write)
                                    : session.with([&](const channel::Link& link) { return channel::read_page(link, options, write); });
    session.record(state::EventKind::exported, options.path, page.bytes);
    return page;
}

channel::WrittenFile write_from(Context& context, const Location& place, const channel::ArchiveInput& input, channel::WriteFileOptions options) {
    const OpenSession session(context, place);
    options.path = inside(place);
    if (!options.max_file) options.max_file = session.manifest().limits.max_file;
    const auto written = session.with([&](const channel::Link& link) { return channel::write_file(link, input, options); });
    session.record(state::EventKind::written, options.path, written.bytes);
    return written;
}

} // namespace

std::vector<Location> in_selected_sessions(Context& context, const std::map<std::string, std::string>& labels, const std::vector<std::string>& paths) {
    std::vector<Location> places;
    for (const auto& row : context.lookup().list({.owner = context.owner(), .labels = labels})) {
        for (const auto& path : paths) places.push_back({row.name.empty() ? row.id : row.name, path});
    }
    return places;
}

channel::FileList list_files(Context& context, const Location& place, channel::ListFilesOptions options) {
    const OpenSession session(context, place);
    options.path = inside(place);
    return session.with([&](const channel::Link& link) { return channel::list_files(link, options); });
}

bool make_directory(Context& context, const Location& place, channel::MakeDirectoryOptions options) {
    const OpenSession session(context, place);
    options.path = inside(place);
    return session.with([&](const channel::Link& link) { return channel::make_directory(link, options); });
}

std::uint64_t remove_file(Context& context, const Location& place, channel::RemoveFileOptions options) {
    const OpenSession session(context, place);
    options.path = inside(place);
    return session.with([&](const channel::Link& link) { return channel::remove_file(link, options); });
}

channel::FilePage read_file(Context& context, const Location& place, const PageWanted& wanted, const channel::FileSink& write) {
    return read_from(OpenSession(context, place), place, wanted, write);
}

channel::FileText read_text(Context& context, const Location& place, PageWanted wanted) {
    const OpenSession session(context, place);
    if (wanted.max_bytes == UINT64_MAX) wanted.max_bytes = std::max<std::uint64_t>(session.manifest().limits.max_output, 1);
    channel::FileText text;
    text.page = read_from(session, place, wanted, [&](std::string_view bytes, const auto&) { text.content += bytes; });
    text.is_utf8 = is_valid_utf8(text.content);
    text.is_binary = is_binary(text.content);
    return text;
}

channel::WrittenFile write_file(Context& context, const Location& place, int fd, channel::WriteFileOptions options) {
    const auto input = [fd](std::span<char> buffer, const std::function<void(int)>& wait_readable) {
        wait_readable(fd);
        return read_some(fd, buffer);
    };
    return write_from(context, place, input, std::move(options));
}

channel::WrittenFile write_file(Context& context, const Location& place, std::string_view content, channel::WriteFileOptions options) {
    const auto input = [&content](std::span<char> buffer, const auto&) {
        const std::size_t count = content.copy(buffer.data(), buffer.size());
        content.remove_prefix(count);
        return count;
    };
    return write_from(context, place, input, std::move(options));
}

} // namespace sandbox::app
