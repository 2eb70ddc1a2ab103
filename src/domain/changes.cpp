// SPDX-License-Identifier: Apache-2.0
#include "domain/changes.hpp"

#include "util/error.hpp"
#include "util/sha256.hpp"

namespace sandbox::domain {
namespace {

using Content = InventoryEntry::Content;

bool is_at_or_below(std::string_view path, std::string_view root) {
    return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

std::string digest_of(const InventoryEntry& entry) {
    return entry.content_kind == Content::digest ? entry.content : std::string(as_view(sha256(entry.content)));
}

bool is_same_content(const InventoryEntry& before, const InventoryEntry& after) {
    if (before.size != after.size) return false;
    if (before.content_kind == Content::bytes && after.content_kind == Content::bytes) return before.content == after.content;
    if (before.content_kind != Content::none && after.content_kind != Content::none) return digest_of(before) == digest_of(after);
    return before.mtime_ns == after.mtime_ns && before.ctime_ns == after.ctime_ns && before.inode == after.inode;
}

} // namespace

std::string_view change_name(Change::Kind kind) {
    switch (kind) {
    case Change::Kind::added: return "added";
    case Change::Kind::modified: return "modified";
    case Change::Kind::deleted: return "deleted";
    case Change::Kind::unreadable: return "unreadable";
    }
    throw Error(ErrorCode::internal, "change of unknown kind");
}

std::string_view inventory_type_name(InventoryType type) {
    switch (type) {
    case InventoryType::file: return "file";
    case InventoryType::directory: return "directory";
    case InventoryType::symlink: return "symlink";
    case InventoryType::fifo: return "fifo";
    case InventoryType::socket: return "socket";
    case InventoryType::device: return "device";
    }
    throw Error(ErrorCode::internal, "entry of unknown type");
}

std::optional<Change> compare(const InventoryEntry& before, const InventoryEntry& after) {
    Change change;
    change.before = &before;
    change.after = &after;
    change.type = before.type != after.type;
    if (!change.type) {
        // Of a link they mean nothing, and are not to be set.
        change.mode = before.mode != after.mode && after.type != InventoryType::symlink;
        change.content = (after.type == InventoryType::file && !is_same_content(before, after)) || before.link != after.link;
    }
    if (after.unreadable || (before.unreadable && !change.type)) change.kind = Change::Kind::unreadable;
    else if (!change.type && !change.mode && !change.content) return std::nullopt;
    return change;
}

ChangeFinder::ChangeFinder(Next before, ChangeOptions options, Each each)
    : m_next(std::move(before)), m_options(std::move(options)), m_each(std::move(each)), m_seen(m_options.paths.size()) {
    advance();
}

void ChangeFinder::advance() {
    do m_before = m_next();
    while (m_before && !is_wanted(m_before->path));
}

bool ChangeFinder::is_wanted(const std::string& path) {
    if (!m_options.repositories && is_in_repository(path)) return false;
    bool is_wanted = m_options.paths.empty();
    for (std::size_t i = 0; i < m_options.paths.size(); ++i) {
        if (!is_at_or_below(path, m_options.paths[i])) continue;
        is_wanted = true;
        m_seen[i] = true;
    }
    return is_wanted;
}

void ChangeFinder::report(const Change& change) {
    if (!m_hidden.empty() && change.entry().path.starts_with(m_hidden)) return;
    if (change.kind == Change::Kind::unreadable) hide_below(change.entry().path);
    m_each(change);
}

void ChangeFinder::take(const InventoryEntry& after) {
    if (!is_wanted(after.path)) return;
    for (; m_before && m_before->path < after.path; advance()) report({.kind = Change::Kind::deleted, .before = &*m_before});
    if (!m_before || m_before->path != after.path) {
        report({.kind = after.unreadable ? Change::Kind::unreadable : Change::Kind::added, .after = &after});
        return;
    }
    if (const auto change = compare(*m_before, after)) report(*change);
    advance();
}

void ChangeFinder::finish() {
    for (; m_before; advance()) report({.kind = Change::Kind::deleted, .before = &*m_before});
}

std::vector<std::string> ChangeFinder::missing() const {
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < m_seen.size(); ++i) {
        if (!m_seen[i]) missing.push_back(m_options.paths[i]);
    }
    return missing;
}

} // namespace sandbox::domain
