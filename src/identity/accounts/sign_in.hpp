// Sign-in by emailed code or link, the second factor, sign-out, and step-up. An address nobody used
// before is an account from its first sign-in on, so known and unknown ones are treated alike.
#pragma once

#include "accounts/codes.hpp"
#include "accounts/keys.hpp"
#include "accounts/second_factor.hpp"
#include "mail/outbox.hpp"

namespace berth::accounts {

class SignIn {
public:
    SignIn(const Site& site, const EmailCodes& codes, const Sessions& sessions,
           const SecondFactors& factors, const mail::Outbox& outbox, const Notices& notices)
        : site_(site),
          codes_(codes),
          sessions_(sessions),
          factors_(factors),
          outbox_(outbox),
          notices_(notices) {}

    CodeSent start(api::Call& call, const StartSignIn& request) const;
    SignedIn verify(api::Call& call, const VerifySignIn& request) const;
    SignedIn second_factor(api::Call& call, const SecondFactor& request) const;
    void sign_out(api::Call& call) const;
    void revoke_sessions(api::Call& call) const;
    void revoke_session(api::Call& call, SessionId id) const;
    WhoAmI who_am_i(api::Call& call) const;

    CodeSent send_step_up_code(api::Call& call) const;
    Grant step_up(api::Call& call, Purpose purpose, const std::string& code) const;
    TotpConfirmed confirm_totp(api::Call& call, const ConfirmTotp& request) const;

private:
    Account account_of(api::Call& call, const std::string& email) const;

    const Site& site_;
    const EmailCodes& codes_;
    const Sessions& sessions_;
    const SecondFactors& factors_;
    const mail::Outbox& outbox_;
    const Notices& notices_;
};

}  // namespace berth::accounts
