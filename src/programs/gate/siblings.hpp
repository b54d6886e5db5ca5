// The older and the newer process of one gate, while it is upgraded. Both listen on the same ports,
// so that a machine's call may reach the process that has not asked for it: that one asks the
// other, by a socket in the gate's folder, and passes the bytes on.
//
//     -> 3f0c…-…\n      the call, as a UUID
//     <- +              it is mine: what follows is the machine's connection
//                       or the end: it is not
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/descriptor.hpp"
#include "gate/board.hpp"
#include "http/carrier.hpp"

namespace berth::gate {

class Siblings {
public:
    using Find = std::function<std::shared_ptr<Answered>(const CallId&)>;

    // `find` is called on a thread of this and may block. Throws std::runtime_error.
    Siblings(const std::string& folder, Find find);
    ~Siblings();
    Siblings(const Siblings&) = delete;
    Siblings& operator=(const Siblings&) = delete;

    // A way to the call at whichever process has it; none when nobody does. Blocks for a second at
    // most with each.
    http::Carrier ask(const CallId& call) const;

private:
    void listen();
    void serve(Descriptor socket);
    std::string path_of(const std::string& name) const;

    const Find find_;
    const std::string name_;
    Descriptor folder_;  // its sockets are reached by this: their names may be too long otherwise
    Descriptor listener_;
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

}  // namespace berth::gate
