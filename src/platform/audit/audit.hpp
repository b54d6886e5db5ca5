// The record of everything of consequence that somebody did: who, what, to which thing, what it was
// before and after, why, and in which request. Events are only ever added, in the transaction of
// what they tell of, and each carries the hash of the one before it.
//
// There is one chain, and its end is one row that an event locks until its transaction is over. So
// record() comes last in a transaction, after every other row was locked: then nobody waits for
// long and nobody waits in a circle. It is for what people do, not for what happens a thousand
// times a second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "db/migrate.hpp"

namespace berth::audit {

using AuditEventId = Id<struct AuditEventTag>;

// Who did it: an account; whoever can run commands on the server's own machine; the service itself.
struct Actor {
    enum class Kind { account, local_operator, system };

    static Actor of(AccountId account) { return {Kind::account, account}; }
    static Actor local_operator() { return {Kind::local_operator, {}}; }
    static Actor system() { return {Kind::system, {}}; }

    Kind kind = Kind::system;
    std::optional<AccountId> account = {};
};
std::string_view name(Actor::Kind kind);  // "account", "operator", "system"

struct Target {
    std::string kind;  // "account", "setting", "transfer", …
    std::string id;
};

// A member that became another; absent where there was nothing before, or is nothing now.
struct Change {
    std::string field;
    std::optional<std::string> from = {};
    std::optional<std::string> to = {};
};
// Of a member whose value nobody may read: only whether there was one, and is one.
Change secret_change(std::string field, bool was_set, bool is_set);

struct Event {
    Actor actor;
    std::string action;  // a verb and its object: "change_setting"
    Target target;
    std::optional<std::string> reason = {};
    std::vector<Change> changes = {};
    std::optional<RequestId> request = {};
};

// Secrets are taken out of every text. What people wrote of `changes` was cleaned before, by
// someone who knows which transactions there are.
AuditEventId record(db::Context context, const Event& event);

// A place in the chain: how many events there were, and the hash of the last.
struct Head {
    std::int64_t sequence = 0;
    Bytes hash;
};
// The end of the chain; zeros before the first event.
Head head(db::Transaction& tx);

// An event that somebody wrote down elsewhere: whoever cuts the end off the record, with the row
// that holds it, does not reach that.
struct Mark {
    Head head;
    std::string where;  // "record 17 of USDC"
};

// The proof that no event was changed, taken out, put in or moved since it was recorded, and that
// every mark is still there.
struct Report {
    std::int64_t events = 0;  // that were looked at
    std::int64_t sequence = 0;
    Bytes head;
    std::vector<std::string> faults;  // up to faults_max, then the check gives up

    bool sound() const { return faults.empty(); }
};
inline constexpr std::size_t faults_max = 100;
struct CheckOptions {
    std::optional<Head> verified = {};  // what was proved before: the proof goes on from there
    std::vector<Mark> marks = {};
};
Report check_events(db::Transaction& tx);
Report check_events_with(db::Transaction& tx, const CheckOptions& options);

// What was proved, as a file that the next proof goes on from; empty when a text is no such file.
std::string write_verified(const Head& head);
std::optional<Head> parse_verified(std::string_view text);

std::string to_text(const Report& report);  // ends in "sound" or "NOT SOUND"

extern const std::span<const db::Migration> migrations;

}  // namespace berth::audit
