// SPDX-License-Identifier: Apache-2.0
#include "app/workers.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace sandbox::app {
namespace {

// With more the engine itself is what is waited for (benchmarks/run: gc of 200).
constexpr std::size_t k_most_workers = 8;

} // namespace

void for_each_at_once(Context& context, std::size_t count, const std::function<void(Context&, std::size_t)>& body) {
    std::mutex telling;
    std::atomic<std::size_t> next = 0;
    std::exception_ptr failure;
    const auto work = [&](Context& own) {
        for (std::size_t i; (i = next++) < count;) {
            try {
                body(own, i);
            } catch (...) {
                const std::lock_guard lock(telling);
                if (!failure) failure = std::current_exception();
            }
        }
    };
    if (count < 2) {
        work(context);
    } else {
        std::vector<Context> contexts;
        for (std::size_t i = 0; i < std::min(count, k_most_workers); ++i) contexts.push_back(context.sibling(telling));
        std::vector<std::jthread> workers;
        for (Context& own : contexts) workers.emplace_back([&] { work(own); });
    }
    if (failure) std::rethrow_exception(failure);
}

} // namespace sandbox::app
