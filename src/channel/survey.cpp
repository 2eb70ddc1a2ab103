// SPDX-License-Identifier: Apache-2.0
#include "channel/survey.hpp"

#include "channel/connection.hpp"
#include "channel/tree_transfer.hpp"
#include "util/error.hpp"

#include <algorithm>

namespace sandbox::channel {
namespace {

agent::SurveyMessage message_of(const SurveyOptions& options) {
    agent::SurveyMessage message;
    message.paths = options.paths;
    message.repositories = options.repositories;
    message.max_content = options.content.max_size;
    message.texts = options.content.texts;
    message.since_ns = options.content.since_ns;
    message.max_files = options.content.max_files;
    message.max_total = options.content.max_total;
    message.only_hashed = options.content.only.has_value();
    if (options.content.only) message.hashes = *options.content.only;
    message.max_entries = options.max_entries;
    message.max_ms = static_cast<std::uint32_t>(std::min<std::int64_t>(options.max_time.count(), UINT32_MAX));
    return message;
}

} // namespace

void survey(const Link& link, const SurveyOptions& options, const std::function<void(InventoryEntry&)>& each) {
    static_assert(k_max_survey_paths <= agent::k_max_survey_paths && k_max_survey_content <= agent::k_max_survey_hashes);
    InterruptWatch interrupts;
    const std::string request = agent::encode(message_of(options));
    auto [connection, version] = open_tree_connection(link, agent::Operation::survey, [&](std::uint32_t spoken) {
        if (spoken >= agent::k_survey_version) return request;
        throw Error(ErrorCode::failed, "this session was made by an older sandbox, whose agent cannot tell what changed")
            .hint("a session that is created now can");
    });
    InventoryDecoder decoder(options.content.max_size);
    InventoryEntry entry;
    std::uint64_t count = 0;
    const auto take = [&](std::string_view bytes) {
        while (decoder.next(bytes, entry)) {
            if (++count > options.max_entries) throw Error(ErrorCode::limit_exceeded, "there are too many files");
            each(entry);
        }
    };
    download(connection, take, [&] { decoder.finish(); }, interrupts);
}

} // namespace sandbox::channel
