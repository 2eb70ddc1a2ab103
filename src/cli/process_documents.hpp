// SPDX-License-Identifier: Apache-2.0
// The JSON of managed processes: documents, and the lines of their logs.
//
//   print_out(processes_document(processes));
//   LogLines lines; print_out(lines.add("p1", "web", piece)); print_out(lines.finish());
#pragma once

#include "channel/managed.hpp"
#include "channel/managed_log.hpp"
#include "util/error.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sandbox::cli {

std::string processes_document(const std::vector<channel::ManagedProcess>& processes);
// Of start and wait: one process, how this command ends, and why it did not go well. Without a process its fields are null.
struct ProcessDocument {
    std::optional<channel::ManagedProcess> process;
    std::optional<bool> ready; // start: absent when nothing was waited for
    std::optional<Error> error;
};
std::string started_document(const ProcessDocument& document);
std::string waited_document(const ProcessDocument& document);
using StopFailures = std::vector<std::pair<std::string, Error>>;
std::string stopped_document(const std::vector<channel::ManagedProcess>& stopped, const StopFailures& failures);

// Of one whose log went with its keeper, among the lines of the others.
std::string lost_log_line(const channel::ManagedProcess& process);

// A log as one object a line: text where it is text, base64 where it is not. A character that a piece ends in the middle of is kept back
// for the next one; `next` counts what is in the line, so whoever goes on from there misses nothing.
class LogLines {
  public:
    std::string add(const channel::ManagedProcess& process, const channel::LogPiece& piece);
    // What is kept back still.
    std::string finish();

  private:
    struct Held {
        std::string name;
        channel::OutputStream stream = channel::OutputStream::out;
        std::uint64_t offset = 0;
        std::int64_t time_ms = 0;
        std::string bytes; // at most three
    };
    std::map<std::string, Held> m_held; // by process id
};

} // namespace sandbox::cli
