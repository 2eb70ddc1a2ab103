// SPDX-License-Identifier: Apache-2.0
// What a browser reads where the server in the session cannot be reached.
#include "app/preview_exchange.hpp"
#include "util/fd.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::app;

namespace {

const Gate k_gate{std::string(64, 'a'), 4000};

// The whole answer to a request whose stream is cut with this error.
std::string answer_when_cut(int error) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    const Fd browser(ends[0]);
    Fd inner;
    PreviewExchange exchange(Fd(ends[1]), k_gate, [&](Fd socket) { inner = std::move(socket); return 7U; },
                             [](int number) { return "cannot be reached: " + std::string(std::strerror(number)); });
    write_all(browser.get(), "GET /?sandbox_token=" + k_gate.token + " HTTP/1.1\r\nHost: 127.0.0.1:4000\r\n\r\n");
    const auto turn = [&] {
        std::vector<pollfd> set;
        exchange.watch(set);
        REQUIRE(::poll(set.data(), set.size(), 5000) > 0);
        exchange.serve(set);
    };
    while (!exchange.stream()) turn();
    exchange.cut(error);
    inner.reset();
    ::shutdown(browser.get(), SHUT_WR);
    std::string answer;
    while (!exchange.is_over()) turn();
    std::array<char, 4096> block;
    for (ssize_t count = 0; (count = ::read(browser.get(), block.data(), block.size())) > 0;) answer.append(block.data(), static_cast<std::size_t>(count));
    return answer;
}

} // namespace

TEST_CASE("why a server cannot be reached is said as it is") {
    CHECK(answer_when_cut(EMFILE).find("cannot be reached: Too many open files") != std::string::npos);
    CHECK(answer_when_cut(ECONNREFUSED).find("cannot be reached: Connection refused") != std::string::npos);
    CHECK(answer_when_cut(0).find("closed the connection without an answer") != std::string::npos);
}
