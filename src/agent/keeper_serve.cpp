// SPDX-License-Identifier: Apache-2.0
#include "agent/keeper.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <sys/socket.h>
#include <unistd.h>

namespace sandbox::agent {

void Keeper::hear_control() {
    while (!m_is_let_go) {
        auto message = hear(m_control, MSG_DONTWAIT, m_is_let_go);
        if (!message) return;
        if (message->word == ControlWord::client) take_client(std::move(*message));
        if (message->word != ControlWord::expired) continue;
        m_is_expiring = true;
        m_info.expired = !m_has_ended;
        stop(m_context.grace_ms);
    }
}

void Keeper::take_client(ControlMessage message) {
    Reader reader(message.fields);
    const auto operation = static_cast<Operation>(reader.u8());
    const std::uint32_t number = reader.u32();
    const ManagedQuery query = query_field(reader);
    KeeperClient& client = m_clients.emplace_back(std::move(message.fd), operation, number);
    // Without a right to one more descriptor the connection was dropped on its way.
    if (client.fd() < 0) {
        finish(client);
        m_clients.pop_back();
        return;
    }
    if (client.reads_log()) client.read_log(query, m_log);
    else if (operation == Operation::stop_process) stop(query.grace_ms < 0 ? m_grace_ms : query.grace_ms);
    else answer_all();
}

void Keeper::tell() {
    say(m_control, ControlWord::update, [this](Writer& writer) { append_info(writer, m_info); });
}

KeeperClient* Keeper::starter() {
    const auto found = std::find_if(m_clients.begin(), m_clients.end(), [](const KeeperClient& one) { return one.number() == 0; });
    return found == m_clients.end() ? nullptr : &*found;
}

// The command is executed: now it is a managed process.
void Keeper::announce() {
    if (m_is_announced) return;
    m_is_announced = true;
    if (m_info.max_restarts == 0) m_spec = {};
    tell();
    KeeperClient* client = starter();
    if (client == nullptr) m_readiness.reset();
    else if (m_readiness) client->send(encode(m_info));
    else client->answer(encode(m_info));
}

void Keeper::check_readiness() {
    if (!m_readiness || !m_is_announced) return;
    // One that prints its line, or listens, and is gone by now serves nobody.
    if (m_readiness->is_reached()) reap();
    const bool has_failed = m_has_ended && (m_info.exit_status != 0 || m_is_tree_gone);
    if (has_failed) answer_starter(ReadyOutcome::ended);
    else if (m_readiness->is_reached() && m_goal == Goal::run) answer_starter(ReadyOutcome::ready);
    else if (boot_now_ms() >= m_ready_until) answer_starter(ReadyOutcome::timed_out);
}

void Keeper::answer_starter(ReadyOutcome outcome) {
    if (KeeperClient* client = starter()) client->answer(encode(ReadyMessage{outcome, m_readiness->is_port_seen(), m_readiness->is_text_seen(), m_info}));
    m_readiness.reset();
}

// Those who wait for an end that has come.
void Keeper::answer_all() {
    for (KeeperClient& client : m_clients) {
        if (client.has_answer()) continue;
        const bool is_answered = client.operation() == Operation::wait_process ? m_has_ended && m_is_announced
                                 : client.operation() == Operation::stop_process && (is_over() || m_is_stuck);
        if (is_answered) client.answer(encode(m_info));
    }
}

void Keeper::serve_clients() {
    for (auto client = m_clients.begin(); client != m_clients.end();) {
        bool is_there = true;
        do {
            if (client->reads_log()) client->feed(m_log, is_log_complete(), m_info);
            if (!client->wants_write()) break;
            is_there = client->flush();
        } while (is_there && !client->wants_write()); // who takes everything gets the next pieces at once
        const bool stays = is_there && !client->is_over();
        if (!stays) finish(*client);
        client = stays ? std::next(client) : m_clients.erase(client);
    }
    if (!m_is_expiring || m_is_farewell_said || !is_over() || !m_clients.empty()) return;
    m_is_farewell_said = true;
    say(m_control, ControlWord::done);
}

// PID 1 has a copy of the connection, which ends when it hears this.
void Keeper::finish(const KeeperClient& client) {
    if (client.number() == 0) {
        if (!m_is_failed) say(m_control, ControlWord::done);
        m_readiness.reset();
        return;
    }
    say(m_control, ControlWord::finished, [&](Writer& writer) { writer.u32(client.number()); });
}

} // namespace sandbox::agent
