// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"

#include "engine/answers.hpp"
#include "engine/attached_stream.hpp"
#include "engine/client_impl.hpp"
#include "engine/requests.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

namespace sandbox::engine {

Client::Exec Client::exec(std::string_view container, const ExecSpec& spec) {
    const std::string context = "cannot run a program in container " + printable(container);
    const Response made = m_impl->post(object_path("containers", container, "exec"), create_exec_body(spec));
    expect_ok(made, context);
    Exec exec;
    exec.id = parse_created(made.body).id;

    Request request{.method = "POST", .target = object_path("exec", exec.id, "start"), .body = start_exec_body(spec.tty)};
    request.headers = {{"Connection", "Upgrade"}, {"Upgrade", "tcp"}};
    request.header_timeout = m_impl->transport.timeouts().slow_header;
    Exchange exchange = m_impl->open(std::move(request));
    // Podman and some proxies answer 200 where docker answers 101.
    const int status = exchange.head.status;
    if (status != 101 && status != 200) throw failure(m_impl->transport.finish(std::move(exchange)), context);
    if (exchange.head.find("Transfer-Encoding") || exchange.head.find("Content-Length")) {
        throw Error(ErrorCode::protocol_error, context + ": something between here and the engine does not pass streams on");
    }
    const std::string first_bytes = exchange.connection->take_buffered();
    exec.stream = std::make_unique<AttachedStream>(exchange.connection->take_socket(), first_bytes,
                                                   spec.tty ? AttachedStream::Framing::raw : AttachedStream::Framing::frames);
    return exec;
}

int Client::exec_exit_code(std::string_view exec_id, std::chrono::milliseconds deadline) {
    const std::string path = object_path("exec", exec_id, "json");
    for (Backoff backoff(deadline);; backoff.pause()) {
        const Response response = m_impl->get(path);
        // An engine that was started again knows no exec of before; that is no exit status.
        if (!response.ok()) {
            throw Error(ErrorCode::engine_error, "no exit status from the engine: " + failure_text(response));
        }
        if (const auto status = parse_exec_status(response.body)) return *status;
        if (backoff.is_over()) {
            throw Error(ErrorCode::engine_error, "no exit status from the engine within " + format_duration(deadline));
        }
    }
}

} // namespace sandbox::engine
