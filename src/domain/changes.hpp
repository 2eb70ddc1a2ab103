// SPDX-License-Identifier: Apache-2.0
// What changed between two inventories of one tree. Both come in the order of their paths, so however large they are, an entry of
// each is all that is held.
//
//   ChangeFinder finder([&] { return baseline.next(); }, options, [&](const Change& change) { print(change); });
//   survey(link, wanted, [&](InventoryEntry& now) { finder.take(now); }); finder.finish();
#pragma once

#include "util/inventory.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

struct Change {
    // unreadable: a directory of which it cannot be told what changed in it.
    enum class Kind { added, modified, deleted, unreadable };
    Kind kind = Kind::modified;
    const InventoryEntry* before = nullptr; // null: it was not there
    const InventoryEntry* after = nullptr;  // null: it is gone
    // Of one that is modified:
    bool type = false;
    bool mode = false;
    bool content = false; // a file's bytes, a link's target

    const InventoryEntry& entry() const { return after != nullptr ? *after : *before; }
};
std::string_view change_name(Change::Kind kind);      // "added"
std::string_view inventory_type_name(InventoryType type); // "file"

// The two states of one path: absent when nothing changed. Times alone are no change. Content is compared where both are known; where
// not, a file that was touched in any way counts as changed: its ctime tells, which nobody can set back.
std::optional<Change> compare(const InventoryEntry& before, const InventoryEntry& after);

struct ChangeOptions {
    std::vector<std::string> paths; // these and what is below them; none: all
    bool repositories = false;      // files of .git as well
};

class ChangeFinder {
  public:
    using Next = std::function<std::optional<InventoryEntry>()>;
    using Each = std::function<void(const Change&)>;
    ChangeFinder(Next before, ChangeOptions options, Each each);
    // The entries of the later one, in their order.
    void take(const InventoryEntry& after);
    void finish();
    // Those of options.paths that neither inventory has.
    std::vector<std::string> missing() const;

  private:
    void advance();
    void report(const Change& change);
    bool is_wanted(const std::string& path);
    void hide_below(const std::string& path) { m_hidden = path + '/'; }

    Next m_next;
    ChangeOptions m_options;
    Each m_each;
    std::vector<bool> m_seen; // for each of the paths
    std::optional<InventoryEntry> m_before;
    std::string m_hidden; // what begins so lies in an unreadable directory
};

} // namespace sandbox::domain
