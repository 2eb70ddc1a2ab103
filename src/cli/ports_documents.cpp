// SPDX-License-Identifier: Apache-2.0
#include "cli/ports_documents.hpp"

#include "util/text.hpp"

#include <nlohmann/json.hpp>

namespace sandbox::cli {
namespace {

using Json = nlohmann::ordered_json;

Json listener_of(const channel::Listener& listener) {
    Json object{{"address", listener.address}, {"pid", nullptr}, {"process", nullptr}};
    if (listener.pid != 0) object["pid"] = listener.pid;
    if (!listener.process.empty()) object["process"] = to_valid_utf8(listener.process);
    return object;
}

} // namespace

std::string ports_document(const std::vector<app::PortView>& views) {
    Json ports = Json::array();
    for (const auto& view : views) {
        Json listening = Json::array();
        for (const auto& listener : view.listening) listening.push_back(listener_of(listener));
        ports.push_back({{"port", view.port},
                         {"declared", view.declared},
                         {"hostPort", view.host_port ? Json(*view.host_port) : Json(nullptr)},
                         {"listening", std::move(listening)}});
    }
    return Json{{"ports", std::move(ports)}}.dump() + "\n";
}

std::string forwards_document(const std::string& session, const std::vector<domain::ForwardSpec>& forwards) {
    Json list = Json::array();
    for (const auto& one : forwards) list.push_back({{"address", one.address}, {"hostPort", one.host_port}, {"port", one.port}});
    return Json{{"session", session}, {"forwards", std::move(list)}}.dump() + "\n";
}

std::string preview_document(const app::PreviewReady& ready, std::uint16_t port) {
    return Json{{"session", ready.session}, {"url", ready.url}, {"address", ready.address}, {"hostPort", ready.host_port}, {"port", port}}.dump() + "\n";
}

} // namespace sandbox::cli
