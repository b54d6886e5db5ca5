// All SQL of assisted recovery.
#pragma once

#include "db/migrate.hpp"
#include "recovery/types.hpp"

namespace berth::recovery {

struct RecoveryRow {
    RecoveryId recovery_id;
    AccountId account_id;
    RecoveryKind kind = RecoveryKind::email;
    RecoveryState state = RecoveryState::waiting;
    std::optional<std::string> email = {};
    std::optional<std::string> wallet = {};
    bool lost_authenticator = false;
    std::string reason;
    std::string evidence;  // a JSON array of texts
    std::int64_t told = 0;
    bool was_suspended = false;  // the account, when this was opened
    AccountId opened_by;
    Time opened_at;
    Time ready_at;
    Time expires_at;
    std::optional<AccountId> ended_by = {};
    std::optional<Time> ended_at = {};
    std::optional<std::string> end_reason = {};
};
BOOST_DESCRIBE_STRUCT(RecoveryRow, (),
                      (recovery_id, account_id, kind, state, email, wallet, lost_authenticator,
                       reason, evidence, told, was_suspended, opened_by, opened_at, ready_at,
                       expires_at, ended_by, ended_at, end_reason))

// One mail that went out when it was opened, by the token of its link.
struct NoticeRow {
    std::string token_hash;  // in hex
    RecoveryId recovery_id;
    std::string address;  // only the ends of it
    bool lost = false;    // it is the mailbox that is said to be lost
    std::optional<Time> objected_at = {};
};
BOOST_DESCRIBE_STRUCT(NoticeRow, (), (token_hash, recovery_id, address, lost, objected_at))
void add_notice(db::Transaction& tx, const NoticeRow& row);
std::optional<NoticeRow> find_notice(db::Transaction& tx, std::string_view token_hash);
// True the first time.
bool note_objected(db::Transaction& tx, std::string_view token_hash, Time now);
// Those by which somebody objected, in order.
std::vector<NoticeRow> list_objected(db::Transaction& tx, RecoveryId id);

// False when one of the same account waits. One whose time is over makes room.
bool add_recovery(db::Transaction& tx, const RecoveryRow& row);
std::optional<RecoveryRow> find_recovery(db::Transaction& tx, RecoveryId id);
bool has_waiting(db::Transaction& tx, AccountId account, Time now);
struct RecoveriesWanted {
    std::optional<RecoveryState> state = {};
    std::optional<AccountId> account = {};
    std::optional<RecoveryId> before = {};
    Time now;
};
// Newest first.
std::vector<RecoveryRow> list_recoveries(db::Transaction& tx, const RecoveriesWanted& wanted,
                                         std::int64_t rows_max);
// True for the one caller that ends it; writes what the row says of its end.
bool end_recovery(db::Transaction& tx, const RecoveryRow& row);

}  // namespace berth::recovery
