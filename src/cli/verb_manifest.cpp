// SPDX-License-Identifier: Apache-2.0
// `manifest init|check|explain|schema`: offline, with neither an engine nor a state directory.
#include "app/seeding.hpp"
#include "cli/documents.hpp"
#include "cli/manifest_documents.hpp"
#include "cli/manifest_options.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/schema_file.hpp"
#include "cli/verbs.hpp"
#include "domain/manifest_schema.hpp"
#include "domain/manifest_starter.hpp"
#include "domain/yaml.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox::cli {
namespace {

using domain::KeyType;
using domain::ManifestKey;

constexpr std::string_view k_default_file = "sandbox.yaml";

// O_EXCL, so that nothing is replaced that came after a look.
void write_new(const std::string& path, const std::string& text) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file && errno == EEXIST) throw Error(ErrorCode::exists, quoted(path) + " exists").hint("--force replaces it");
    if (!file) throw errno_error("cannot write " + path);
    try {
        write_all(file.get(), text);
    } catch (const Error&) {
        ::unlink(path.c_str());
        throw;
    }
}

// --force replaces a manifest, and nothing that only has its name: a device, a pipe, a directory, a link.
void refuse_other_than_file(const std::string& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return;
    throw Error(ErrorCode::conflict, quoted(path) + " is no regular file, and is not replaced").hint("- writes to standard output");
}

int run_init(Invocation& call) {
    const std::string path = call.arguments().empty() ? std::string(k_default_file) : call.arguments().front();
    const std::string text = domain::starter_manifest(k_schema_file);
    if (path == "-") {
        print_out(text);
        return 0;
    }
    if (call.has("force")) {
        refuse_other_than_file(path);
        AtomicFile file(AT_FDCWD, path, 0644);
        write_all(file.fd(), text);
        file.publish();
    } else {
        write_new(path, text);
    }
    if (!call.quiet() && ::access(k_schema_file, R_OK) != 0) {
        say("note: the editor's schema is not at " + std::string(k_schema_file) + "; sandbox manifest schema prints it");
    }
    if (!call.quiet()) say("wrote " + printable(path) + "; sandbox create -f " + printable(path) + " makes a session from it");
    if (call.json()) print_out(object_document({{"file", path}}));
    return 0;
}

// A manifest may be right before what it names is made; so this is no problem of its own.
void note_sources(const Invocation& call, const std::string& path, const domain::Manifest& manifest) {
    auto roots = call.values("allow-path");
    roots.push_back(directory_of(path));
    const auto attempt = [&](const auto& look) {
        try {
            look();
        } catch (const Error& error) {
            say("note: as things are here, create would refuse " + printable(path) + ": " + error.message());
        }
    };
    for (const auto& variable : manifest.env) attempt([&] { app::resolve_environment({variable}, roots); });
    for (const auto& seed : manifest.seeds) attempt([&] { app::check_sources({seed}, roots); });
    attempt([&] { app::read_seccomp(manifest, roots); });
}

std::vector<Error> problems_of(const Invocation& call, const std::string& path) {
    domain::ManifestBuilder builder;
    for (const auto& directory : call.values("allow-path")) builder.allow_path(directory);
    try {
        add_manifest(builder, path);
    } catch (const Error& error) {
        return {error};
    }
    auto problems = builder.problems();
    if (problems.empty() && !call.quiet()) note_sources(call, path, builder.build());
    return problems;
}

int run_check(Invocation& call) {
    std::vector<CheckedFile> files;
    std::size_t count = 0;
    for (const auto& path : call.arguments()) {
        const auto& file = files.emplace_back(CheckedFile{path, problems_of(call, path)});
        count += file.problems.size();
        for (const auto& problem : file.problems) {
            // What stands at no place, such as an image that is missing, is told with the file's name.
            Error shown = problem;
            if (!domain::place_of(problem)) shown.context(path);
            print_error(shown);
        }
        if (file.problems.empty() && !call.quiet()) say(path + ": no problem found");
    }
    std::optional<Error> error;
    if (count > 0) {
        error.emplace(ErrorCode::manifest_invalid, counted(count, "problem") + " found");
    }
    if (call.json()) print_out(check_document(files, error));
    return error ? error->exit_status() : 0;
}

