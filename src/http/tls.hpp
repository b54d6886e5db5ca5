// TLS over non-blocking sockets, straight on OpenSSL: version 1.2 or newer, server side only.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace berth::http {

// What came of reading from or writing to a socket that does not block.
struct Transfer {
    enum class Status { done, wants_read, wants_write, closed };

    Status status;
    std::size_t bytes = 0;
};

// A certificate with its key. Connections made with it keep it alive.
class TlsContext {
public:
    // Throws std::runtime_error with one sentence when the PEM files cannot be used.
    TlsContext(const std::string& certificate_file, const std::string& key_file);
    ssl_ctx_st* native() const { return context_.get(); }

private:
    struct Free {
        void operator()(ssl_ctx_st* context) const;
    };
    std::unique_ptr<ssl_ctx_st, Free> context_;
};

// One connection. The handshake happens inside the first read. A read never leaves bytes behind
// in here when it is given room for a whole record, so waiting for the socket is enough.
class TlsSession {
public:
    static constexpr std::size_t record_bytes_max = 16 * 1024;

    TlsSession(const TlsContext& context, int socket);
    Transfer read(std::span<char> into);
    Transfer write(std::string_view bytes);
    void finish_sending();

private:
    Transfer outcome(int result);

    struct Free {
        void operator()(ssl_st* session) const;
    };
    std::unique_ptr<ssl_st, Free> session_;
};

}  // namespace berth::http
