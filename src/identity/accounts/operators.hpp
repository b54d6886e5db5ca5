// What operators see of an account and may change about it. Every change names the version that the
// operator looked at and raises it by one; it is false, and nothing happens, when the account is at
// another version by now.
#pragma once

#include "accounts/types.hpp"
#include "db/db.hpp"

namespace berth::accounts {

struct Record {
    AccountId account_id;
    Kind kind = Kind::human;
    std::optional<std::string> email = {};
    Role role = Role::renter;
    bool host_capability = false;
    bool suspended = false;
    std::optional<Bytes> totp_secret = {};  // sealed
    std::int64_t version = 0;
    Time created_at;
    std::optional<Time> last_sign_in_at = {};
    std::optional<DeskRole> desk_role = {};
    bool frozen = false;

    bool is_active_admin() const { return role == Role::admin && !suspended; }
    bool may_operate() const { return is_active_admin() || (desk_role && !suspended); }
};
BOOST_DESCRIBE_STRUCT(Record, (),
                      (account_id, kind, email, role, host_capability, suspended, totp_secret,
                       version, created_at, last_sign_in_at, desk_role, frozen))

std::optional<Record> find_record(db::Transaction& tx, AccountId id);
// Newest first; with `part`, those whose address has it in it.
struct RecordsWanted {
    std::string part = {};
    std::optional<AccountId> before = {};
};
std::vector<Record> list_records(db::Transaction& tx, const RecordsWanted& wanted,
                                 std::int64_t rows_max);
// Accounts that are suspended, or whose hosting was turned off by an operator; in order.
std::vector<AccountId> list_not_hosting(db::Transaction& tx);
// Admins who are not suspended, without this one.
std::int64_t count_other_admins(db::Transaction& tx, AccountId id);

// Admins who are not suspended, and who ceased to be one after `ended_after`.
std::vector<Record> list_admins(db::Transaction& tx, Time ended_after);

struct Seen {
    AccountId account;
    std::int64_t version = 0;
};
// The sessions end with each of these but the host capability.
bool put_role(db::Transaction& tx, const Seen& seen, Role role, Time now);
bool put_suspension(db::Transaction& tx, const Seen& seen, bool suspended, Time now);
bool put_desk_role(db::Transaction& tx, const Seen& seen, const std::optional<DeskRole>& role);
// What is taken away here only comes back from here.
bool put_host_capability(db::Transaction& tx, const Seen& seen, bool enabled);
// Sign-in, keys and sessions stay as they are; see require_not_frozen().
bool put_freeze(db::Transaction& tx, const Seen& seen, bool frozen,
                const std::optional<AccountId>& by = {});
// Whether it is frozen, and by this operator first: whoever freezes it again does not make it
// theirs.
bool was_frozen_by(db::Transaction& tx, AccountId account, AccountId by);
bool end_sessions(db::Transaction& tx, const Seen& seen);
std::int64_t end_all_sessions(db::Transaction& tx);  // everybody's; how many
// Forgets the authenticator and its recovery codes: it has to be enrolled anew.
bool reset_second_factor(db::Transaction& tx, const Seen& seen);

// Revokes every key of the account, or the one that is named: those that were not revoked before.
// Nothing, and nothing has happened, when the account is at another version by now.
struct EndedKey {
    KeyId key_id;
    std::string prefix;
};
BOOST_DESCRIBE_STRUCT(EndedKey, (), (key_id, prefix))
std::optional<std::vector<EndedKey>> end_keys(db::Transaction& tx, const Seen& seen,
                                              const std::optional<KeyId>& only, Time now);

// Throws a Problem CONFLICT for an account that an operator has frozen: what it has stays where it
// is, also by way of a machine that it would rent.
void require_not_frozen(db::Transaction& tx, AccountId account);

// Whether somebody got into the account after `since`, or changed how one does: signed in all the
// way, turned an authenticator on, or took another address of mail.
bool was_entered(db::Transaction& tx, AccountId account, Time since);
// Whether a key of the account, good or not, was used after `since`.
bool was_key_used(db::Transaction& tx, AccountId account, Time since);

// A key as operators see it: never more of its secret than the first letters.
struct KeyRecord {
    KeyId key_id;
    AccountId account_id;
    std::string name;
    std::string prefix;
    bool renter = false;
    bool host = false;
    Time created_at;
    std::optional<Time> expires_at = {};
    std::optional<Time> last_used_at = {};
    std::optional<Time> revoked_at = {};
};
BOOST_DESCRIBE_STRUCT(KeyRecord, (),
                      (key_id, account_id, name, prefix, renter, host, created_at, expires_at,
                       last_used_at, revoked_at))
struct KeysWanted {
    std::optional<AccountId> account = {};
    std::optional<std::string> prefix = {};  // whole
    std::optional<bool> good = {};           // neither revoked nor expired at `now`, or one of both
    std::optional<KeyId> before = {};
    Time now;
};
std::vector<KeyRecord> list_key_records(db::Transaction& tx, const KeysWanted& wanted,
                                        std::int64_t rows_max);  // newest first

// Where and with what an account is signed in at the moment, newest first.
struct SessionRecord {
    SessionId session_id;
    bool pending = false;
    std::string user_agent;
    std::string opened_from;
    Time created_at;
    Time last_seen_at;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(SessionRecord, (),
                      (session_id, pending, user_agent, opened_from, created_at, last_seen_at,
                       expires_at))
std::vector<SessionRecord> list_session_records(db::Transaction& tx, AccountId account, Time now,
                                                std::int64_t rows_max);

}  // namespace berth::accounts
