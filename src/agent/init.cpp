// SPDX-License-Identifier: Apache-2.0
#include "agent/init.hpp"

#include "util/error.hpp"
#include "util/time.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace sandbox::agent {
namespace {

constexpr std::size_t k_max_pending = 32; // for each origin
constexpr std::int64_t k_open_deadline_ms = 5000;
constexpr std::int64_t k_frozen_ms = 1000; // an agent that runs is never this late

// What engines send to stop a container, whatever STOPSIGNAL its image has.
bool is_stop_signal(std::uint32_t number) {
    return number == SIGTERM || number == SIGINT || number == SIGQUIT || number == SIGHUP ||
           number == static_cast<std::uint32_t>(SIGRTMIN + 3);
}

// All are blocked: a blocked signal reaches even PID 1's queue, and there its sender is known.
Fd block_signals() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    Fd file(::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!file) throw errno_error("cannot watch signals");
    return file;
}

pid_t peer_pid(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : -1;
}

} // namespace

Init::Init(InitOptions options) : m_options(std::move(options)), m_signals(block_signals()) {
    m_timer.reset(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!m_timer) throw errno_error("cannot make a timer");
    m_context.session = {"/", ::getuid(), ::getgid()};
    m_context.oom = &m_oom;
    m_handshake_until = boot_now_ms() + m_options.handshake_ms;
}

int Init::run() {
    m_bridge = listen_abstract(m_options.bridge);
    connect_hello();
    while (!m_is_ending) {
        poll_once();
        drop_overdue(boot_now_ms());
        if (m_has_orphans) purge_orphans();
        if (is_time_up()) m_is_ending = m_has_expired = true;
    }
    end_session();
    return m_is_set_up ? 0 : 1;
}

void Init::poll_once() {
    std::vector<pollfd> set{{m_signals.get(), POLLIN, 0}, {m_timer.get(), POLLIN, 0}, {has_room(Origin::outside) ? m_listener.get() : -1, POLLIN, 0},
                            {has_room(Origin::bridge) ? m_bridge.get() : -1, POLLIN, 0}, {m_creator.get(), POLLIN, 0}};
    for (const Pending& pending : m_pending) set.push_back({pending.socket.get(), POLLIN, 0});
    for (const Worker& worker : m_workers) set.push_back({worker.control.get(), POLLIN, 0});
    arm_timer(next_event());
    if (::poll(set.data(), set.size(), -1) < 0) {
        if (errno == EINTR) return;
        // A command took from PID 1 the right to hold this many files (prlimit(2)), and with it the deadlines: the session ends here.
        ::_exit(1);
    }
    auto entry = set.cbegin() + 5;
    for (auto pending = m_pending.begin(); pending != m_pending.end(); ++entry) {
        const bool goes_on = entry->revents == 0 || serve(*pending);
        pending = goes_on ? std::next(pending) : m_pending.erase(pending);
    }
    // serve() may have added workers at the end; those were not polled.
    for (auto worker = m_workers.begin(); entry != set.cend(); ++entry, ++worker) {
        if (entry->revents != 0) read_control(*worker);
    }
    if (set[2].revents != 0 || set[3].revents != 0) accept_all();
    if (set[4].revents != 0) read_creator();
    if (set[0].revents != 0) handle_signals();
}

void Init::handle_signals() {
    signalfd_siginfo info{};
    while (::read(m_signals.get(), &info, sizeof info) == sizeof info) {
        // Only the engine may end the session this way; a process of the session has a pid here.
        if (is_stop_signal(info.ssi_signo) && info.ssi_pid == 0) m_is_ending = true;
    }
    reap();
}

// A timer on CLOCK_BOOTTIME instead of a poll time-out: one that fell due while the machine slept is due at once.
void Init::arm_timer(std::int64_t at) {
    if (at == m_armed) return;
    m_armed = at;
    itimerspec when{};
    when.it_value = {at / 1000, at % 1000 * 1'000'000};
    ::timerfd_settime(m_timer.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

std::int64_t Init::next_event() const {
    std::int64_t next = 0;
    const auto consider = [&next](std::int64_t at) {
        if (next == 0 || at < next) next = std::max<std::int64_t>(at, 1);
    };
    if (!m_is_set_up) consider(m_handshake_until);
    for (const Pending& pending : m_pending) consider(pending.deadline);
    if (const auto due = m_deadlines.next(!m_pending.empty(), k_open_deadline_ms)) consider(std::max(*due, m_thaw_until));
    return next;
}

// Who waits at a full queue stays in the kernel's; polling for it then would never sleep.
bool Init::has_room(Origin origin) const {
    const auto waiting = std::count_if(m_pending.begin(), m_pending.end(), [&](const Pending& one) { return one.origin == origin; });
    return static_cast<std::size_t>(waiting) < k_max_pending;
}

void Init::accept_all() {
    accept_from(m_listener, Origin::outside);
    accept_from(m_bridge, Origin::bridge);
}

void Init::accept_from(const Fd& listener, Origin origin) {
    while (listener) {
        if (!has_room(origin)) return;
        Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!socket) return;
        const pid_t peer = peer_pid(socket.get());
        // Nobody inside is meant to reach this socket; a process that did would have a pid here.
        if (origin == Origin::outside && peer != 0) continue;
        Pending pending(std::move(socket), origin, m_is_set_up ? k_max_open_frame : k_max_frame, boot_now_ms() + k_open_deadline_ms);
        if (origin == Origin::bridge) pending.peer = find_process(peer).value_or(Process{});
        if (!pending.send(encode(hello(pending.nonce)))) continue;
        // The request often came along with the connection.
        m_pending.push_back(std::move(pending));
        if (!serve(m_pending.back())) m_pending.pop_back();
    }
}

void Init::drop_overdue(std::int64_t now) {
    m_pending.remove_if([now](const Pending& pending) { return pending.deadline <= now; });
}

bool Init::is_time_up() {
    const std::int64_t now = boot_now_ms();
    if (!m_is_set_up) return now >= m_handshake_until;
    const auto due = [&] {
        const auto next = m_deadlines.next(!m_pending.empty(), k_open_deadline_ms);
        return next && *next <= now ? next : std::nullopt;
    };
    if (!due()) return false;
    // Who came while this was being decided is served first.
    accept_all();
    const auto still = due();
    return still && !waits_after_thaw(*still, now);
}

// A deadline that fell due while the engine held the container frozen: it may have been moved meanwhile, which could be told to nobody, and
// its idle time was nobody's to use. Once only until deadlines are told: what starves the agent from inside gains nothing more.
bool Init::waits_after_thaw(std::int64_t due, std::int64_t now) {
    if (!m_was_thawed && now - due > k_frozen_ms) {
        m_was_thawed = true;
        m_thaw_until = now + m_options.thaw_ms;
    }
    return now < m_thaw_until;
}

} // namespace sandbox::agent
