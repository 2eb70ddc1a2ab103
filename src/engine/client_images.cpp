// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"

#include "engine/answers.hpp"
#include "engine/client_impl.hpp"
#include "engine/credentials.hpp"
#include "engine/image_reference.hpp"
#include "engine/json_stream.hpp"
#include "util/text.hpp"

#include <array>

namespace sandbox::engine {
namespace {

// One line for each change of state, not for each percent.
class ProgressLines {
  public:
    explicit ProgressLines(const std::function<void(std::string_view)>& sink) : m_sink(sink) {}

    void add(const ProgressItem& item) {
        if (!m_sink || item.status.empty()) return;
        const std::string line = item.id.empty() ? item.status : item.id + ": " + item.status;
        if (std::exchange(m_last[item.id], line) != line) m_sink(printable(line));
    }

  private:
    const std::function<void(std::string_view)>& m_sink;
    std::map<std::string, std::string> m_last;
};

// Reads the stream to its end; the last status is an import's result. 200 is only the promise of a try: the error
// comes inside the stream.
std::string follow_progress(Exchange& exchange, std::chrono::milliseconds silence, std::string_view context,
                            const std::function<void(std::string_view)>& sink) {
    HttpBody body(*exchange.connection, exchange.head, silence, ErrorCode::engine_error);
    JsonStream stream;
    ProgressLines lines(sink);
    std::string last;
    std::array<char, 16384> bytes;
    const auto handle = [&](std::string_view object) {
        const ProgressItem item = parse_progress(object);
        if (!item.error.empty()) throw failure_from_text(item.error, context);
        lines.add(item);
        if (!item.status.empty()) last = item.status;
    };
    try {
        while (const std::size_t count = body.read(bytes)) stream.feed({bytes.data(), count}, handle);
        stream.finish();
    } catch (Error& error) {
        const bool is_ours = error.message().starts_with(context);
        throw is_ours ? error : Error(ErrorCode::engine_error, error.message()).hint(error.hint()).context(context);
    }
    if (!body.is_delimited()) throw Error(ErrorCode::engine_error, std::string(context) + ": the answer has no end");
    return last;
}

// The slashes of an image's name are part of the path.
std::string image_path(std::string_view reference) {
    parse_image_reference(reference);
    std::string path = "/images";
    for (const auto& segment : split(reference, '/')) path += "/" + percent_encode(segment);
    return path;
}

} // namespace

std::optional<ImageInfo> Client::inspect_image(std::string_view reference) {
    const Response response = m_impl->get(image_path(reference) + "/json");
    if (is_absent(response, "image")) return std::nullopt;
    expect_ok(response, "cannot inspect image " + printable(reference));
    return parse_image(response.body);
}

void Client::pull_image(std::string_view reference, const std::function<void(std::string_view)>& progress) {
    const ImageReference parts = parse_image_reference(reference);
    const std::string context = "cannot pull image " + printable(reference);
    const auto silence = m_impl->transport.timeouts().slow_header;
    // Without a tag an engine pulls every tag there is.
    const std::string& version = parts.digest.empty() ? parts.tag : parts.digest;
    Request request{.method = "POST",
                    .target = "/images/create?fromImage=" + percent_encode(parts.name) + "&tag=" + percent_encode(version)};
    request.header_timeout = silence;
    const std::string credentials = registry_auth_header(parts.registry);
    if (!credentials.empty()) request.headers.emplace_back("X-Registry-Auth", credentials);
    Exchange exchange = m_impl->open(std::move(request));
    if (exchange.head.status != 200) throw failure(m_impl->transport.finish(std::move(exchange)), context);
    follow_progress(exchange, silence, context, progress);
}

std::string Client::import_image(int archive_fd, const std::vector<std::string>& changes) {
    const std::string context = "cannot import the image";
    const auto silence = m_impl->transport.timeouts().slow_header;
    std::string target = "/images/create?fromSrc=-";
    for (const auto& change : changes) target += "&changes=" + percent_encode(change);
    Request request{.method = "POST", .target = target, .content_type = "application/x-tar"};
    request.upload_fd = archive_fd;
    request.header_timeout = silence;
    Exchange exchange = m_impl->open(std::move(request));
    if (exchange.head.status != 200) throw failure(m_impl->transport.finish(std::move(exchange)), context);
    const std::string id = follow_progress(exchange, silence, context, {});
    // Podman leaves the algorithm out.
    const std::string_view digits = std::string_view(id).substr(id.starts_with("sha256:") ? 7 : 0);
    if (digits.size() == 64 && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos) return "sha256:" + std::string(digits);
    throw Error(ErrorCode::engine_error, context + ": the engine does not say which one it has made");
}

void Client::tag_image(std::string_view id, std::string_view repository_tag) {
    const ImageReference parts = parse_image_reference(repository_tag);
    const Response response = m_impl->post(image_path(id) + "/tag?repo=" + percent_encode(parts.name) + "&tag=" + percent_encode(parts.tag));
    expect_ok(response, "cannot name the image " + printable(repository_tag));
}

bool Client::remove_image(std::string_view reference) {
    const Response response = m_impl->del(image_path(reference));
    if (is_absent(response, "image")) return false;
    expect_ok(response, "cannot remove image " + printable(reference));
    return true;
}

} // namespace sandbox::engine
