// SPDX-License-Identifier: Apache-2.0
#include "agent/secret.hpp"

#include "util/error.hpp"

#include <cstring>
#include <sys/mman.h>

namespace sandbox::agent {
namespace {

constexpr std::size_t k_page = 4096;

} // namespace

Secret::Secret() {
    void* page = ::mmap(nullptr, k_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw errno_error("cannot map memory");
    ::madvise(page, k_page, MADV_WIPEONFORK);
    ::madvise(page, k_page, MADV_DONTDUMP);
    m_page = static_cast<char*>(page);
}

Secret::~Secret() {
    ::explicit_bzero(m_page, k_page);
    ::munmap(m_page, k_page);
}

bool Secret::set(std::string_view bytes) {
    if (bytes.size() > k_max_size) return false;
    std::memcpy(m_page, bytes.data(), bytes.size());
    m_size = bytes.size();
    return true;
}

} // namespace sandbox::agent
