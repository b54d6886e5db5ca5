#include "accounts/settings.hpp"

#include "mail/address.hpp"

namespace berth::accounts {

std::string parse_contact(const std::string& text) {
    if (!text.empty() && !mail::is_email(text))
        throw settings::BadValue("must be an email address");
    return text;
}

}  // namespace berth::accounts
