// SPDX-License-Identifier: Apache-2.0
#include "channel/usage.hpp"

#include "agent/files_messages.hpp"
#include "channel/connection.hpp"
#include "util/inventory.hpp"

#include <limits>
#include <unordered_set>

namespace sandbox::channel {
namespace {

using agent::FrameType;

constexpr std::uint64_t k_most_entries = 200'000;

// Adds up what comes, which may be anything that a hostile agent makes up.
class Sum {
  public:
    // False when there are too many entries to go on.
    bool take(std::string_view bytes) {
        while (m_decoder.next(bytes, m_entry)) {
            if (++m_entries > k_most_entries) return false;
            if (m_entry.type != InventoryType::file || !m_seen.insert(key_of(m_entry)).second) continue;
            const std::uint64_t room = std::numeric_limits<std::int64_t>::max() - m_bytes;
            m_bytes += std::min(m_entry.size, room);
        }
        return true;
    }
    std::uint64_t finish() const {
        m_decoder.finish();
        return m_bytes;
    }

  private:
    // By number and time of change: numbers alone are each file system's own, and there may be several below a workdir.
    static std::uint64_t key_of(const InventoryEntry& entry) { return entry.inode * 0x9E3779B97F4A7C15ULL ^ static_cast<std::uint64_t>(entry.ctime_ns); }

    InventoryDecoder m_decoder{0};
    InventoryEntry m_entry;
    std::unordered_set<std::uint64_t> m_seen;
    std::uint64_t m_entries = 0;
    std::uint64_t m_bytes = 0;
};

std::optional<agent::FramedStream> ask(const Link& link, Milliseconds most) {
    agent::FramedStream connection(link.dial());
    const agent::HelloMessage hello = await_hello(connection, link, most);
    if (hello.version < agent::k_survey_version) return std::nullopt;
    agent::OpenMessage open{std::min(hello.version, agent::k_protocol_version), agent::Operation::survey, {}};
    if (!link.secret.empty()) open.proof = as_view(agent::open_proof(link.secret, hello.nonce, open.operation));
    agent::SurveyMessage survey;
    survey.repositories = true;
    survey.max_entries = k_most_entries;
    survey.max_ms = static_cast<std::uint32_t>(most.count());
    connection.write(agent::encode(open) + agent::encode(survey));
    return connection;
}

} // namespace

std::optional<std::uint64_t> workdir_bytes(const Link& link, Milliseconds most) {
    try {
        const std::int64_t until = boot_now_ms() + most.count();
        auto connection = ask(link, most);
        if (!connection) return std::nullopt;
        Sum sum;
        for (;;) {
            const agent::FrameView frame = read_before(*connection, until);
            if (frame.type != FrameType::data || boot_now_ms() > until) return std::nullopt;
            if (frame.payload.empty()) return sum.finish();
            if (!sum.take(frame.payload)) return std::nullopt;
        }
    } catch (const Error& error) {
        if (error.signal() != 0) throw;
        return std::nullopt;
    } catch (const agent::WireError&) {
        return std::nullopt;
    }
}

} // namespace sandbox::channel
