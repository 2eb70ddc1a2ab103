// SPDX-License-Identifier: Apache-2.0
// One connection of a browser to a preview: one request, judged by its head, and its answer. Bodies pass as they come, at most a piece of
// each direction waits here.
//
//   PreviewExchange exchange(std::move(accepted), gate, [&](Fd socket) { return forward.carry(std::move(socket), 5173); });
//   exchange.watch(set); poll(...); exchange.serve(set); if (exchange.is_over()) forget(exchange);
#pragma once

#include "app/preview_http.hpp"
#include "util/fd.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <vector>

namespace sandbox::app {

class PreviewExchange {
  public:
    // Leads the other end of a socket pair to the server, and returns the stream's number.
    using Open = std::function<std::uint32_t(Fd socket)>;
    // What a person reads where the server cannot be reached, for this errno.
    using NoServer = std::function<std::string(int error)>;
    PreviewExchange(Fd browser, const Gate& gate, Open open, NoServer no_server);

    void watch(std::vector<pollfd>& set);
    void serve(std::span<const pollfd> set);
    // When it is given up on (boot_now_ms); absent while it may take as long as it likes.
    std::optional<std::int64_t> deadline() const { return m_deadline; }
    void give_up() { m_phase = Phase::over; }
    bool is_over() const { return m_phase == Phase::over; }
    // The stream to the server, once there is one.
    std::optional<std::uint32_t> stream() const { return m_stream; }
    // The stream was cut: refused by the session (errno), or reset (0).
    void cut(int error);

  private:
    enum class Phase {
        request,   // its head is still to come
        answer,    // the head of the answer is
        passing,   // bytes pass as they are
        farewell,  // all has been said: waits for the browser's own end, so that a reset does not take the last bytes away
        over,
    };
    struct Way { // one direction
        std::string waiting;
        std::size_t offset = 0;
        bool ended = false;  // nothing more comes from its source
        bool closed = false; // and its target was told
        bool is_empty() const { return offset == waiting.size(); }
    };

    void read_browser();
    void read_server();
    void take_request();
    void pass_on(const PreviewRequest& request, const Verdict& verdict, std::string_view rest);
    void take_answer();
    void answer(std::string text);
    void no_answer();
    void reset_browser();
    void flush(Way& way, const Fd& target);
    void settle();

    Fd m_browser;
    Fd m_server;
    const Gate& m_gate;
    Open m_open;
    NoServer m_no_server;
    Phase m_phase = Phase::request;
    bool m_is_upgrade = false;
    bool m_is_head = false;
    int m_refused = 0; // errno
    bool m_is_reset = false;
    int m_interim = 0; // heads before the answer's own
    std::optional<std::uint64_t> m_body_left; // of an answer that says its length
    std::optional<std::uint32_t> m_stream;
    std::optional<std::int64_t> m_deadline;
    std::string m_request; // as far as it has come
    std::string m_answer;
    Way m_up;
    Way m_down;
    std::size_t m_browser_slot = 0;
    std::size_t m_server_slot = 0;
};

} // namespace sandbox::app
