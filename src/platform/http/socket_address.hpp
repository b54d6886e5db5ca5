// An address and a port as the system's calls want them.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>

#include "http/address.hpp"

namespace berth::http {

class SocketAddress {
public:
    // An IPv4 address is used as itself: a host without IPv6 has no socket for its mapped form.
    SocketAddress(const Address& address, std::uint16_t port) {
        six_.sin6_family = AF_INET6;
        six_.sin6_port = htons(port);
        std::memcpy(&six_.sin6_addr, address.bytes.data(), address.bytes.size());
        is_four_ = IN6_IS_ADDR_V4MAPPED(&six_.sin6_addr) != 0;
        four_.sin_family = AF_INET;
        four_.sin_port = htons(port);
        std::memcpy(&four_.sin_addr, address.bytes.data() + 12, sizeof four_.sin_addr);
    }

    int family() const { return is_four_ ? AF_INET : AF_INET6; }
    const sockaddr* data() const {
        return is_four_ ? reinterpret_cast<const sockaddr*>(&four_)
                        : reinterpret_cast<const sockaddr*>(&six_);
    }
    socklen_t size() const { return is_four_ ? sizeof four_ : sizeof six_; }

private:
    sockaddr_in four_{};
    sockaddr_in6 six_{};
    bool is_four_ = false;
};

}  // namespace berth::http
