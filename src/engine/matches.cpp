// SPDX-License-Identifier: Apache-2.0
#include "engine/matches.hpp"

#include <algorithm>

namespace sandbox::engine {
namespace {

bool has_labels(const Labels& wanted, const Labels& labels) {
    return std::ranges::all_of(wanted, [&](const auto& pair) {
        const auto found = labels.find(pair.first);
        return found != labels.end() && (pair.second.empty() || found->second == pair.second);
    });
}

} // namespace

bool matches(const Filter& filter, const ContainerInfo& container) {
    const bool mounts = filter.volume.empty() || std::ranges::any_of(container.mounts, [&](const MountInfo& mount) {
                            return mount.kind == "volume" && mount.name == filter.volume;
                        });
    const bool named = filter.name.empty() || filter.name == container.name;
    return mounts && named && has_labels(filter.labels, container.labels);
}

bool matches(const Filter& filter, const VolumeInfo& volume) {
    const bool named = filter.name.empty() || filter.name == volume.name;
    return named && has_labels(filter.labels, volume.labels);
}

} // namespace sandbox::engine
