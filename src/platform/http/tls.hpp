// TLS over non-blocking sockets, straight on OpenSSL: version 1.2 or newer.
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
    enum class Status {
        done,
        wants_read,
        wants_write,
        finished,  // the peer has sent all it wants to, and said so
        closed,    // the connection is gone or broken
    };

    Status status;
    std::size_t bytes = 0;
};

// A certificate with its key, or what clients judge certificates by. Connections made with it keep
// it alive.
class TlsContext {
public:
    // Throws std::runtime_error with one sentence when the PEM files cannot be used.
    TlsContext(const std::string& certificate_file, const std::string& key_file);
    static TlsContext from_pem(const std::string& certificate, const std::string& key);
    // With the authorities of a PEM file, or the system's.
    static TlsContext for_clients(const std::string& ca_file = {});
    static TlsContext for_pins();  // without any, for peers that are known by their keys
    void forget_sessions();        // none is resumed, and nothing is kept for that
    ssl_ctx_st* native() const { return context_.get(); }

private:
    struct Free {
        void operator()(ssl_ctx_st* context) const;
    };
    explicit TlsContext(ssl_ctx_st* context);

    std::unique_ptr<ssl_ctx_st, Free> context_;
};

// Who a client means to talk to.
struct TlsPeer {
    std::string host;        // the name or address in the certificate
    std::string key_sha256;  // not empty: the peer's public key decides, and no authority
};

// One connection. On the server's side the handshake happens inside the first read. A read never
// leaves bytes behind in here when it is given room for a whole record, so waiting for the socket
// is enough.
class TlsSession {
public:
    static constexpr std::size_t record_bytes_max = 16 * 1024;

    TlsSession(const TlsContext& context, int socket);  // the server's side
    TlsSession(const TlsContext& context, int socket, TlsPeer peer);

    // What a client does first. Done only when the peer is the one that is meant.
    Transfer shake_hands();
    std::string fault_of_handshake() const;  // of one that failed, for logs
    Transfer read(std::span<char> into);
    bool has_only_tickets();  // takes them in; false when there is, or begins, anything else
    Transfer write(std::string_view bytes);
    Transfer finish_sending();  // wants_write: once more, when there is room

private:
    Transfer outcome(int result);
    bool has_key(const std::string& key_sha256) const;

    struct Free {
        void operator()(ssl_st* session) const;
    };
    std::unique_ptr<ssl_st, Free> session_;
    std::string key_sha256_;
};

}  // namespace berth::http
