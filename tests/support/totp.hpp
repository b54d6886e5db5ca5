// Codes of an authenticator against a server with the real clock.
#pragma once

#include <poll.h>

#include "base/time.hpp"
#include "crypto/totp.hpp"

namespace berth::test {

// The present step, of which enough is left to use the code before its own: a server takes the
// present one and that before it.
inline std::int64_t fresh_totp_step() {
    constexpr int look_every_ms = 50;
    constexpr Duration enough = std::chrono::seconds(10);
    Time now = SystemClock().now();
    while (crypto::totp_step(now) != crypto::totp_step(now + enough)) {
        ::poll(nullptr, 0, look_every_ms);
        now = SystemClock().now();
    }
    return crypto::totp_step(now);
}

}  // namespace berth::test
