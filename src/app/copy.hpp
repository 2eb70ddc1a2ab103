// SPDX-License-Identifier: Apache-2.0
// Copies between the host and a session, by the target rules of docker cp.
//
//   copy(context, parse_location("report.md"), parse_location("job-981:output/"), {});
//   copy_archive_in(context, STDIN_FILENO, parse_location("job-981:vendor"), {});
#pragma once

#include "app/context.hpp"
#include "channel/agent_client.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox::app {

// One side of a copy. `session` is empty for a host path.
struct Location {
    std::string session;
    std::string path;
};
// "S:PATH" is a path in a session; what starts with '.' or '/', or has a '/' before its first colon, or has no colon,
// is a host path.
Location parse_location(std::string_view text);

struct CopyOptions {
    bool follow_link = false; // a link named as the source is followed
    std::optional<std::uint64_t> max_file; // instead of the manifest's
    channel::Progress progress;
};
// Host and session either way, or session to session; at least one side must be a session (usage otherwise).
channel::TransferStats copy(Context& context, const Location& source, const Location& target,
                            const CopyOptions& options);

// A tar archive from `fd` into an existing directory of a session.
channel::TransferStats copy_archive_in(Context& context, int fd, const Location& target, const CopyOptions& options);
// A path of a session as a tar archive.
using ArchiveSink = std::function<void(std::string_view bytes, const std::function<bool(int)>& wait_writable)>;
channel::TransferStats copy_archive_out(Context& context, const Location& source, ArchiveSink write, const CopyOptions& options);

} // namespace sandbox::app
