// SPDX-License-Identifier: Apache-2.0
#include "util/sha256.hpp"

#include "util/text.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sandbox {
namespace {

// FIPS 180-4, 4.2.2: the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> k_rounds{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const unsigned char* bytes) {
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::array<std::uint32_t, 64> schedule(const unsigned char* block) {
    std::array<std::uint32_t, 64> words{};
    for (std::size_t i = 0; i < 16; ++i) words[i] = big_endian(block + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t a = words[i - 15];
        const std::uint32_t b = words[i - 2];
        const std::uint32_t low = std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3);
        const std::uint32_t high = std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10);
        words[i] = words[i - 16] + low + words[i - 7] + high;
    }
    return words;
}

} // namespace

Sha256::Sha256()
    : m_state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

Sha256::~Sha256() {
    ::explicit_bzero(m_state.data(), sizeof m_state);
    ::explicit_bzero(m_block.data(), sizeof m_block);
}

void Sha256::compress(const unsigned char* block) {
    std::array<std::uint32_t, 64> words = schedule(block);
    auto [a, b, c, d, e, f, g, h] = m_state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + k_rounds[i] + words[i];
        const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> added{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) m_state[i] += added[i];
    ::explicit_bzero(words.data(), sizeof words);
}

void Sha256::update(std::string_view bytes) {
    m_length += bytes.size();
    while (!bytes.empty()) {
        const std::size_t count = std::min(m_block.size() - m_fill, bytes.size());
        std::memcpy(m_block.data() + m_fill, bytes.data(), count);
        m_fill += count;
        bytes.remove_prefix(count);
        if (m_fill < m_block.size()) return;
        compress(m_block.data());
        m_fill = 0;
    }
}

Sha256Digest Sha256::finish() {
    const std::uint64_t bits = m_length * 8;
    update(std::string_view("\x80", 1));
    const std::array<char, 64> zeros{};
    update({zeros.data(), (m_block.size() + 56 - m_fill) % m_block.size()});
    std::array<char, 8> length{};
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i) & 255);
    update({length.data(), length.size()});
    Sha256Digest digest{};
    for (std::size_t i = 0; i < digest.size(); ++i) {
        digest[i] = static_cast<char>(m_state[i / 4] >> (24 - 8 * (i % 4)) & 255);
    }
    return digest;
}

Sha256Digest sha256(std::string_view bytes) {
    Sha256 hash;
    hash.update(bytes);
    return hash.finish();
}

std::string sha256_hex(std::string_view bytes) { return to_hex(as_view(sha256(bytes))); }

Sha256Digest hmac_sha256(std::string_view key, std::string_view message) {
    std::array<char, 64> padded{};
    if (key.size() > padded.size()) {
        const Sha256Digest shorter = sha256(key);
        std::copy(shorter.begin(), shorter.end(), padded.begin());
    } else {
        std::copy(key.begin(), key.end(), padded.begin());
    }
    const auto keyed = [&padded](char pad, std::string_view bytes) {
        std::array<char, 64> block = padded;
        for (char& byte : block) byte = static_cast<char>(byte ^ pad);
        Sha256 hash;
        hash.update({block.data(), block.size()});
        hash.update(bytes);
        ::explicit_bzero(block.data(), block.size());
        return hash.finish();
    };
    const Sha256Digest digest = keyed(0x5c, as_view(keyed(0x36, message)));
    ::explicit_bzero(padded.data(), padded.size());
    return digest;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned char difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
    return difference == 0;
}

} // namespace sandbox
