// SPDX-License-Identifier: Apache-2.0
#include "app/diff.hpp"

#include "app/baseline.hpp"
#include "app/events.hpp"
#include "app/exec.hpp"
#include "app/export_scan.hpp"
#include "app/sessions.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"
#include "util/tree_record.hpp"

#include <algorithm>
#include <fcntl.h>

namespace sandbox::app {
namespace {

// However much a container says there is.
constexpr std::uint64_t k_max_entries = 10'000'000;
// All that is asked for goes in one frame.
constexpr std::size_t k_max_path_bytes = 512 << 10;

// "/workspace/src/", "./src" and "src" are one. Empty: the workdir itself.
std::string relative_to(const std::string& workdir, const std::string& path) {
    std::vector<std::string> wanted;
    for (const auto& part : split(path, '/')) {
        if (!part.empty() && part != ".") wanted.push_back(part);
    }
    if (path.starts_with('/')) {
        for (const auto& part : split(workdir, '/')) {
            if (part.empty()) continue;
            if (wanted.empty() || wanted.front() != part) throw Error(ErrorCode::usage, quoted(path) + " is not in the workspace, " + workdir);
            wanted.erase(wanted.begin());
        }
    }
    std::string relative = join(wanted, "/");
    if (!relative.empty() && !is_safe_tree_path(relative)) throw Error(ErrorCode::usage, quoted(path) + " is no path in the workspace");
    return relative;
}

std::vector<std::string> wanted_paths(const std::string& workdir, const std::vector<std::string>& given) {
    std::vector<std::string> paths;
    std::size_t bytes = 0;
    for (const auto& path : given) {
        paths.push_back(relative_to(workdir, path));
        if (paths.back().empty()) return {};
        bytes += paths.back().size();
    }
    if (paths.size() > channel::k_max_survey_paths || bytes > k_max_path_bytes) {
        throw Error(ErrorCode::usage, "too many paths: " + std::to_string(paths.size()) + " with " + std::to_string(bytes) + " bytes")
            .hint("name the directories that they are in");
    }
    return paths;
}

// Those of which the baseline knows enough for their content to be compared, by the hashes of their paths.
std::vector<std::uint64_t> comparable(const std::string& session_directory) {
    std::vector<std::uint64_t> hashes;
    Baseline baseline(session_directory);
    while (const auto entry = baseline.next()) {
        if (entry->content_kind != InventoryEntry::Content::none) hashes.push_back(path_hash(entry->path));
    }
    return hashes;
}

// export.scan for contents that are about to leave the session: each as a file, since that is what the command is for.
class ContentScan {
  public:
    explicit ContentScan(const domain::Manifest& manifest) : m_scan(manifest) {
        if (m_scan.is_set()) m_directory.emplace();
    }
    void check(const domain::Change& change) {
        if (!m_scan.is_set()) return;
        for (const auto* entry : {change.before, change.after}) {
            if (entry != nullptr && entry->content_kind == InventoryEntry::Content::bytes) scan(*entry);
        }
    }

  private:
    void scan(const InventoryEntry& entry) {
        const Fd directory(::open(m_directory->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        AtomicFile file(directory.get(), "content", 0600);
        write_all(file.fd(), entry.content);
        file.publish();
        try {
            m_scan.inspector([] {})(directory.get(), "content");
        } catch (Error& error) {
            error.context(quoted(entry.path));
            throw;
        }
    }
    ExportScan m_scan;
    std::optional<TempDir> m_directory;
};

// What is on its way out as a patch: seen by export.scan, no file of it over the limit, and counted for the event.
class Export {
  public:
    explicit Export(const domain::Manifest& manifest) : m_scan(manifest), m_max_file(manifest.limits.max_file) {}

    void give(domain::Change change, const std::function<void(const domain::Change&)>& each) {
        InventoryEntry before;
        if (m_max_file && change.before != nullptr && change.before->size > *m_max_file) {
            before = *change.before;
            before.content_kind = InventoryEntry::Content::none;
            before.content.clear();
            change.before = &before;
        }
        m_scan.check(change);
        if (change.after != nullptr && change.after->content_kind == InventoryEntry::Content::bytes) {
            ++m_files;
            m_bytes += static_cast<std::int64_t>(change.after->content.size());
        }
        each(change);
    }

    void record_in(Context& context, const state::SessionRow& row) const {
        if (m_files > 0) record(context, state::EventKind::exported, row, {{"path", "."}, {"files", m_files}, {"bytes", m_bytes}});
    }

  private:
    ContentScan m_scan;
    std::optional<std::uint64_t> m_max_file;
    std::int64_t m_files = 0;
    std::int64_t m_bytes = 0;
};

channel::SurveyOptions survey_options(const domain::Manifest& manifest, const DiffOptions& options, const std::string& directory, std::int64_t since_ns) {
    channel::SurveyOptions wanted;
    wanted.paths = wanted_paths(manifest.workdir, options.paths);
    // Who names something in one wants to see it.
    wanted.repositories = options.repositories || std::any_of(wanted.paths.begin(), wanted.paths.end(), is_in_repository);
    wanted.max_entries = k_max_entries;
    wanted.content.max_size = k_max_kept_file;
    wanted.content.since_ns = since_ns;
    wanted.content.texts = options.contents;
    if (!options.contents) {
        wanted.content.only = comparable(directory);
    } else if (const auto limit = manifest.limits.max_file) {
        wanted.content.max_size = static_cast<std::uint32_t>(std::min<std::uint64_t>(*limit, k_max_kept_file));
    }
    return wanted;
}

} // namespace

void diff(Context& context, std::string_view session, const DiffOptions& options, const std::function<void(const domain::Change&)>& each) {
    const ExecTarget target = open_for_exec(context, session);
    const std::string directory = context.lookup().session_directory(target.row.id);
    Baseline baseline(directory);
    const auto wanted = survey_options(target.manifest, options, directory, baseline.since_ns());
    Export out(target.manifest);
    domain::ChangeFinder finder([&] { return baseline.next(); }, {wanted.paths, wanted.repositories}, [&](const domain::Change& change) {
        if (options.contents) out.give(change, each);
        else each(change);
    });
    try {
        channel::survey(link_to(context, target.row), wanted, [&](const InventoryEntry& entry) { finder.take(entry); });
    } catch (const Error& error) {
        if (error.code() != ErrorCode::session_unreachable) throw;
        explain_unreachable(context, target.row, error);
    }
    finder.finish();
    if (const auto missing = finder.missing(); !missing.empty()) {
        throw Error(ErrorCode::not_found, quoted(missing.front()) + " is not in the workspace, and was not at the session's creation");
    }
    out.record_in(context, target.row);
}

} // namespace sandbox::app