std::string type_text(const ManifestKey& key) {
    switch (key.type) {
    case KeyType::boolean: return "true or false";
    case KeyType::size: return "size: 64KB, 512MB, 1.5GiB (KB is 1000 bytes, KiB and k are 1024)";
    case KeyType::duration: return "duration: 250ms, 30s, 5m, 1h30m, 2d";
    case KeyType::count: return "whole number from " + std::to_string(key.least) + " to " + std::to_string(key.most);
    case KeyType::number: return "number from 0.01 to " + std::to_string(key.most);
    case KeyType::list: return "list";
    case KeyType::map: return "map";
    case KeyType::choice: return "one of: " + join(split(key.choices, '|'), ", ");
    case KeyType::text: break;
    }
    return "text";
}

std::string flag_text(const ManifestKey& key) {
    const std::string set = "--set " + std::string(key.path) + "=VALUE";
    if (key.path.find('*') != std::string_view::npos || key.path == "version") return "none";
    const std::string flag = option_name(key);
    return flag.empty() ? set : "--" + flag + ", or " + set;
}

// "limits: {memory: 512MB}", as it would stand in a manifest.
std::string example_text(const ManifestKey& key) {
    const auto names = split(key.path, '.');
    std::string text(key.example);
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
        const bool is_outermost = name + 1 == names.rend();
        text = (*name == "*" ? "NAME" : *name) + ": " + text;
        if (!is_outermost) text = "{" + text + "}";
    }
    return key.path.starts_with("directories.") ? "directories: [{" + names.back() + ": " + std::string(key.example) + "}]" : text;
}

std::vector<domain::EffectiveValue> values_below(const Invocation& call, std::string_view path) {
    if (!call.has("manifest")) return {};
    domain::ManifestBuilder builder;
    for (const auto& directory : call.values("allow-path")) builder.allow_path(directory);
    for (const auto& file : call.values("manifest")) add_manifest(builder, file);
    std::vector<domain::EffectiveValue> values;
    for (auto& value : builder.values()) {
        if (value.path == path || value.path.starts_with(std::string(path) + ".")) values.push_back(std::move(value));
    }
    return values;
}

std::string explanation(const ExplainedKey& explained) {
    const ManifestKey& key = *explained.key;
    std::string text = std::string(key.path) + ": " + std::string(key.summary) + "\n\n";
    const auto add = [&](std::string_view name, std::string_view value) {
        text += "  " + std::string(name) + std::string(10 - name.size(), ' ') + printable(value) + "\n";
    };
    add("type", type_text(key));
    add("default", key.default_text.empty() ? "none" : key.default_text);
    add("flag", flag_text(key));
    add("example", example_text(key));
    for (const auto& value : explained.values) {
        const std::string where = value.origin.empty() ? "by default" : "from " + value.origin;
        add("value", (value.path == key.path ? "" : value.path + " = ") + (value.value.empty() ? "none" : value.value) + " (" + where + ")");
    }
    return text;
}

std::vector<const ManifestKey*> keys_below(std::string_view section) {
    std::vector<const ManifestKey*> keys;
    const auto add = [&](std::span<const ManifestKey> all) {
        for (const auto& key : all) {
            if (section.empty() || key.path == section || key.path.starts_with(std::string(section) + ".")) keys.push_back(&key);
        }
    };
    add(domain::manifest_keys());
    if (!section.empty()) add(domain::manifest_entry_keys());
    return keys;
}

int explain_section(Invocation& call, std::string_view section) {
    const auto keys = keys_below(section);
    if (call.json()) {
        print_out(keys_document(keys));
        return 0;
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto* key : keys) rows.push_back({std::string(key->path), std::string(key->default_text), std::string(key->summary)});
    print_out(table({"KEY", "DEFAULT", "MEANS"}, rows));
    for (const auto& value : values_below(call, section)) {
        if (!value.origin.empty()) print_out(printable(value.path + " = " + value.value + " (from " + value.origin + ")") + "\n");
    }
    return 0;
}

