// SPDX-License-Identifier: Apache-2.0
// The session's secret in PID 1's memory: on a page of its own that no forked process inherits, so that neither a worker nor a
// command can be made to give it away.
//
//   secret.set(message.secret); if (secret.proves(open_proof(secret.view(), ...))) ...
#pragma once

#include <cstddef>
#include <string_view>

namespace sandbox::agent {

class Secret {
  public:
    static constexpr std::size_t k_max_size = 64;

    Secret();
    Secret(const Secret&) = delete;
    Secret& operator=(const Secret&) = delete;
    ~Secret();
    // False when it is too long.
    bool set(std::string_view bytes);
    std::string_view view() const { return {m_page, m_size}; }
    bool is_set() const { return m_size > 0; }

  private:
    char* m_page = nullptr;
    std::size_t m_size = 0;
};

} // namespace sandbox::agent
