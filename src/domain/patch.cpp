// SPDX-License-Identifier: Apache-2.0
#include "domain/patch.hpp"

#include "domain/line_diff.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <strings.h>

namespace sandbox::domain {
namespace {

using Content = InventoryEntry::Content;

bool is_patchable(const InventoryEntry* entry) {
    return entry != nullptr && (entry->type == InventoryType::file || entry->type == InventoryType::symlink);
}

bool has_text(const InventoryEntry& entry) { return entry.type == InventoryType::symlink || entry.content_kind == Content::bytes; }
bool is_known_binary(const InventoryEntry& entry) { return entry.content_kind == Content::digest; }
std::string_view text_of(const InventoryEntry& entry) { return entry.type == InventoryType::symlink ? entry.link : entry.content; }

std::string git_mode(const InventoryEntry& entry) {
    if (entry.type == InventoryType::symlink) return "120000";
    return (entry.mode & 0100) != 0 ? "100755" : "100644";
}

std::string octal(std::uint32_t mode) {
    char text[8];
    std::snprintf(text, sizeof text, "%04o", mode);
    return text;
}

// With a space in it a name is quoted as well: patch would take what follows for something else.
std::string header_name(std::string_view prefix, std::string_view path) {
    const std::string name = quoted_path(prefix, path);
    return name.find(' ') != std::string::npos && name.front() != '"' ? '"' + name + '"' : name;
}

std::string header_name(std::string_view prefix, const InventoryEntry* entry) {
    return entry == nullptr ? "/dev/null" : header_name(prefix, entry->path);
}

// Whoever applies a patch must not be given a repository's hooks or configuration. Some file systems know no case.
bool is_of_repository(std::string_view path) {
    const auto parts = split(path, '/');
    return std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return ::strcasecmp(part.c_str(), ".git") == 0; });
}

std::string why_untold(const InventoryEntry* before, const InventoryEntry* after) {
    if (before != nullptr && !has_text(*before) && !is_known_binary(*before)) return "the content at the session's creation was not kept";
    if (after != nullptr && !has_text(*after) && !is_known_binary(*after)) return "the content is too large, or could not be read";
    return "";
}

class Writer {
  public:
    Patch patch;

    // One of them may be missing, and both are of one type where not.
    void add(const InventoryEntry* before, const InventoryEntry* after, bool content_changed) {
        const InventoryEntry& entry = after != nullptr ? *after : *before;
        const bool is_mode_only = before != nullptr && after != nullptr && !content_changed;
        if (is_mode_only) return add_mode(*before, *after);
        if (is_of_repository(entry.path)) return note(before, after, "it belongs to a repository");
        const std::string why = why_untold(before, after);
        if (!why.empty()) return note(before, after, why);
        if ((before != nullptr && is_known_binary(*before)) || (after != nullptr && is_known_binary(*after))) return note(before, after, "");
        begin(entry);
        if (before == nullptr) patch.text += "new file mode " + git_mode(*after) + "\n";
        else if (after == nullptr) patch.text += "deleted file mode " + git_mode(*before) + "\n";
        else mode_lines(*before, *after);
        const std::string hunks = unified_hunks(before != nullptr ? text_of(*before) : "", after != nullptr ? text_of(*after) : "");
        if (!hunks.empty()) patch.text += "--- " + header_name("a/", before) + "\n+++ " + header_name("b/", after) + "\n" + hunks;
        for (const auto* one : {before, after}) patch.bytes += one != nullptr ? text_of(*one).size() : 0;
    }

    void note_special(const InventoryEntry& entry) {
        patch.is_whole = false;
        patch.text += "Special file " + quoted_path("", entry.path) + " (" + std::string(inventory_type_name(entry.type)) + ")\n";
    }

  private:
    void begin(const InventoryEntry& entry) {
        patch.text += "diff --git " + header_name("a/", entry.path) + " " + header_name("b/", entry.path) + "\n";
    }
    void mode_lines(const InventoryEntry& before, const InventoryEntry& after) {
        if (git_mode(before) != git_mode(after)) patch.text += "old mode " + git_mode(before) + "\nnew mode " + git_mode(after) + "\n";
    }
    void add_mode(const InventoryEntry& before, const InventoryEntry& after) {
        if (git_mode(before) != git_mode(after) && !is_of_repository(after.path)) {
            begin(after);
            return mode_lines(before, after);
        }
        patch.is_whole = false;
        patch.text += "Mode of " + quoted_path("b/", after.path) + " changed from " + octal(before.mode) + " to " + octal(after.mode) + "\n";
    }
    void note(const InventoryEntry* before, const InventoryEntry* after, const std::string& why) {
        patch.is_whole = false;
        const auto name = [](std::string_view prefix, const InventoryEntry* entry) {
            return entry == nullptr ? "/dev/null" : quoted_path(prefix, entry->path);
        };
        patch.text += (why.empty() ? "Binary files " : "Files ") + name("a/", before) + " and " + name("b/", after) + " differ" +
                      (why.empty() ? "" : ": " + why) + "\n";
    }
};

} // namespace

std::string quoted_path(std::string_view prefix, std::string_view path) {
    const bool is_plain = printable(path) == path && path.find_first_of("\"\\") == std::string_view::npos;
    if (is_plain) return std::string(prefix) + std::string(path);
    std::string text = "\"" + std::string(prefix);
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            text += {'\\', c};
        } else if (byte >= 0x20 && byte < 0x7f) {
            text += c;
        } else {
            char escape[5];
            std::snprintf(escape, sizeof escape, "\\%03o", byte);
            text += escape;
        }
    }
    return text + "\"";
}

Patch patch_of(const Change& change) {
    Writer writer;
    const auto* before = change.before;
    const auto* after = change.after;
    for (const auto* entry : {before, after}) {
        if (entry != nullptr && !is_patchable(entry) && entry->type != InventoryType::directory) writer.note_special(*entry);
    }
    if (change.kind == Change::Kind::unreadable) {
        writer.patch.is_whole = false;
        writer.patch.text = "Directory " + quoted_path("", change.entry().path) + " cannot be read\n";
        return std::move(writer.patch);
    }
    const bool is_before = is_patchable(before);
    const bool is_after = is_patchable(after);
    // A link with another target is a new one: patch refuses to see lines in it.
    if (is_before && is_after && !change.type && after->type == InventoryType::file) {
        writer.add(before, after, change.content);
    } else {
        if (is_before) writer.add(before, nullptr, true);
        if (is_after) writer.add(nullptr, after, true);
    }
    return std::move(writer.patch);
}

} // namespace sandbox::domain
