// SPDX-License-Identifier: Apache-2.0
#include "cli/job.hpp"

#include "app/interrupt.hpp"
#include "cli/creation.hpp"
#include "cli/output.hpp"
#include "cli/parse.hpp"
#include "cli/shell.hpp"
#include "util/terminal.hpp"
#include "util/text.hpp"

#include <csignal>
#include <unistd.h>

namespace sandbox::cli {
namespace {

constexpr int k_own_failure = 125;
constexpr int k_not_executable = 126;
constexpr int k_not_found = 127;
// A runner that cancels a job kills it some seconds after its first signal.
constexpr Milliseconds k_hasty_export{5000};

bool has_image(const domain::ManifestBuilder& builder) {
    for (const auto& value : builder.values()) {
        if (value.path == "image") return !value.value.empty();
    }
    return false;
}

int status_of(const Error& error) {
    if (error.signal() > 0) return error.exit_status();
    if (error.code() == ErrorCode::command_not_found) return k_not_found;
    return error.code() == ErrorCode::not_executable ? k_not_executable : k_own_failure;
}

Error no_image(const Invocation& call, bool is_perhaps_first_word) {
    const auto& words = call.arguments();
    if (!is_perhaps_first_word) return Error(ErrorCode::usage, "no image is given").hint("--image NAME -- " + printable(join(words, " ")) + ", or -f MANIFEST");
    // docker's `run IMAGE COMMAND`.
    const std::string rest = words.size() > 1 ? join({words.begin() + 1, words.end()}, " ") : "COMMAND";
    return Error(ErrorCode::usage, "no image is given, and " + quoted(words.front()) + " is taken as the command")
        .hint("the image is an option: --image " + printable(words.front()) + " -- " + printable(rest) + ", or image: NAME in a manifest (-f)");
}

} // namespace

std::vector<Option> job_options() {
    std::vector<Option> all = creation_options();
    all.push_back({"export", 0, "PATH=HOST", "copy PATH out of the workspace when the work is over, whatever became of it", true});
    all.push_back({"on-failure", 0, "destroy|keep|shell", "what becomes of the session of failed work: keep it, or open a shell in it first [destroy]"});
    all.push_back({"result", 0, "FILE", "write how it ended as JSON to FILE or /dev/fd/N, beside the untouched streams"});
    return all;
}

Job::Job(Invocation& call, FirstWord first_word) : m_call(call), m_first_word(first_word) {}

// All that can be wrong without a session.
void Job::prepare() {
    const std::string wish = m_call.value("on-failure").value_or("destroy");
    if (wish == "keep") m_on_failure = OnFailure::keep;
    else if (wish == "shell") m_on_failure = OnFailure::shell;
    else if (wish != "destroy") throw Error(ErrorCode::usage, "--on-failure " + printable(wish) + " is not destroy, keep or shell");
    if (m_on_failure == OnFailure::shell && !(is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO))) {
        throw Error(ErrorCode::usage, "--on-failure shell needs a terminal").hint("--on-failure keep leaves the session for sandbox shell");
    }
    const auto builder = session_builder(m_call);
    if (!has_image(builder)) throw no_image(m_call, m_first_word == FirstWord::perhaps_image && !m_call.has(k_separator));
    m_manifest = session_manifest(builder);
    m_how = create_options(m_call, builder);
    m_exports_wanted = domain::exports_of(m_manifest);
    app::check_export_targets(m_exports_wanted, m_how.roots);
}

int Job::run(const Work& work) {
    // Whatever signal comes between two steps waits for the next one that looks for it, so that the last of them always runs.
    std::optional<app::Interrupt> held;
    try {
        if (const auto path = m_call.value("result")) m_result_file.emplace(*path);
        prepare();
        follow_creation(m_call);
        held.emplace();
        attempt(work);
    } catch (const Error& error) {
        take(error);
    }
    report();
    return m_outcome.exit_code;
}

void Job::attempt(const Work& work) {
    m_session.emplace(m_call.context(), m_manifest, m_how);
    m_outcome.session = m_session->made().row.id;
    tell_made(m_call, m_session->made(), m_session->manifest());
    try {
        work(*m_session, m_outcome);
        m_has_ended = true;
    } catch (const Error& error) {
        take(error);
    }
    bring_out();
    finish();
}

// What failed first is what is told in the document; what comes on top of it is said, and no more.
void Job::take(const Error& error) {
    if (m_has_ended && m_outcome.exit_code != 0) return print_error(error);
    m_has_ended = true;
    m_outcome.error = error;
    m_outcome.exit_code = status_of(error);
}

bool Job::is_interrupted() const { return m_interrupted || (m_outcome.error && m_outcome.error->signal() > 0); }

void Job::bring_out() {
    const bool is_hasty = is_interrupted() && m_outcome.error->signal() != SIGPIPE;
    m_exports = app::export_all(m_call.context(), m_session->made().row, m_exports_wanted, is_hasty ? std::optional(k_hasty_export) : std::nullopt);
    m_outcome.exports = m_exports;
    for (const auto& done : m_exports) {
        if (done.error && done.error->signal() > 0 && !is_hasty) m_interrupted = done.error;
    }
    if (m_interrupted) take(*m_interrupted);
    else if (const auto error = app::export_error(m_exports)) take(*error);
}

void Job::finish() {
    const bool has_failed = m_outcome.exit_code != 0 && !is_interrupted();
    if (has_failed && m_on_failure == OnFailure::shell) open_shell();
    try {
        if (has_failed && m_on_failure == OnFailure::keep) {
            m_session->keep();
            m_outcome.is_kept = true;
            const auto& row = m_session->made().row;
            say("kept " + row.id + ": sandbox shell " + row.id + " looks into it, sandbox destroy " + row.id + " ends it");
        } else {
            m_session->end();
            forget_advice();
        }
    } catch (const Error& error) {
        take(error);
        m_session.reset();
    }
}

// Nothing can be done any more for a session that did not answer.
void Job::forget_advice() {
    auto& error = m_outcome.error;
    if (error && error->code() == ErrorCode::session_unreachable) error = Error(error->code(), error->message());
}

void Job::open_shell() {
    say("the work ended with status " + std::to_string(m_outcome.exit_code) + "; here is a shell in its session, which ends with it");
    try {
        run_shell(m_call.context(), {m_session->made().row, m_session->manifest()}, {});
    } catch (const Error& error) {
        print_error(error);
    }
}

void Job::report() {
    // Who has sent a signal needs not be told; what comes with advice is something else.
    const bool is_expected = is_interrupted() && m_outcome.error->hint().empty();
    if (m_outcome.error && !is_expected) print_error(*m_outcome.error);
    if (!captures()) return;
    if (m_streams) m_streams->fill(m_outcome);
    const std::string document = job_document(m_outcome);
    if (m_result_file) m_result_file->write(document);
    if (m_call.json()) print_out(document);
}

} // namespace sandbox::cli
