// SPDX-License-Identifier: Apache-2.0
// A server in a session as a browser of this machine sees it, behind a token.
//
//   preview(context, "job-981", {.port = 5173}, [](const PreviewReady& ready) { print_out(ready.url + "\n"); });
#pragma once

#include "app/context.hpp"
#include "util/time.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sandbox::app {

struct PreviewOptions {
    std::uint16_t port = 0;
    std::string address = "127.0.0.1";
    std::uint16_t host_port = 0;      // 0: the kernel chooses
    std::optional<Milliseconds> wait; // for something to listen inside, before anything else
};

struct PreviewReady {
    std::string session; // its id
    std::string url;     // with the token; good as long as the preview lasts
    std::string address;
    std::uint16_t host_port = 0;
};

// Until a signal (interrupted) or the session's end (session_gone) ends it. Throws timed_out where `wait` was not enough.
[[noreturn]] void preview(Context& context, std::string_view session, const PreviewOptions& options, const std::function<void(const PreviewReady&)>& on_ready);

} // namespace sandbox::app
