// The tables of what waits for a second admin.
#pragma once

#include "db/db.hpp"
#include "four_eyes/four_eyes.hpp"
#include "four_eyes/types.hpp"

namespace berth::four_eyes {

struct PendingRow {
    PendingActionId pending_action_id;
    std::string action;
    std::string method;  // of the request that is kept; none for an operation of a command
    std::string target;  // of the request; or the name of the operation
    std::string body;
    std::string target_kind;
    std::string target_id;
    std::optional<AccountId> about = {};
    std::optional<AccountId> gains = {};
    std::optional<Micro> amount = {};
    std::string reason;
    std::string consequence;
    std::string seen;
    std::optional<AccountId> asked_by = {};
    Time asked_at;
    Time expires_at;
    PendingState state = PendingState::waiting;
    std::optional<AccountId> decided_by = {};
    std::optional<Time> decided_at = {};
    std::optional<std::string> decision_reason = {};
};
BOOST_DESCRIBE_STRUCT(PendingRow, (),
                      (pending_action_id, action, method, target, body, target_kind, target_id,
                       about, gains, amount, reason, consequence, seen, asked_by, asked_at,
                       expires_at, state, decided_by, decided_at, decision_reason))

void add_pending(db::Transaction& tx, const PendingRow& row);
std::optional<PendingRow> find_pending(db::Transaction& tx, PendingActionId id);
struct PendingWanted {
    std::optional<PendingState> state = {};
    std::optional<PendingActionId> before = {};
    Time now;
};
std::vector<PendingRow> list_pending(db::Transaction& tx, const PendingWanted& wanted,
                                     std::int64_t rows_max);
// False when it was decided before, or its time is over.
bool decide_pending(db::Transaction& tx, const PendingRow& row);

// Since when admins who ceased to be one are counted by `auto`, whatever the time: a command ended
// what was before.
Time counted_since(db::Transaction& tx);
void count_since(db::Transaction& tx, Time when);

// What the server was last started with; none before it was noted.
std::optional<Start> last_start(db::Transaction& tx);
void put_start(db::Transaction& tx, const Start& start);

// What an operator decides alone comes one after the other, so that two of them at a time are not
// each within the limit.
void take_turn(db::Transaction& tx);
Micro decided_alone(db::Transaction& tx, AccountId who, Time since);
struct Alone {
    AccountId account_id;
    Time at;
    Micro amount;
};
void note_alone(db::Context context, const Alone& alone);

}  // namespace berth::four_eyes
