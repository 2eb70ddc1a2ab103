// SPDX-License-Identifier: Apache-2.0
#include "cli/hooks.hpp"

#include "cli/config_files.hpp"
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

// The event as the log has it, from the start.
Fd input_of(const state::Event& event) {
    Fd file(::memfd_create("event", MFD_CLOEXEC));
    if (!file) throw errno_error("cannot make a hook's input");
    write_all(file.get(), state::event_line(event) + "\n");
    if (::lseek(file.get(), 0, SEEK_SET) != 0) throw errno_error("cannot rewind a hook's input");
    return file;
}

std::vector<std::string> environment_for(const state::Event& event) {
    std::vector<std::string> all;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) all.emplace_back(*entry);
    all.push_back("SANDBOX_EVENT=" + std::string(state::event_name(event.kind)));
    all.push_back("SANDBOX_IN_HOOK=1");
    return all;
}

// What is wrong with how it ended; empty: nothing.
std::string run_hook(const Hook& hook, const state::Event& event) {
    const Fd input = input_of(event);
    SpawnOptions options;
    options.argv = hook.command;
    options.env = environment_for(event);
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
                const std::string problem = run_hook(hook, event);
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
