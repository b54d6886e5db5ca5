// What a handler gets that answered an Upgrade with switching_status and Response::hand_over: the
// client's connection itself, once the answer is sent. From then on the server has nothing more to
// do with it: no deadline, no eviction, no drain.
#pragma once

#include <memory>

#include "http/carrier.hpp"
#include "http/loop.hpp"

namespace berth::http {

struct HandedOver {
    Carrier carrier;             // what the client sent behind its request is in it
    std::shared_ptr<Loop> loop;  // on whose thread this is called; it ends with the server
    // The client's place among the connections of its address: counted until this is let go, which
    // may be on any thread and later than the server's end.
    std::shared_ptr<const void> place;
};

}  // namespace berth::http
