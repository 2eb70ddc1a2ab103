// SPDX-License-Identifier: Apache-2.0
#include "util/random.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

#include <cerrno>
#include <sys/random.h>

namespace sandbox {

std::string random_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    std::size_t filled = 0;
    while (filled < count) {
        const ssize_t got = ::getrandom(bytes.data() + filled, count - filled, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw errno_error("cannot get random bytes");
        filled += static_cast<std::size_t>(got);
    }
    return bytes;
}

std::string random_hex(std::size_t count) { return to_hex(random_bytes(count)); }

} // namespace sandbox
