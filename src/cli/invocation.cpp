// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "domain/names.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

namespace sandbox::cli {
namespace {

std::optional<std::string> last_of(const std::map<std::string, std::vector<std::string>>& options, const char* name) {
    const auto found = options.find(name);
    if (found == options.end() || found->second.empty()) return std::nullopt;
    return found->second.back();
}

} // namespace

Invocation::Invocation(std::map<std::string, std::vector<std::string>> options, std::vector<std::string> arguments)
    : m_options(std::move(options)), m_arguments(std::move(arguments)),
      m_context({last_of(m_options, "owner"), last_of(m_options, "engine"), last_of(m_options, "state-dir")}) {}

bool Invocation::has(std::string_view option) const { return m_options.contains(std::string(option)); }

std::optional<std::string> Invocation::value(std::string_view option) const {
    return last_of(m_options, std::string(option).c_str());
}

std::vector<std::string> Invocation::values(std::string_view option) const {
    const auto found = m_options.find(std::string(option));
    return found == m_options.end() ? std::vector<std::string>{} : found->second;
}

const std::vector<ConfigFile>& Invocation::config_files() const {
    if (!m_config_files) m_config_files = read_config_files(value("config"));
    return *m_config_files;
}

std::map<std::string, std::string> Invocation::labels() const {
    std::map<std::string, std::string> labels;
    for (const auto& text : values("label")) {
        const auto equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            throw Error(ErrorCode::usage, "--label " + printable(text) + " is not KEY=VALUE");
        }
        domain::check_label(text.substr(0, equals), text.substr(equals + 1));
        labels[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return labels;
}

} // namespace sandbox::cli
