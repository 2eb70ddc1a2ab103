// SPDX-License-Identifier: Apache-2.0
// How a person writes ports: `8080`, and [ADDRESS:][HOST_PORT:]PORT as docker and kubectl have it.
//
//   parse_forward("127.0.0.2:8080:80").host_port == 8080
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::domain {

struct ForwardSpec {
    std::string address = "127.0.0.1"; // of this machine, without brackets
    std::uint16_t host_port = 0;       // 0: the kernel chooses
    std::uint16_t port = 0;            // in the session
};

// 1 to 65535. Throws usage.
std::uint16_t parse_port(std::string_view text);
// "5173" (the same port here), "8080:80", ":80" and "0:80" (a free one), "127.0.0.2:8080:80", "[::1]:8080:80". Addresses are numbers, or
// "localhost". Throws usage.
ForwardSpec parse_forward(std::string_view text);
// Throws usage when two of them want the same port here.
void check_distinct(const std::vector<ForwardSpec>& specs);
// "ADDRESS:PORT" or "PORT": where to listen, for a single port of the session. Throws usage.
ForwardSpec parse_listen(std::string_view text);
// "127.0.0.1:80", "[::1]:80".
std::string address_and_port(std::string_view address, std::uint16_t port);

} // namespace sandbox::domain
