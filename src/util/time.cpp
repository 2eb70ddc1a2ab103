// SPDX-License-Identifier: Apache-2.0
#include "util/time.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include "util/fd.hpp"

namespace sandbox {
namespace {

std::int64_t clock_ms(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

} // namespace

std::int64_t wall_now_ms() { return clock_ms(CLOCK_REALTIME); }
std::int64_t boot_now_ms() { return clock_ms(CLOCK_BOOTTIME); }

namespace {

std::string read_boot_id() {
    const Fd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    std::array<char, 64> buffer{};
    if (!file) return {};
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    std::string id(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    while (!id.empty() && id.back() == '\n') id.pop_back();
    return id;
}

} // namespace

std::string boot_id() {
    static const std::string id = read_boot_id();
    return id;
}

std::string format_rfc3339(std::int64_t wall_ms) {
    const std::time_t seconds = wall_ms / 1000;
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text.data();
}

std::string format_rfc3339_ms(std::int64_t wall_ms) {
    std::string text = format_rfc3339(wall_ms);
    const std::string fraction = std::to_string(1000 + wall_ms % 1000);
    text.replace(text.size() - 1, 1, "." + fraction.substr(1) + "Z");
    return text;
}

std::optional<std::int64_t> parse_rfc3339(std::string_view text) {
    const std::string copy(text);
    std::tm parts{};
    const char* rest = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest == nullptr) return std::nullopt;
    std::int64_t milliseconds = std::int64_t{::timegm(&parts)} * 1000;
    if (*rest == '.') {
        std::int64_t scale = 100;
        for (++rest; *rest >= '0' && *rest <= '9'; ++rest, scale /= 10) milliseconds += (*rest - '0') * scale;
    }
    if (std::string_view(rest) == "Z") return milliseconds;
    int hours = 0;
    int minutes = 0;
    char sign = 0;
    if (std::sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) != 3 || (sign != '+' && sign != '-')) {
        return std::nullopt;
    }
    const std::int64_t offset = (std::int64_t{hours} * 60 + minutes) * 60'000;
    return sign == '+' ? milliseconds - offset : milliseconds + offset;
}

std::string format_duration(Milliseconds duration) {
    const std::int64_t total = duration.count();
    if (total < 0) return "0s";
    if (total < 1000) return std::to_string(total) + "ms";
    if (total < 10'000 && total % 1000 >= 100) return std::to_string(total / 1000) + "." + std::to_string(total % 1000 / 100) + "s";
    struct Unit {
        std::int64_t seconds;
        const char* name;
    };
    constexpr std::array units{Unit{86400, "d"}, Unit{3600, "h"}, Unit{60, "m"}, Unit{1, "s"}};
    const std::int64_t seconds = total / 1000;
    for (std::size_t i = 0; i < units.size(); ++i) {
        if (seconds < units[i].seconds) continue;
        std::string text = std::to_string(seconds / units[i].seconds) + units[i].name;
        const std::int64_t rest = seconds % units[i].seconds;
        if (i + 1 < units.size() && rest >= units[i + 1].seconds) {
            text += " " + std::to_string(rest / units[i + 1].seconds) + units[i + 1].name;
        }
        return text;
    }
    return "0s";
}

} // namespace sandbox