// A key or a section. Where neither is spelled nearly so, the key whose last segment is.
std::optional<std::string> nearest_to_explain(const std::string& path) {
    std::set<std::string> known;
    for (const auto& key : domain::manifest_keys()) {
        const std::string whole(key.path);
        for (auto dot = whole.find('.'); dot != std::string::npos; dot = whole.find('.', dot + 1)) known.insert(whole.substr(0, dot));
        known.insert(whole);
    }
    if (auto near = nearest(path, std::vector<std::string>(known.begin(), known.end()))) return near;
    return domain::nearest_key(path);
}

int run_explain(Invocation& call) {
    if (call.arguments().empty()) return explain_section(call, "");
    const std::string& path = call.arguments().front();
    if (domain::is_section(path)) return explain_section(call, path);
    const ManifestKey* key = domain::find_key_of(path);
    if (key == nullptr) {
        Error error(ErrorCode::usage, "unknown key \"" + printable(path) + "\"");
        const auto near = nearest_to_explain(path);
        throw error.hint(near ? "did you mean \"" + *near + "\"?" : "sandbox manifest explain lists the keys");
    }
    const ExplainedKey explained{key, values_below(call, path)};
    print_out(call.json() ? explain_document(explained) : explanation(explained));
    return 0;
}

int run_schema(Invocation&) {
    print_out(domain::manifest_schema());
    return 0;
}

const Option k_allow_path{"allow-path", 0, "DIR", "let the manifest name host paths below this directory too", true};

} // namespace

const Command k_manifest_init{
    .name = "manifest init",
    .alias = "",
    .group = "manifests",
    .summary = "write a commented manifest to start from",
    .usage = "[--force] [FILE]",
    .max_arguments = 1,
    .positionals = {{"FILE"}},
    .options = [] { return std::vector<Option>{{"force", 0, "", "replace a file that is there"}}; },
    .examples = [] { return std::vector<std::string_view>{"sandbox manifest init", "sandbox manifest init - | less"}; },
    .details = "FILE is sandbox.yaml unless given; - is standard output. Its first line tells editors where the JSON\n"
               "Schema is, which gives them completion.",
    .run = run_init};

const Command k_manifest_check{
    .name = "manifest check",
    .alias = "",
    .group = "manifests",
    .summary = "say everything that is wrong with manifests",
    .usage = "MANIFEST...",
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
    .positionals = {{"MANIFEST", Completer::by_value, true}},
    .options = [] { return std::vector<Option>{k_allow_path}; },
    .examples = [] { return std::vector<std::string_view>{"sandbox manifest check ticket.yaml", "git show HEAD:ci.yaml | sandbox manifest check -"}; },
    .details = "Each MANIFEST is checked by itself; - is standard input. Exit status 2 when something is wrong.",
    .run = run_check};

const Command k_manifest_explain{
    .name = "manifest explain",
    .alias = "",
    .group = "manifests",
    .summary = "say what a manifest's key means",
    .usage = "[-f MANIFEST]... [KEY]",
    .max_arguments = 1,
    .positionals = {{"KEY", Completer::manifest_path}},
    .options = [] {
        return std::vector<Option>{{"manifest", 'f', "MANIFEST", "show the value that this manifest gives, too", true}, k_allow_path};
    },
    .examples = [] { return std::vector<std::string_view>{"sandbox manifest explain limits.memory", "sandbox manifest explain -f ticket.yaml lifecycle"}; },
    .details = "KEY is a path such as limits.memory or files.NAME.fromDir; a section lists what is below it, and no KEY lists all.",
    .run = run_explain};

const Command k_manifest_schema{
    .name = "manifest schema",
    .alias = "",
    .group = "manifests",
    .summary = "print the manifest's JSON Schema",
    .usage = "",
    .options = no_options,
    .examples = [] { return std::vector<std::string_view>{"sandbox manifest schema > manifest.schema.json"}; },
    .details = "The schema (draft-07) is made from the same table as the parser; editors complete and check manifests by it.",
    .run = run_schema};

} // namespace sandbox::cli
