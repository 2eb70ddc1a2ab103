// SPDX-License-Identifier: Apache-2.0
// One piece of work in a session of its own, as in a `finally`: made, worked in, exported from, and gone. What run and with are.
//
//   return Job(call, Job::FirstWord::command).run([&](app::DisposableSession& session, JobDocument& outcome) { ... });
#pragma once

#include "app/disposable.hpp"
#include "app/exec.hpp"
#include "app/exports.hpp"
#include "cli/attached_exec.hpp"
#include "cli/command.hpp"
#include "cli/documents.hpp"
#include "cli/result_file.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace sandbox::cli {

// A session's own, --export, --on-failure and --result.
std::vector<Option> job_options();

class Job {
  public:
    // Whether a first word without `--` before it may be meant for docker's image.
    enum class FirstWord { command, perhaps_image };
    Job(Invocation& call, FirstWord first_word);
    // Does the work and tells how it ended: sets the outcome's result, exit code and error, or throws.
    using Work = std::function<void(app::DisposableSession& session, JobDocument& outcome)>;
    // The exit status of the call: the work's own, else 125 where an export or the clean-up failed.
    int run(const Work& work);

    // Whether what a command prints is to be kept for --json or --result.
    bool captures() const { return m_call.json() || m_result_file; }
    std::optional<CommandStreams>& streams() { return m_streams; }
    bool has_exports() const { return !m_exports_wanted.empty(); }

  private:
    enum class OnFailure { destroy, keep, shell };

    void prepare();
    void attempt(const Work& work);
    void bring_out();
    void finish();
    void forget_advice();
    void open_shell();
    void take(const Error& error);
    bool is_interrupted() const;
    void report();

    Invocation& m_call;
    FirstWord m_first_word;
    OnFailure m_on_failure = OnFailure::destroy;
    std::optional<ResultFile> m_result_file;
    domain::Manifest m_manifest;
    app::CreateOptions m_how;
    std::vector<app::ExportItem> m_exports_wanted;
    std::optional<app::DisposableSession> m_session;
    std::optional<CommandStreams> m_streams;
    std::vector<app::Exported> m_exports;
    bool m_has_ended = false; // the work, in whatever way
    std::optional<Error> m_interrupted; // while the exports were copied
    JobDocument m_outcome;
};

} // namespace sandbox::cli
