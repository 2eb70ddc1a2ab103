// SPDX-License-Identifier: Apache-2.0
#include "channel/agent_client.hpp"
#include "channel/connection.hpp"
#include "channel/tree_transfer.hpp"
#include "util/error.hpp"
#include "util/tar_decoder.hpp"
#include "util/tar_encoder.hpp"
#include "util/tree_path.hpp"
#include "util/tree_relay.hpp"

#include <memory>

namespace sandbox::channel {
namespace {

using agent::Operation;

constexpr std::size_t k_read_size = 256 << 10;

std::string put_request(const ArchivePutOptions& options, std::uint32_t version) {
    if (version < agent::k_rich_trees_version) {
        throw Error(ErrorCode::failed, "this session was made by an older sandbox, whose agent takes no archives")
            .hint("a session that is created now does");
    }
    agent::PutMessage message;
    message.target = options.target;
    message.make_parents = options.make_parents;
    message.max_file = options.max_file;
    message.is_archive = true;
    return agent::encode(message);
}

// The archive's own root: what is at the target keeps its mode.
TreeRecord root_record() {
    TreeRecord root;
    root.type = TreeType::directory;
    root.mode_is_default = true;
    root.mode = 0755;
    return root;
}

} // namespace

TransferStats put_archive(const Link& link, const ArchiveInput& input, const ArchivePutOptions& options) {
    auto [connection, version] = open_tree_connection(link, Operation::put_tree, [&](std::uint32_t spoken) { return put_request(options, spoken); });
    TreeUpload to(connection, options.progress);
    return upload(to, [&] {
        TarDecoder decoder(options.max_file);
        TreeRelay relay(to.encoder());
        to.encoder().record(root_record());
        to.encoder().flush(); // so that a target which takes nothing is known before all is read
        const std::function<void(int)> wait_readable = [&](int fd) { to.wait_for_input(fd); };
        const std::unique_ptr<char[]> buffer(new char[k_read_size]);
        // To the end of the input, past the archive's end mark: its writer is not to be hurt by a pipe that closes early.
        for (;;) {
            const std::size_t count = input({buffer.get(), k_read_size}, wait_readable);
            if (count == 0) break;
            decoder.feed({buffer.get(), count}, relay);
        }
        decoder.finish();
        to.finish();
        return TransferStats{relay.counts().files, relay.counts().bytes, decoder.skipped()};
    });
}

TransferStats get_archive(const Link& link, const ArchiveGetOptions& options) {
    InterruptWatch interrupts;
    const std::string name = means_contents(options.source) ? "" : base_name(options.source);
    auto [connection, version] = open_tree_connection(link, Operation::get_tree, [&](std::uint32_t) {
        return agent::encode(agent::GetMessage{options.source, options.max_file, options.follow_link});
    });
    const auto wait_writable = [&](int fd) {
        wait_writable_or_interrupted(fd, interrupts);
        return true;
    };
    TarEncoder archive([&](std::string_view bytes) { options.write(bytes, wait_writable); }, name.empty() ? "." : name);
    TreeDecoder decoder(true, options.max_file);
    const auto done = download_tree(connection, decoder, archive, interrupts, options.progress);
    archive.finish();
    return {archive.counts().files, archive.counts().bytes, done.skipped};
}

} // namespace sandbox::channel
