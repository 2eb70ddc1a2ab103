// SPDX-License-Identifier: Apache-2.0
// Any bytes as a manifest: either an Error or a Manifest whose canonical JSON reads back as itself.
#include "domain/manifest.hpp"
#include "util/error.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace sandbox;

void read_as_document(std::string_view text) {
    domain::ManifestBuilder builder;
    builder.set("image", "x", "--image");
    builder.add_document("fuzz.yaml", text, "/project");
    const std::string json = domain::to_canonical_json(builder.build());
    if (domain::to_canonical_json(domain::from_canonical_json(json)) != json) std::abort();
}

// "KEY\nVALUE" as --set would bring them.
void read_as_flag(std::string_view text) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return;
    domain::ManifestBuilder builder;
    builder.set(text.substr(0, end), text.substr(end + 1), "--set");
    builder.build();
}

template <typename Read> void try_to(Read read, std::string_view text) {
    try {
        read(text);
    } catch (const Error&) {
        // The one exception that may leave these functions.
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try_to(read_as_document, text);
    try_to(read_as_flag, text);
    try_to([](std::string_view json) { domain::from_canonical_json(json); }, text);
    return 0;
}
