// SPDX-License-Identifier: Apache-2.0
#include "agent/init.hpp"
#include "agent/keeper_control.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <csignal>
#include <sys/socket.h>

namespace sandbox::agent {
namespace {

// That one keeper serves at once; each costs PID 1 a descriptor.
constexpr std::size_t k_max_clients = 128;

std::string failure(std::string_view code, std::string_view text) {
    return encode(FailureMessage{std::string(code), std::string(text)});
}

} // namespace

// The one frame that says which process is meant; then its keeper has the connection.
bool Init::take_managed_request(Pending& pending, const FrameView& frame) {
    if (frame.type != FrameType::request) throw WireError("unexpected frame");
    const ManagedQuery query = decode_managed_query(frame.payload);
    hear_workers();
    const ProcessTable::Entry* entry = m_processes.find(query.process);
    if (entry == nullptr) {
        pending.send(failure("not_found", "no managed process \"" + query.process + "\" in the session"));
    } else if (entry->keeper >= 0) {
        pass_on(pending, query, *entry);
    } else if (*pending.managed == Operation::wait_process || *pending.managed == Operation::stop_process) {
        pending.send(encode(entry->info));
    } else {
        pending.send(failure("aborted", "what " + (entry->info.name.empty() ? entry->info.id : entry->info.name) + " printed is lost: its keeper in the session was killed"));
    }
    return false;
}

void Init::pass_on(Pending& pending, const ManagedQuery& query, const ProcessTable::Entry& entry) {
    const auto worker = std::find_if(m_workers.begin(), m_workers.end(), [&](const Worker& one) { return one.pid == entry.keeper; });
    const Operation operation = *pending.managed;
    const std::uint32_t number = ++m_last_client;
    const auto fields = [&](Writer& writer) { append_query(writer.u8(static_cast<std::uint8_t>(operation)).u32(number), query); };
    if (worker == m_workers.end() || worker->clients.size() >= k_max_clients) {
        pending.send(failure("busy", "too many clients wait for " + entry.info.id));
        return;
    }
    // A keeper that has just been killed takes nothing any more: its client hears of it with all the others, once its orphans are gone.
    if (!say(worker->control.get(), ControlWord::client, fields, MSG_DONTWAIT, pending.socket.get()) && errno == EAGAIN) {
        pending.send(failure("busy", "the keeper of " + entry.info.id + " does not answer"));
        return;
    }
    worker->clients.push_back({number, std::move(pending.socket), pending.peer, is_activity(operation)});
    if (is_activity(operation)) m_deadlines.begin_operation();
}

void Init::read_keeper(Worker& worker) {
    bool is_over = false;
    try {
        while (worker.control && !is_over) {
            const auto message = hear(worker.control.get(), MSG_DONTWAIT, is_over);
            if (!message) break;
            take_word(worker, *message);
        }
    } catch (const WireError&) {
        // Nothing that a keeper says; whoever made it do that has it.
        if (worker.pid >= 0) ::kill(worker.pid, SIGKILL);
        is_over = true;
    }
    if (is_over) worker.control.reset();
}

void Init::take_word(Worker& worker, const ControlMessage& message) {
    Reader reader(message.fields);
    switch (message.word) {
    case ControlWord::claim: return answer_claim(worker, reader);
    case ControlWord::update:
        if (ProcessTable::Entry* entry = m_processes.of_keeper(worker.pid)) {
            m_processes.update(*entry, info_field(reader));
            note_change(*entry);
        }
        return let_surplus_go();
    case ControlWord::withdrawn:
        if (ProcessTable::Entry* entry = m_processes.of_keeper(worker.pid)) end_keep_alive(*entry);
        return m_processes.remove(worker.pid);
    case ControlWord::done:
        worker.is_done = true;
        return finish_operation(worker);
    case ControlWord::finished: return finish_client(worker, reader.u32());
    default: throw WireError("unexpected word");
    }
}

void Init::answer_claim(Worker& worker, Reader& reader) {
    const std::uint32_t most = reader.u32();
    const bool has_one = m_processes.of_keeper(worker.pid) != nullptr;
    if (has_one) throw WireError("a second claim");
    const auto answer = m_processes.claim(info_field(reader), most, worker.pid);
    if (answer.id.empty()) {
        say(worker.control.get(), ControlWord::refused, [&](Writer& writer) { writer.text(answer.code).text(answer.text); }, MSG_DONTWAIT);
        return;
    }
    note_change(*m_processes.of_keeper(worker.pid));
    say(worker.control.get(), ControlWord::granted, [&](Writer& writer) { writer.text(answer.id); }, MSG_DONTWAIT);
}

// A managed process alone is no activity, unless it was asked to be.
void Init::note_change(ProcessTable::Entry& entry) {
    if (!entry.info.is_running()) return end_keep_alive(entry);
    if (!entry.info.keep_alive || entry.is_operation) return;
    entry.is_operation = true;
    m_deadlines.begin_operation();
}

void Init::end_keep_alive(ProcessTable::Entry& entry) {
    if (entry.is_operation) m_deadlines.end_operation(boot_now_ms());
    entry.is_operation = false;
}

// Its keeper ends when it hears that nobody is there any more.
void Init::let_surplus_go() {
    const auto is_read = [this](pid_t keeper) {
        return std::any_of(m_workers.begin(), m_workers.end(), [keeper](const Worker& one) { return one.pid == keeper && one.pid >= 0 && !one.clients.empty(); });
    };
    while (const auto entry = m_processes.take_surplus(is_read)) {
        for (Worker& worker : m_workers) {
            if (worker.pid == entry->keeper && worker.pid >= 0) worker.control.reset();
        }
    }
}

void Init::lose_keeper(Worker& worker) {
    ProcessTable::Entry* entry = m_processes.of_keeper(worker.pid);
    if (entry == nullptr) return;
    m_processes.lose(*entry, wall_now_ms());
    end_keep_alive(*entry);
    let_surplus_go();
}

void Init::finish_client(Worker& worker, std::uint32_t number) {
    const auto client = std::find_if(worker.clients.begin(), worker.clients.end(), [number](const Client& one) { return one.number == number; });
    if (client == worker.clients.end()) return;
    if (client->is_activity) m_deadlines.end_operation(boot_now_ms());
    worker.clients.erase(client);
    if (worker.clients.empty()) let_surplus_go();
}

void Init::finish_clients(Worker& worker) {
    while (!worker.clients.empty()) finish_client(worker, worker.clients.front().number);
}

} // namespace sandbox::agent
