// All SQL of accounts, sessions, codes, authenticators, keys and integrations.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "accounts/types.hpp"
#include "api/caller.hpp"
#include "db/migrate.hpp"

namespace berth::accounts {

struct Account {
    AccountId id;
    Kind kind = Kind::human;
    std::optional<std::string> email;
    Role role = Role::renter;
    bool host_capability = false;
    bool suspended = false;
    std::optional<Bytes> totp_secret;  // sealed
    std::optional<DeskRole> desk_role;
    bool frozen = false;  // it works, but nothing leaves it and nothing new is rented
};

// Accounts

std::optional<Account> find_account(db::Transaction& tx, AccountId id);
// Whoever counts what an account has before adding to it waits here for others who do the same, and
// sees what they added.
void take_turn(db::Transaction& tx, AccountId id);
std::optional<Account> find_account_by_email(db::Transaction& tx, std::string_view email);
// Makes a renter's account unless there is one with this email already.
void add_human(db::Transaction& tx, AccountId id, std::string_view email, Time now);
void add_agent(db::Transaction& tx, AccountId id, Time now);
void set_role(db::Transaction& tx, AccountId id, Role role);
// An operator's word: what is taken away here only comes back from here.
void set_host_capability(db::Transaction& tx, AccountId id, bool enabled);
// The account's own wish to host; nothing happens where an operator has barred it.
void become_host(db::Transaction& tx, AccountId id);
void set_suspended(db::Transaction& tx, AccountId id, bool suspended);
// Locks the account of this address, and notes the sign-in where the mailbox alone lets somebody
// in: not for a suspended account, and not before the second factor where there is one.
void note_sign_in(db::Transaction& tx, std::string_view email, Time now);
void note_sign_in(db::Transaction& tx, AccountId id, Time now);  // with the second factor
// Since when the account has the authenticator that it has now; none without one.
std::optional<Time> second_factor_since(db::Transaction& tx, AccountId id);
// The networks from which somebody got into the account, all the way: the first few, which nobody
// takes away who comes later, and the last.
inline constexpr std::int64_t networks_max = 16;
inline constexpr std::int64_t networks_kept = 4;
void note_network(db::Transaction& tx, AccountId id, std::string_view network, Time now);
bool knows_network(db::Transaction& tx, std::string_view email, std::string_view network);

// Gives a person's account another address to sign in by; the one before is kept as a former one.
// False, and nothing has changed, when another account has it or is promised it.
bool put_email(db::Context context, AccountId id, std::string_view email);
// Addresses that the account had before, the newest first: the last ones, and the first few, which
// nobody pushes out who changes the address often.
inline constexpr std::int64_t former_emails_max = 20;  // that are told
inline constexpr std::int64_t former_emails_kept = 4;
std::vector<std::string> list_former_emails(db::Transaction& tx, AccountId id);
// All that ended after `since`.
std::vector<std::string> list_former_emails(db::Transaction& tx, AccountId id, Time since);

// Keeps an address free for an account that is to sign in by it: until then nobody opens an account
// by it. False when it is promised to another one.
struct PromisedEmail {
    std::string_view email;
    AccountId account;
    Time until;
};
bool promise_email(db::Transaction& tx, const PromisedEmail& promise, Time now);
// Whether somebody else than this account is promised it.
bool is_promised(db::Transaction& tx, std::string_view email, AccountId besides, Time now);
void end_promises(db::Transaction& tx, AccountId account);

// Sessions

struct Session {
    SessionId id;
    AccountId account;
    std::string origin;
    Bytes user_agent_hash;
    bool pending = false;    // the second factor is still missing
    std::string user_agent;  // as text that can be shown
    std::string opened_from;
    Time created_at;
    Time last_seen_at;
    Time expires_at;
    std::array<Time, api::step_up_count> step_up_until{};  // by purpose
};

struct OpenSession {
    Session session;
    Account account;
};
// By the SHA-256 of its token, with its account; whether it is still good is the caller's to judge.
std::optional<OpenSession> find_session(db::Transaction& tx, std::string_view token_hash);
// Starts to ask for it; there is a row if it is open, and neither over nor idle, and its account is
// not suspended.
struct SessionTimes {
    Time now;
    Time seen_after;
};
db::Transaction::Ticket ask_for_good_session(db::Transaction& tx, SessionId id,
                                             const SessionTimes& times);
// Starts to ask what it may do, and reads the answer: nothing for one that is not good in that
// sense.
struct Rights;
db::Transaction::Ticket ask_for_session_rights(db::Transaction& tx, SessionId id,
                                               const SessionTimes& times);
std::optional<Rights> session_rights_in(const db::Result& result);
void add_session(db::Transaction& tx, const Session& session, std::string_view token_hash);
// Those that have not ended and were seen after `seen_after`, newest first.
struct SessionsOf {
    AccountId account;
    Time now;
    Time seen_after;
    std::optional<SessionId> before;
};
std::vector<Session> list_sessions(db::Transaction& tx, const SessionsOf& sessions,
                                   std::int64_t rows_max);
// Puts a new token in the place of the old one, and opens a session that was pending. An open one
// keeps its end, which is given back; empty when the session is gone.
struct Rotation {
    SessionId session;
    Bytes token_hash;
    Time opened_until;  // the end of a session that was pending
};
std::optional<Time> rotate_session(db::Transaction& tx, const Rotation& rotation);
void touch_session(db::Transaction& tx, SessionId id, Time now);
// Whoever is served for long under a session or key that ends is looked at again (see
// access_changes.hpp).
// False: the account has no such session.
bool delete_session(db::Transaction& tx, AccountId account, SessionId id);
void delete_sessions(db::Transaction& tx, AccountId account);
void delete_other_sessions(db::Transaction& tx, AccountId account, SessionId kept);
// Counts a guess at the second factor; how many there were since the last right one. Empty when the
// session is gone or has none left.
std::optional<std::int64_t> count_try(db::Transaction& tx, SessionId id, std::int64_t tries_max);
void forget_tries(db::Transaction& tx, SessionId id);
void set_step_up(db::Transaction& tx, SessionId id, Purpose purpose, Time until);
void set_step_up(db::Transaction& tx, KeyId id, Purpose purpose, Time until);
// Each deletes up to `rows_max` rows whose time is over; how many.
std::int64_t prune_sessions(db::Transaction& tx, Time now, std::int64_t rows_max);
std::int64_t prune_codes(db::Transaction& tx, Time now, std::int64_t rows_max);
std::int64_t prune_totp_enrollments(db::Transaction& tx, Time now, std::int64_t rows_max);

// Emailed codes

struct CodeRow {
    Uuid code_id;
    std::string purpose;
    std::string email;
    std::string asked_from;  // the network address
    Bytes code_hash;
    std::optional<Bytes> token_hash;
    std::string bound_to;
    Time created_at;
    Time expires_at;
};
void add_code(db::Transaction& tx, const CodeRow& row);
// Where the codes of this purpose and mailbox were asked from, one for each code made after
// `since`.
std::vector<std::string> list_askers(db::Transaction& tx, std::string_view purpose,
                                     std::string_view email, Time since);
struct CodesOf {
    std::string_view purpose;
    std::string_view email;
    std::string_view bound_to;
};
struct LiveCode {
    Uuid code_id;
    Bytes code_hash;
};
std::vector<LiveCode> list_live_codes(db::Transaction& tx, const CodesOf& codes, Time now);
// Counts a try at each of them; those that had one left.
std::vector<LiveCode> try_codes(db::Transaction& tx, const CodesOf& codes, Time now,
                                std::int64_t tries_max);
// True for the one caller that uses the code up.
bool spend_code(db::Transaction& tx, Uuid code_id);
// The address a link was sent to, for the one caller that uses it up.
std::optional<std::string> spend_token(db::Transaction& tx, std::string_view purpose,
                                       std::string_view token_hash, Time now);

// Authenticator

void add_totp_enrollment(db::Transaction& tx, EnrollmentId id, AccountId account,
                         std::string_view sealed_secret, Time expires_at);
std::optional<Bytes> find_totp_enrollment(db::Transaction& tx, EnrollmentId id, AccountId account,
                                          Time now);
void delete_totp_enrollments(db::Transaction& tx, AccountId account);
// False when the account has an authenticator already.
struct NewFactor {
    Bytes sealed_secret;
    std::int64_t step = 0;
    Time since;
};
bool enable_totp(db::Transaction& tx, AccountId account, const NewFactor& factor);
void disable_totp(db::Transaction& tx, AccountId account);
// True for the one caller that uses this step; an earlier step than the last is used too.
bool use_totp_step(db::Transaction& tx, AccountId account, std::int64_t step);
void add_recovery_code(db::Transaction& tx, AccountId account, std::string_view kept);
std::vector<Bytes> list_recovery_codes(db::Transaction& tx, AccountId account);
bool use_recovery_code(db::Transaction& tx, AccountId account, std::string_view kept);

// API keys

struct KeyRow {
    KeyId id;
    Bytes key_hash;
    AccountId account;
    std::string name;
    std::string prefix;
    bool renter = false;
    bool host = false;
    Time created_at;
    std::optional<Time> expires_at;
    std::optional<Time> last_used_at;
};
// What a request with a key needs to know, and no more: it is read on every one of them.
struct ActiveKey {
    KeyId id;
    AccountId account;
    bool renter = false;
    bool host = false;
    bool host_capability = false;  // of the account
    Kind kind = Kind::human;       // of the account
    std::optional<Time> expires_at;
    std::optional<Time> last_used_at;
    std::array<Time, api::step_up_count> step_up_until{};  // by purpose
};
// By the SHA-256 of its secret; none when the key is revoked or its account suspended.
std::optional<ActiveKey> find_key(db::Transaction& tx, std::string_view key_hash);
// Starts to ask for it by its id; there is a row if it is good now, and so is its account.
db::Transaction::Ticket ask_for_good_key(db::Transaction& tx, KeyId id, Time now);
db::Transaction::Ticket ask_for_key_rights(db::Transaction& tx, KeyId id, Time now);
std::optional<Rights> key_rights_in(const db::Result& result);
void add_key(db::Transaction& tx, const KeyRow& key);
std::vector<KeyRow> list_keys(db::Transaction& tx, AccountId account,
                              const std::optional<KeyId>& after, std::int64_t rows_max);
// Of an active key of this account.
std::optional<std::string> find_key_prefix(db::Transaction& tx, AccountId account, KeyId id);
void revoke_key(db::Transaction& tx, AccountId account, KeyId id, Time now);
void revoke_keys(db::Transaction& tx, AccountId account, Time now);
void touch_key(db::Transaction& tx, KeyId id, Time now);

// Integrations

struct IntegrationRow {
    Bytes sealed_token;
    Time updated_at;
};
void put_integration(db::Transaction& tx, AccountId account, std::string_view provider,
                     const IntegrationRow& row);
std::optional<IntegrationRow> find_integration(db::Transaction& tx, AccountId account,
                                               std::string_view provider);
void delete_integration(db::Transaction& tx, AccountId account, std::string_view provider);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::accounts
