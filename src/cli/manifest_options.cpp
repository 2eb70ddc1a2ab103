// SPDX-License-Identifier: Apache-2.0
#include "cli/manifest_options.hpp"

#include "cli/config_files.hpp"
#include "domain/names.hpp"
#include "util/error.hpp"
#include "util/format.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <unistd.h>

namespace sandbox::cli {
namespace {

constexpr std::size_t k_max_manifest = 16 << 20;

// docker's short forms of the same thing.
char letter_of(std::string_view path) {
    static const std::map<std::string_view, char> letters{
        {"env", 'e'}, {"workdir", 'w'}, {"user", 'u'}, {"limits.memory", 'm'}, {"publish", 'p'}, {"labels", 'l'}};
    const auto found = letters.find(path);
    return found == letters.end() ? '\0' : found->second;
}

std::string placeholder(const domain::ManifestKey& key) {
    if (!key.choices.empty()) return std::string(key.choices);
    switch (key.type) {
    case domain::KeyType::size: return "SIZE";
    case domain::KeyType::duration: return "DURATION";
    case domain::KeyType::count:
    case domain::KeyType::number: return "N";
    case domain::KeyType::boolean: return std::string(k_boolean_value);
    case domain::KeyType::map: return "KEY=VALUE";
    default: return "VALUE";
    }
}

Completer completer_of(std::string_view path) {
    static const std::map<std::string_view, Completer> completers{{"workspace", Completer::workspace},
                                                                  {"labels", Completer::label},
                                                                  {"env", Completer::variable},
                                                                  {"workdir", Completer::nothing}};
    const auto found = completers.find(path);
    return found == completers.end() ? Completer::by_value : found->second;
}

bool is_plural(const domain::ManifestKey& key) {
    return key.type == domain::KeyType::list || key.type == domain::KeyType::map;
}

std::string summary_of(const domain::ManifestKey& key) {
    std::string text(key.summary);
    if (!key.default_text.empty()) text += " [" + std::string(key.default_text) + "]";
    return text;
}

void set_env(domain::ManifestBuilder& builder, const std::string& text, const std::string& origin) {
    // NAME alone stays a reference, so that no value from this environment reaches the state.
    if (complete_env(text)) builder.set("env", text, origin);
}

// "PATH=HOST", each as a YAML scalar.
std::pair<std::string, std::string> path_pair(const std::string& word, std::string_view option) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
        throw Error(ErrorCode::usage, std::string(option) + " " + printable(word) + " is not PATH=HOST").hint("PATH is in the workspace, HOST on this machine");
    }
    if (!is_valid_utf8(word)) throw Error(ErrorCode::usage, std::string(option) + " " + printable(word) + " is not UTF-8").hint("sandbox cp takes any name");
    return {word.substr(0, equals), word.substr(equals + 1)};
}

std::string yaml_quoted(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        if (static_cast<unsigned char>(c) < ' ') quoted += formatted("\\x{:02x}", static_cast<int>(c));
        else quoted += c;
    }
    return quoted + '"';
}

// docker compose and kubectl say --file for what is -f here; a file to be brought in has a "=".
std::vector<std::string> manifest_paths(const Invocation& call) {
    std::vector<std::string> paths = call.values("manifest");
    for (const auto& word : call.values("file")) {
        if (word.find('=') == std::string::npos) paths.push_back(word);
    }
    return paths;
}

void refuse_twice(std::set<std::string>& seen, const std::string& path, std::string_view option) {
    if (seen.insert(std::filesystem::path(path).lexically_normal().string()).second) return;
    throw Error(ErrorCode::usage, std::string(option) + " names " + printable(path) + " twice");
}

void set_paths(domain::ManifestBuilder& builder, const Invocation& call) {
    std::set<std::string> brought;
    std::set<std::string> exported;
    for (const auto& word : call.values("file")) {
        if (word.find('=') == std::string::npos) continue;
        const auto [path, host] = path_pair(word, "--file");
        refuse_twice(brought, path, "--file");
        std::error_code ignored;
        const char* kind = std::filesystem::is_directory(host, ignored) ? "fromDir" : "fromFile";
        builder.set("files", formatted("{{{}: {{{}: {}}}}}", yaml_quoted(path), kind, yaml_quoted(host)), "--file");
    }
    for (const auto& word : call.values("export")) {
        const auto [path, host] = path_pair(word, "--export");
        refuse_twice(exported, path, "--export");
        builder.set("export.files", formatted("{{{}: {}}}", yaml_quoted(path), yaml_quoted(host)), "--export");
    }
}

