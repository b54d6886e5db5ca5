#include "mail/settings.hpp"

#include "mail/address.hpp"

namespace berth::mail {

std::string parse_transport(const std::string& text) {
    const bool folder = text.starts_with("file:") && text.size() > 5;
    if (!folder && !text.starts_with("smtp://") && !text.starts_with("smtps://"))
        throw settings::BadValue("must be file:DIR, smtp://… or smtps://…");
    return text;
}

std::string parse_sender(const std::string& text) {
    if (!is_email(text)) throw settings::BadValue("must be an email address");
    return text;
}

}  // namespace berth::mail
