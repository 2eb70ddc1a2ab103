// SPDX-License-Identifier: Apache-2.0
// Takes apart the frames in which an engine sends standard output and error of an exec without a terminal: one byte
// stream id, three zeros, a big-endian length, the payload (ContainerAttach in the API's reference).
//
//   demultiplexer.feed(bytes, standard_output);
//   demultiplexer.finish();   // at end of stream
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sandbox::engine {

class Demultiplexer {
  public:
    // Appends what is standard output to `out`. However the stream is cut into pieces; a stated length is never
    // allocated. Throws protocol_error for an unknown stream, engine_error for the engine's own message.
    void feed(std::string_view bytes, std::string& out);
    // Throws protocol_error when the stream ended inside a frame.
    void finish() const;
    // The last bytes of standard error.
    const std::string& stderr_tail() const { return m_stderr; }

  private:
    enum class Source : std::uint8_t { stdin_echo = 0, standard_output = 1, standard_error = 2, engine_message = 3 };
    void take_header(std::string_view& bytes);
    void take_payload(std::string_view& bytes, std::string& out);
    void keep_tail(std::string_view bytes);

    std::array<unsigned char, 8> m_header{};
    std::size_t m_header_size = 0;
    std::uint32_t m_payload_left = 0;
    Source m_source = Source::standard_output;
    std::string m_stderr;
};

} // namespace sandbox::engine
