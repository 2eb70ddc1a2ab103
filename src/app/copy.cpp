// SPDX-License-Identifier: Apache-2.0
#include "app/copy.hpp"

#include "app/events.hpp"
#include "app/exec.hpp"
#include "app/sessions.hpp"
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/tree_path.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <sys/stat.h>

namespace sandbox::app {
namespace {

std::string resolve_link(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), ::free);
    if (!real) throw errno_error(printable(path));
    return real.get();
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
    if (!means_contents(source.path)) put_options.source_name = name.empty() ? base_name(resolve_link(path)) : std::move(name);
    return channel::put_tree(link, path, put_options);
}

} // namespace

Location parse_location(std::string_view text) {
    const auto colon = text.find(':');
    const bool is_host = colon == std::string_view::npos || text.starts_with('.') || text.starts_with('/') ||
                         text.substr(0, colon).find('/') != std::string_view::npos;
    if (is_host) return {{}, std::string(text)};
    if (colon == 0) {
        throw Error(ErrorCode::usage, "\"" + printable(text) + "\" names no session before its colon")
            .hint("a host path that starts with a colon: ./" + printable(text));
    }
    return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

channel::TransferStats copy(Context& context, const Location& source, const Location& target,
                            const CopyOptions& options) {
    if (source.session.empty() && target.session.empty()) {
        throw Error(ErrorCode::usage, "neither side is in a session")
            .hint("name one side SESSION:PATH, as in: sandbox cp report.md job-981:input/");
    }
    if (!source.session.empty() && !target.session.empty()) {
        throw Error(ErrorCode::usage, "both sides are in sessions")
            .hint("copy to a host path first; a host path with a colon is written ./a:b");
    }
    if (source.path.empty()) throw Error(ErrorCode::usage, "the source's path is empty");
    if (target.path.empty() && target.session.empty()) throw Error(ErrorCode::usage, "the target's path is empty");
    const bool is_put = source.session.empty();
    const auto session = open_for_exec(context, is_put ? target.session : source.session);
    const auto max_file = options.max_file ? options.max_file : session.manifest.limits.max_file;
    const auto link = link_to(context, session.row);
    Location inside = is_put ? target : source;
    if (inside.path.empty()) inside.path = "."; // "S:" is the workdir
    try {
        const auto stats = is_put ? put(link, source, inside, options, max_file)
                                  : channel::get_tree(link, {source.path, target.path, max_file, options.follow_link});
        record(context, is_put ? state::EventKind::written : state::EventKind::exported, session.row,
               {{"path", inside.path}, {"files", static_cast<std::int64_t>(stats.files)}, {"bytes", static_cast<std::int64_t>(stats.bytes)}});
        return stats;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::session_unreachable) throw;
        explain_unreachable(context, session.row, error);
    }
}

} // namespace sandbox::app
