// SPDX-License-Identifier: Apache-2.0
#include "engine/json_stream.hpp"

#include "util/error.hpp"

namespace sandbox::engine {
namespace {

constexpr std::size_t k_max_object = 1 << 20;

} // namespace

void JsonStream::feed(std::string_view bytes, const Handler& handler) {
    for (const char byte : bytes) {
        const bool is_space = byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
        if (m_depth == 0 && is_space) continue;
        if (m_depth == 0 && byte != '{') throw Error(ErrorCode::protocol_error, "the progress stream is not JSON");
        m_object += byte;
        if (m_object.size() > k_max_object) throw Error(ErrorCode::protocol_error, "an object of the progress stream is too long");
        if (!step(byte)) continue;
        handler(m_object);
        m_object.clear();
    }
}

bool JsonStream::step(char byte) {
    if (m_in_string) {
        if (m_escaped) m_escaped = false;
        else if (byte == '\\') m_escaped = true;
        else if (byte == '"') m_in_string = false;
        return false;
    }
    if (byte == '"') m_in_string = true;
    else if (byte == '{' || byte == '[') ++m_depth;
    else if (byte == '}' || byte == ']') --m_depth;
    return m_depth == 0;
}

void JsonStream::finish() const {
    if (m_depth != 0) throw Error(ErrorCode::protocol_error, "the progress stream was cut");
}

} // namespace sandbox::engine