void apply_flags(domain::ManifestBuilder& builder, const Invocation& call) {
    for (const auto& file : call.values("env-file")) {
        for (const auto& text : read_env_file(file)) set_env(builder, text, "--env-file " + file);
    }
    for (const auto& key : domain::manifest_keys()) {
        const std::string name = option_name(key);
        if (name.empty()) continue;
        for (const auto& value : call.values(name)) {
            if (key.path == "env") set_env(builder, value, "--env");
            else builder.set(key.path, value, "--" + name);
        }
    }
    set_paths(builder, call);
    for (const auto& text : call.values("set")) {
        const auto equals = text.find('=');
        if (equals == std::string::npos) {
            throw Error(ErrorCode::usage, "--set " + printable(text) + " is not PATH=VALUE")
                .hint("for example --set workspace.shared=true");
        }
        builder.set(text.substr(0, equals), text.substr(equals + 1), "--set " + text.substr(0, equals));
    }
}

} // namespace

std::string option_name(const domain::ManifestKey& key) {
    // docker and kubectl say --label for one label; the manifest has a map of them.
    if (key.path == "labels") return "label";
    const auto flag = domain::flag_of(key);
    return flag ? flag->substr(2) : "";
}

void add_manifest(domain::ManifestBuilder& builder, const std::string& path) {
    if (path == "-") {
        builder.add_document("-", read_all(STDIN_FILENO, k_max_manifest), ".");
        return;
    }
    const auto text = read_file(path, k_max_manifest);
    if (!text) {
        throw Error(ErrorCode::manifest_invalid, "no manifest " + printable(path))
            .hint("-f names a YAML file; - reads standard input");
    }
    builder.add_document(path, *text, directory_of(path));
}

std::vector<Option> manifest_options() {
    std::vector<Option> options{
        {"manifest", 'f', "MANIFEST", "a manifest (YAML or JSON), - for standard input; maps merge, lists replace", true},
        {"file", 0, "PATH=HOST", "bring a host file or directory into the workspace as PATH; a MANIFEST alone is taken as -f", true},
        {"set", 0, "PATH=VALUE", "any manifest key, as in --set limits.pids=32", true, false, Completer::manifest_key},
        {"env-file", 0, "FILE", "environment from a file of NAME=VALUE lines", true},
        {"allow-path", 0, "DIR", "let the manifest name host paths below this directory too", true}};
    for (const auto& key : domain::manifest_keys()) {
        const std::string name = option_name(key);
        if (name.empty()) continue;
        options.push_back({name, letter_of(key.path), placeholder(key), summary_of(key), is_plural(key), false,
                           completer_of(key.path)});
    }
    return options;
}

domain::ManifestBuilder manifest_builder(const Invocation& call) {
    domain::ManifestBuilder builder;
    for (const auto& file : call.config_files()) builder.add_config(file.config);
    for (const auto& directory : call.values("allow-path")) builder.allow_path(directory);
    for (const auto& path : manifest_paths(call)) add_manifest(builder, path);
    apply_flags(builder, call);
    return builder;
}

void check_ceilings(const Invocation& call, std::string_view path, std::string_view value, std::string_view origin) {
    domain::ManifestBuilder builder;
    for (const auto& file : call.config_files()) builder.add_config(file.config);
    builder.set(path, value, origin);
    builder.values();
}

domain::Manifest read_manifest(const Invocation& call) { return manifest_builder(call).build(); }

std::vector<std::string> host_roots(const Invocation& call) {
    std::vector<std::string> roots = call.values("allow-path");
    for (const auto& path : manifest_paths(call)) roots.push_back(directory_of(path));
    for (const auto& file : call.config_files()) {
        if (file.config.names_host_paths) roots.push_back(directory_of(file.path));
    }
    return roots;
}

std::string value_cell(const domain::EffectiveValue& value) {
    constexpr std::size_t k_width = 60;
    return shortened(value.value, k_width);
}

std::vector<std::string> read_env_file(const std::string& path) {
    auto content = read_file(path, k_max_manifest);
    if (!content) throw Error(ErrorCode::usage, "no env file " + printable(path));
    if (content->starts_with("\xEF\xBB\xBF")) content->erase(0, 3);
    std::vector<std::string> entries;
    std::size_t number = 0;
    for (std::string line : split(*content, '\n')) {
        ++number;
        if (line.ends_with('\r')) line.pop_back();
        if (line.empty() || line.starts_with('#')) continue;
        try {
            domain::check_env_name(line.substr(0, line.find('=')));
            if (line.find('\0') != std::string::npos) throw Error(ErrorCode::usage, "a NUL byte");
        } catch (Error& error) {
            error.context(printable(path) + ":" + std::to_string(number));
            throw;
        }
        entries.push_back(std::move(line));
    }
    return entries;
}

std::optional<std::string> complete_env(const std::string& text) {
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals);
    domain::check_env_name(name);
    if (equals != std::string::npos) return text;
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return name + "=" + value;
}

} // namespace sandbox::cli
