// SPDX-License-Identifier: Apache-2.0
// A session for one piece of work: it is gone at the end of the scope, and when this process dies, killed or not, the agent
// ends it at once. What `run` and `with` stand on.
//
//   DisposableSession session(context, manifest, options);
//   ... session.made().row ...
//   session.end();
#pragma once

#include "app/create.hpp"

#include <optional>

namespace sandbox::app {

class DisposableSession {
  public:
    // Throws what create_session() throws.
    DisposableSession(Context& context, domain::Manifest manifest, CreateOptions options);
    DisposableSession(const DisposableSession&) = delete;
    DisposableSession& operator=(const DisposableSession&) = delete;
    // Ends it, if that has not been done, and tells nobody of a failure: gc finds what is left.
    ~DisposableSession();

    const CreatedSession& made() const { return m_made; }
    const domain::Manifest& manifest() const { return m_manifest; }
    // Readable when the session has ended by itself.
    int ended_fd() const { return m_made.creator->poll_fd(); }
    // Destroys it. Throws cleanup_failed or engine_unreachable with what is left.
    void end();
    // Lets it live on, as if `create` had made it. Throws session_gone.
    void keep();

  private:
    Context& m_context;
    domain::Manifest m_manifest;
    CreatedSession m_made;
    bool m_is_over = false;
};

} // namespace sandbox::app
