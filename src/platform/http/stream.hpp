// A connected, non-blocking socket, plain or with TLS. It does not own the socket.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "http/tls.hpp"

namespace berth::http {

class Stream {
public:
    Stream(int socket, const TlsContext* tls);  // the server's side
    Stream(int socket, const TlsContext& tls, TlsPeer peer);

    bool is_tls() const { return tls_ != nullptr; }
    Transfer shake_hands();  // what a client does before all else
    std::string fault_of_handshake() const { return tls_ ? tls_->fault_of_handshake() : ""; }

    Transfer read(std::span<char> into);
    // With TLS: what has come are a server's tickets, and nothing that is to be read.
    bool has_only_tickets() { return tls_ && tls_->has_only_tickets(); }
    // Writes some of `first` followed by `second`, which are not both empty.
    Transfer write(std::string_view first, std::string_view second);
    // Not done: once more, when there is room for it. Who does not care may let it be.
    Transfer finish_sending();
    // The system keeps no more than this of what the peer has not made room for.
    void bound_unsent(int bytes);
    // Not 0: the connection breaks when the peer's system has not answered ours for so long.
    void bound_unacknowledged(Duration span);
    void reset_on_close();  // so that an end that is not the end is not taken for one

private:
    int socket_;
    int unsent_bytes_max_ = 0;  // 0: as the system has it
    std::unique_ptr<TlsSession> tls_;
};

}  // namespace berth::http
