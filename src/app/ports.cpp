// SPDX-License-Identifier: Apache-2.0
#include "app/ports.hpp"

#include "app/exec.hpp"
#include "app/explained.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace sandbox::app {
namespace {

constexpr std::size_t k_ports_told = 10;

// "3000 (node), 8080", each port once.
std::string told(const std::vector<channel::Listener>& listeners) {
    std::vector<std::string> texts;
    std::set<std::uint16_t> told_ports;
    for (const auto& one : listeners) {
        if (!told_ports.insert(one.port).second) continue;
        texts.push_back(std::to_string(one.port) + (one.process.empty() ? "" : " (" + printable(one.process) + ")"));
    }
    const std::size_t untold = texts.size() > k_ports_told ? texts.size() - k_ports_told : 0;
    texts.resize(texts.size() - untold);
    return join(texts, ", ") + (untold > 0 ? " and " + std::to_string(untold) + " more" : "");
}

// Ports that are waited for, one after the other up to the same time.
struct PortWait {
    Context& context;
    const state::SessionRow& row;
    std::int64_t until;
    std::set<std::uint16_t> missing{};
    std::vector<channel::Listener> last{}; // who listened when the time was over
};

std::string numbers_of(const std::set<std::uint16_t>& ports) {
    std::vector<std::string> texts;
    for (const auto port : ports) texts.push_back(std::to_string(port));
    return join(texts, ", ");
}

Error nothing_listens(const PortWait& wait, Milliseconds timeout, std::string_view option) {
    const std::string which = (wait.missing.size() > 1 ? "ports " : "port ") + numbers_of(wait.missing);
    return Error(ErrorCode::timed_out, "nothing listens on " + which + " of the session after " + format_duration(timeout) + "; " +
                                           (wait.last.empty() ? "no other port listens either" : "listening: " + told(wait.last)))
        .hint("sandbox ports " + (wait.row.name.empty() ? wait.row.id : wait.row.name) + " shows who listens; a longer " + std::string(option) + " waits longer");
}

std::vector<channel::Listener> of_port(std::vector<channel::Listener> all, std::uint16_t port) {
    std::erase_if(all, [port](const auto& one) { return one.port != port; });
    return all;
}

std::vector<channel::Listener> wait_for(PortWait& wait, std::uint16_t port) {
    auto listeners = explained(wait.context, wait.row, [&] {
        return channel::wait_port(link_to(wait.context, wait.row), port, wait.until, [&wait](const auto& seen) { wait.last = seen; });
    });
    if (listeners) return of_port(std::move(*listeners), port);
    wait.missing.insert(port);
    return {};
}

// What the manifest declares, with the host's ports; the engine is asked only where there are any.
std::map<std::uint16_t, PortView> declared_ports(Context& context, const ExecTarget& target) {
    std::map<std::uint16_t, PortView> views;
    for (const std::uint16_t port : target.manifest.publish) views[port] = {port, true, std::nullopt, {}};
    if (views.empty()) return views;
    const auto container = context.engine_of(target.row.endpoint, target.row.engine_id).inspect_container(target.row.container_id);
    if (!container) return views;
    for (const auto& [inside, outside] : container->ports) {
        views[inside].port = inside;
        views[inside].host_port = outside;
    }
    return views;
}

std::vector<PortView> in_order(std::map<std::uint16_t, PortView> views) {
    std::vector<PortView> list;
    for (auto& [port, view] : views) list.push_back(std::move(view));
    return list;
}

} // namespace

std::vector<PortView> session_ports(Context& context, std::string_view session) {
    const ExecTarget target = open_for_exec(context, session);
    auto listeners = explained(context, target.row, [&] { return channel::list_ports(link_to(context, target.row)); });
    auto views = declared_ports(context, target);
    for (auto& one : listeners) {
        PortView& view = views[one.port];
        view.port = one.port;
        view.listening.push_back(std::move(one));
    }
    return in_order(std::move(views));
}

std::vector<PortView> wait_for_ports(Context& context, std::string_view session, const std::vector<std::uint16_t>& ports, Milliseconds timeout) {
    const std::int64_t until = boot_now_ms() + timeout.count();
    const ExecTarget target = open_for_exec(context, session);
    PortWait wait{context, target.row, until};
    std::map<std::uint16_t, PortView> views;
    for (const std::uint16_t port : ports) views[port] = {port, false, std::nullopt, wait_for(wait, port)};
    if (!wait.missing.empty()) throw nothing_listens(wait, timeout, "--timeout");
    for (auto& [port, view] : declared_ports(context, target)) {
        const auto wanted = views.find(port);
        if (wanted == views.end()) continue;
        wanted->second.declared = view.declared;
        wanted->second.host_port = view.host_port;
    }
    return in_order(std::move(views));
}

std::vector<channel::Listener> wait_for_port(Context& context, const state::SessionRow& row, std::uint16_t port, Milliseconds timeout, std::string_view option) {
    PortWait wait{context, row, boot_now_ms() + timeout.count()};
    auto listeners = wait_for(wait, port);
    if (!wait.missing.empty()) throw nothing_listens(wait, timeout, option);
    return listeners;
}

} // namespace sandbox::app
