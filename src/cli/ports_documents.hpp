// SPDX-License-Identifier: Apache-2.0
// The JSON documents of ports, wait-port, forward and preview.
//
//   print_out(ports_document(views));
#pragma once

#include "app/ports.hpp"
#include "app/preview.hpp"
#include "domain/forward_spec.hpp"

#include <string>
#include <vector>

namespace sandbox::cli {

std::string ports_document(const std::vector<app::PortView>& views);
std::string forwards_document(const std::string& session, const std::vector<domain::ForwardSpec>& forwards);
std::string preview_document(const app::PreviewReady& ready, std::uint16_t port);

} // namespace sandbox::cli
