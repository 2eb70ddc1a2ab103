// SPDX-License-Identifier: Apache-2.0
#include "app/disposable.hpp"

#include "app/destroy.hpp"

namespace sandbox::app {
namespace {

// Kept when it stops, a session whose creator was killed would be a leak.
domain::Manifest without_remains(domain::Manifest manifest) {
    manifest.lifecycle.auto_destroy = true;
    return manifest;
}

CreateOptions ending_with_creator(CreateOptions options) {
    options.ends_with_creator = true;
    return options;
}

} // namespace

DisposableSession::DisposableSession(Context& context, domain::Manifest manifest, CreateOptions options)
    : m_context(context), m_manifest(without_remains(std::move(manifest))),
      m_made(create_session(context, m_manifest, ending_with_creator(std::move(options)))) {}

DisposableSession::~DisposableSession() {
    try {
        end();
    } catch (const std::exception&) {
    }
}

void DisposableSession::end() {
    if (m_is_over) return;
    m_is_over = true;
    DestroySelection selection;
    selection.names = {m_made.row.id};
    const DestroyReport report = destroy_sessions(m_context, selection);
    m_made.creator.reset();
    if (!report.failures.empty()) throw Error(report.failures.front().error);
}

void DisposableSession::keep() {
    if (m_is_over) return;
    try {
        m_made.creator->write("k");
    } catch (const Error&) {
        throw Error(ErrorCode::session_gone, "the session has ended, and cannot be kept");
    }
    m_made.presence->remove_file();
    m_is_over = true;
    m_made.creator.reset();
}

} // namespace sandbox::app
