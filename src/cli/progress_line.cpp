// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_line.hpp"

#include "cli/human_size.hpp"
#include "util/terminal.hpp"
#include "util/time.hpp"

#include <string>
#include <string_view>
#include <unistd.h>

namespace sandbox::cli {
namespace {

constexpr std::int64_t k_patience_ms = 500;
constexpr std::int64_t k_interval_ms = 200;

// What cannot be written is only a notice.
void draw(std::string_view text) { [[maybe_unused]] const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size()); }

} // namespace

ProgressLine::ProgressLine(bool wanted)
    : m_enabled(wanted && is_terminal(STDERR_FILENO)), m_started(boot_now_ms()), m_next(m_started + k_patience_ms) {}

ProgressLine::~ProgressLine() {
    if (m_is_shown) draw("\r\x1b[K");
}

void ProgressLine::add(std::uint64_t bytes) {
    m_bytes += bytes;
    if (!m_enabled) return;
    const std::int64_t now = boot_now_ms();
    if (now < m_next) return;
    m_next = now + k_interval_ms;
    m_is_shown = true;
    const double seconds = static_cast<double>(now - m_started) / 1000;
    const auto amount = static_cast<double>(m_bytes);
    draw("\r\x1b[K" + human_size(amount) + " copied, " + human_size(amount / seconds) + "/s");
}

} // namespace sandbox::cli
