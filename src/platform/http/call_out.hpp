// One connection outwards on a loop: dialled, with TLS where the endpoint has it, and switched to
// another protocol by an Upgrade where one is named. What comes of it is a Carrier.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/time.hpp"
#include "http/carrier.hpp"
#include "http/loop.hpp"
#include "http/upstream.hpp"

namespace berth::http {

struct CallOut {
    Endpoint endpoint{};      // address, port and host; tls, and the key that the peer must have
    std::string target{};     // of the GET that asks to switch; empty: nothing is asked
    std::string switch_to{};  // "berth-stream"
    Headers headers{};
    Duration total_max = std::chrono::seconds(5);
};

struct Called {
    enum class Failure : std::uint8_t {
        none,
        refused,       // nobody listens there, or no way leads there
        timed_out,     // not all was done in time
        tls,           // the handshake failed, or the peer has another key
        closed,        // it ended before its answer was whole
        not_switched,  // it answered, but not with 101 and that protocol: see status
        unsound,       // the call cannot be sent as it is, or the answer is no HTTP
    };

    Carrier carrier{};  // with what came behind the answer; none when it failed
    Failure failure = Failure::none;
    int status = 0;        // of the answer, where there was one
    std::string reason{};  // one sentence, for logs
};

// From any thread. `done` is called once, on the loop's thread and never from inside this; not when
// the loop ends first.
void call_out(const std::shared_ptr<Loop>& loop, CallOut call, std::function<void(Called)> done);

}  // namespace berth::http
