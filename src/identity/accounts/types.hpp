// Requests and responses of accounts: sign-in, sessions, second factor, step-up, keys,
// integrations.
#pragma once

#include <boost/describe.hpp>

#include "api/page.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::accounts {

using KeyId = Id<struct KeyTag>;
using SessionId = Id<struct SessionTag>;
using EnrollmentId = Id<struct EnrollmentTag>;
using GrantId = Id<struct GrantTag>;

enum class Kind { human, agent };
BOOST_DESCRIBE_ENUM(Kind, human, agent)

enum class Role { renter, host, admin };
BOOST_DESCRIBE_ENUM(Role, renter, host, admin)

// What an account does for the market beside being one of it, without being an admin.
enum class DeskRole { support, finance };
BOOST_DESCRIBE_ENUM(DeskRole, support, finance)

enum class Scope { renter, host };
BOOST_DESCRIBE_ENUM(Scope, renter, host)
using Scopes = wire::Set<Scope, 1, 2>;

// A mail address, as it was given.
struct Email {
    std::string value;
};
extern const wire::Leaf email_leaf;
constexpr wire::Type describe(wire::Tag<Email>) { return {.leaf = &email_leaf}; }

// The one model hub there is. Another name is none that can be found, so it is read as well.
struct Provider {
    std::string value;
};
extern const wire::Leaf provider_leaf;
constexpr wire::Type describe(wire::Tag<Provider>) { return {.leaf = &provider_leaf}; }

// Sign-in

struct StartSignIn {
    Email email;
};
BOOST_DESCRIBE_STRUCT(StartSignIn, (), (email))
constexpr auto wire_docs(const StartSignIn*) {
    return std::to_array<wire::Doc>({
        {"email", "", "ada@example.com"},
    });
}

