// SPDX-License-Identifier: Apache-2.0
#include "cli/process_documents.hpp"

#include "util/text.hpp"
#include "util/time.hpp"

#include <nlohmann/json.hpp>

namespace sandbox::cli {
namespace {

using channel::LogPiece;
using channel::ManagedProcess;
using Json = nlohmann::ordered_json;

constexpr std::size_t k_longest_character = 4;

Json text(std::string_view bytes) { return to_valid_utf8(bytes); }
Json name_of(const std::string& name) { return name.empty() ? Json(nullptr) : Json(name); }
Json time_of(std::int64_t wall_ms) { return wall_ms > 0 ? Json(format_rfc3339_ms(wall_ms)) : Json(nullptr); }

Json error_of(const std::optional<Error>& error) {
    if (!error) return nullptr;
    return {{"code", error_code_name(error->code())},
            {"message", text(error->message())},
            {"hint", error->hint().empty() ? Json(nullptr) : text(error->hint())},
            {"retryable", error_is_retryable(error->code())}};
}

Json process_of(const std::optional<ManagedProcess>& known) {
    const ManagedProcess none;
    const ManagedProcess& process = known ? *known : none;
    Json command = Json::array();
    for (const auto& word : process.command) command.push_back(text(word));
    const auto only = [](bool is_there, const Json& value) { return is_there ? value : Json(nullptr); };
    return {{"id", only(known.has_value(), process.id)},
            {"name", name_of(process.name)},
            {"command", command},
            {"commandTruncated", process.command_cut},
            {"cwd", text(process.cwd)},
            {"status", only(known.has_value(), channel::state_name(process.state))},
            {"pid", only(process.pid != 0, process.pid)},
            {"exitCode", only(process.exit_status >= 0, process.exit_status)},
            {"signal", only(process.signal != 0, process.signal)},
            {"oom", process.oom},
            {"startedAt", time_of(process.started_ms)},
            {"endedAt", time_of(process.ended_ms)},
            {"restarts", process.restarts},
            {"maxRestarts", process.max_restarts},
            {"leftRunning", process.left_running},
            {"keepAlive", process.keep_alive}};
}

std::string line(const Json& object) { return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json log_line(const std::string& process, const std::string& name, std::uint64_t offset, std::uint64_t next, std::int64_t time_ms) {
    return {{"process", process}, {"name", name_of(name)}, {"offset", offset}, {"next", next}, {"time", time_of(time_ms)}};
}

std::string output_line(const std::string& process, const std::string& name, channel::OutputStream stream, std::uint64_t offset, std::int64_t time_ms,
                        const std::string& bytes) {
    Json object = log_line(process, name, offset, offset + bytes.size(), time_ms);
    object["stream"] = stream == channel::OutputStream::err ? "stderr" : "stdout";
    const bool is_text = is_valid_utf8(bytes);
    object[is_text ? "text" : "base64"] = is_text ? bytes : base64_encode(bytes);
    return line(object);
}

// How many bytes at the end begin a character whose rest is missing.
std::size_t cut_character(std::string_view bytes) {
    for (std::size_t count = 1; count < k_longest_character && count <= bytes.size(); ++count) {
        const auto byte = static_cast<unsigned char>(bytes[bytes.size() - count]);
        if ((byte & 0xC0) == 0x80) continue;
        const std::size_t whole = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return count < whole ? count : 0;
    }
    return 0;
}

} // namespace

std::string processes_document(const std::vector<ManagedProcess>& processes) {
    Json list = Json::array();
    for (const auto& process : processes) list.push_back(process_of(process));
    return line({{"processes", list}});
}

std::string started_document(const ProcessDocument& document) {
    Json object = process_of(document.process);
    object["ready"] = document.ready ? Json(*document.ready) : Json(nullptr);
    object["error"] = error_of(document.error);
    return line(object);
}

std::string waited_document(const ProcessDocument& document) {
    Json object = process_of(document.process);
    object["error"] = error_of(document.error);
    return line(object);
}

std::string stopped_document(const std::vector<ManagedProcess>& stopped, const StopFailures& failures) {
    Json object{{"stopped", Json::array()}, {"left", Json::array()}};
    for (const auto& process : stopped) object["stopped"].push_back(process_of(process));
    for (const auto& [process, error] : failures) object["left"].push_back({{"process", text(process)}, {"error", error_of(error)}});
    return line(object);
}

std::string lost_log_line(const ManagedProcess& process) {
    Json object = log_line(process.id, process.name, 0, 0, process.ended_ms);
    object["lost"] = true;
    return line(object);
}

std::string LogLines::add(const ManagedProcess& process, const LogPiece& piece) {
    Held& held = m_held[process.id];
    std::string lines;
    const bool continues = piece.dropped == 0 && piece.stream == held.stream;
    if (!held.bytes.empty() && !continues) {
        lines = output_line(process.id, held.name, held.stream, held.offset, held.time_ms, held.bytes);
        held.bytes.clear();
    }
    if (piece.dropped > 0) {
        Json object = log_line(process.id, process.name, piece.offset, piece.end(), piece.time_ms);
        object["droppedBytes"] = piece.dropped;
        return lines + line(object);
    }
    std::string bytes = held.bytes + std::string(piece.bytes);
    const std::uint64_t offset = piece.offset - held.bytes.size();
    const std::size_t kept = cut_character(bytes);
    held = {process.name, piece.stream, offset + bytes.size() - kept, piece.time_ms, bytes.substr(bytes.size() - kept)};
    bytes.resize(bytes.size() - kept);
    if (!bytes.empty()) lines += output_line(process.id, process.name, piece.stream, offset, piece.time_ms, bytes);
    return lines;
}

std::string LogLines::finish() {
    std::string lines;
    for (const auto& [id, held] : m_held) {
        if (!held.bytes.empty()) lines += output_line(id, held.name, held.stream, held.offset, held.time_ms, held.bytes);
    }
    m_held.clear();
    return lines;
}

} // namespace sandbox::cli
