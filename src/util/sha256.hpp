// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 2104), small enough for every layer and for the agent, which links nothing but
// libc. Bulk data goes through libcrypto, which uses the CPU's own instructions.
//
//   sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
//   const Sha256Digest proof = hmac_sha256(secret, nonce);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sandbox {

using Sha256Digest = std::array<char, 32>;

class Sha256 {
  public:
    Sha256();
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;
    // What was hashed may have been a key: nothing of it stays behind.
    ~Sha256();
    void update(std::string_view bytes);
    // Ends the hash; the object is good for nothing afterwards.
    Sha256Digest finish();

  private:
    void compress(const unsigned char* block);
    std::array<std::uint32_t, 8> m_state;
    std::array<unsigned char, 64> m_block{};
    std::size_t m_fill = 0;
    std::uint64_t m_length = 0;
};

Sha256Digest sha256(std::string_view bytes);
// 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);
Sha256Digest hmac_sha256(std::string_view key, std::string_view message);
// In a time that does not depend on where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);
inline std::string_view as_view(const Sha256Digest& digest) { return {digest.data(), digest.size()}; }

} // namespace sandbox
