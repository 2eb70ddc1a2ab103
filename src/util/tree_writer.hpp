// SPDX-License-Identifier: Apache-2.0
// Makes a tree from a record stream that nobody trusts. All of it is first made in a fresh directory beside the target and
// then put in place by rename; until publish() returns nothing at the target has changed, and after a failure nothing has.
//
//   TreeWriter writer([&](TreeType root) { return resolve_tree_target(base, request, root); }, {});
//   decoder.feed(bytes, writer); decoder.finish(); const TreeCounts counts = writer.publish();
#pragma once

#include "util/fd.hpp"
#include "util/staging_directory.hpp"
#include "util/tree_path.hpp"
#include "util/tree_record.hpp"
#include "util/tree_walk.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox {

// Gives a new file or directory its xattrs. A file system that keeps none of users' loses them, as with cp -a.
void set_xattrs(int fd, const TreeRecord& record);

// One file being filled, by a name that is its caller's business.
class TreeFile {
  public:
    void create(int directory, const std::string& name, const std::string& shown);
    void write(std::uint64_t offset, std::string_view bytes);
    // Gives it its size (a hole may be at the end), xattrs, mode and, unless absent, time.
    void finish(const TreeRecord& record, std::uint32_t mode, bool set_time);
    bool is_open() const { return static_cast<bool>(m_file); }

  private:
    Fd m_file;
    std::uint64_t m_position = 0;
    std::string m_shown;
};

// Puts the tree `name` in `staging` in place. Existing directories are merged and keep their own mode and time; links and files
// replace links and files. Throws conflict before anything is replaced; a failure half-way is undone.
void publish_tree(int staging, const std::string& name, const TreeTarget& target);

// parents_first: as a walk gives them, each directory once and before what is in it. any: as an archive may hold them; missing
// parents are made, and of entries with one name the last one stands.
enum class TreeOrder { parents_first, any };

class TreeWriter final : public TreeVisitor {
  public:
    using Resolve = std::function<TreeTarget(TreeType root)>;
    // `mode_mask` 01777 drops setuid and setgid. `resolve` is asked when the root's type is known.
    TreeWriter(Resolve resolve, std::uint32_t mode_mask, TreeOrder order = TreeOrder::parents_first)
        : m_resolve(std::move(resolve)), m_mode_mask(mode_mask), m_order(order) {}

    void on_record(const TreeRecord& record) override;
    void on_data(std::uint64_t offset, std::string_view bytes) override;
    void on_file_end() override;
    // `inspect`, where given, sees the finished tree (`name` in a directory) before it is put in place, and may throw.
    TreeCounts publish(const std::function<void(int directory, const std::string& name)>& inspect = {});

  private:
    struct Metadata {
        std::uint32_t mode = 0755;
        std::int64_t mtime_seconds = 0;
        std::uint32_t mtime_nanoseconds = 0;
        bool has_time = false; // a directory that no record named keeps the time of its making
    };
    void start(const TreeRecord& root);
    void make(int directory, const std::string& name, const TreeRecord& record);
    void make_directory(int directory, const std::string& name, const TreeRecord& record);
    void make_symlink(int directory, const std::string& name, const TreeRecord& record);
    void make_hard_link(int directory, const std::string& name, const TreeRecord& record);
    void enter_directory(int directory, const std::string& name, const TreeRecord* record);
    void go_to(std::string_view parent);
    void go_down(std::string_view below);
    bool takes_name_of_earlier(int directory, const std::string& name) const;
    void finish_directory();

    Resolve m_resolve;
    std::uint32_t m_mode_mask;
    TreeOrder m_order;
    TreeTarget m_target;
    StagingDirectory m_staging;
    TreeRecord m_record;
    TreeFile m_file;
    DirectoryStack m_stack;
    std::vector<Metadata> m_metadata; // of the directories on the stack: given to them once they are filled
    std::map<std::string, Metadata, std::less<>> m_finished; // any order only: directories may be come back to
    TreeCounts m_counts;
};

// Single entries below a directory, each made with its parents and in place, whole, as soon as it is complete.
class EntryWriter final : public TreeVisitor {
  public:
    explicit EntryWriter(const PathBase& base) : m_base(base) {}
    ~EntryWriter() override;
    void on_record(const TreeRecord& record) override;
    void on_data(std::uint64_t offset, std::string_view bytes) override;
    void on_file_end() override;
    const TreeCounts& counts() const { return m_counts; }

  private:
    void open_parent(const std::string& path);
    void make_directory(const TreeRecord& record);
    void publish();

    const PathBase& m_base;
    TreeRecord m_record;
    std::string m_parent_path;
    std::string m_name;
    std::string m_temporary; // empty: none is there
    Fd m_parent;
    TreeFile m_file;
    TreeCounts m_counts;
};

} // namespace sandbox
