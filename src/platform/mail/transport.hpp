// The way a mail leaves the process: over SMTP, or into a folder as .eml files. Both block, so they
// are used by the worker only, never in a request and never in a transaction.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "base/ids.hpp"

namespace berth::mail {

using MailId = Id<struct MailTag>;

struct Envelope {
    MailId id;
    std::string from;  // addresses: is_email
    std::string to;
    std::string message;       // as write_message() makes it
    std::string subject = {};  // what the message was made of, for who does not send it
    std::string text = {};
};

// The server will not take this mail however often it is offered.
class Refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// It did not work this time: no connection, no time left, a server that is busy or set up wrongly.
class NotDelivered : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Transport {
public:
    virtual ~Transport() = default;
    // Returns when the mail is in somebody else's hands; throws Refused or NotDelivered.
    virtual void deliver(const Envelope& envelope) = 0;
};

struct TransportOptions {
    Duration connect_max = std::chrono::seconds(10);
    Duration total_max = std::chrono::seconds(30);
    std::string ca_file{};  // empty: the system's certificates
};

// `target` is one of
//
//   file:DIR
//   smtp://[USER:PASSWORD@]HOST[:PORT][?tls=required|off]    port 25 unless given
//   smtps://[USER:PASSWORD@]HOST[:PORT]                      port 465 unless given
//
// User and password are percent-encoded. smtp:// upgrades with STARTTLS and gives up on a server
// that cannot. To this machine (localhost, 127.…, ::1), and with tls=off, it goes without TLS; a
// local server that wants it all the same is given tls=required.
// A password never goes to another machine in the clear: that combination is refused. Certificates
// are always verified.
//
// Throws std::invalid_argument with one sentence, which never repeats the password.
std::unique_ptr<Transport> make_transport(const std::string& target,
                                          const TransportOptions& options = {});

}  // namespace berth::mail
