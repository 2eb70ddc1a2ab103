// SPDX-License-Identifier: Apache-2.0
#include "cli/hooks.hpp"

#include "app/interrupt.hpp"
#include "cli/documents.hpp"
#include "cli/output.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/process.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace sandbox::cli {
namespace {

constexpr Milliseconds k_patience{30'000};
constexpr Milliseconds k_glance{50};

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
std::string run_on_host(const std::vector<std::string>& command, const std::string& line, std::string variable, app::Interrupt& interrupt) {
    const Fd input = input_of(line);
    SpawnOptions options;
    options.argv = command;
    options.env = environment_with(std::move(variable));
    options.in = Stdio::descriptor(input.get());
    options.out = Stdio::descriptor(STDERR_FILENO); // standard output is the command's own result
    options.group = ProcessGroup::session;
    Child child(options); // which ends it, and what it started, when an interrupt or the time takes us out of here
    std::optional<ExitStatus> status;
    for (const std::int64_t give_up = boot_now_ms() + k_patience.count(); !(status = child.wait_for(k_glance)); interrupt.check()) {
        if (boot_now_ms() > give_up) return "took longer than 30 s, and was ended";
    }
    if (status->signal != 0) return "was ended by signal " + std::to_string(status->signal);
    return status->code == 0 ? "" : "ended with status " + std::to_string(status->code);
}

void warn(const std::string& text) { say("warning: " + text); }

} // namespace

std::vector<Hook> config_hooks(const Invocation& call) {
    std::vector<Hook> hooks;
    for (const auto& file : call.config_files()) {
        for (const auto& hook : file.config.hooks) {
            if (const auto kind = state::event_from_name(hook.kind)) hooks.push_back({*kind, hook.command, place_of(hook.mark)});
        }
    }
    return hooks;
}

std::vector<Error> hook_problems(const Invocation& call) {
    std::vector<Error> problems;
    for (const auto& file : call.config_files()) {
        problems.insert(problems.end(), file.config.hook_problems.begin(), file.config.hook_problems.end());
    }
    return problems;
}

app::WorkspaceCheck workspace_check(const Invocation& call) {
    std::vector<std::vector<std::string>> commands;
    for (const auto& file : call.config_files()) {
        if (!file.config.authorize.empty()) commands.push_back(file.config.authorize);
    }
    if (commands.empty()) return nullptr;
    return [commands](const state::SessionRow& session, app::Interrupt& interrupt) {
        for (const auto& command : commands) {
            std::string problem;
            try {
                problem = run_on_host(command, authorize_document(session), "SANDBOX_WORKSPACE=" + session.workspace_id, interrupt);
            } catch (const Error& error) {
                if (error.code() == ErrorCode::interrupted) throw;
                problem = "did not run: " + error.message();
            }
            if (problem.empty()) continue;
            throw Error(ErrorCode::denied, "workspace " + quoted(session.workspace_id) + " of owner " + quoted(session.owner) +
                                               " is not opened: authorize (" + printable(command.front()) + ") " + problem);
        }
    };
}

void HookRunner::on_event(const state::Event& event) noexcept {
    try {
        if (event.kind != state::EventKind::exec_started) return m_events.push_back(event);
        // The command has not begun: what was meant for it must not be lost.
        if (const int signal = run_all({event}); signal != 0) ::raise(signal);
    } catch (const std::exception&) {
        // No memory: what is being done is worth more than telling of it.
    }
}

void HookRunner::flush() noexcept {
    try {
        run_all(std::exchange(m_events, {}));
    } catch (const std::exception&) {
    }
}

int HookRunner::run_all(std::vector<state::Event> events) {
    if (events.empty() || std::getenv("SANDBOX_IN_HOOK") != nullptr) return 0;
    try {
        if (!m_hooks) {
            m_hooks.emplace(); // a config that can't be read is told of once
            m_hooks = config_hooks(m_call);
            for (const auto& problem : hook_problems(m_call)) warn("a hook is left out: " + problem.message());
        }
        if (m_hooks->empty()) return 0;
        app::Interrupt interrupt;
        for (const auto& event : events) {
            for (const Hook& hook : *m_hooks) {
                if (hook.kind != event.kind) continue;
                const std::string shown = "the hook at " + hook.origin + " (" + printable(hook.command.front()) + ") ";
                try {
                    const std::string problem = run_on_host(hook.command, state::event_line(event) + "\n",
                                                            "SANDBOX_EVENT=" + std::string(state::event_name(event.kind)), interrupt);
                    if (!problem.empty()) warn(shown + problem);
                } catch (const Error& error) {
                    if (error.code() == ErrorCode::interrupted) throw;
                    warn(shown + "did not run: " + error.message());
                }
            }
        }
    } catch (const Error& error) {
        warn((error.code() == ErrorCode::interrupted ? "hooks were left out: " : "no hooks are run: ") + error.message());
        return error.signal();
    }
    return 0;
}

} // namespace sandbox::cli
