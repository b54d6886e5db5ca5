// What a connection begins with: so that a door for SSH or TLS is no door for anything else.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/time.hpp"
#include "http/carrier.hpp"
#include "http/loop.hpp"

namespace berth::http {

enum class FirstBytes {
    unclear,  // too few to tell
    ssh,      // "SSH-"
    tls,      // the beginning of a ClientHello
    other,
};
FirstBytes first_bytes_of(std::string_view bytes);

struct FirstSeen {
    Carrier carrier;  // gives the bytes again; none when the peer has gone
    // unclear: it said nothing, or too little, in the time that it had; or finished with that.
    FirstBytes first = FirstBytes::unclear;
};

// Waits for the first bytes (8 at most are read), no longer than that. From any thread; `done` is
// called once, on the loop's thread and never from inside this; not when the loop ends first.
void await_first_bytes(const std::shared_ptr<Loop>& loop, Carrier carrier, Duration silence_max,
                       std::function<void(FirstSeen)> done);

}  // namespace berth::http
