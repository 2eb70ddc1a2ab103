// SPDX-License-Identifier: Apache-2.0
// Frames and messages from a hostile peer: whatever the bytes and however they are cut, decoding throws WireError or gives
// a message, holds no more than came in, and does not depend on the cuts.
#include "agent/files_messages.hpp"
#include "agent/files_request.hpp"
#include "agent/managed_messages.hpp"
#include "agent/messages.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace {

using namespace sandbox::agent;

// The first byte says how long the pieces are.
std::string decode_all(std::string_view bytes, std::size_t piece) {
    Decoder decoder;
    std::string seen;
    try {
        while (!bytes.empty()) {
            decoder.feed(bytes.substr(0, piece));
            bytes.remove_prefix(std::min(piece, bytes.size()));
            while (const auto frame = decoder.next_view()) {
                seen += static_cast<char>(frame->type);
                seen += frame->payload;
            }
        }
    } catch (const WireError&) {
        seen += "error";
    }
    return seen;
}

template <typename Decode> void try_decode(Decode decode, std::string_view payload) {
    try {
        decode(payload);
    } catch (const WireError&) {
    }
}

void decode_messages(std::string_view payload) {
    try_decode(decode_hello, payload);
    try_decode(decode_setup, payload);
    try_decode(decode_open, payload);
    try_decode(decode_deadline, payload);
    try_decode(decode_exec, payload);
    try_decode(decode_signal, payload);
    try_decode(decode_resize, payload);
    try_decode(decode_credit, payload);
    try_decode(decode_result, payload);
    try_decode(decode_status, payload);
    try_decode(decode_failure, payload);
    try_decode(decode_list, payload);
    try_decode(decode_names, payload);
    try_decode(decode_files_request, payload);
    try_decode(decode_entries, payload);
    try_decode(decode_page, payload);
    try_decode(decode_written, payload);
    try_decode(decode_managed_info, payload);
    try_decode(decode_managed_start, payload);
    try_decode(decode_ready, payload);
    try_decode(decode_managed_query, payload);
    try_decode(decode_log_frame, payload);
    try_decode(decode_log_end, payload);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (decode_all(bytes, std::size_t{data[0]} + 1) != decode_all(bytes, size)) std::abort();
    decode_messages(bytes);
    return 0;
}
