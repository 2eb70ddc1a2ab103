// SPDX-License-Identifier: Apache-2.0
#include "app/images.hpp"
#include "cli/documents.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "util/text.hpp"

#include <unistd.h>

namespace sandbox::cli {
namespace {

int show(const Invocation& call, const std::string& tag, const std::string& id) {
    print_out(call.json() ? object_document({{"id", id}, {"tag", tag}}) : id + "\n");
    return 0;
}

int run_import(Invocation& call) {
    const auto tag = call.value("tag");
    if (!tag) throw Error(ErrorCode::usage, "an imported image needs a name").hint("--tag NAME[:TAG]");
    return show(call, *tag, app::import_image(call.context(), call.arguments().front(), *tag));
}

std::vector<Option> bootstrap_options() {
    return {{"tag", 0, "NAME[:TAG]", "what to call it [sandbox/base:latest; sandbox/debian:latest]"},
            {"debian", 0, "", "a minimal Debian instead of BusyBox (needs mmdebstrap and root)"},
            {"suite", 0, "NAME", "the Debian release [bookworm]"},
            {"packages", 0, "A,B", "with --debian: packages on top", true}};
}

int run_bootstrap(Invocation& call) {
    const bool is_debian = call.has("debian");
    const std::string tag = call.value("tag").value_or(is_debian ? "sandbox/debian:latest" : app::k_base_image);
    if (!is_debian) {
        if (call.has("packages") || call.has("suite")) {
            throw Error(ErrorCode::usage, "--packages and --suite go with --debian");
        }
        return show(call, tag, app::bootstrap_busybox(call.context(), tag));
    }
    std::vector<std::string> packages;
    for (const auto& list : call.values("packages")) {
        for (auto& package : split(list, ',')) packages.push_back(std::move(package));
    }
    return show(call, tag,
                app::bootstrap_debian(call.context(), tag, call.value("suite").value_or("bookworm"), packages));
}

} // namespace

const Command k_image_import{
    .name = "image import",
    .alias = "",
    .group = "administration",
    .summary = "make an image from a root file system in a tar file",
    .usage = "[OPTIONS] FILE --tag NAME[:TAG]",
    .min_arguments = 1,
    .max_arguments = 1,
    .positionals = {{"FILE"}},
    .options = [] { return std::vector<Option>{{"tag", 0, "NAME[:TAG]", "what to call it"}}; },
    .examples = [] {
        return std::vector<std::string_view>{"sandbox image import rootfs.tar.gz --tag my/base",
                                             "tar -C root -c . | sandbox image import - --tag my/base"};
    },
    .details = "",
    .run = run_import};

const Command k_image_bootstrap{
    .name = "image bootstrap",
    .alias = "",
    .group = "administration",
    .summary = "make a small base image without any registry",
    .usage = "[OPTIONS]",
    .options = bootstrap_options,
    .examples = [] {
        return std::vector<std::string_view>{"sandbox image bootstrap",
                                             "sandbox image bootstrap --debian --packages python3-minimal"};
    },
    .details = "BusyBox comes from this system's busybox-static package.",
    .run = run_bootstrap};

} // namespace sandbox::cli
