#include "accounts/policies.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/operators.hpp"
#include "base/check.hpp"
#include "wire/wire.hpp"

namespace berth::accounts {
namespace {

constexpr std::int64_t micros_per_day = 86'400'000'000;

struct PolicyRow {
    KeyId key_id;
    std::string policy;  // JSON
    std::optional<std::int64_t> max_rate = {};
    std::optional<std::int64_t> max_open = {};
    std::optional<std::int64_t> max_hold = {};
    std::optional<std::int64_t> per_day = {};
    std::int64_t open_rentals = 0;
    std::int64_t held = 0;
    std::int64_t day = 0;  // of UTC, that day_held is of
    std::int64_t day_held = 0;
};
BOOST_DESCRIBE_STRUCT(PolicyRow, (),
                      (key_id, policy, max_rate, max_open, max_hold, per_day, open_rentals, held,
                       day, day_held))

const db::Query<PolicyRow> add_sql("INSERT INTO key_policies ({}) VALUES ({$})");
const db::Query<PolicyRow> find_sql("SELECT {} FROM key_policies WHERE key_id = $1");
// $2 rate, $3 hold, $4 1 for a new rental, $5 the day. A day that has begun stays: a request of the
// day before, by a server whose clock is behind or that waited, counts for the new one.
constexpr std::string_view spend_sql =
    "UPDATE key_policies SET open_rentals = open_rentals + $4, held = held + $3, "
    "day_held = CASE WHEN day >= $5 THEN day_held ELSE 0 END + $3, "
    "day = CASE WHEN day >= $5 THEN day ELSE $5 END "
    "WHERE key_id = $1 AND (max_rate IS NULL OR $2 <= max_rate) "
    "AND (max_open IS NULL OR open_rentals + $4 <= max_open) "
    "AND (max_hold IS NULL OR held <= max_hold - $3) "
    "AND (per_day IS NULL OR CASE WHEN day >= $5 THEN day_held ELSE 0 END <= per_day - $3)";
// $2 amount, $3 the day.
constexpr std::string_view withdraw_sql =
    "UPDATE key_policies SET day_held = CASE WHEN day >= $3 THEN day_held ELSE 0 END + $2, "
    "day = CASE WHEN day >= $3 THEN day ELSE $3 END WHERE key_id = $1 "
    "AND (per_day IS NULL OR CASE WHEN day >= $3 THEN day_held ELSE 0 END <= per_day - $2)";
constexpr std::string_view note_hold_sql =
    "INSERT INTO key_holds (job_id, key_id, amount, rentals) VALUES ($1, $2, $3, $4) "
    "ON CONFLICT (job_id, key_id) DO UPDATE SET amount = key_holds.amount + $3, "
    "rentals = key_holds.rentals + $4";
struct HoldRow {
    KeyId key_id;
    std::int64_t amount = 0;
    std::int64_t rentals = 0;
};
BOOST_DESCRIBE_STRUCT(HoldRow, (), (key_id, amount, rentals))
const db::Query<HoldRow> holds_sql("SELECT {} FROM key_holds WHERE job_id = $1 ORDER BY key_id");
constexpr std::string_view release_hold_sql =
    "UPDATE key_policies SET open_rentals = open_rentals - $3, held = held - $2 "
    "WHERE key_id = $1";
constexpr std::string_view forget_holds_sql = "DELETE FROM key_holds WHERE job_id = $1";

std::int64_t day_of(Time now) { return now.micros / micros_per_day; }

std::int64_t held_today(const PolicyRow& row, Time now) {
    return row.day >= day_of(now) ? row.day_held : 0;
}

std::optional<PolicyRow> row_of(api::Call& call) {
    if (call.caller.credential != api::Credential::api_key) return std::nullopt;
    return call.tx().fetch_one(find_sql, KeyId{call.caller.credential_id});
}

KeyPolicy policy_of(const PolicyRow& row) { return wire::decode<KeyPolicy>(row.policy, "policy"); }

template <class List, class Item>
bool leaves_out(const std::optional<List>& list, const Item& item) {
    return list && std::find(list->value.begin(), list->value.end(), item) == list->value.end();
}

bool refuses(Rule rule, const PolicyRow& row, const KeyPolicy& policy, const Spending& spending,
             Time now) {
    const std::int64_t hold = spending.hold.value;
    switch (rule) {
        case Rule::max_rate_micro_per_hour:
            return row.max_rate && spending.rate.value > *row.max_rate;
        case Rule::max_open_rentals:
            return row.max_open && spending.opens_rental && row.open_rentals >= *row.max_open;
        case Rule::max_hold_micro: return row.max_hold && row.held > *row.max_hold - hold;
        case Rule::per_day_micro: return row.per_day && held_today(row, now) > *row.per_day - hold;
        case Rule::templates:
            return policy.templates &&
                   (!spending.template_id || leaves_out(policy.templates, *spending.template_id));
        case Rule::classes: return leaves_out(policy.classes, spending.rental_class);
        case Rule::withdraw: return false;  // nothing of a rental leaves
    }
    return true;
}

Micro left_of(std::int64_t limit, std::int64_t used) {
    return {std::max<std::int64_t>(0, limit - used)};
}

[[noreturn]] void refuse(Rule rule) {
    throw Problem(Code::forbidden,
                  fmt::format("the policy of this key refuses it: {}", enum_name(rule)));
}

}  // namespace

void add_policy(db::Transaction& tx, KeyId key, const KeyPolicy& policy) {
    const auto number = [](const std::optional<Micro>& amount) {
        return amount ? std::optional(amount->value) : std::nullopt;
    };
    PolicyRow row;
    row.key_id = key;
    row.policy = wire::encode(policy);
    row.max_rate = number(policy.max_rate_micro_per_hour);
    row.max_hold = number(policy.max_hold_micro);
    row.per_day = number(policy.per_day_micro);
    if (policy.max_open_rentals) row.max_open = policy.max_open_rentals->value;
    tx.insert(add_sql, row);
}

std::optional<KeyPolicy> find_policy(db::Transaction& tx, KeyId key) {
    const auto row = tx.fetch_one(find_sql, key);
    return row ? std::optional(policy_of(*row)) : std::nullopt;
}

std::optional<PolicyLeft> find_left(db::Transaction& tx, KeyId key, Time now) {
    const auto row = tx.fetch_one(find_sql, key);
    if (!row) return std::nullopt;
    PolicyLeft left;
    if (row->max_open)
        left.open_rentals =
            wire::Count{std::max<std::int64_t>(0, *row->max_open - row->open_rentals)};
    if (row->max_hold) left.hold_micro = left_of(*row->max_hold, row->held);
    if (row->per_day) left.today_micro = left_of(*row->per_day, held_today(*row, now));
    return left;
}

std::vector<Rule> refusing_rules(api::Call& call, const Spending& spending) {
    std::vector<Rule> rules;
    const auto row = row_of(call);
    if (!row) return rules;
    const KeyPolicy policy = policy_of(*row);
    for (const EnumName& name : EnumTable<Rule>::names)
        if (const auto rule = static_cast<Rule>(name.value);
            refuses(rule, *row, policy, spending, call.now))
            rules.push_back(rule);
    return rules;
}

void require_allowed(api::Call& call, const Spending& spending) {
    require_not_frozen(call.tx(), call.caller.account);
    const auto rules = refusing_rules(call, spending);
    if (!rules.empty()) refuse(rules.front());
}

// Keeps: what a key has open and held is never above its policy, however many ask at once.
void spend(api::Call& call, JobId job, const Spending& spending) {
    const auto row = row_of(call);
    if (!row) return;
    const std::int64_t rentals = spending.opens_rental ? 1 : 0;
    const auto counted = call.tx().run(spend_sql, row->key_id, spending.rate, spending.hold,
                                       rentals, day_of(call.now));
    if (counted.affected == 0) {
        require_allowed(call, spending);
        // Others took the last of it and have given it back since.
        throw Problem(Code::unavailable, "other rentals of this key end just now; try again");
    }
    call.tx().run(note_hold_sql, job, row->key_id, spending.hold, rentals);
}

// Keeps: a key with a policy sends nothing out unless the policy says so, and what it sends and
// holds in a day is together at most per_day.
void withdraw(api::Call& call, Micro amount) {
    const auto row = row_of(call);
    if (!row) return;
    if (policy_of(*row).withdraw.value_or(Withdraw::none) == Withdraw::none) refuse(Rule::withdraw);
    if (call.tx().run(withdraw_sql, row->key_id, amount, day_of(call.now)).affected == 0)
        refuse(Rule::per_day_micro);
}

void give_back(db::Transaction& tx, JobId job) {
    const auto holds = tx.fetch(holds_sql, job);
    for (const HoldRow& hold : holds)
        tx.run(release_hold_sql, hold.key_id, hold.amount, hold.rentals);
    if (!holds.empty()) tx.run(forget_holds_sql, job);
}

}  // namespace berth::accounts
