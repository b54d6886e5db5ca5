// What a key may spend: limits that its owner gave it when it was made, kept by the server whatever
// the key's holder does. The counters are one row of the key, changed by one conditional statement,
// so that of many reservations at once no more come through than the policy allows.
#pragma once

#include "accounts/types.hpp"
#include "api/call.hpp"

namespace berth::accounts {

// The members of a policy, by which a refusal names its rule.
enum class Rule {
    max_rate_micro_per_hour,
    max_open_rentals,
    max_hold_micro,
    per_day_micro,
    templates,
    classes,
    withdraw,
};
BOOST_DESCRIBE_ENUM(Rule, max_rate_micro_per_hour, max_open_rentals, max_hold_micro, per_day_micro,
                    templates, classes, withdraw)

// What is about to be rented, or added to a rental.
struct Spending {
    Micro rate;                            // per hour
    Micro hold;                            // what is held more than before
    std::optional<Uuid> template_id = {};  // none: an image of one's own
    RentalClass rental_class = RentalClass::dedicated;
    bool opens_rental = true;
};

void add_policy(db::Transaction& tx, KeyId key, const KeyPolicy& policy);
std::optional<KeyPolicy> find_policy(db::Transaction& tx, KeyId key);
// What the key may still do at the moment; none for a key without a policy.
std::optional<PolicyLeft> find_left(db::Transaction& tx, KeyId key, Time now);

// The rules that would refuse this call; none for a session, or a key without a policy.
std::vector<Rule> refusing_rules(api::Call& call, const Spending& spending);
// FORBIDDEN, with the first of them; CONFLICT where an operator has frozen the account.
void require_allowed(api::Call& call, const Spending& spending);
// Counts it, after everything else was decided and locked; FORBIDDEN when others were quicker.
void spend(api::Call& call, JobId job, const Spending& spending);
// Judges and counts what the caller sends out of the service; FORBIDDEN when the policy of its key
// does not say that it may, or not as much today.
void withdraw(api::Call& call, Micro amount);
// The job is over: what its keys held for it, they may hold again.
void give_back(db::Transaction& tx, JobId job);

}  // namespace berth::accounts
