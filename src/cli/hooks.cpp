// SPDX-License-Identifier: Apache-2.0
#include "cli/hooks.hpp"

#include "cli/config_files.hpp"
#include "cli/documents.hpp"
#include "cli/output.hpp"
#include "domain/config.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/process.hpp"
#include "util/text.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sandbox::cli {
namespace {

constexpr Milliseconds k_patience{30'000};

std::string place_of(const domain::YamlMark& mark) { return mark.source->name + ":" + std::to_string(mark.line + 1); }

Fd input_of(const std::string& line) {
    Fd file(::memfd_create("input", MFD_CLOEXEC));
    if (!file) throw errno_error("cannot make a hook's input");
    write_all(file.get(), line);
    if (::lseek(file.get(), 0, SEEK_SET) != 0) throw errno_error("cannot rewind a hook's input");
    return file;
}

std::vector<std::string> environment_with(std::string variable) {
    std::vector<std::string> all;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) all.emplace_back(*entry);
    all.push_back(std::move(variable));
    all.emplace_back("SANDBOX_IN_HOOK=1");
    return all;
}

// What is wrong with how it ended; empty: nothing.
std::string run_on_host(const std::vector<std::string>& command, const std::string& line, std::string variable) {
    const Fd input = input_of(line);
    SpawnOptions options;
    options.argv = command;
    options.env = environment_with(std::move(variable));
    options.in = Stdio::descriptor(input.get());
    options.out = Stdio::descriptor(STDERR_FILENO); // standard output is the command's own result
    Child child(options);
    const auto status = child.wait_for(k_patience);
    if (!status) return "took longer than 30 s, and was ended";
    if (status->signal != 0) return "was ended by signal " + std::to_string(status->signal);
    return status->code == 0 ? "" : "ended with status " + std::to_string(status->code);
}

void warn(const std::string& text) { say("warning: " + text); }

} // namespace

std::vector<Hook> config_hooks(const Invocation& call) {
    std::vector<Hook> hooks;
    for (const auto& file : config_files(call)) {
        for (auto& hook : domain::parse_config(file.path, file.text, "/").hooks) {
            const auto kind = state::event_from_name(hook.kind);
            if (!kind) throw domain::located(hook.mark, "no event is called " + quoted(hook.kind)).hint("events are " + join(state::event_names(), ", "));
            hooks.push_back({*kind, std::move(hook.command), place_of(hook.mark)});
        }
    }
    return hooks;
}

app::WorkspaceCheck workspace_check(const Invocation& call) {
    std::vector<std::vector<std::string>> commands;
    for (const auto& file : config_files(call)) {
        auto command = domain::parse_config(file.path, file.text, "/").authorize;
        if (!command.empty()) commands.push_back(std::move(command));
    }
    if (commands.empty()) return nullptr;
    return [commands](const state::SessionRow& session) {
        for (const auto& command : commands) {
            std::string problem;
            try {
                problem = run_on_host(command, authorize_document(session), "SANDBOX_WORKSPACE=" + session.workspace_id);
            } catch (const Error& error) {
                problem = "did not run: " + error.message();
            }
            if (problem.empty()) continue;
            throw Error(ErrorCode::denied, "workspace " + quoted(session.workspace_id) + " of owner " + quoted(session.owner) +
                                               " is not opened: authorize (" + printable(command.front()) + ") " + problem);
        }
    };
}

void HookRunner::operator()(const state::Event& event) noexcept {
    try {
        if (!m_hooks) {
            m_hooks = std::make_shared<std::vector<Hook>>();
            if (std::getenv("SANDBOX_IN_HOOK") == nullptr) *m_hooks = config_hooks(m_call);
        }
        for (const Hook& hook : *m_hooks) {
            if (hook.kind != event.kind) continue;
            const std::string shown = "the hook at " + hook.origin + " (" + printable(hook.command.front()) + ") ";
            try {
                const std::string problem = run_on_host(hook.command, state::event_line(event) + "\n",
                                                        "SANDBOX_EVENT=" + std::string(state::event_name(event.kind)));
                if (!problem.empty()) warn(shown + problem);
            } catch (const Error& error) {
                warn(shown + "did not run: " + error.message());
            }
        }
    } catch (const Error& error) {
        warn("no hooks are run: " + error.message());
    } catch (const std::exception&) {
        // No memory: what has been done is worth more than telling of it.
    }
}

} // namespace sandbox::cli
