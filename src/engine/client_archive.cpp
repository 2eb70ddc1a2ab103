// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"

#include "engine/client_impl.hpp"
#include "util/text.hpp"

#include <vector>

namespace sandbox::engine {
namespace {

std::string archive_path(std::string_view container, std::string_view path) {
    return object_path("containers", container, "archive") + "?path=" + percent_encode(path);
}

// 404 stands for a missing container and for a missing path in it; the words differ between versions, and Podman's are the kernel's.
bool is_missing_path(const Response& response) {
    if (is_absent(response, "no such file or directory")) return true;
    if (response.status != 404 || !is_absent(response, "container")) return false;
    const std::string words = failure_text(response);
    return words.find("o such container:path") != std::string::npos || words.find("o such container") == std::string::npos;
}

} // namespace

void Client::put_archive(std::string_view container, std::string_view path, std::string_view tar) {
    Request request{.method = "PUT", .target = archive_path(container, path), .body = std::string(tar),
                    .content_type = "application/x-tar"};
    request.header_timeout = m_impl->transport.timeouts().slow_header;
    expect_ok(m_impl->call(std::move(request)), "cannot write to " + printable(path) + " of container " + printable(container));
}

bool Client::get_archive(std::string_view container, std::string_view path,
                         const std::function<void(std::string_view)>& sink) {
    const std::string context = "cannot read " + printable(path) + " of container " + printable(container);
    Request request{.method = "GET", .target = archive_path(container, path)};
    request.header_timeout = m_impl->transport.timeouts().slow_header;
    Exchange exchange = m_impl->open(std::move(request));
    if (exchange.head.status != 200) {
        const Response response = m_impl->transport.finish(std::move(exchange));
        if (is_missing_path(response)) return false;
        throw failure(response, context);
    }
    HttpBody body(*exchange.connection, exchange.head, m_impl->transport.timeouts().header, ErrorCode::protocol_error);
    if (!body.is_delimited()) throw Error(ErrorCode::protocol_error, context + ": the answer does not say where it ends");
    std::vector<char> bytes(256 << 10);
    for (;;) {
        std::size_t count = 0;
        try {
            count = body.read(bytes);
        } catch (Error& error) {
            throw m_impl->transport.located(error.context(context));
        }
        if (count == 0) return true;
        sink({bytes.data(), count});
    }
}

} // namespace sandbox::engine
