// SPDX-License-Identifier: Apache-2.0
// export.scan: a command of the caller's that sees each file before it leaves a session. It gets the content on its standard input;
// status 0 lets the file pass, anything else (not being there included) keeps the whole copy from its destination.
//
//   const ExportScan scan(session.manifest); if (scan.is_set()) options.inspect = scan.inspector([&] { interrupt.check(); });
#pragma once

#include "domain/manifest.hpp"

#include <functional>
#include <string>
#include <vector>

namespace sandbox::app {

// The extensions of a manifest whose scan was lost: nothing passes it.
std::string lost_scan_json();

class ExportScan {
  public:
    explicit ExportScan(const domain::Manifest& manifest);
    bool is_set() const { return !m_command.empty(); }
    // For channel::GetOptions. `check` is called while the command works. Throws denied, naming the file and what the command said.
    std::function<void(int directory, const std::string& name)> inspector(std::function<void()> check) const;

  private:
    std::vector<std::string> m_command;
};

} // namespace sandbox::app
