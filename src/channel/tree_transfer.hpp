// SPDX-License-Identifier: Apache-2.0
// A tree over an open connection to an agent, either way. agent_client.hpp has the operations as callers see them.
//
//   TreeUpload upload(connection); read_tree(source, options, upload.encoder()); counts = upload.finish();
#pragma once

#include "agent/files_messages.hpp"
#include "agent/wire.hpp"
#include "channel/agent_client.hpp"
#include "channel/tree_wait.hpp"
#include "util/error.hpp"
#include "util/tree_record.hpp"

#include <functional>
#include <string_view>

namespace sandbox::channel {

// The next frame, waited for in a way that signals can end. Throws what a `failure` frame says, interrupted, and session_unreachable at the
// stream's end.
agent::FrameView next_frame(agent::FramedStream& connection, InterruptWatch& interrupts);

// Sends `data` frames; whatever the agent says meanwhile ends it.
class DataUpload {
  public:
    explicit DataUpload(agent::FramedStream& connection, Progress progress = {}) : m_connection(connection), m_progress(std::move(progress)) {}
    InterruptWatch& interrupts() { return m_interrupts; }
    void send(std::string_view chunk);
    // Waits until `fd`, where the data comes from, can be read. Throws interrupted, and what the agent says meanwhile.
    void wait_for_input(int fd);
    // Ends the data, and gives the payload of the agent's last word, which must be of this type.
    std::string end(agent::FrameType last);
    // Ends the connection in the middle, and waits a moment for the agent to have taken back what it staged.
    void abandon() noexcept;

  private:
    void write(std::string_view bytes);
    [[noreturn]] void explain_end();
    agent::FramedStream& m_connection;
    Progress m_progress;
    InterruptWatch m_interrupts;
};

// Sends records.
class TreeUpload : public DataUpload {
  public:
    explicit TreeUpload(agent::FramedStream& connection, Progress progress = {});
    TreeEncoder& encoder() { return m_encoder; }
    // Ends the tree and waits until the agent has applied it.
    agent::DoneMessage finish();

  private:
    TreeEncoder m_encoder;
};

// Runs what sends a tree, or other data; when the host's side of it fails, the agent is made to take its part back.
template <typename Body> auto upload(DataUpload& to, Body body) {
    try {
        return body();
    } catch (...) {
        to.abandon();
        throw;
    }
}

// Feeds the records that come to a visitor, up to their end, and returns what the agent says of them.
agent::DoneMessage download_tree(agent::FramedStream& connection, TreeDecoder& decoder, TreeVisitor& visitor,
                                 InterruptWatch& interrupts, const Progress& progress = {});

// The same for any stream in `data` frames: `take` is given its pieces, `finish` called at its end.
agent::DoneMessage download(agent::FramedStream& connection, const std::function<void(std::string_view bytes)>& take,
                            const std::function<void()>& finish, InterruptWatch& interrupts);

// The Error that a `failure` frame stands for. Codes that only a host can mean become `failed`.
Error remote_error(std::string_view payload);

} // namespace sandbox::channel
