// SPDX-License-Identifier: Apache-2.0
#include "channel/connection.hpp"

#include "util/text.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sandbox::channel {
namespace {

constexpr timeval k_connect_patience{2, 0};
constexpr Milliseconds k_ask_patience{500}; // before somebody else is asked whether the agent can answer
constexpr timeval k_send_patience{30, 0}; // without one byte taken

// A path through the descriptor is short whatever the directory's own path is; sun_path holds 107 bytes.
sockaddr_un address_in(int directory, std::string_view name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + std::string(name);
    std::copy_n(path.begin(), std::min(path.size(), sizeof address.sun_path - 1), address.sun_path);
    return address;
}

std::unique_ptr<Stream> dial_socket(const std::string& session_directory) {
    const Fd directory = open_directory(session_directory);
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // A frozen agent accepts nothing, and once its backlog is full connect(2) would wait for ever.
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &k_connect_patience, sizeof k_connect_patience);
    if (!directory || connect_in(socket.get(), directory.get(), k_agent_socket) != 0) {
        const std::string why = errno_error("its agent cannot be reached").message();
        throw Error(ErrorCode::session_unreachable, why).hint("sandbox inspect shows what became of the session");
    }
    // So would a send of more than the socket holds.
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &k_send_patience, sizeof k_send_patience);
    return std::make_unique<SocketStream>(std::move(socket));
}

Error lost() { return {ErrorCode::session_unreachable, "the session's agent ended the connection"}; }

// What an agent says before it hangs up is worth more than the failed write.
void try_write(agent::FramedStream& connection, std::string_view bytes) {
    try {
        connection.write(bytes);
    } catch (const Error&) {
        // Reading goes on and finds the reason, or the end of the stream.
    }
}

bool is_silent_for(agent::FramedStream& connection, Milliseconds time) {
    pollfd readable{connection.fd(), POLLIN, 0};
    return !connection.stream().buffered() && ::poll(&readable, 1, static_cast<int>(time.count())) == 0;
}

} // namespace

Fd open_directory(const std::string& path) { return Fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); }

int bind_in(int fd, int directory, std::string_view name) {
    const sockaddr_un address = address_in(directory, name);
    return ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

int connect_in(int fd, int directory, std::string_view name) {
    const sockaddr_un address = address_in(directory, name);
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

Link socket_link(const std::string& session_directory) {
    return {[session_directory] { return dial_socket(session_directory); }, {}, {}};
}

Error broken_protocol(std::string_view what) {
    return {ErrorCode::protocol_error, "the session's agent broke the protocol: " + printable(what)};
}

Error agent_failure(std::string_view payload) {
    const agent::FailureMessage failure = agent::decode_failure(payload);
    for (const ErrorCode code : {ErrorCode::denied, ErrorCode::no_capacity, ErrorCode::protocol_error, ErrorCode::not_found, ErrorCode::exists,
                                 ErrorCode::limit_exceeded, ErrorCode::busy, ErrorCode::aborted}) {
        if (failure.code == error_code_name(code)) return {code, printable(failure.text)};
    }
    return {ErrorCode::failed, printable(failure.text)};
}

agent::FrameView read_before(agent::FramedStream& connection, std::int64_t until) {
    try {
        for (;;) {
            if (const auto frame = connection.buffered_view()) {
                if (frame->type == agent::FrameType::failure) throw agent_failure(frame->payload);
                return *frame;
            }
            const std::int64_t left = until - boot_now_ms();
            pollfd readable{connection.fd(), POLLIN, 0};
            if (!connection.stream().buffered() && ::poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) <= 0) {
                if (left > 0) continue;
                throw Error(ErrorCode::session_unreachable, "the session's agent does not answer");
            }
            if (!connection.fill()) throw lost();
        }
    } catch (const agent::CutStream&) {
        throw lost();
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    } catch (const Error& error) {
        if (error.code() == ErrorCode::io_error) throw lost();
        throw;
    }
}

agent::HelloMessage read_hello(agent::FramedStream& connection, std::int64_t until) {
    const agent::FrameView frame = read_before(connection, until);
    if (frame.type != agent::FrameType::hello) throw broken_protocol("no hello");
    try {
        agent::HelloMessage hello = agent::decode_hello(frame.payload);
        if (hello.version < agent::k_oldest_protocol_version) throw broken_protocol("its version is too old");
        return hello;
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    }
}

Milliseconds hello_patience(const Link& link) { return link.secret.empty() ? k_hello_patience : k_bridge_hello_patience; }

agent::HelloMessage await_hello(agent::FramedStream& connection, const Link& link, std::optional<Milliseconds> patience) {
    const std::int64_t start = boot_now_ms();
    const Milliseconds first = hello_patience(link);
    const Milliseconds longest = link.on_silence ? k_longest_hello_patience : first;
    const Milliseconds whole = std::min(longest, patience.value_or(longest));
    const Milliseconds before_asking = std::min(first, k_ask_patience);
    if (link.on_silence && whole > before_asking && is_silent_for(connection, before_asking)) link.on_silence();
    try {
        return read_hello(connection, start + whole.count());
    } catch (const Error& error) {
        // Into a container that is just ending, an engine says in the stream itself why it cannot start the bridge.
        if (link.secret.empty() || error.code() != ErrorCode::protocol_error) throw;
        throw Error(ErrorCode::session_unreachable, "the engine could not start a bridge to the session's agent");
    }
}

agent::FramedStream open_connection(const Link& link, agent::Operation operation, std::string_view request,
                                    std::optional<Milliseconds> patience) {
    agent::FramedStream connection(link.dial());
    agent::OpenMessage open{agent::k_oldest_protocol_version, operation, {}};
    if (link.secret.empty()) {
        try_write(connection, agent::encode(open).append(request));
        await_hello(connection, link, patience);
        return connection;
    }
    const agent::HelloMessage hello = await_hello(connection, link, patience);
    open.proof = as_view(agent::open_proof(link.secret, hello.nonce, operation));
    try_write(connection, agent::encode(open).append(request));
    return connection;
}

TreeConnection open_tree_connection(const Link& link, agent::Operation operation, const std::function<std::string(std::uint32_t)>& request,
                                    std::uint32_t newest) {
    agent::FramedStream connection(link.dial());
    const agent::HelloMessage hello = await_hello(connection, link, std::nullopt);
    agent::OpenMessage open{std::min(hello.version, newest), operation, {}};
    if (!link.secret.empty()) open.proof = as_view(agent::open_proof(link.secret, hello.nonce, operation));
    try_write(connection, agent::encode(open).append(request(open.version)));
    return {std::move(connection), open.version};
}

agent::FramedStream open_live_connection(const Link& link, agent::Operation operation, std::string_view request) {
    const auto check = [&](std::uint32_t version) {
        if (version >= agent::k_live_version) return std::string(request);
        throw Error(ErrorCode::failed, "this session was made by an older sandbox, whose agent cannot do that").hint("a session that is created now can");
    };
    return open_tree_connection(link, operation, check).stream;
}

} // namespace sandbox::channel
