// Requests and responses of accounts: sign-in, sessions, second factor, step-up, keys, integrations.
#pragma once

#include <boost/describe.hpp>

#include "api/page.hpp"
#include "wire/rules.hpp"

namespace berth::accounts {

using KeyId = Id<struct KeyTag>;
using SessionId = Id<struct SessionTag>;
using EnrollmentId = Id<struct EnrollmentTag>;
using GrantId = Id<struct GrantTag>;

enum class Kind { human, agent };
BOOST_DESCRIBE_ENUM(Kind, human, agent)

enum class Role { renter, host, admin };
BOOST_DESCRIBE_ENUM(Role, renter, host, admin)

enum class Scope { renter, host };
BOOST_DESCRIBE_ENUM(Scope, renter, host)
using Scopes = wire::Set<Scope, 1, 2>;

// Sign-in

struct StartSignIn {
    wire::Text<3, 254> email;
};
BOOST_DESCRIBE_STRUCT(StartSignIn, (), (email))

struct CodeSent {
    bool sent = true;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(CodeSent, (), (sent, expires_at))

struct SignInByCode {
    wire::Text<3, 254> email;
    wire::SixDigits code;
};
BOOST_DESCRIBE_STRUCT(SignInByCode, (), (email, code))

struct SignInByLink {
    wire::Text<1, 100> token;
};
BOOST_DESCRIBE_STRUCT(SignInByLink, (), (token))

using VerifySignIn = wire::OneOf<SignInByCode, SignInByLink>;

struct SignedIn {
    AccountId account_id;
    Role role = Role::renter;
    bool mfa_required = false;
    std::string csrf_token;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(SignedIn, (), (account_id, role, mfa_required, csrf_token, expires_at))

// Six digits of the authenticator, or a recovery code.
struct SecondFactor {
    wire::Text<6, 20> code;
};
BOOST_DESCRIBE_STRUCT(SecondFactor, (), (code))

enum class CredentialKind { session, api_key };
BOOST_DESCRIBE_ENUM(CredentialKind, session, api_key)

struct WhoAmI {
    AccountId account_id;
    Kind account_kind = Kind::human;
    wire::Nullable<std::string> email;
    Role role = Role::renter;
    bool host_capability = false;
    CredentialKind credential = CredentialKind::session;
    std::vector<Scope> scopes;
    bool mfa_enrolled = false;
    bool mfa_required = false;
    wire::Nullable<std::string> csrf_token;
    wire::Nullable<Time> expires_at;
};
BOOST_DESCRIBE_STRUCT(WhoAmI, (), (account_id, account_kind, email, role, host_capability, credential,
                                   scopes, mfa_enrolled, mfa_required, csrf_token, expires_at))

// Second factor

struct NewTotp {
    EnrollmentId enrollment_id;
    wire::Secret secret;
    wire::Secret otpauth_uri;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(NewTotp, (), (enrollment_id, secret, otpauth_uri, expires_at))

struct ConfirmTotp {
    EnrollmentId enrollment_id;
    wire::SixDigits code;
};
BOOST_DESCRIBE_STRUCT(ConfirmTotp, (), (enrollment_id, code))

struct TotpConfirmed {
    bool enabled = true;
    std::vector<wire::Secret> recovery_codes;
    std::string csrf_token;
};
BOOST_DESCRIBE_STRUCT(TotpConfirmed, (), (enabled, recovery_codes, csrf_token))

// Step-up

enum class Purpose { account_sensitive, wallet, admin_sensitive };
BOOST_DESCRIBE_ENUM(Purpose, account_sensitive, wallet, admin_sensitive)
constexpr std::string_view wire_name(Purpose purpose) {
    switch (purpose) {
        case Purpose::account_sensitive: return "account-sensitive";
        case Purpose::wallet: return "wallet";
        case Purpose::admin_sensitive: return "admin-sensitive";
    }
    return "";
}

struct AskStepUp {
    Purpose purpose = Purpose::account_sensitive;
    wire::Text<6, 20> code;
};
BOOST_DESCRIBE_STRUCT(AskStepUp, (), (purpose, code))

struct Grant {
    GrantId grant_id;
    Purpose purpose = Purpose::account_sensitive;
    Time expires_at;
    std::string csrf_token;
};
BOOST_DESCRIBE_STRUCT(Grant, (), (grant_id, purpose, expires_at, csrf_token))

// API keys

struct NewKey {
    wire::Text<1, 60> name;
    Scopes scopes;
    std::optional<Time> expires_at;
};
BOOST_DESCRIBE_STRUCT(NewKey, (), (name, scopes, expires_at))

struct ApiKey {
    KeyId key_id;
    wire::Text<1, 60> name;
    std::string prefix;
    Scopes scopes;
    Time created_at;
    wire::Nullable<Time> expires_at;
    wire::Nullable<Time> last_used_at;
};
BOOST_DESCRIBE_STRUCT(ApiKey, (), (key_id, name, prefix, scopes, created_at, expires_at,
                                   last_used_at))

struct IssuedKey {
    KeyId key_id;
    wire::Text<1, 60> name;
    std::string prefix;
    Scopes scopes;
    Time created_at;
    wire::Nullable<Time> expires_at;
    wire::Nullable<Time> last_used_at;
    wire::Secret secret;
};
BOOST_DESCRIBE_STRUCT(IssuedKey, (), (key_id, name, prefix, scopes, created_at, expires_at,
                                      last_used_at, secret))

struct KeyPath {
    KeyId id;
};
BOOST_DESCRIBE_STRUCT(KeyPath, (), (id))

// Integrations

struct ProviderPath {
    std::string provider;
};
BOOST_DESCRIBE_STRUCT(ProviderPath, (), (provider))

struct HubToken {
    wire::Text<1, 512> token;
};
BOOST_DESCRIBE_STRUCT(HubToken, (), (token))

struct Integration {
    std::string provider;
    bool set = false;
    wire::Nullable<Time> updated_at;
};
BOOST_DESCRIBE_STRUCT(Integration, (), (provider, set, updated_at))

}  // namespace berth::accounts
