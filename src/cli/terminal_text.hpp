// SPDX-License-Identifier: Apache-2.0
// A file's text as a terminal may have it: lines and tabs stay, what a terminal would obey is shown instead (printable()).
//
//   TerminalText text; print_out(text.add(bytes)); print_out(text.finish());
#pragma once

#include <string>
#include <string_view>

namespace sandbox::cli {

std::string for_terminal(std::string_view text);

// The same for text that comes in pieces, which may be cut within a character.
class TerminalText {
  public:
    std::string add(std::string_view bytes);
    std::string finish() { return for_terminal(m_held); }

  private:
    std::string m_held;
};

} // namespace sandbox::cli
