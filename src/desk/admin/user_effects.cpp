#include "admin/user_effects.hpp"

#include "base/check.hpp"
#include "db/name_list.hpp"
#include "rentals/states.hpp"

namespace berth::admin {
namespace {

constexpr std::int64_t at_stake_max = 1000;  // of each

const std::string live_rentals_sql = "SELECT job_id FROM jobs WHERE renter_id = $1 AND state IN " +
                                     db::name_list(rentals::live_states) +
                                     " ORDER BY job_id DESC LIMIT $2";
constexpr std::string_view held_for_rentals_sql =
    "SELECT CAST(COALESCE(SUM(budget - charged), 0) AS BIGINT) FROM ledger_jobs "
    "WHERE renter_id = $1 AND closed = 0";
constexpr std::string_view machines_for_rent_sql =
    "SELECT machine_id FROM machines WHERE owner = $1 AND retired_at IS NULL "
    "AND offer_state = 'listed' ORDER BY machine_id DESC LIMIT $2";

struct LeavingColumns {
    Uuid transfer_id;
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(LeavingColumns, (), (transfer_id, amount))
const db::Query<LeavingColumns> leaving_sql(
    "SELECT {} FROM transfers WHERE account_id = $1 AND state = 'INTENT' "
    "ORDER BY transfer_id LIMIT $2");

std::vector<std::string> texts_of(const std::vector<Uuid>& found) {
    std::vector<std::string> ids;
    for (const Uuid& id : found) ids.push_back(to_string(id));
    return ids;
}

}  // namespace

AtStake look_at(api::Call& call, AccountId account) {
    db::Transaction& tx = call.tx();
    auto user = accounts::find_record(tx, account);
    require(user.has_value(), "an account that was found is there");
    AtStake has{.user = std::move(*user)};
    for (const auto& session : accounts::list_session_records(tx, account, call.now, at_stake_max))
        has.sessions.push_back(to_string(session.session_id));
    for (const auto& key : accounts::list_key_records(
             tx, {.account = account, .good = true, .now = call.now}, at_stake_max))
        has.keys.push_back(to_string(key.key_id));
    has.rentals = texts_of(tx.fetch_values<Uuid>(live_rentals_sql, account, at_stake_max));
    has.held = tx.fetch_value<Micro>(held_for_rentals_sql, account).value();
    has.machines = texts_of(tx.fetch_values<Uuid>(machines_for_rent_sql, account, at_stake_max));
    for (const LeavingColumns& row : tx.fetch(leaving_sql, account, at_stake_max)) {
        has.transfers.push_back(to_string(row.transfer_id));
        has.leaving += row.amount;
    }
    return has;
}

void add_effects(api::ActionPreview& preview, const AtStake& before, const AtStake& after) {
    if (after.sessions.empty()) api::add_effect(preview, "sessions_ended", before.sessions);
    if (before.user.totp_secret && !after.user.totp_secret)
        api::add_effect(preview, "authenticator_removed", {to_string(after.user.account_id)});
    const auto may_host = [](const accounts::Record& user) {
        return user.host_capability && !user.suspended;
    };
    if (may_host(before.user) && !may_host(after.user))
        api::add_effect(preview, "machines_hidden", before.machines);
    if (!may_host(before.user) && may_host(after.user))
        api::add_effect(preview, "machines_shown", after.machines);
    if (before.user.suspended && !after.user.suspended)
        api::add_effect(preview, "keys_working", after.keys);
    if (before.user.suspended || !after.user.suspended) return;
    api::add_effect(preview, "keys_refused", before.keys);
    api::add_effect(preview, "rentals_going_on", before.rentals, before.held);
    api::add_effect(preview, "transfers_waiting", before.transfers, before.leaving);
}

}  // namespace berth::admin
