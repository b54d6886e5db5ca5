// The accounts feature put together, and its routes.
#pragma once

#include "accounts/allowances.hpp"
#include "accounts/credentials.hpp"
#include "accounts/integrations.hpp"
#include "accounts/keys.hpp"
#include "accounts/mailbox.hpp"
#include "accounts/sign_in.hpp"
#include "api/router.hpp"

namespace berth::accounts {

class Accounts {
public:
    Accounts(const Site& site, CodeKeys code_keys, const crypto::Sealer& sealer,
             const mail::Outbox& outbox);

    api::Authenticator& credentials() { return credentials_; }
    // For features that ask for a proof of their own.
    const EmailCodes& codes() const { return codes_; }
    const SecondFactors& factors() const { return factors_; }
    const Notices& notices() const { return notices_; }
    const Keys& keys() const { return keys_; }
    const Integrations& integrations() const { return integrations_; }
    // Grants the purpose to the caller's session, for a code by mail or of the authenticator.
    Grant step_up(api::Call& call, Purpose purpose, const std::string& code) const {
        return sign_in_.step_up(call, purpose, code);
    }
    void add_routes(api::Router& router) const;

private:
    void add_sign_in_routes(api::Router& router) const;
    void add_factor_routes(api::Router& router) const;
    void add_session_routes(api::Router& router) const;
    void add_mailbox_routes(api::Router& router) const;
    void add_key_routes(api::Router& router) const;
    void add_integration_routes(api::Router& router) const;

    CodeKeys code_keys_;
    Notices notices_;
    EmailCodes codes_;
    Sessions sessions_;
    SecondFactors factors_;
    SignIn sign_in_;
    Mailboxes mailboxes_;
    Keys keys_;
    Integrations integrations_;
    Credentials credentials_;
};

// Makes the account of this address an admin, and the account itself when there is none yet. Only
// the machine the server runs on can ask for it.
AccountId make_admin(db::Context context, const std::string& email);

}  // namespace berth::accounts
