// Six-digit codes sent by mail: ten minutes, five tries, once, five an hour for a purpose and
// address, bound to what they were asked for. Asking again replaces the code before.
#pragma once

#include "accounts/store.hpp"
#include "api/call.hpp"

namespace berth::accounts {

inline constexpr std::string_view sign_in_purpose = "sign-in";
inline constexpr Duration code_lifetime = std::chrono::minutes(10);
inline constexpr std::int64_t code_tries_max = 5;

// How many mails with a code one mailbox may get in an hour.
struct CodeLimits {
    std::int64_t sign_in_per_hour = 5;
    std::int64_t other_per_hour = 5;  // for each purpose
};

class EmailCodes {
public:
    EmailCodes(Bytes secret, const CodeLimits& limits)
        : secret_(std::move(secret)), limits_(limits) {}

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
    };
    // Throws a Problem 429 over the hourly count.
    Issued issue(api::Call& call, const Order& order) const;

    // Uses the code up. Throws a CommittedProblem AUTHORIZATION_INVALID, with the try counted.
    void redeem(api::Call& call, const Order& order, std::string_view code) const;

    // Uses a link up and gives the address it was sent to; throws AUTHORIZATION_INVALID.
    std::string redeem_link(api::Call& call, std::string_view purpose, std::string_view token) const;

private:
    Bytes hash(Uuid code_id, std::string_view code) const;

    Bytes secret_;
    CodeLimits limits_;
};

}  // namespace berth::accounts
