#include "mail/transport.hpp"

#include "mail/file_transport.hpp"
#include "mail/smtp_transport.hpp"

namespace berth::mail {

std::unique_ptr<Transport> make_transport(const std::string& target,
                                          const TransportOptions& options) {
    constexpr std::string_view file = "file:";
    if (target.starts_with(file))
        return std::make_unique<FileTransport>(target.substr(file.size()));
    return std::make_unique<SmtpTransport>(parse_smtp_server(target), options);
}

}  // namespace berth::mail
