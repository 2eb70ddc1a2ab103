// SPDX-License-Identifier: Apache-2.0
#include "channel/tree_transfer.hpp"

#include "agent/messages.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>

namespace sandbox::channel {
namespace {

using agent::FrameType;
using agent::FrameView;

// Small enough to fit whole where poll(2) says that a socket is writable, so that a write never blocks for long.
constexpr std::size_t k_piece = 64 << 10;
constexpr int k_abandon_ms = 2000;

constexpr std::array k_remote_codes{ErrorCode::io_error, ErrorCode::protocol_error, ErrorCode::not_found,
                                    ErrorCode::exists,   ErrorCode::conflict,       ErrorCode::denied,
                                    ErrorCode::no_space, ErrorCode::limit_exceeded};

Error connection_lost() {
    return {ErrorCode::session_unreachable, "the connection to the session ended in the middle of the copy"};
}

Error broken_protocol(std::string_view what) {
    return {ErrorCode::protocol_error, "the session's agent broke the protocol: " + std::string(what)};
}

agent::DoneMessage expect_done(agent::FramedStream& connection, InterruptWatch& interrupts) {
    const FrameView frame = next_frame(connection, interrupts);
    if (frame.type != FrameType::done) throw broken_protocol("unexpected frame");
    return agent::decode_done(frame.payload);
}

} // namespace

Error remote_error(std::string_view payload) {
    const auto failure = agent::decode_failure(payload);
    const std::string text = printable(std::string_view(failure.text).substr(0, agent::k_max_failure_text));
    const auto code = std::find_if(k_remote_codes.begin(), k_remote_codes.end(),
                                   [&](ErrorCode candidate) { return error_code_name(candidate) == failure.code; });
    return {code == k_remote_codes.end() ? ErrorCode::failed : *code, text};
}

FrameView next_frame(agent::FramedStream& connection, InterruptWatch& interrupts) {
    for (;;) {
        if (const auto frame = connection.buffered_view()) {
            if (frame->type == FrameType::failure) throw remote_error(frame->payload);
            return *frame;
        }
        wait_for(connection, Wanted::readable, interrupts);
        bool is_open = false;
        try {
            is_open = connection.fill();
        } catch (const agent::WireError&) {
            throw connection_lost();
        } catch (const Error&) {
            throw connection_lost();
        }
        if (!is_open) throw connection_lost();
    }
}

TreeUpload::TreeUpload(agent::FramedStream& connection, Progress progress)
    : DataUpload(connection, std::move(progress)), m_encoder([this](std::string_view chunk) { send(chunk); }) {}

void DataUpload::send(std::string_view chunk) {
    write(agent::frame_header(FrameType::data, chunk.size()));
    write(chunk);
    if (m_progress) m_progress(chunk.size());
}

void DataUpload::write(std::string_view bytes) {
    while (!bytes.empty()) {
        if (wait_for(m_connection, Wanted::writable, m_interrupts) != Ready::writable) explain_end();
        const auto piece = bytes.substr(0, k_piece);
        try {
            m_connection.stream().write(piece);
        } catch (const Error&) {
            explain_end();
        }
        bytes.remove_prefix(piece.size());
    }
}

void DataUpload::wait_for_input(int fd) {
    for (;;) {
        pollfd watched[3] = {{fd, POLLIN, 0}, {m_connection.fd(), POLLIN, 0}, {m_interrupts.fd(), POLLIN, 0}};
        if (::poll(watched, 3, -1) < 0 && errno != EINTR) throw errno_error("cannot wait for the input");
        if (watched[2].revents != 0) m_interrupts.check();
        if (watched[1].revents != 0) explain_end();
        if (watched[0].revents != 0) return;
    }
}

void DataUpload::explain_end() {
    try {
        next_frame(m_connection, m_interrupts);
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    }
    throw broken_protocol("a frame in the middle of a tree");
}

std::string DataUpload::end(agent::FrameType last) {
    send({});
    try {
        const FrameView frame = next_frame(m_connection, m_interrupts);
        if (frame.type != last) throw broken_protocol("unexpected frame");
        return std::string(frame.payload);
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    }
}

agent::DoneMessage TreeUpload::finish() {
    encoder().flush();
    const std::string payload = end(FrameType::done);
    try {
        return agent::decode_done(payload);
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    }
}

void DataUpload::abandon() noexcept {
    try {
        m_connection.stream().shutdown_write();
        char buffer[4096];
        while (wait_for(m_connection, Wanted::readable, m_interrupts, k_abandon_ms) == Ready::readable) {
            if (m_connection.stream().read(buffer) == 0) return;
        }
    } catch (const std::exception&) {
        // The error that led here is the one to tell.
    }
}

agent::DoneMessage download(agent::FramedStream& connection, const std::function<void(std::string_view)>& take,
                            const std::function<void()>& finish, InterruptWatch& interrupts) {
    try {
        for (;;) {
            const FrameView frame = next_frame(connection, interrupts);
            if (frame.type != FrameType::data) throw broken_protocol("unexpected frame");
            if (frame.payload.empty()) break;
            take(frame.payload);
        }
        finish();
        return expect_done(connection, interrupts);
    } catch (const agent::WireError& error) {
        throw broken_protocol(error.what());
    }
}

agent::DoneMessage download_tree(agent::FramedStream& connection, TreeDecoder& decoder, TreeVisitor& visitor,
                                 InterruptWatch& interrupts, const Progress& progress) {
    const auto take = [&](std::string_view bytes) {
        decoder.feed(bytes, visitor);
        if (progress) progress(bytes.size());
    };
    return download(connection, take, [&] { decoder.finish(); }, interrupts);
}

} // namespace sandbox::channel
