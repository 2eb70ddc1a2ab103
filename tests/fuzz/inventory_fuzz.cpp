// SPDX-License-Identifier: Apache-2.0
// The decoder of inventories: whatever comes, only safe paths in their order, each in a directory, and content within its bound get out
// of it, and how the stream was cut makes no difference. The first byte chooses the size of the pieces.
#include "util/error.hpp"
#include "util/inventory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

namespace {

using namespace sandbox;

constexpr std::size_t k_max_content = 64;

void require(bool condition) {
    if (!condition) std::abort();
}

std::string decode(std::string_view bytes, std::size_t piece) {
    std::string seen;
    std::string before;
    std::set<std::string> directories;
    InventoryDecoder decoder(k_max_content);
    InventoryEntry entry;
    try {
        for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
            std::string_view part = bytes.substr(0, piece);
            while (decoder.next(part, entry)) {
                require(entry.path > before && is_safe_tree_path(entry.path) && entry.mode <= 07777 && entry.content.size() <= k_max_content);
                require((entry.type == InventoryType::symlink) == !entry.link.empty() && entry.link.size() <= k_tree_max_link);
                const auto slash = entry.path.rfind('/');
                require(slash == std::string::npos || directories.contains(entry.path.substr(0, slash)));
                if (entry.type == InventoryType::directory) directories.insert(entry.path);
                before = entry.path;
                seen += entry.path + '\0' + entry.link + '\0' + entry.content + '\0';
            }
        }
        decoder.finish();
        seen += "F";
    } catch (const Error& error) {
        require(error.code() == ErrorCode::protocol_error);
    }
    return seen;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    require(decode(bytes, std::size_t{data[0]} + 1) == decode(bytes, bytes.size() + 1));
    return 0;
}
