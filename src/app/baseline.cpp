// SPDX-License-Identifier: Apache-2.0
#include "app/baseline.hpp"

#include "util/error.hpp"
#include "util/fd.hpp"
#include "util/fs.hpp"
#include "util/text.hpp"
#include "util/tree_record.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace sandbox::app {
namespace {

constexpr std::string_view k_name = "/baseline";
constexpr std::uint64_t k_magic = 0x31455342'58425353; // "SSBXBSE1"
constexpr std::size_t k_max_reason = 500;
// What a creation may spend on it.
constexpr std::uint64_t k_max_kept = 8 << 20;
constexpr std::uint64_t k_max_kept_files = 4096;
constexpr std::uint64_t k_max_entries = 1'000'000;
constexpr Milliseconds k_max_time{5000};

// In front of the entries, in this machine's byte order: the file never leaves it. With a reason's length there are no entries but the reason.
struct Header {
    std::uint64_t magic = k_magic;
    std::int64_t since_ns = INT64_MIN;
    std::uint64_t entries = 0;
    std::uint64_t reason_length = 0;
};

void write_header(int fd, const Header& header) {
    std::array<char, sizeof header> bytes{};
    std::memcpy(bytes.data(), &header, sizeof header);
    if (::pwrite(fd, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) throw errno_error("cannot write the baseline");
}

void write_entries(int fd, const channel::Link& link) {
    Header header;
    write_header(fd, header);
    if (::lseek(fd, sizeof header, SEEK_SET) < 0) throw errno_error("cannot write the baseline");
    TreeEncoder out([fd](std::string_view bytes) { write_all(fd, bytes); });
    InventoryEncoder entries(out);
    channel::SurveyOptions options;
    options.repositories = true;
    options.content.max_size = k_max_kept_file;
    options.content.texts = true;
    options.content.max_files = k_max_kept_files;
    options.content.max_total = k_max_kept;
    options.max_entries = k_max_entries;
    options.max_time = k_max_time;
    channel::survey(link, options, [&](const InventoryEntry& entry) {
        header.since_ns = std::max(header.since_ns, entry.ctime_ns);
        ++header.entries;
        entries.entry(entry);
    });
    out.flush();
    write_header(fd, header);
}

void write_reason(int fd, const Error& error) {
    const std::string reason = error.message().substr(0, k_max_reason);
    if (::ftruncate(fd, 0) != 0) throw errno_error("cannot write the baseline");
    write_header(fd, {.reason_length = reason.size()});
    if (::pwrite(fd, reason.data(), reason.size(), sizeof(Header)) < 0) throw errno_error("cannot write the baseline");
}

[[noreturn]] void none(const std::string& why) {
    throw Error(ErrorCode::failed, "what was in the workspace at the session's creation is not known: " + why);
}

} // namespace

void record_baseline(const channel::Link& link, const std::string& session_directory) {
    try {
        AtomicFile file(AT_FDCWD, session_directory + std::string(k_name), 0600);
        try {
            write_entries(file.fd(), link);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::interrupted) throw;
            write_reason(file.fd(), error);
        }
        file.publish();
    } catch (const Error& error) {
        if (error.code() == ErrorCode::interrupted) throw;
        // A full disk costs a later diff, not the session; nor does a TTL that is over by now.
    }
}

Baseline::Baseline(const std::string& session_directory) {
    Fd file(::open((session_directory + std::string(k_name)).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && errno == ENOENT) none("this session was made by an older sandbox, or the disk was full then");
    if (!file) throw errno_error("cannot read the session's baseline");
    Header header;
    std::array<char, sizeof header> bytes{};
    const std::size_t count = read_some(file.get(), bytes);
    std::memcpy(&header, bytes.data(), sizeof header);
    if (count != sizeof header || header.magic != k_magic) none("its record is damaged");
    if (header.reason_length > 0) none(read_all(file.get(), k_max_reason));
    m_since_ns = header.since_ns;
    m_left = header.entries;
    m_reader.emplace(std::move(file), k_max_kept_file);
}

std::optional<InventoryEntry> Baseline::next() {
    auto entry = m_reader->next();
    if (entry.has_value() != (m_left > 0)) throw Error(ErrorCode::failed, "the record of the session's baseline is damaged");
    if (entry) --m_left;
    return entry;
}

} // namespace sandbox::app
