// The address of mail that a person signs in by, and how its owner changes it: with a fresh proof
// of presence, and with a code that was mailed to the new address. Both addresses are told, and
// those of the last 30 days.
#pragma once

#include "accounts/codes.hpp"
#include "accounts/notices.hpp"
#include "accounts/sessions.hpp"

namespace berth::accounts {

inline constexpr Duration email_changes_window = std::chrono::hours(24 * 30);
inline constexpr std::int64_t email_changes_max = 3;  // within it

class Mailboxes {
public:
    Mailboxes(const Site& site, const EmailCodes& codes, const Sessions& sessions,
              const mail::Outbox& outbox, const Notices& notices)
        : site_(site), codes_(codes), sessions_(sessions), outbox_(outbox), notices_(notices) {}

    // An address that has an account gets a mail without a code; the answer is the same.
    CodeSent ask(api::Call& call, const NewEmail& request) const;
    EmailChanged confirm(api::Call& call, const ConfirmEmail& request) const;

private:
    const Site& site_;
    const EmailCodes& codes_;
    const Sessions& sessions_;
    const mail::Outbox& outbox_;
    const Notices& notices_;
};

// Enough of an address to know one's own by, for records that are never erased: "a…@example.org".
std::string masked_email(std::string_view email);

}  // namespace berth::accounts
