// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

#include "cli/documents.hpp"
#include "cli/help.hpp"
#include "cli/hooks.hpp"
#include "cli/output.hpp"
#include "cli/parse.hpp"
#include "cli/verbs.hpp"
#include "util/error.hpp"
#include "util/text.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace sandbox::cli {
namespace {

constexpr int k_own_failure = 125;

int run_line(const std::vector<std::string>& line) {
    ParsedLine parsed = parse_line(line);
    if (parsed.wants_version) {
        Invocation call({}, {});
        return k_version.run(call);
    }
    if (parsed.wants_help) {
        if (parsed.command != nullptr) print_out(help_for(*parsed.command));
        else print_out(parsed.group.empty() ? overview() : group_help(parsed.group));
        return 0;
    }
    Invocation call(std::move(parsed.options), std::move(parsed.arguments));
    call.context().warn = [](std::string_view text) { say("warning: " + std::string(text)); };
    HookRunner hooks(call);
    call.context().on_event = [&hooks](const state::Event& event) { hooks.on_event(event); };
    try {
        const int status = parsed.command->run(call);
        hooks.flush();
        return status;
    } catch (...) {
        hooks.flush();
        throw;
    }
}

int fail(const std::vector<std::string>& line, const Error& error) {
    if (error.signal() == SIGPIPE) return error.exit_status();
    const ParsedLine known = find_verb(line);
    print_error(error);
    try {
        if (known.json) print_out(error_document(error));
    } catch (const Error&) {
        // Nobody reads the document; the status still tells.
    }
    const bool passes = known.command != nullptr && known.command->status == StatusRule::passed_through;
    return passes && error.signal() == 0 ? k_own_failure : error.exit_status();
}

// A caller may have closed one of these. The next file opened would take its number, and what is printed would go into the
// database. What stands in for it can be neither read nor written.
void occupy_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) >= 0) continue;
        if (::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) != descriptor) std::abort();
    }
}

} // namespace

int run(const std::vector<std::string>& line) {
    occupy_standard_descriptors();
    // A reader that went away is an error of the write, which each command turns into its own clean end.
    ::signal(SIGPIPE, SIG_IGN);
    try {
        return run_line(line);
    } catch (const Error& error) {
        return fail(line, error);
    } catch (const std::filesystem::filesystem_error& error) {
        const bool names_path = !error.path2().empty() || !error.path1().empty();
        const auto& path = error.path2().empty() ? error.path1() : error.path2();
        return fail(line, errno_error(names_path ? printable(path.string()) : "a file", error.code().value()));
    } catch (const std::exception& error) {
        return fail(line, Error(ErrorCode::internal, error.what()).hint("this is a bug in sandbox"));
    }
}

} // namespace sandbox::cli
