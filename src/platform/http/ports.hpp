// Ports that are opened and closed while a program runs, for strangers whose bytes are not HTTP.
//
// They are opened with SO_REUSEPORT: an older and a newer process of one user may hold the same
// port for a while. Whoever comes then is the newer one's, where the kernel can be told so.
// Connections that nobody has accepted are reset when their listener closes (unless
// net.ipv4.tcp_migrate_req is set), so the older one closes when the newer one has been there for a
// moment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/carrier.hpp"
#include "http/loop.hpp"

namespace berth::http {

struct Visitor {
    std::uint16_t port;
    Carrier carrier;
    Address peer;
};

// Everything here happens on the loop's thread.
class Ports {
public:
    // `on_visitor` may open and close ports.
    Ports(std::shared_ptr<Loop> loop, std::string address, std::function<void(Visitor)> on_visitor);
    ~Ports();  // closes them; those who came in stay
    Ports(const Ports&) = delete;
    Ports& operator=(const Ports&) = delete;

    // Port 0 takes a free one; gives the port. Throws std::runtime_error with one sentence when it
    // cannot be had. One that is open already stays open.
    std::uint16_t open(std::uint16_t port);
    void close(std::uint16_t port);
    bool is_open(std::uint16_t port) const;
    std::size_t size() const;

private:
    class Listening;
    std::shared_ptr<Listening> listening_;
};

}  // namespace berth::http