struct CodeSent {
    bool sent = true;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(CodeSent, (), (sent, expires_at))
constexpr auto wire_docs(const CodeSent*) {
    return std::to_array<wire::Doc>({
        {"sent", "Always true, whether the address is known here or not."},
    });
}

struct SignInByCode {
    Email email;
    wire::SixDigits code;
};
BOOST_DESCRIBE_STRUCT(SignInByCode, (), (email, code))
constexpr auto wire_docs(const SignInByCode*) {
    return std::to_array<wire::Doc>({
        {"email", "", "ada@example.com"},
        {"code", "The six digits of the mail."},
    });
}

struct SignInByLink {
    wire::Text<1, 100> token;
};
BOOST_DESCRIBE_STRUCT(SignInByLink, (), (token))
constexpr auto wire_docs(const SignInByLink*) {
    return std::to_array<wire::Doc>({
        {"token", "What follows # in the link of the mail.", "brl_4eC39HqLyjWDarjtT1zdp7dc"},
    });
}

using VerifySignIn = wire::OneOf<SignInByCode, SignInByLink>;

struct SignedIn {
    AccountId account_id;
    Role role = Role::renter;
    bool mfa_required = false;
    std::string csrf_token;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(SignedIn, (), (account_id, role, mfa_required, csrf_token, expires_at))
constexpr auto wire_docs(const SignedIn*) {
    return std::to_array<wire::Doc>({
        {"mfa_required",
         "Whether POST /api/v1/auth/mfa must follow before the session can "
         "be used.",
         "false"},
        {"csrf_token", "To be sent as X-CSRF-Token with every change.", "q3mD0c8yY1n2Zk5u7w9xAg"},
    });
}

// Six digits of the authenticator, or a recovery code.
struct SecondFactor {
    wire::Text<6, 20> code;
};
BOOST_DESCRIBE_STRUCT(SecondFactor, (), (code))
constexpr auto wire_docs(const SecondFactor*) {
    return std::to_array<wire::Doc>({
        {"code", "Six digits of the authenticator, or a recovery code.", "123456"},
    });
}

enum class CredentialKind { session, api_key };
BOOST_DESCRIBE_ENUM(CredentialKind, session, api_key)

// What the owner of a key lets it spend. A member that is left out limits nothing.
enum class RentalClass { dedicated, interruptible };
BOOST_DESCRIBE_ENUM(RentalClass, dedicated, interruptible)

inline constexpr std::size_t policy_templates_max = 100;
// Where a key with a policy may send money.
enum class Withdraw { none, saved };
BOOST_DESCRIBE_ENUM(Withdraw, none, saved)

struct KeyPolicy {
    std::optional<Micro> max_rate_micro_per_hour;
    std::optional<wire::Integer<0, 1'000'000>> max_open_rentals;
    std::optional<Micro> max_hold_micro;
    std::optional<Micro> per_day_micro;
    std::optional<wire::List<Uuid, 1, policy_templates_max>> templates;
    std::optional<wire::Set<RentalClass, 1, 2>> classes;
    std::optional<Withdraw> withdraw;
};
BOOST_DESCRIBE_STRUCT(KeyPolicy, (),
                      (max_rate_micro_per_hour, max_open_rentals, max_hold_micro, per_day_micro,
                       templates, classes, withdraw))
constexpr auto wire_docs(const KeyPolicy*) {
    return std::to_array<wire::Doc>({
        {"max_rate_micro_per_hour", "The dearest machine that it may rent.", "2000000"},
        {"max_open_rentals", "How many rentals it may have at once.", "3"},
        {"max_hold_micro", "What may be held for its open rentals together.", "20000000"},
        {"per_day_micro",
         "What its reservations and raises may hold in a day of UTC, with what it withdraws.",
         "50000000"},
        {"templates", "The ids of the templates that it may run, and nothing else.",
         "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
        {"classes", "The availability classes that it may rent.", "dedicated"},
        {"withdraw",
         "Whether it may send money out, by withdrawals and payouts: `saved` to addresses that "
         "are saved, within `per_day_micro`.",
         "none", "none"},
    });
}

struct PolicyLeft {
    wire::Nullable<wire::Count> open_rentals;
    wire::Nullable<Micro> hold_micro;
    wire::Nullable<Micro> today_micro;
};
BOOST_DESCRIBE_STRUCT(PolicyLeft, (), (open_rentals, hold_micro, today_micro))
constexpr auto wire_docs(const PolicyLeft*) {
    return std::to_array<wire::Doc>({
        {"open_rentals", "How many more it may open; null without such a limit.", "2"},
        {"hold_micro", "What more may be held for it; null without such a limit.", "15000000"},
        {"today_micro", "What it may still hold today; null without such a limit.", "45000000"},
    });
}

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
    wire::Nullable<KeyPolicy> policy;
    wire::Nullable<PolicyLeft> policy_left;
};
BOOST_DESCRIBE_STRUCT(WhoAmI, (),
                      (account_id, account_kind, email, role, host_capability, credential, scopes,
                       mfa_enrolled, mfa_required, csrf_token, expires_at, policy, policy_left))
constexpr auto wire_docs(const WhoAmI*) {
    return std::to_array<wire::Doc>({
        {"account_kind", "", "human"},
        {"email", "", "ada@example.com"},
        {"host_capability", "Whether the account may rent out machines.", "false"},
        {"credential", "What the caller showed."},
        {"scopes", "What the credential may do."},
        {"mfa_enrolled", "Whether the account has an authenticator.", "true"},
        {"mfa_required", "Whether the second factor of this session is still missing.", "false"},
        {"csrf_token", "Of the session, to be sent as X-CSRF-Token; null for a key.",
         "q3mD0c8yY1n2Zk5u7w9xAg"},
        {"expires_at", "When the credential ends; null for a key."},
        {"policy", "What the key may spend; null for a session and a key without one.", "null"},
        {"policy_left", "What is left of it now.", "null"},
    });
}

// Sessions

struct OpenedSession {
    SessionId session_id;
    bool current = false;  // the one that asks
    bool mfa_required = false;
    std::string user_agent;
    std::string network_address;  // where it was opened
    Time created_at;
    Time last_seen_at;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(OpenedSession, (),
                      (session_id, current, mfa_required, user_agent, network_address, created_at,
                       last_seen_at, expires_at))
constexpr auto wire_docs(const OpenedSession*) {
    return std::to_array<wire::Doc>({
        {"session_id", "Not a credential."},
        {"current", "Whether it is the one that asks.", "true"},
        {"mfa_required", "Whether its second factor is still missing.", "false"},
        {"user_agent", "What the browser called itself.", "Mozilla/5.0 (X11; Linux x86_64)"},
        {"network_address", "Where it was opened.", "192.0.2.1"},
        {"last_seen_at", "It ends when it is not seen for half an hour."},
    });
}

struct SessionPath {
    SessionId id;
};
BOOST_DESCRIBE_STRUCT(SessionPath, (), (id))

// Second factor

struct NewTotp {
    EnrollmentId enrollment_id;
    wire::Secret secret;
    wire::Secret otpauth_uri;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(NewTotp, (), (enrollment_id, secret, otpauth_uri, expires_at))
constexpr auto wire_docs(const NewTotp*) {
    return std::to_array<wire::Doc>({
        {"secret", "The key in base32, to be typed into an authenticator.", "JBSWY3DPEHPK3PXP"},
        {"otpauth_uri", "The same as a URI, to be shown as a QR code.",
         "otpauth://totp/Berth:ada@example.com?secret=JBSWY3DPEHPK3PXP&issuer=Berth"},
    });
}

struct ConfirmTotp {
    EnrollmentId enrollment_id;
    wire::SixDigits code;
};
BOOST_DESCRIBE_STRUCT(ConfirmTotp, (), (enrollment_id, code))
constexpr auto wire_docs(const ConfirmTotp*) {
    return std::to_array<wire::Doc>({
        {"code", "The six digits that the authenticator shows now."},
    });
}

struct TotpConfirmed {
    bool enabled = true;
    std::vector<wire::Secret> recovery_codes;
    std::string csrf_token;
};
BOOST_DESCRIBE_STRUCT(TotpConfirmed, (), (enabled, recovery_codes, csrf_token))
constexpr auto wire_docs(const TotpConfirmed*) {
    return std::to_array<wire::Doc>({
        {"enabled", "", "true"},
        {"recovery_codes", "Each works once in place of the authenticator. Shown only here.",
         "k7f2-m9qd-x3wp"},
        {"csrf_token", "The session was renewed: this takes the place of the one before.",
         "q3mD0c8yY1n2Zk5u7w9xAg"},
    });
}

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

struct Grant {
    GrantId grant_id;
    Purpose purpose = Purpose::account_sensitive;
    Time expires_at;
    wire::Nullable<std::string> csrf_token;  // of the rotated session; a key has none
};
BOOST_DESCRIBE_STRUCT(Grant, (), (grant_id, purpose, expires_at, csrf_token))
constexpr auto wire_docs(const Grant*) {
    return std::to_array<wire::Doc>({
        {"purpose", "What may be done now, with this session or this key alone."},
        {"csrf_token",
         "The session was renewed: this takes the place of the one before. Null for a key.",
         "q3mD0c8yY1n2Zk5u7w9xAg"},
    });
}

// The address that one signs in by

struct NewEmail {
    Email email;
};
BOOST_DESCRIBE_STRUCT(NewEmail, (), (email))
constexpr auto wire_docs(const NewEmail*) {
    return std::to_array<wire::Doc>({
        {"email", "The address to sign in by from now on.", "ada@example.net"},
    });
}

struct ConfirmEmail {
    Email email;
    wire::SixDigits code;
};
BOOST_DESCRIBE_STRUCT(ConfirmEmail, (), (email, code))
constexpr auto wire_docs(const ConfirmEmail*) {
    return std::to_array<wire::Doc>({
        {"email", "The same address again.", "ada@example.net"},
        {"code", "The six digits that were mailed to it."},
    });
}

struct EmailChanged {
    AccountId account_id;
    std::string email;
    std::string csrf_token;
};
BOOST_DESCRIBE_STRUCT(EmailChanged, (), (account_id, email, csrf_token))
constexpr auto wire_docs(const EmailChanged*) {
    return std::to_array<wire::Doc>({
        {"email", "What the account signs in by now.", "ada@example.net"},
        {"csrf_token", "The session was renewed: this takes the place of the one before.",
         "q3mD0c8yY1n2Zk5u7w9xAg"},
    });
}

// API keys

struct NewKey {
    wire::Text<1, 60> name;
    Scopes scopes;
    std::optional<Time> expires_at;
    std::optional<KeyPolicy> policy;
};
BOOST_DESCRIBE_STRUCT(NewKey, (), (name, scopes, expires_at, policy))
constexpr auto wire_docs(const NewKey*) {
    return std::to_array<wire::Doc>({
        {"name", "For people, to tell keys apart.", "training runs"},
        {"scopes", "What the key may do."},
        {"expires_at", "At most 400 days ahead; left out for a key that does not expire.",
         wire::left_out},
        {"policy", "What it may spend; the server keeps it to that."},
    });
}

struct ApiKey {
    KeyId key_id;
    wire::Text<1, 60> name;
    std::string prefix;
    Scopes scopes;
    Time created_at;
    wire::Nullable<Time> expires_at;
    wire::Nullable<Time> last_used_at;
    wire::Nullable<KeyPolicy> policy;
};
BOOST_DESCRIBE_STRUCT(ApiKey, (),
                      (key_id, name, prefix, scopes, created_at, expires_at, last_used_at, policy))
constexpr auto wire_docs(const ApiKey*) {
    return std::to_array<wire::Doc>({
        {"name", "", "training runs"},
        {"prefix", "The first letters of the secret, to recognise it by.", "ark_7Hq2mZ0c"},
        {"scopes", "What the key may do."},
        {"expires_at", "Null when it does not expire.", "2027-06-30T00:00:00Z"},
        {"last_used_at", "Null when it was never used."},
        {"policy", "What it may spend; null when nothing limits it."},
    });
}

struct IssuedKey {
    KeyId key_id;
    wire::Text<1, 60> name;
    std::string prefix;
    Scopes scopes;
    Time created_at;
    wire::Nullable<Time> expires_at;
    wire::Nullable<Time> last_used_at;
    wire::Secret secret;
    wire::Nullable<KeyPolicy> policy;
};
BOOST_DESCRIBE_STRUCT(IssuedKey, (),
                      (key_id, name, prefix, scopes, created_at, expires_at, last_used_at, secret,
                       policy))
constexpr auto wire_docs(const IssuedKey*) {
    return std::to_array<wire::Doc>({
        {"name", "", "training runs"},
        {"prefix", "The first letters of the secret, to recognise it by.", "ark_7Hq2mZ0c"},
        {"scopes", "What the key may do."},
        {"expires_at", "Null when it does not expire.", "2027-06-30T00:00:00Z"},
        {"last_used_at", "Null when it was never used.", "null"},
        {"secret", "The key itself. Shown only here; a repeated answer has null.",
         "ark_7Hq2mZ0cV4tR8yB1nK5sW3xE6uJ9pL2dF0gA"},
        {"policy", "What it may spend; null when nothing limits it."},
    });
}

struct KeyPath {
    KeyId id;
};
BOOST_DESCRIBE_STRUCT(KeyPath, (), (id))

// Integrations

struct ProviderPath {
    Provider provider;
};
BOOST_DESCRIBE_STRUCT(ProviderPath, (), (provider))
constexpr auto wire_docs(const ProviderPath*) {
    return std::to_array<wire::Doc>({
        {"provider", "The model hub.", "huggingface"},
    });
}

struct HubToken {
    wire::Text<1, 512> token;
};
BOOST_DESCRIBE_STRUCT(HubToken, (), (token))
constexpr auto wire_docs(const HubToken*) {
    return std::to_array<wire::Doc>({
        {"token",
         "The access token of the hub; it is kept sealed and never shown "
         "again.",
         "hf_abcdefghijklmnopqrstuvwxyz"},
    });
}

struct Integration {
    Provider provider;
    bool set = false;
    wire::Nullable<Time> updated_at;
};
BOOST_DESCRIBE_STRUCT(Integration, (), (provider, set, updated_at))
constexpr auto wire_docs(const Integration*) {
    return std::to_array<wire::Doc>({
        {"provider", "", "huggingface"},
        {"set", "Whether a token is on file.", "true"},
        {"updated_at", "Null when none is on file."},
    });
}

}  // namespace berth::accounts
