// Six-digit codes sent by mail: ten minutes, once, bound to what they were asked for. Each lives
// its own time: asking again takes nothing away from the ones before.
//
// Anybody may ask for a sign-in code of any mailbox and guess at it, so nothing a stranger does may
// shut its owner out: asking and guessing are counted by the network address they come from, and
// when so many have guessed that the odds of a hit would grow, the mailed link still signs in. A
// mailbox's share of mail fills up evenly, and networks that signed in before have their own. The
// other codes are asked for in a session: five an hour, five tries each.
#pragma once

#include "accounts/code_keys.hpp"
#include "accounts/store.hpp"
#include "api/call.hpp"

namespace berth::accounts {

inline constexpr std::string_view sign_in_purpose = "sign-in";
inline constexpr Duration code_lifetime = std::chrono::minutes(10);
inline constexpr Duration code_count_window = std::chrono::hours(1);
inline constexpr std::int64_t code_tries_max = 5;
inline constexpr Duration mail_always_after = std::chrono::minutes(5);
static_assert(mail_always_after < code_lifetime, "one mail always fits into a code's life");

class EmailCodes {
public:
    explicit EmailCodes(const CodeKeys& keys) : keys_(keys) {}

    struct Order {
        std::string purpose;   // sign_in_purpose, "step-up"
        std::string email;     // normalized
        std::string bound_to;  // a code for one thing does not open another
        bool link = false;     // make a link token too
    };
    struct Issued {
        std::string code;
        std::string token;  // empty without a link
        Time expires_at;
        bool to_be_sent = true;  // the mailbox has not had its share of mail yet
    };
    // Throws a Problem 429 over the hourly count.
    Issued issue(api::Call& call, const Order& order) const;

    // Uses the code up. Throws a CommittedProblem AUTHORIZATION_INVALID, with the try counted.
    void redeem(api::Call& call, const Order& order, std::string_view code) const;

    // Uses a link up and gives the address it was sent to; throws AUTHORIZATION_INVALID.
    std::string redeem_link(api::Call& call, std::string_view purpose,
                            std::string_view token) const;

private:
    bool admit(api::Call& call, const Order& order) const;
    bool gets_mail(api::Call& call, const Order& order, std::int64_t per_hour) const;
    std::vector<LiveCode> begin_try(api::Call& call, const Order& order) const;

    const CodeKeys& keys_;
};

}  // namespace berth::accounts
