// SPDX-License-Identifier: Apache-2.0
// `files` and `directories`: what the workspace starts with.
#include "domain/manifest_decode.hpp"
#include "domain/manifest_paths.hpp"
#include "domain/shown.hpp"
#include "domain/units.hpp"

#include "util/format.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

namespace sandbox::domain {
namespace {

constexpr std::size_t k_max_inline = 8 << 20;

struct SourceKey {
    std::string_view name;
    Seed::Kind kind;
};
constexpr std::array<SourceKey, 7> k_sources{{
    {"text", Seed::Kind::text}, {"base64", Seed::Kind::text}, {"fromFile", Seed::Kind::from_file},
    {"fromDir", Seed::Kind::from_dir}, {"fromArchive", Seed::Kind::from_archive}, {"fromGit", Seed::Kind::from_git},
    {"symlink", Seed::Kind::symlink},
}};

bool is_tree(Seed::Kind kind) {
    return kind == Seed::Kind::from_dir || kind == Seed::Kind::from_archive || kind == Seed::Kind::from_git ||
           kind == Seed::Kind::directory;
}

std::string seed_path(const Field& field, std::string_view text, Seed::Kind kind) {
    const auto fail = [&](std::string_view why) {
        return located(field.key_mark, formatted("path \"{}\" {}", shown(text), why));
    };
    std::string path;
    try {
        path = normalise_workspace_path(text);
    } catch (const Error& failure) {
        throw located(field.key_mark, failure.message()).hint(failure.hint());
    }
    if (path == "." && (kind == Seed::Kind::directory || !is_tree(kind))) throw fail("is the workspace itself");
    if (text.ends_with('/') && !is_tree(kind)) throw fail("ends like a directory's");
    return path;
}

std::uint32_t read_mode(const Field& field) {
    const std::string& text = read_scalar(field, "a mode");
    return at_field(field, [&] { return parse_mode(text); });
}

bool is_git_url(std::string_view text) {
    if (text.starts_with("https://") || text.starts_with("ssh://")) return true;
    // user@host:path, as git takes it: a colon before the first slash.
    const std::size_t colon = text.find(':');
    return colon != std::string_view::npos && colon > 0 && text.find('/') > colon && text.find("::") != colon &&
           !text.substr(colon + 1).starts_with("//");
}

bool is_stored(const Field& field) { return field.mark().source != nullptr && field.mark().source->origin == YamlOrigin::stored; }

// Whether a URL has, or looks as if it had, a password or a token in it: it would be kept in the state and shown.
bool holds_secret(std::string_view text) {
    const std::size_t scheme = text.find("://");
    if (scheme == std::string_view::npos) {
        // user:password@host:path, or https:/user:password@host
        if (text.starts_with('/') || text.starts_with('.')) return false;
        for (const auto& name : split(text, '/')) {
            const std::size_t colon = name.find(':');
            if (colon != std::string::npos && name.find('@', colon) != std::string::npos) return true;
        }
        return false;
    }
    const bool is_ssh = text.substr(0, scheme) == "ssh";
    if (!is_ssh && text.find_first_of("?#") != std::string_view::npos) return true;
    std::string_view host = text.substr(scheme + 3);
    host = host.substr(0, host.find_first_of("/?#"));
    const std::size_t at = host.rfind('@');
    // A user of ssh is no secret, one of https may be a token.
    if (at != std::string_view::npos && (!is_ssh || host.substr(0, at).find(':') != std::string_view::npos)) return true;
    if (at != std::string_view::npos) host.remove_prefix(at + 1);
    if (host.starts_with('[') && host.find(']') != std::string_view::npos) host.remove_prefix(host.find(']'));
    // "user:pass/word@host" has no port either.
    const std::size_t colon = host.find(':');
    return colon != std::string_view::npos && host.find_first_not_of("0123456789", colon + 1) != std::string_view::npos;
}

void check_no_secret(const Field& field, std::string_view text) {
    if (is_stored(field) || !holds_secret(text)) return;
    const Error error = field.error("the URL has a user, a password or a query in it, and is not shown here: it would be kept with the session");
    // The line below the message has it too.
    throw Error(error.code(), error.message().substr(0, error.message().find('\n')))
        .hint("leave it to git's credential helper (git help credentials), or use an ssh URL");
}

std::string read_git(const Field& field, const DecodeContext& context) {
    check_no_secret(field, read_scalar(field));
    const std::string text = read_word(field);
    if (text.starts_with('-')) throw field.error("a repository does not start with \"-\"");
    if (is_git_url(text)) return text;
    // Other transports run programs (ext::) or are read by anyone on the way (http, git).
    if (text.find("://") != std::string::npos || text.find("::") != std::string::npos) {
        throw field.error(formatted("\"{}\" is not https, ssh or a local path", shown(text)));
    }
    return resolve_host_path(field, text, context.allowed_paths);
}

std::string read_content(const Field& field, std::string_view key, Seed::Kind kind, const DecodeContext& context) {
    switch (kind) {
    case Seed::Kind::from_git: return read_git(field, context);
    case Seed::Kind::symlink: {
        std::string target = read_scalar(field);
        if (target.empty() || target.find('\0') != std::string::npos) throw field.error("not a link's target");
        return target;
    }
    case Seed::Kind::text: {
        // The one place where !!binary has a meaning.
        if (key == "text" && field.node.binary) return field.node.text;
        const std::string& text = read_scalar(field);
        if (key == "text") return text;
        auto bytes = base64_decode(text);
        if (!bytes) throw field.error("this is not base64");
        return *std::move(bytes);
    }
    default: return resolve_host_path(field, read_scalar(field, "a path"), context.allowed_paths);
    }
}

// The one key of the map that says where the content comes from.
std::pair<SourceKey, const YamlNode::Entry*> source_of(const Field& field) {
    std::pair<SourceKey, const YamlNode::Entry*> found{{}, nullptr};
    for (const SourceKey& source : k_sources) {
        const auto* entry = field.node.find(source.name);
        if (entry == nullptr) continue;
        if (found.second != nullptr) {
            throw located(entry->mark, formatted("both {} and {} for \"{}\"", found.first.name, source.name,
                                                   shown(field.path)));
        }
        found = {source, entry};
    }
    if (found.second != nullptr) return found;
    throw field.error("nothing says what is in it")
        .hint("give one of: text, base64, fromFile, fromDir, fromArchive, fromGit, symlink");
}

void read_options(const Field& field, Seed& seed) {
    const auto option = [&](std::string_view name, bool is_allowed) -> const YamlNode::Entry* {
        const auto* entry = field.node.find(name);
        if (entry != nullptr && !is_allowed) {
            throw located(entry->mark, formatted("{}: not for this kind of content", name));
        }
        return entry;
    };
    const bool has_mode = seed.kind == Seed::Kind::text || seed.kind == Seed::Kind::from_file;
    if (const auto* mode = option("mode", has_mode)) seed.mode = read_mode(entry_of(field, *mode));
    if (const auto* exclude = option("exclude", seed.kind == Seed::Kind::from_dir)) {
        seed.exclude = read_words(entry_of(field, *exclude));
    }
    if (const auto* ref = option("ref", seed.kind == Seed::Kind::from_git)) {
        seed.ref = read_word(entry_of(field, *ref));
        if (seed.ref.starts_with('-')) throw entry_of(field, *ref).error("a ref does not start with \"-\"");
    }
}

Seed read_file(const Field& field, std::string_view key, const DecodeContext& context) {
    Seed seed;
    if (field.node.is(YamlNode::Kind::scalar)) {
        seed.content = field.node.text;
    } else if (field.node.is(YamlNode::Kind::map)) {
        check_known(field, entry_key_names("files"));
        const auto [source, entry] = source_of(field);
        seed.kind = source.kind;
        seed.content = read_content(entry_of(field, *entry), source.name, source.kind, context);
        read_options(field, seed);
    } else {
        throw field.wrong_kind("text or a map").hint("an empty file is written as \"\"");
    }
    seed.path = seed_path(field, key, seed.kind);
    return seed;
}

// Directories first, then in path order; the workspace itself (".") before all that is in it.
bool seed_before(const Seed& a, const Seed& b) {
    const auto rank = [](const Seed& seed) { return seed.kind == Seed::Kind::directory ? 0 : seed.path == "." ? 1 : 2; };
    const int a_rank = rank(a);
    const int b_rank = rank(b);
    return std::tie(a_rank, a.path) < std::tie(b_rank, b.path);
}

// Where the seed of this path was written; for one of several, the last.
YamlMark mark_of(const YamlNode& root, std::string_view path) {
    YamlMark mark = root.mark;
    if (const auto* directories = root.find("directories")) {
        for (const auto& item : directories->value->items) {
            const auto* inner = item->find("path");
            const YamlNode& node = inner != nullptr ? *inner->value : *item;
            if (normalise_workspace_path(node.text) == path) mark = node.mark;
        }
    }
    if (const auto* files = root.find("files")) {
        for (const auto& entry : files->value->entries) {
            if (normalise_workspace_path(entry.key) == path) mark = entry.mark;
        }
    }
    return mark;
}

Seed read_directory(const Field& item) {
    Seed seed;
    seed.kind = Seed::Kind::directory;
    const Field* path = &item;
    std::optional<Field> inner;
    if (item.node.is(YamlNode::Kind::map)) {
        check_known(item, entry_key_names("directories"));
        const auto* entry = item.node.find("path");
        if (entry == nullptr) throw item.error("path is missing");
        inner.emplace(entry_of(item, *entry));
        path = &*inner;
        if (const auto* mode = item.node.find("mode")) seed.mode = read_mode(entry_of(item, *mode));
    }
    seed.path = seed_path(Field{path->path, path->mark(), path->node}, read_scalar(*path, "a path or a map"),
                          Seed::Kind::directory);
    return seed;
}

} // namespace

void read_files(const Field& field, Manifest& manifest, const DecodeContext& context) {
    require_map(field);
    std::size_t total = 0;
    for (const auto& entry : field.node.entries) {
        attempt(context, field.path, [&] {
            manifest.seeds.push_back(read_file(entry_of(field, entry), entry.key, context));
            if (manifest.seeds.back().kind == Seed::Kind::text) total += manifest.seeds.back().content.size();
        });
        if (total > k_max_inline) {
            throw located(entry.mark, "the files' text is over 8 MiB in all").hint("use fromFile or fromDir");
        }
    }
}

void read_directories(const Field& field, Manifest& manifest, const DecodeContext& context) {
    require_list(field);
    for (std::size_t i = 0; i < field.node.items.size(); ++i) {
        attempt(context, field.path, [&] { manifest.seeds.push_back(read_directory(element_of(field, i))); });
    }
}

void check_seeds(const YamlNode& root, std::vector<Seed>& seeds) {
    std::stable_sort(seeds.begin(), seeds.end(), seed_before);
    std::map<std::string_view, Seed::Kind> kinds;
    for (const Seed& seed : seeds) {
        if (!kinds.emplace(seed.path, seed.kind).second) {
            throw located(mark_of(root, seed.path), formatted("\"{}\" is given twice", shown(seed.path)));
        }
    }
    for (const Seed& seed : seeds) {
        const std::string_view path = seed.path;
        for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
            const auto above = kinds.find(path.substr(0, slash));
            if (above == kinds.end() || is_tree(above->second)) continue;
            throw located(mark_of(root, path), formatted("\"{}\" is below \"{}\", which is not a directory",
                                                           shown(path), shown(above->first)));
        }
    }
}

} // namespace sandbox::domain
