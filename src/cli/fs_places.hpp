// SPDX-License-Identifier: Apache-2.0
// The words of the file tools: S:PATH, or with -l a PATH in each session that is selected.
//
//   Places places(call); places.each([&](const app::Location& place) { app::remove_file(call.context(), place, options); });
#pragma once

#include "app/copy.hpp"
#include "cli/command.hpp"
#include "cli/files_documents.hpp"

#include <functional>
#include <string>
#include <vector>

namespace sandbox::cli {

// Throws usage for a word that names no session.
app::Location place_in_session(const std::string& word);
// As it was named, or would be: "web:out/report.md".
std::string name_of_place(const app::Location& place);

class Places {
  public:
    // All words of a call. Throws usage before anything is done.
    explicit Places(Invocation& call);
    // Whether exactly one was named: its error is the command's.
    bool is_one() const { return m_is_one; }
    // Does it for all of them, whatever fails, and prints the errors of those that fail. Throws interrupted, and everything where is_one().
    void each(const std::function<void(const app::Location&)>& act);
    const FailedPlaces& failures() const { return m_failures; }
    // The exit status: that of the first error.
    int status() const { return m_failures.empty() ? 0 : m_failures.front().second.exit_status(); }

  private:
    std::vector<app::Location> m_places;
    bool m_is_one = false;
    FailedPlaces m_failures;
};

} // namespace sandbox::cli
