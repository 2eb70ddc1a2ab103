// SPDX-License-Identifier: Apache-2.0
// An engine that says exactly what a test wrote down, one answer a request, on a unix socket.
//
//   ScriptedServer server({{.text = "HTTP/1.1 200 OK\r\n..."}});
//   Client client(server.endpoint());
#pragma once

#include "engine/client.hpp"
#include "util/fd.hpp"
#include "util/fs.hpp"

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sandbox::engine {

struct Answer {
    std::string text{};
    std::size_t piece = 0;      // bytes of each send; 0: all at once
    bool close = false;         // after the answer
    bool close_at_once = false; // instead of an answer
    bool mute = false;          // reads and says nothing more
    bool echo = false;          // after the answer: everything that comes, up to its end, goes back; then closes
};

// An answer with a JSON body.
Answer json_answer(int status, std::string_view body);
// What a client asks first: /_ping with that version.
Answer ping_answer(std::string_view api_version = "1.41");

class ScriptedServer {
  public:
    explicit ScriptedServer(std::vector<Answer> answers);
    ~ScriptedServer();

    Endpoint endpoint() const;
    // Whole requests as they came, heads and bodies.
    std::vector<std::string> requests() const;
    std::size_t connections() const;

  private:
    void run();
    void serve(int fd);
    bool read_request(int fd);
    void answer(int fd, const Answer& answer);

    TempDir m_directory;
    Fd m_listener;
    std::vector<Answer> m_answers;
    std::size_t m_next = 0;
    mutable std::mutex m_mutex;
    std::vector<std::string> m_requests;
    std::size_t m_connections = 0;
    Pipe m_stop;
    std::thread m_thread;
};

} // namespace sandbox::engine
