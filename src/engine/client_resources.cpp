// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"

#include "engine/answers.hpp"
#include "engine/client_impl.hpp"
#include "engine/matches.hpp"
#include "engine/requests.hpp"
#include "util/text.hpp"

#include <algorithm>

namespace sandbox::engine {
namespace {

std::string about(const char* what, std::string_view name) { return std::string(what) + " volume " + printable(name); }

bool is_in_use(const Response& response) {
    // Podman answers 500 with the same meaning in some versions.
    const std::string words = failure_text(response);
    return response.status == 409 || words.find("in use") != std::string::npos ||
           words.find("being used") != std::string::npos;
}

std::string names_of(const std::vector<ContainerInfo>& containers) {
    std::vector<std::string> names;
    for (const auto& container : containers) names.push_back(printable(container.name));
    return join(names, ", ");
}

} // namespace

std::optional<VolumeInfo> Client::inspect_volume(std::string_view name) {
    const Response response = m_impl->get(object_path("volumes", name));
    if (is_absent(response, "volume")) return std::nullopt;
    expect_ok(response, about("cannot inspect", name));
    VolumeInfo info = parse_volume(response.body);
    // Podman takes a prefix of the name.
    if (info.name != name) return std::nullopt;
    return info;
}

void Client::create_volume(std::string_view name, const Labels& labels) {
    if (name.empty()) throw Error(ErrorCode::internal, "a volume without a name");
    const Response response = m_impl->post("/volumes/create", create_volume_body(name, labels), true);
    expect_ok(response, about("cannot create", name));
    // Docker answers "created" for a volume that was there, with the labels it had.
    if (parse_volume(response.body).labels == labels) return;
    throw Error(ErrorCode::exists, about("there is already a", name) + " with other labels");
}

bool Client::remove_volume(std::string_view name, std::chrono::milliseconds deadline) {
    for (Backoff backoff(deadline);; backoff.pause()) {
        const Response response = m_impl->del(object_path("volumes", name));
        if (response.ok()) return true;
        if (is_absent(response, "volume")) return false;
        if (!is_in_use(response)) throw failure(response, about("cannot remove", name));
        if (!backoff.is_over()) continue;
        Filter holders;
        holders.volume = name;
        const std::string names = names_of(list_containers(holders));
        throw Error(ErrorCode::conflict, about("cannot remove", name) + ": " +
                                             (names.empty() ? failure_text(response) : "in use by " + names));
    }
}

std::vector<VolumeInfo> Client::list_volumes(const Filter& filter) {
    const Response response = m_impl->get("/volumes?filters=" + percent_encode(filters_json(filter)));
    expect_ok(response, "cannot list volumes");
    auto list = parse_volume_list(response.body);
    std::erase_if(list, [&](const VolumeInfo& volume) { return !matches(filter, volume); });
    return list;
}

std::string Client::ensure_network(std::string_view name, const std::map<std::string, std::string>& options,
                                   const Labels& labels) {
    const std::string context = "cannot make network " + printable(name);
    // Twice: the one that another process made between our two calls is found the second time.
    for (int attempt = 0; attempt < 2; ++attempt) {
        const Response found = m_impl->get(object_path("networks", name));
        if (found.ok()) {
            const NetworkInfo network = parse_network(found.body);
            const bool fits = std::ranges::all_of(options, [&](const auto& option) {
                const auto value = network.options.find(option.first);
                return value != network.options.end() && value->second == option.second;
            });
            if (network.name == name && fits) return network.id;
            throw Error(ErrorCode::conflict, context + ": there is one with other options");
        }
        if (!is_absent(found, "network")) throw failure(found, context);
        const Response made = m_impl->post("/networks/create", create_network_body(name, options, labels), true);
        if (made.ok()) return parse_created(made.body).id;
        if (made.status != 409) throw failure(made, context);
    }
    throw Error(ErrorCode::conflict, context + ": it comes and goes");
}

} // namespace sandbox::engine
