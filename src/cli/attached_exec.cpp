// SPDX-License-Identifier: Apache-2.0
#include "cli/attached_exec.hpp"

#include "cli/manifest_options.hpp"
#include "cli/output.hpp"
#include "util/environment.hpp"
#include "util/error.hpp"
#include "util/terminal.hpp"
#include "util/text.hpp"

#include <cctype>
#include <unistd.h>

namespace sandbox::cli {
namespace {

channel::WindowSize window_size() {
    const TerminalSize size = terminal_size(is_terminal(STDOUT_FILENO) ? STDOUT_FILENO : STDIN_FILENO);
    return {size.rows, size.columns};
}

} // namespace

std::vector<Option> attach_options() {
    return {{"interactive", 'i', "", "pass standard input on, its end included"},
            {"tty", 't', "", "give the command a terminal"},
            {"detach-keys", 0, "KEYS", "typed at the terminal, they leave the command to itself; none: no keys [ctrl-p,ctrl-q]"}};
}

channel::Environment command_environment(const Invocation& call) {
    std::vector<std::string> texts;
    for (const auto& file : call.values("env-file")) {
        for (auto& text : read_env_file(file)) texts.push_back(std::move(text));
    }
    for (const auto& text : call.values("env")) texts.push_back(text);
    channel::Environment env;
    for (const auto& text : texts) {
        const auto complete = complete_env(text);
        if (!complete) continue;
        const auto equals = complete->find('=');
        env.emplace_back(complete->substr(0, equals), complete->substr(equals + 1));
    }
    return env;
}

std::string parse_detach_keys(std::string_view text) {
    if (text.empty() || text == "none") return {};
    std::string keys;
    for (const auto& key : split(text, ',')) {
        const bool is_control = key.size() == 6 && key.starts_with("ctrl-");
        // A control key is the letter's, or one of @[\\]^_, with the upper three bits gone.
        const char letter = key.empty() ? '\0' : static_cast<char>(std::toupper(static_cast<unsigned char>(key.back())));
        if (is_control && letter >= '@' && letter <= '_') keys += static_cast<char>(letter & 31);
        else if (key.size() == 1) keys += key;
        else throw Error(ErrorCode::usage, "--detach-keys " + printable(text) + " is no list of keys").hint("for example ctrl-p,ctrl-q or ctrl-]; none turns them off");
    }
    return keys;
}

std::string detach_keys(const Invocation& call, const channel::ExecRequest& request) {
    const std::string keys = parse_detach_keys(call.value("detach-keys").value_or("ctrl-p,ctrl-q"));
    // Left to itself, a command would run on past its time.
    const bool may_detach = request.tty && request.stdin_open && request.timeout.count() == 0;
    return may_detach ? keys : std::string();
}

void give_terminal(channel::ExecRequest& request) {
    request.tty = window_size();
    const std::string term = environment("TERM");
    request.term = term.empty() ? "xterm" : term;
}

void apply_attach_options(const Invocation& call, channel::ExecRequest& request) {
    request.stdin_open = call.has("interactive");
    if (!call.has("tty")) return;
    if (call.json()) throw Error(ErrorCode::usage, "-t and --json do not go together");
    if (request.stdin_open && !is_terminal(STDIN_FILENO)) {
        throw Error(ErrorCode::usage, "-t with -i needs a terminal on standard input").hint("leave -t out in scripts and CI");
    }
    give_terminal(request);
}

CommandStreams::CommandStreams(bool passes, std::optional<std::uint64_t> kept_bytes) {
    if (passes) {
        m_stdout.emplace(STDOUT_FILENO);
        m_stderr.emplace(STDERR_FILENO);
    }
    if (kept_bytes) {
        m_out.emplace(*kept_bytes);
        m_err.emplace(*kept_bytes);
    }
}

void CommandStreams::take(channel::OutputStream stream, std::string_view bytes, const channel::ExecIo& io) {
    const bool is_out = stream == channel::OutputStream::out;
    if (auto& kept = is_out ? m_out : m_err) kept->add(bytes);
    if (auto& writer = is_out ? m_stdout : m_stderr) writer->write(bytes, io.wait_writable);
}

void CommandStreams::fill(ExecDocument& document) const {
    if (m_out) document.out = m_out->text();
    if (m_err) document.err = m_err->text();
}

channel::ExecResult exec_attached(app::Context& context, const app::ExecTarget& target, const channel::ExecRequest& request, CommandStreams& streams,
                                  const std::string& detach_keys) {
    std::optional<RawTty> raw;
    channel::ExecIo io;
    // No sooner: a hook may run before, and a start that hangs has to be left by Ctrl-C.
    io.on_begin = [&] {
        if (request.tty && is_terminal(STDIN_FILENO) && request.stdin_open) raw.emplace(STDIN_FILENO);
    };
    io.stdin_fd = request.stdin_open ? STDIN_FILENO : -1;
    io.on_output = [&](channel::OutputStream stream, std::string_view bytes) { streams.take(stream, bytes, io); };
    io.window_size = window_size;
    io.detach_keys = detach_keys;
    const auto result = app::exec_in_session(context, target, request, io);
    raw.reset();
    if (result.outcome == channel::Outcome::detached) say("detached: the command goes on in the session, without a terminal");
    return result;
}

} // namespace sandbox::cli
