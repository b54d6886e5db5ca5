// A connected, non-blocking socket, plain or with TLS. It does not own the socket.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "http/tls.hpp"

namespace berth::http {

class Stream {
public:
    Stream(int socket, const TlsContext* tls);

    Transfer read(std::span<char> into);
    // Writes some of `first` followed by `second`, which are not both empty.
    Transfer write(std::string_view first, std::string_view second);
    void finish_sending();

private:
    int socket_;
    std::unique_ptr<TlsSession> tls_;
};

}  // namespace berth::http
