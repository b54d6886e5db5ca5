// A connected, non-blocking TCP socket that is owned, plain or with TLS, with the bytes that were
// read from it already and are still to be given to whoever has it next. It belongs to no loop, and
// may go from thread to thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "http/address.hpp"
#include "http/stream.hpp"

namespace berth::http {

class Carrier {
public:
    Carrier() = default;  // none
    explicit Carrier(Descriptor socket);
    Carrier(Descriptor socket, Stream stream, std::string ahead);

    bool is_open() const { return socket_.number() >= 0; }
    explicit operator bool() const { return is_open(); }
    bool is_tls() const { return stream_.is_tls(); }
    int socket() const { return socket_.number(); }
    Address peer() const;

    // As a client, before all else.
    void start_tls(const TlsContext& tls, TlsPeer peer);
    Transfer shake_hands() { return stream_.shake_hands(); }

    // What was read ahead of time comes first.
    Transfer read(std::span<char> into);
    Transfer write(std::string_view bytes) { return stream_.write(bytes, {}); }
    void put_back(std::string_view bytes);  // read() gives them again, before all else
    std::string_view ahead() const { return ahead_; }
    std::string take_ahead() { return std::exchange(ahead_, {}); }

    // Not done: once more, when there is room for it.
    Transfer finish_sending() { return stream_.finish_sending(); }
    // The peer sees a reset and no end, when this is closed.
    void reset_on_close() { stream_.reset_on_close(); }
    // As the streams of strangers need it: small writes go at once, and a peer whose machine is
    // gone is noticed within a minute. One that only does not read is not: readers may pause.
    void set_up_as_stream() const;
    void close();

private:
    Descriptor socket_;
    Stream stream_{-1, nullptr};
    std::string ahead_;
};

}  // namespace berth::http
