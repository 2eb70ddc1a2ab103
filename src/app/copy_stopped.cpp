// SPDX-License-Identifier: Apache-2.0
#include "app/copy_stopped.hpp"

#include "app/interrupt.hpp"
#include "engine/podman.hpp"
#include "util/error.hpp"
#include "util/fd.hpp"
#include "util/tar_decoder.hpp"
#include "util/tar_encoder.hpp"
#include "util/text.hpp"
#include "util/tree_path.hpp"
#include "util/tree_relay.hpp"
#include "util/tree_reroot.hpp"
#include "util/tree_writer.hpp"

#include <deque>
#include <map>
#include <optional>

namespace sandbox::app {
namespace {

// Coming out, setuid and setgid bits would hand the container's choice of program to the caller's own id.
constexpr std::uint32_t k_host_mode_mask = 01777;
constexpr int k_most_links = 40; // as for the kernel

Error not_there(const std::string& path) { return {ErrorCode::not_found, "cannot open " + quoted(path) + ": No such file or directory"}; }

bool is_in(std::string_view path, std::string_view directory) {
    return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/' || directory.ends_with('/'));
}

std::deque<std::string> components(std::string_view path) {
    std::deque<std::string> found;
    for (auto& part : split(path, '/')) {
        if (!part.empty() && part != ".") found.push_back(std::move(part));
    }
    return found;
}

// The first entry of an archive, for which the rest need not be sent.
class FirstEntry final : public TreeVisitor {
  public:
    struct Seen {};
    std::optional<TreeRecord> record;
    void on_record(const TreeRecord& first) override {
        record = first;
        throw Seen();
    }
    void on_data(std::uint64_t, std::string_view) override {}
    void on_file_end() override {}
};

// The entry of this name in an archive of its directory.
class NamedEntry final : public TreeVisitor {
  public:
    explicit NamedEntry(const std::string& name) : m_name(name) {}
    FirstEntry found;
    void on_record(const TreeRecord& record) override {
        if (record.path == m_name) found.on_record(record);
    }
    void on_data(std::uint64_t, std::string_view) override {}
    void on_file_end() override {}

  private:
    const std::string& m_name;
};

struct StoppedSource {
    std::string path;               // for the engine's archive call
    std::optional<TreeRecord> link; // the path is this symbolic link, and the call would follow it
};

// Where in the stopped container a path leads, looked up one component after the other with the rules of a running session: what is in
// the workdir by its text stays in it. The engine itself would follow any link as far as the container's root; Podman follows the last one
// too, so that only the archive of a link's directory shows it.
class StoppedPath {
  public:
    StoppedPath(engine::Client& engine, const ExecTarget& session) : m_engine(engine), m_container(session.row.container_id), m_manifest(session.manifest),
                                                                          m_is_podman(engine::is_podman(session.row.engine_id)) {}

    StoppedSource resolve(const std::string& path, bool follow_last) {
        const std::string& workdir = m_manifest.workdir;
        const bool is_absolute = path.starts_with('/');
        std::string joined;
        for (const auto& part : components(path)) joined += '/' + part;
        if (is_absolute && !is_in(joined, workdir)) return {on_disk(path, joined.empty() ? "/" : joined), std::nullopt};
        m_left = components(is_absolute ? std::string_view(joined).substr(workdir.size()) : std::string_view(path));
        m_follow_last = follow_last || must_be_directory(path);
        m_shown = path;
        walk();
        std::string found = workdir;
        for (const auto& part : m_done) found += '/' + part;
        return {on_disk(path, found), m_link};
    }

  private:
    void walk() {
        while (!m_left.empty()) {
            const std::string name = std::move(m_left.front());
            m_left.pop_front();
            if (name == "..") {
                if (m_done.empty()) throw leaves();
                m_done.pop_back();
                continue;
            }
            m_done.push_back(name);
            const bool is_meant = m_left.empty() && !m_follow_last;
            if (is_meant && !m_is_podman) return;
            const TreeRecord found = look();
            if (found.type == TreeType::symlink && is_meant) m_link = found;
            else if (found.type == TreeType::symlink) follow(found.link);
            else if ((!m_left.empty() || must_be_directory(m_shown)) && found.type != TreeType::directory) {
                throw Error(ErrorCode::conflict, "cannot open " + quoted(m_shown) + ": Not a directory");
            }
        }
    }

    void follow(const std::string& link) {
        if (++m_links > k_most_links) throw Error(ErrorCode::failed, "cannot open " + quoted(m_shown) + ": too many links");
        const auto inside = path_in_directory(m_manifest.workdir, link);
        if (!inside) throw leaves();
        if (link.starts_with('/')) m_done.clear();
        else m_done.pop_back();
        const auto parts = components(*inside);
        m_left.insert(m_left.begin(), parts.begin(), parts.end());
    }

