// SPDX-License-Identifier: Apache-2.0
#include "app/past.hpp"

#include "app/sessions.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

namespace sandbox::app {

std::string what_became_of(const state::SessionRow& row) {
    const bool has_expired = row.state == state::SessionState::expired;
    const std::int64_t ended_ms = has_expired ? expired_ms(row, row.closed_ms).value_or(row.closed_ms) : row.closed_ms;
    std::string text = "session " + quoted(row.name.empty() ? row.id : row.name) +
                       (has_expired ? " expired at " : " was destroyed at ") + format_rfc3339(ended_ms);
    if (!row.reason.empty()) text += " (" + printable(row.reason) + ")";
    return text;
}

} // namespace sandbox::app
