// Sign-in by emailed code or link, the second factor, sign-out, and step-up. An address nobody used
// before is an account from its first sign-in on, so known and unknown ones are treated alike.
#pragma once

#include "accounts/codes.hpp"
#include "accounts/second_factor.hpp"
#include "mail/outbox.hpp"

namespace berth::accounts {

inline constexpr Duration step_up_lifetime = std::chrono::minutes(5);

class SignIn {
public:
    SignIn(const Site& site, const EmailCodes& codes, const Sessions& sessions,
           const SecondFactors& factors, const mail::Outbox& outbox)
        : site_(site), codes_(codes), sessions_(sessions), factors_(factors), outbox_(outbox) {}

    CodeSent start(api::Call& call, const StartSignIn& request) const;
    SignedIn verify(api::Call& call, const VerifySignIn& request) const;
    SignedIn second_factor(api::Call& call, const SecondFactor& request) const;
    void sign_out(api::Call& call) const;
    WhoAmI who_am_i(api::Call& call) const;

    CodeSent send_step_up_code(api::Call& call) const;
    Grant step_up(api::Call& call, const AskStepUp& request) const;
    TotpConfirmed confirm_totp(api::Call& call, const ConfirmTotp& request) const;

private:
    Account account_of(api::Call& call, const std::string& email) const;

    const Site& site_;
    const EmailCodes& codes_;
    const Sessions& sessions_;
    const SecondFactors& factors_;
    const mail::Outbox& outbox_;
};

}  // namespace berth::accounts