    TreeRecord look() {
        std::string directory = m_manifest.workdir;
        for (auto part = m_done.begin(); part + 1 != m_done.end(); ++part) directory += '/' + *part;
        const std::string path = directory + '/' + m_done.back();
        if (const auto known = m_known.find(path); known != m_known.end()) return known->second;
        on_disk(m_shown, path);
        FirstEntry first;
        if (m_is_podman) {
            NamedEntry named(m_done.back());
            TreeReroot entries(named);
            read(directory, entries);
            first.record = named.found.record;
        }
        if (!first.record) read(path, first);
        if (!first.record) throw Error(ErrorCode::failed, "cannot open " + quoted(m_shown) + ": it is a device, a socket or a named pipe");
        return m_known.emplace(path, *first.record).first->second;
    }

    void read(const std::string& path, TreeVisitor& visitor) {
        TarDecoder decoder(std::nullopt, TarRoot::record);
        try {
            if (!m_engine.get_archive(m_container, path, [&](std::string_view bytes) { decoder.feed(bytes, visitor); })) throw not_there(m_shown);
        } catch (const FirstEntry::Seen&) {
        }
    }

    Error leaves() const { return {ErrorCode::denied, "cannot open " + quoted(m_shown) + ": it leads out of the workspace"}; }

    // The engine would show what lies under the mount.
    const std::string& on_disk(const std::string& shown, const std::string& path) const {
        std::vector<std::string> in_memory{"/proc", "/sys", "/dev"};
        if (m_manifest.security.readonly_rootfs) in_memory.push_back("/tmp");
        if (m_manifest.security.readonly_rootfs && m_is_podman) in_memory.insert(in_memory.end(), {"/run", "/var/tmp"});
        for (const auto& [mount, size] : m_manifest.tmpfs) in_memory.push_back(mount);
        for (const auto& mount : in_memory) {
            if (is_in(path, mount)) throw Error(ErrorCode::session_gone, quoted(shown) + " was in memory only, and went when the session stopped");
        }
        return path;
    }

    engine::Client& m_engine;
    const std::string& m_container;
    const domain::Manifest& m_manifest;
    const bool m_is_podman;
    std::map<std::string, TreeRecord> m_known;
    std::optional<TreeRecord> m_link;
    std::deque<std::string> m_left;
    std::vector<std::string> m_done;
    bool m_follow_last = false;
    std::string m_shown;
    int m_links = 0;
};

struct Read {
    std::string source;
    std::optional<std::uint64_t> max_file;
    bool follow_link = false;
    const channel::Progress& progress;
};

// Gives the tree at the path to a visitor, its records as checked as an agent's. Returns how many special files were left out.
std::uint64_t read_stopped(Context& context, const ExecTarget& session, const Read& read, Interrupt& interrupt, TreeVisitor& visitor) {
    engine::Client& engine = context.engine_of(session.row.endpoint, session.row.engine_id);
    const StoppedSource source = StoppedPath(engine, session).resolve(read.source, read.follow_link);
    TreeDecoder checked(true, read.max_file);
    TreeEncoder encoder([&](std::string_view bytes) {
        checked.feed(bytes, visitor);
        if (read.progress) read.progress(bytes.size());
    });
    TreeRelay relay(encoder);
    TreeReroot rerooted(relay);
    TarDecoder tar(read.max_file, TarRoot::record);
    if (source.link) {
        TreeRecord root = *source.link;
        root.path.clear();
        relay.on_record(root);
    } else {
        const bool is_there = engine.get_archive(session.row.container_id, source.path, [&](std::string_view bytes) {
            interrupt.check();
            tar.feed(bytes, rerooted);
        });
        if (!is_there) throw not_there(read.source);
        tar.finish();
    }
    encoder.flush();
    checked.finish();
    return tar.skipped();
}

} // namespace

bool is_stopped(Context& context, const state::SessionRow& row) {
    const auto container = context.engine_of(row.endpoint, row.engine_id).inspect_container(row.container_id);
    return container && !container->running && !container->paused && (container->status == "exited" || container->status == "dead");
}

channel::TransferStats get_stopped(Context& context, const ExecTarget& session, const channel::GetOptions& options) {
    const PathBase base = PathBase::anywhere();
    TreeTargetRequest request;
    request.path = options.target;
    if (!means_contents(options.source)) request.source_name = base_name(options.source);
    Interrupt interrupt;
    TreeWriter writer([&](TreeType root) { return resolve_tree_target(base, request, root); }, k_host_mode_mask, TreeOrder::any);
    const auto skipped = read_stopped(context, session, {options.source, options.max_file, options.follow_link, options.progress}, interrupt, writer);
    const TreeCounts made = writer.publish(options.inspect);
    return {made.files, made.bytes, skipped};
}

channel::TransferStats get_stopped_archive(Context& context, const ExecTarget& session, const channel::ArchiveGetOptions& options) {
    Interrupt interrupt;
    const auto wait_writable = interrupt.wait_writable();
    const std::string name = means_contents(options.source) ? "" : base_name(options.source);
    TarEncoder archive([&](std::string_view bytes) { options.write(bytes, wait_writable); }, name.empty() ? "." : name);
    const auto skipped = read_stopped(context, session, {options.source, options.max_file, options.follow_link, options.progress}, interrupt, archive);
    archive.finish();
    return {archive.counts().files, archive.counts().bytes, skipped};
}

} // namespace sandbox::app
