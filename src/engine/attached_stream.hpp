// SPDX-License-Identifier: Apache-2.0
// The socket of an attached exec after the upgrade: reads are its standard output, writes its standard input.
//
//   AttachedStream stream(connection.take_socket(), connection.take_buffered(), AttachedStream::Framing::frames);
#pragma once

#include "engine/client.hpp"
#include "engine/demultiplexer.hpp"
#include "engine/socket.hpp"

#include <memory>
#include <string>

namespace sandbox::engine {

class AttachedStream final : public ExecStream {
  public:
    // What comes back is decided by what was asked for (a terminal gives raw bytes), never guessed from the bytes.
    enum class Framing { frames, raw };

    // `first_bytes` came with the header.
    AttachedStream(std::unique_ptr<Socket> socket, std::string_view first_bytes, Framing framing);

    // Throws protocol_error for a cut frame, engine_unreachable for a reset connection.
    std::size_t read(std::span<char> buffer) override;
    // Takes in up to 8 MiB of output while the other side does not read, so that two full pipes are no deadlock;
    // protocol_error beyond. A side that is gone is engine_unreachable.
    void write(std::string_view bytes) override;
    void shutdown_write() override;
    int poll_fd() const override { return m_socket->fd(); }
    bool buffered() const override { return m_given < m_output.size() || m_ended || m_socket->has_pending(); }
    std::string stderr_tail() const override { return m_demultiplexer.stderr_tail(); }

  private:
    void take_in(std::string_view bytes);
    // Receives once if something is there.
    void receive();
    std::size_t waiting() const { return m_output.size() - m_given; }

    std::unique_ptr<Socket> m_socket;
    Framing m_framing;
    Demultiplexer m_demultiplexer;
    std::string m_output;
    std::size_t m_given = 0;
    bool m_ended = false;
};

} // namespace sandbox::engine
