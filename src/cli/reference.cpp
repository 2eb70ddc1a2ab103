// SPDX-License-Identifier: Apache-2.0
#include "cli/reference.hpp"

#include <array>

namespace sandbox::cli {
namespace {

using enum StatusScope;

constexpr std::array k_statuses{
    ExitStatus{0, always, "done"},
    ExitStatus{1, always, "failed"},
    ExitStatus{2, always, "the command line or the manifest does not hold"},
    ExitStatus{3, always, "not found, or another owner's"},
    ExitStatus{4, always, "exists already, busy or in conflict"},
    ExitStatus{5, always, "the engine or the session cannot be reached; trying again may help"},
    ExitStatus{6, always, "denied"},
    ExitStatus{7, always, "no capacity, or over a limit"},
    ExitStatus{124, commands, "the command's time was over"},
    ExitStatus{125, commands, "sandbox's own failure, wrong usage included"},
    ExitStatus{126, commands, "the command cannot be executed"},
    ExitStatus{127, commands, "the command is not in the session"},
    ExitStatus{129, always, "ended by HUP"},
    ExitStatus{130, always, "ended by INT"},
    ExitStatus{141, always, "whoever reads the output went away (PIPE)"},
    ExitStatus{143, always, "ended by TERM"},
};

constexpr std::array k_variables{
    Variable{"SANDBOX_OWNER", "the owner, where --owner is not given"},
    Variable{"SANDBOX_ENGINE", "the engine for new sessions, where --engine is not given"},
    Variable{"SANDBOX_STATE_DIR", "the state directory, where --state-dir is not given"},
    Variable{"DOCKER_HOST", "the engine, where neither --engine nor SANDBOX_ENGINE is given"},
    Variable{"DOCKER_CONTEXT", "docker's context, where DOCKER_HOST is not set; then the one that `docker context use` chose"},
    Variable{"DOCKER_TLS_VERIFY", "not empty: an engine at tcp:// is spoken to by TLS"},
    Variable{"DOCKER_TLS", "TLS without a check of the engine's certificate: refused, unless DOCKER_TLS_VERIFY is set"},
    Variable{"DOCKER_CERT_PATH", "the directory of ca.pem, cert.pem and key.pem for TLS (~/.docker)"},
    Variable{"DOCKER_CONFIG", "the directory of docker's config.json, with the registries' credentials, and of its contexts (~/.docker)"},
    Variable{"SANDBOX_NO_PODMAN", "not empty: Podman is not started where no Docker answers"},
    Variable{"SANDBOX_CONFIG", "the config file that is read instead of the user's, where --config is not given"},
    Variable{"SANDBOX_IN_HOOK", "set for what a hook runs: no hooks are run then"},
    Variable{"BROWSER", "what sandbox preview --open starts, with the address as its argument; otherwise xdg-open"},
    Variable{"GIT_SSH_COMMAND", "how git reaches a repository by ssh; where neither it nor GIT_SSH is set, ssh asks for no password"},
    Variable{"GIT_SSH", "as GIT_SSH_COMMAND"},
    Variable{"XDG_CONFIG_HOME", "where a user's config file is looked for, in sandbox/config.yaml (~/.config)"},
    Variable{"XDG_STATE_HOME", "where the state directory of a user who is not root is put (~/.local/state)"},
    Variable{"XDG_RUNTIME_DIR", "where a rootless engine's socket is looked for"},
    Variable{"HOME", "what the defaults above start from"},
    Variable{"TMPDIR", "where temporary files are put (/tmp)"},
    Variable{"TERM", "what a command with a terminal (exec -t) is told"},
};

} // namespace

std::span<const ExitStatus> exit_statuses() { return k_statuses; }
std::span<const Variable> environment_variables() { return k_variables; }

} // namespace sandbox::cli
