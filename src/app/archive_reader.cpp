// SPDX-License-Identifier: Apache-2.0
#include "app/archive_reader.hpp"

#include "util/error.hpp"
#include "util/fd.hpp"

#include <array>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace sandbox::app {

class Decompressor {
  public:
    struct Step {
        std::size_t taken = 0;
        std::size_t given = 0;
    };
    virtual ~Decompressor() = default;
    // Takes from `in` and gives to `out`, either perhaps nothing. Throws Error(failed) on damage.
    virtual Step step(std::string_view in, std::span<char> out) = 0;
    // Whether the input may end here.
    virtual bool is_complete() const = 0;
};

namespace {

constexpr std::size_t k_input_size = 128 << 10;
constexpr std::size_t k_longest_magic = 6;
constexpr int k_gzip_window = 15 + 16; // the largest window, with gzip's header

// 8 MiB, what RFC 8878 asks every decoder for and `zstd -19` still keeps to. The window is memory, and an archive must not decide how
// much of it is taken.
constexpr int k_zstd_window_log = 23;

[[noreturn]] void damaged() { throw Error(ErrorCode::failed, "the compressed data is damaged"); }

class Gunzip final : public Decompressor {
  public:
    Gunzip() {
        if (::inflateInit2(&m_stream, k_gzip_window) != Z_OK) throw std::bad_alloc();
    }
    Gunzip(const Gunzip&) = delete;
    ~Gunzip() override { ::inflateEnd(&m_stream); }

    Step step(std::string_view in, std::span<char> out) override {
        if (m_is_complete && !in.empty()) {
            // Another member follows, or padding as tapes have it.
            if (in.front() != '\x1f') return {in.size(), 0};
            ::inflateReset(&m_stream);
            m_is_complete = false;
        }
        m_stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
        m_stream.avail_in = static_cast<uInt>(in.size());
        m_stream.next_out = reinterpret_cast<Bytef*>(out.data());
        m_stream.avail_out = static_cast<uInt>(out.size());
        const int result = ::inflate(&m_stream, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) damaged();
        m_is_complete = result == Z_STREAM_END;
        return {in.size() - m_stream.avail_in, out.size() - m_stream.avail_out};
    }
    bool is_complete() const override { return m_is_complete; }

  private:
    z_stream m_stream{};
    bool m_is_complete = false;
};

class Unzstd final : public Decompressor {
  public:
    Unzstd() : m_stream(::ZSTD_createDStream(), ::ZSTD_freeDStream) {
        if (!m_stream) throw std::bad_alloc();
        ::ZSTD_DCtx_setParameter(m_stream.get(), ZSTD_d_windowLogMax, k_zstd_window_log);
    }

    Step step(std::string_view in, std::span<char> out) override {
        ZSTD_inBuffer input{in.data(), in.size(), 0};
        ZSTD_outBuffer output{out.data(), out.size(), 0};
        const std::size_t result = ::ZSTD_decompressStream(m_stream.get(), &output, &input);
        if (::ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge) {
            throw Error(ErrorCode::limit_exceeded, "it is packed for more memory than is given to it (zstd --long or --ultra; the window may be 8 MiB)")
                .hint("unpack it first: zstd -d --long=31; or pack it without these options");
        }
        if (::ZSTD_isError(result) != 0) damaged();
        // 0 says that a frame has ended; asked again without input it would say that it wants a new one's header.
        if (input.pos > 0 || output.pos > 0) m_is_complete = result == 0;
        return {input.pos, output.pos};
    }
    bool is_complete() const override { return m_is_complete; }

  private:
    std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> m_stream;
    bool m_is_complete = false;
};

struct UnreadFormat {
    std::string_view magic;
    const char* name;
};
constexpr std::array<UnreadFormat, 4> k_unread{{{"PK\x03\x04", "a zip file"},
                                                {"BZh", "compressed by bzip2"},
                                                {std::string_view("\xFD" "7zXZ\0", 6), "compressed by xz"},
                                                {"7z\xBC\xAF\x27\x1C", "a 7z file"}}};

std::unique_ptr<Decompressor> decompressor_for(std::string_view start) {
    if (start.starts_with("\x1f\x8b")) return std::make_unique<Gunzip>();
    if (start.starts_with("\x28\xB5\x2F\xFD")) return std::make_unique<Unzstd>();
    for (const auto& format : k_unread) {
        if (!start.starts_with(format.magic)) continue;
        throw Error(ErrorCode::failed, std::string("it is ") + format.name + ", which is not read").hint("tar, tar.gz and tar.zst are");
    }
    return nullptr;
}

} // namespace

ArchiveReader::ArchiveReader(int fd, std::string name) : m_fd(fd), m_name(std::move(name)), m_buffer(k_input_size, '\0') {}
ArchiveReader::~ArchiveReader() = default;

// Behind the first bytes, while they are gathered; else all anew. 0 at the end of the input.
std::size_t ArchiveReader::fill(const Wait& wait) {
    const std::size_t kept = m_input.size();
    if (wait) wait(m_fd);
    const std::size_t count = read_some(m_fd, std::span(m_buffer).subspan(kept));
    m_input = std::string_view(m_buffer).substr(0, kept + count);
    return count;
}

void ArchiveReader::begin(const Wait& wait) {
    // A pipe may give its first bytes one by one.
    while (m_input.size() < k_longest_magic && fill(wait) > 0) {}
    try {
        m_decompressor = decompressor_for(m_input);
    } catch (Error& error) {
        error.context(m_name);
        throw;
    }
    m_is_begun = true;
    // The header's own demands, while nothing has been made of the rest.
    std::array<char, 1> none{};
    if (m_decompressor) step(std::span(none).first(0));
}

std::size_t ArchiveReader::step(std::span<char> buffer) {
    try {
        const auto [taken, given] = m_decompressor->step(m_input, buffer);
        m_input.remove_prefix(taken);
        return given;
    } catch (Error& error) {
        error.context(m_name);
        throw;
    }
}

std::size_t ArchiveReader::read(std::span<char> buffer, const Wait& wait) {
    if (!m_is_begun) begin(wait);
    for (;;) {
        if (m_decompressor == nullptr) {
            if (m_input.empty()) fill(wait);
            const std::size_t count = m_input.copy(buffer.data(), buffer.size());
            m_input.remove_prefix(count);
            return count;
        }
        if (const std::size_t given = step(buffer); given > 0) return given;
        if (!m_input.empty() || fill(wait) > 0) continue;
        if (m_decompressor->is_complete()) return 0;
        throw Error(ErrorCode::failed, m_name + " ends in the middle of its compressed data");
    }
}

} // namespace sandbox::app
