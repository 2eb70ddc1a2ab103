// SPDX-License-Identifier: Apache-2.0
// Makes a tree from a record stream that nobody trusts. All of it is first made in a fresh directory beside the target and
// then put in place by rename; until publish() returns nothing at the target has changed, and after a failure nothing has.
//
//   TreeWriter writer([&](TreeType root) { return resolve_tree_target(base, request, root); }, {});
//   decoder.feed(bytes, writer); decoder.finish(); const TreeCounts counts = writer.publish();
#pragma once

#include "util/fd.hpp"
#include "util/tree_path.hpp"
#include "util/tree_record.hpp"
#include "util/tree_walk.hpp"

#include <functional>
#include <string>
#include <vector>

namespace sandbox {

// One file being filled, by a name that is its caller's business.
class TreeFile {
  public:
    void create(int directory, const std::string& name, const std::string& shown);
    void write(std::uint64_t offset, std::string_view bytes);
    // Gives it its size (a hole may be at the end), mode and, unless absent, time.
    void finish(const TreeRecord& record, std::uint32_t mode, bool set_time);
    bool is_open() const { return static_cast<bool>(m_file); }

  private:
    Fd m_file;
    std::uint64_t m_position = 0;
    std::string m_shown;
};

// A directory of random name in which things are made ready; removed with what is left in it. It is locked (flock) while it is in
// use; making one removes unlocked ones of this user beside it, which killed copies have left.
class StagingDirectory {
  public:
    StagingDirectory() = default;
    explicit StagingDirectory(int parent);
    StagingDirectory(StagingDirectory&& other) noexcept;
    StagingDirectory& operator=(StagingDirectory&& other) noexcept;
    StagingDirectory(const StagingDirectory&) = delete;
    ~StagingDirectory() { remove(); }
    int fd() const { return m_directory.get(); }
    explicit operator bool() const { return static_cast<bool>(m_directory); }

  private:
    bool make();
    void remove() noexcept;
    Fd m_parent;
    Fd m_directory;
    std::string m_name;
};

// Puts the tree `name` in `staging` in place. Existing directories are merged and keep their own mode and time; links and files
// replace links and files. Throws conflict before anything is replaced; a failure half-way is undone.
void publish_tree(int staging, const std::string& name, const TreeTarget& target);

class TreeWriter final : public TreeVisitor {
  public:
    using Resolve = std::function<TreeTarget(TreeType root)>;
    // `mode_mask` 01777 drops setuid and setgid. `resolve` is asked when the root's type is known.
    TreeWriter(Resolve resolve, std::uint32_t mode_mask) : m_resolve(std::move(resolve)), m_mode_mask(mode_mask) {}

    void on_record(const TreeRecord& record) override;
    void on_data(std::uint64_t offset, std::string_view bytes) override;
    void on_file_end() override;
    TreeCounts publish();

  private:
    struct Metadata {
        std::uint32_t mode;
        std::int64_t mtime_seconds;
        std::uint32_t mtime_nanoseconds;
    };
    void start(const TreeRecord& root);
    void make(int directory, const std::string& name, const TreeRecord& record);
    void make_directory(int directory, const std::string& name, const TreeRecord& record);
    void go_to(std::string_view parent);
    void finish_directory();

    Resolve m_resolve;
    std::uint32_t m_mode_mask;
    TreeTarget m_target;
    StagingDirectory m_staging;
    TreeRecord m_record;
    TreeFile m_file;
    DirectoryStack m_stack;
    std::vector<Metadata> m_metadata; // of the directories on the stack: given to them once they are filled
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
