// SPDX-License-Identifier: Apache-2.0
#include "agent/files.hpp"

#include "agent/files_connection.hpp"
#include "agent/files_location.hpp"
#include "agent/files_messages.hpp"
#include "agent/files_place.hpp"
#include "agent/files_survey.hpp"
#include "agent/files_tools.hpp"
#include "agent/messages.hpp"
#include "util/error.hpp"
#include "util/text.hpp"
#include "util/tree_reader.hpp"
#include "util/tree_record.hpp"
#include "util/tree_walk.hpp"
#include "util/tree_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

namespace sandbox::agent {
namespace {

// How long the rest of a refused tree is read away for a client that has not yet seen why.
constexpr int k_drain_idle_ms = 5000;

void receive_records(WorkerConnection& connection, TreeDecoder& decoder, TreeVisitor& visitor) {
    for (;;) {
        const FrameView frame = expect_frame(connection);
        if (frame.type != FrameType::data) throw WireError("unexpected frame");
        if (frame.payload.empty()) return decoder.finish();
        decoder.feed(frame.payload, visitor);
    }
}

void send_done(WorkerConnection& connection, const TreeCounts& counts) {
    connection.write(encode(DoneMessage{counts.files, counts.bytes, counts.skipped}));
}

// An archive is unpacked into a directory that is there, as by every program that unpacks one.
void expect_directory(const Location& location) {
    if (!location.base.open(location.path, O_PATH | O_DIRECTORY)) throw path_error("cannot open directory", location.path);
}

// As for cp(1), a link at the target stands for what it names, if that is in the workdir and there.
TreeTarget resolve_target(const Location& location, TreeTargetRequest request, TreeType root) {
    struct stat info {};
    const Fd entry = location.base.open(location.path, O_PATH | O_NOFOLLOW);
    const bool is_link = entry && ::fstat(entry.get(), &info) == 0 && S_ISLNK(info.st_mode);
    if (!is_link || location.base.open(location.path, O_PATH | O_DIRECTORY)) return resolve_tree_target(location.base, request, root);
    Place place = find_place(location, Links::followed);
    if (!place.there) throw Error(ErrorCode::conflict, quoted(request.path) + " is a link that leads nowhere");
    request.path = place.name;
    return resolve_tree_target(PathBase::beneath(std::move(place.directory), {}), request, root);
}

void put_tree(WorkerConnection& connection, const SessionContext& context) {
    const PutMessage message = decode_put(expect_payload(connection, FrameType::put));
    if (!message.source_name.empty() && (!is_safe_tree_path(message.source_name) || message.source_name.find('/') != std::string::npos)) {
        throw WireError("bad source name");
    }
    const Location location = locate(context.workdir, message.target);
    const TreeTargetRequest request{location.path, message.source_name, message.must_be_directory, message.make_parents};
    const auto resolve = [&](TreeType root) {
        if (message.is_archive && !message.make_parents) expect_directory(location);
        return resolve_target(location, request, root);
    };
    TreeWriter writer(resolve, 07777, message.is_archive ? TreeOrder::any : TreeOrder::parents_first);
    TreeDecoder decoder(true, message.max_file);
    try {
        receive_records(connection, decoder, writer);
        send_done(connection, writer.publish());
    } catch (Error& error) {
        error.context("cannot copy to \"" + printable(message.target) + "\"");
        throw;
    }
}

void put_entries(WorkerConnection& connection, const SessionContext& context) {
    const PathBase base = workdir_base(context.workdir);
    EntryWriter writer(base);
    TreeDecoder decoder(false);
    receive_records(connection, decoder, writer);
    send_done(connection, writer.counts());
}

void get_tree(WorkerConnection& connection, std::uint32_t version, const SessionContext& context) {
    const GetMessage message = decode_get(expect_payload(connection, FrameType::get));
    const Location location = locate(context.workdir, message.source);
    TreeSource source = open_tree_source(location.base, location.path, message.follow_link);
    source.name = message.source;
    TreeEncoder encoder([&](std::string_view chunk) { connection.write(FrameType::data, chunk); });
    TreeReadOptions options;
    options.max_file = message.max_file;
    options.links_and_xattrs = version >= k_rich_trees_version;
    const TreeCounts counts = read_tree(std::move(source), options, encoder);
    encoder.flush();
    connection.write(FrameType::data, {});
    send_done(connection, counts);
}

void list_names(WorkerConnection& connection, const SessionContext& context) {
    const ListMessage message = decode_list(expect_payload(connection, FrameType::list));
    const Location location = locate(context.workdir, message.directory.empty() ? "." : message.directory);
    const Fd directory = location.base.open(location.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!directory) throw path_error("cannot list", message.directory);
    NamesMessage names;
    list_directory_while(directory.get(), [&](const std::string& name, unsigned format) {
        if (name.starts_with(message.prefix)) names.names.push_back({name, format == S_IFDIR});
        return names.names.size() < k_max_names;
    });
    connection.write(encode(names));
}

void survey(WorkerConnection& connection, const SessionContext& context) {
    const SurveyMessage message = decode_survey(expect_payload(connection, FrameType::survey));
    const Location root = locate(context.workdir, ".");
    Fd directory = root.base.open(root.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!directory) throw path_error("cannot look into", context.workdir);
    TreeEncoder encoder([&](std::string_view chunk) { connection.write(FrameType::data, chunk); });
    const TreeCounts counts = take_inventory(std::move(directory), message, encoder);
    encoder.flush();
    connection.write(FrameType::data, {});
    send_done(connection, counts);
}

void serve(WorkerConnection& connection, Operation operation, std::uint32_t version, const SessionContext& context) {
    switch (operation) {
    case Operation::put_tree: return put_tree(connection, context);
    case Operation::put_entries: return put_entries(connection, context);
    case Operation::get_tree: return get_tree(connection, version, context);
    case Operation::list_names: return list_names(connection, context);
    case Operation::survey: return survey(connection, context);
    case Operation::files: return serve_files(connection, context);
    default: throw WireError("not a file operation");
    }
}

// A client that is blocked while it sends has not read the failure yet; closing on it could take the failure away, too.
void drain(WorkerConnection& connection) {
    connection.stream().shutdown_write();
    char buffer[64 << 10];
    for (;;) {
        pollfd readable{connection.fd(), POLLIN, 0};
        if (!connection.stream().buffered() && ::poll(&readable, 1, k_drain_idle_ms) <= 0) return;
        if (connection.stream().read(buffer) == 0) return;
    }
}

int fail(WorkerConnection& connection, std::string_view code, std::string_view text) {
    try {
        connection.write(encode(FailureMessage{std::string(code), std::string(text.substr(0, k_max_failure_text))}));
        drain(connection);
    } catch (const std::exception&) {
        // The client is gone.
    }
    return 1;
}

} // namespace

int run_file_worker(WorkerConnection& connection, Operation operation, std::uint32_t version, const SessionContext& context) {
    try {
        serve(connection, operation, version, context);
        return 0;
    } catch (const ClientGone&) {
        return 1;
    } catch (const Error& error) {
        return fail(connection, error_code_name(error.code()), error.message());
    } catch (const WireError& error) {
        return fail(connection, error_code_name(ErrorCode::protocol_error), error.what());
    } catch (const std::exception& error) {
        return fail(connection, error_code_name(ErrorCode::failed), error.what());
    }
}

} // namespace sandbox::agent
