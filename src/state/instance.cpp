// SPDX-License-Identifier: Apache-2.0
#include "state/instance.hpp"

#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/random.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace sandbox::state {
namespace {

constexpr std::size_t k_longest_file = 4096;
constexpr std::size_t k_instance_bytes = 8;
constexpr std::size_t k_machine_digits = 32;

bool is_hex(std::string_view text, std::size_t digits) {
    return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<std::string> read_small(const std::string& path) {
    try {
        return read_file(path, k_longest_file);
    } catch (const Error& error) {
        // Something far too long, or a directory, is not an identity; no access and a failing disk are errors.
        if (error.code() == ErrorCode::limit_exceeded) return std::nullopt;
        throw;
    }
}

} // namespace

std::string new_instance_id() { return random_hex(k_instance_bytes); }
bool is_instance_id(const std::string& text) { return is_hex(text, 2 * k_instance_bytes); }

std::optional<Identity> read_identity(const std::string& path) {
    const auto content = read_small(path);
    if (!content) return std::nullopt;
    constexpr std::string_view k_instance = "instance=";
    constexpr std::string_view k_machine = "machine=";
    Identity identity;
    bool has_machine = false;
    for (const auto& line : split(*content, '\n')) {
        if (line.starts_with(k_instance)) identity.instance = line.substr(k_instance.size());
        if (line.starts_with(k_machine)) identity.machine = line.substr(k_machine.size()), has_machine = true;
    }
    if (!is_instance_id(identity.instance) || !has_machine) return std::nullopt;
    return identity;
}

void write_identity(const std::string& path, const Identity& identity) {
    AtomicFile file(AT_FDCWD, path, 0600);
    write_all(file.fd(), "instance=" + identity.instance + "\nmachine=" + identity.machine + "\n");
    // Engine objects are about to carry this id; losing it to a power cut would orphan them.
    if (::fsync(file.fd()) != 0) throw errno_error("cannot write " + path);
    file.publish();
}

std::string machine_id(const std::string& path) {
    const auto content = read_small(path);
    if (!content) return {};
    const std::string id = content->substr(0, content->find_first_of(" \t\r\n"));
    // "uninitialized" and the like stand there before the first boot.
    return is_hex(id, k_machine_digits) ? id : std::string();
}

} // namespace sandbox::state
