// One TCP connection to an address that was judged, for what is not HTTP. It blocks, and everything
// over it has to be done by one deadline: never on an I/O thread nor inside a transaction.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/time.hpp"
#include "http/address.hpp"

namespace berth::http {

class DialledConnection {
public:
    // All of it throws TransportError: nobody there, closed by the other side, no time left.
    DialledConnection(const Address& address, std::uint16_t port, Duration total_max);

    void send(std::string_view bytes);
    std::string receive(std::size_t bytes);  // exactly so many

private:
    void wait_for(short events) const;

    std::chrono::steady_clock::time_point deadline_;
    Descriptor socket_;
};

}  // namespace berth::http
