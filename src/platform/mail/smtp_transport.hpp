// Mail over SMTP with libcurl: one connection for each mail, with a deadline. See make_transport()
// for when TLS is required.
#pragma once

#include "mail/transport.hpp"

namespace berth::mail {

struct SmtpServer {
    std::string url;  // smtp://HOST:PORT or smtps://HOST:PORT and nothing else
    std::string user;
    std::string password;
    bool starttls;
};

// Throws std::invalid_argument with one sentence.
SmtpServer parse_smtp_server(const std::string& target);

class SmtpTransport final : public Transport {
public:
    SmtpTransport(SmtpServer server, TransportOptions options);

    void deliver(const Envelope& envelope) override;

private:
    SmtpServer server_;
    TransportOptions options_;
};

}  // namespace berth::mail
