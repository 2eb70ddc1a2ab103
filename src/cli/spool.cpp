// SPDX-License-Identifier: Apache-2.0
#include "cli/spool.hpp"

#include "cli/output.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace sandbox::cli {
namespace {

constexpr std::size_t k_in_memory = 1 << 20;
constexpr std::size_t k_piece = 64 << 10;

Fd nameless_file() {
    const TempDir directory; // removed at once, with the file's name
    Fd file(::open((directory.path() + "/spool").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) throw errno_error("cannot make a temporary file");
    return file;
}

} // namespace

void Spool::add(std::string_view text) {
    m_text += text;
    if (m_text.size() < k_in_memory) return;
    if (!m_file) m_file = nameless_file();
    write_all(m_file.get(), m_text);
    m_text.clear();
}

void Spool::print() {
    if (m_file) {
        if (::lseek(m_file.get(), 0, SEEK_SET) < 0) throw errno_error("cannot read a temporary file");
        std::string piece(k_piece, '\0');
        while (const std::size_t count = read_some(m_file.get(), piece)) print_out(std::string_view(piece).substr(0, count));
    }
    print_out(m_text);
}

} // namespace sandbox::cli
