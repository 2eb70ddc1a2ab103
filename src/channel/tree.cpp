// SPDX-License-Identifier: Apache-2.0
#include "channel/agent_client.hpp"

#include "channel/connection.hpp"
#include "channel/tree_exclude.hpp"
#include "channel/tree_transfer.hpp"
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/tree_path.hpp"
#include "util/tree_reader.hpp"
#include "util/tree_relay.hpp"
#include "util/tree_writer.hpp"

namespace sandbox::channel {
namespace {

using agent::Operation;

// Coming out, setuid and setgid bits would hand the container's choice of program to the caller's own id.
constexpr std::uint32_t k_host_mode_mask = 01777;

TreeRecord record_of(const Entry& entry) {
    TreeRecord record;
    record.path = entry.path;
    record.mode_is_default = !entry.mode;
    record.mode = entry.mode.value_or(entry.kind == Entry::Kind::directory ? 0755 : 0644);
    switch (entry.kind) {
    case Entry::Kind::file:
        record.size = entry.content.size();
        break;
    case Entry::Kind::directory: record.type = TreeType::directory; break;
    case Entry::Kind::symlink:
        record.type = TreeType::symlink;
        record.link = entry.content;
        break;
    }
    return record;
}

std::string put_request(const PutOptions& options) {
    return agent::encode(agent::PutMessage{options.target, options.source_name, options.target_must_be_directory, options.make_parents,
                                           options.max_file});
}

} // namespace

TransferStats put_tree(const Link& link, const std::string& source_path, const PutOptions& options) {
    TreeSource source = open_tree_source(PathBase::anywhere(), source_path);
    if (options.mode && source.type == TreeType::file) source.root.mode = *options.mode;
    TreeReadOptions read_options;
    read_options.max_file = options.max_file;
    read_options.exclude = exclude_matcher(options.exclude);
    auto [connection, version] = open_tree_connection(link, Operation::put_tree, [&](std::uint32_t) { return put_request(options); });
    read_options.links_and_xattrs = version >= agent::k_rich_trees_version;
    TreeUpload to(connection, options.progress);
    return upload(to, [&] {
        const TreeCounts read = read_tree(std::move(source), read_options, to.encoder());
        to.finish();
        return TransferStats{read.files, read.bytes, read.skipped};
    });
}

void put_entries(const Link& link, std::span<const Entry> entries) {
    agent::FramedStream connection = open_connection(link, Operation::put_entries);
    TreeUpload to(connection);
    upload(to, [&] {
        for (const Entry& entry : entries) {
            to.encoder().record(record_of(entry));
            if (entry.kind == Entry::Kind::file) to.encoder().bytes(entry.content);
        }
        return to.finish();
    });
}

TransferStats get_tree(const Link& link, const GetOptions& options) {
    const PathBase base = PathBase::anywhere();
    TreeTargetRequest request;
    request.path = options.target;
    if (!means_contents(options.source)) request.source_name = base_name(options.source);
    InterruptWatch interrupts;
    const std::string message = agent::encode(agent::GetMessage{options.source, options.max_file, options.follow_link});
    auto [connection, version] = open_tree_connection(link, Operation::get_tree, [&](std::uint32_t) { return message; });
    TreeWriter writer([&](TreeType root) { return resolve_tree_target(base, request, root); }, k_host_mode_mask);
    TreeDecoder decoder(true, options.max_file);
    const auto done = download_tree(connection, decoder, writer, interrupts, options.progress);
    const TreeCounts made = writer.publish(options.inspect);
    return {made.files, made.bytes, done.skipped};
}

TransferStats copy_tree(const Link& from, const Link& to, const RelayOptions& options) {
    TreeConnection target = open_tree_connection(to, Operation::put_tree, [&](std::uint32_t) { return put_request(options.put); });
    const std::string message = agent::encode(agent::GetMessage{options.source, options.put.max_file, options.follow_link});
    TreeConnection source = open_tree_connection(from, Operation::get_tree, [&](std::uint32_t) { return message; }, target.version);
    TreeUpload out(target.stream, options.put.progress);
    return upload(out, [&] {
        TreeDecoder decoder(true, options.put.max_file);
        TreeRelay relay(out.encoder());
        const auto done = download_tree(source.stream, decoder, relay, out.interrupts());
        out.finish();
        return TransferStats{relay.counts().files, relay.counts().bytes, done.skipped};
    });
}

} // namespace sandbox::channel
