// SPDX-License-Identifier: Apache-2.0
#include "cli/config_files.hpp"

#include "state/events.hpp"
#include "util/environment.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"

namespace sandbox::cli {
namespace {

constexpr std::size_t k_max_config = 4 << 20;
constexpr const char* k_system_config = "/etc/sandbox/config.yaml";

// As the XDG base directory specification has it: a relative path is to be ignored.
std::string user_config() {
    const std::string base = environment("XDG_CONFIG_HOME");
    if (base.starts_with('/')) return base + "/sandbox/config.yaml";
    const std::string home = environment("HOME");
    return home.starts_with('/') ? home + "/.config/sandbox/config.yaml" : "";
}

Error unknown_event(const domain::ConfigHook& hook) {
    const auto known = state::event_names();
    const auto near = nearest(hook.kind, known);
    return domain::located(hook.mark, "hooks: no event is called " + quoted(hook.kind) + (near ? "; did you mean " + quoted(*near) + "?" : ""))
        .hint("events are " + join(known, ", "));
}

ConfigFile parsed(const std::string& path, const std::string& text) {
    ConfigFile file{path, domain::parse_config(path, text, directory_of(path))};
    std::erase_if(file.config.hooks, [&](const domain::ConfigHook& hook) {
        const bool is_known = state::event_from_name(hook.kind).has_value();
        if (!is_known) file.config.hook_problems.push_back(unknown_event(hook));
        return !is_known;
    });
    return file;
}

} // namespace

std::vector<ConfigFile> read_config_files(const std::optional<std::string>& config_option) {
    std::vector<ConfigFile> files;
    const auto add = [&files](const std::string& path) {
        const auto text = read_file(path, k_max_config);
        if (text) files.push_back(parsed(path, *text));
        return text.has_value();
    };
    add(k_system_config);
    if (const std::string named = config_option.value_or(environment("SANDBOX_CONFIG")); !named.empty()) {
        if (add(named)) return files;
        throw Error(ErrorCode::usage, "no config file " + printable(named)).hint(config_option ? "--config names a YAML file" : "SANDBOX_CONFIG names it");
    }
    if (const std::string own = user_config(); !own.empty()) add(own);
    return files;
}

std::string directory_of(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

} // namespace sandbox::cli
