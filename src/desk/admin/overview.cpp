#include "admin/overview.hpp"

#include <algorithm>

#include "admin/stuck.hpp"
#include "liabilities/liabilities.hpp"
#include "transfers/operators.hpp"
#include "transfers/settings.hpp"

namespace berth::admin {
namespace {

// Of rows that say since when they wait; $1 is how many are counted at most.
db::Query<FoundCount> counted(const std::string& which) {
    return db::Query<FoundCount>(
        "SELECT {} FROM (SELECT COUNT(*) AS count, MIN(since) AS oldest FROM (" + which +
        " LIMIT $1) AS waiting) AS counted");
}
const auto count_dead_tasks_sql =
    counted("SELECT created_at AS since FROM tasks WHERE state = 'dead'");
// The condition is spelled as that of the index of what is not claimed.
const auto count_suspense_sql = counted(
    "SELECT seen_at AS since FROM deposits WHERE state <> 'CLAIMED' AND seen_at IS NOT NULL "
    "AND state = 'SUSPENSE' ORDER BY seen_at");
const auto count_disputes_sql =
    counted("SELECT created_at AS since FROM disputes WHERE state = 'open'");
const auto count_tickets_sql =
    counted("SELECT updated_at AS since FROM tickets WHERE state = 'open' ORDER BY updated_at");
const auto count_pending_sql = counted(
    "SELECT asked_at AS since FROM pending_actions WHERE state = 'waiting' AND expires_at > $2");
const auto count_quarantined_sql = counted(
    "SELECT changed_at AS since FROM machines WHERE state = 'QUARANTINED' AND retired_at IS NULL");
const auto count_held_sql = counted(
    "SELECT created_at AS since FROM transfers WHERE held_why IS NOT NULL "
    "AND state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT')");
// No index helps it, as in the list of debts.
const auto count_debts_sql =
    counted("SELECT CAST(NULL AS BIGINT) AS since FROM ledger_accounts WHERE payable < 0");

wire::Count seconds_between(Time from, Time to) {
    const auto span = std::chrono::duration_cast<std::chrono::seconds>(to - from).count();
    return {std::max<std::int64_t>(0, span)};
}

WaitingCount shown_count(const FoundCount& found, Time now) {
    WaitingCount shown{{std::min(found.count, waiting_counted_max)},
                       found.count > waiting_counted_max,
                       found.oldest,
                       std::nullopt};
    if (found.oldest) shown.oldest_age_s = seconds_between(*found.oldest, now);
    return shown;
}

AssetCover shown_cover(const liabilities::RecordRow& row, Time now) {
    AssetCover cover{row.asset, row.total, row.treasury, std::nullopt, row.as_of, {}};
    cover.age_s = seconds_between(row.as_of, now);
    // More than a thousand times what is owed is told as that.
    constexpr std::int64_t cover_bps_max = 10'000'000;
    if (row.treasury && row.total > Micro{} && *row.treasury >= Micro{}) {
        const bool plenty = row.treasury->value / row.total.value >= cover_bps_max / 10'000;
        cover.cover_bps = wire::Count{
            plenty ? cover_bps_max : scale_floor(*row.treasury, {10'000, row.total.value}).value};
    }
    return cover;
}

}  // namespace

Overview OverviewDesk::show(api::Call& call) const {
    db::Transaction& tx = call.tx();
    constexpr std::int64_t rows_max = waiting_counted_max + 1;
    const auto count = [&](const db::Query<FoundCount>& query, const auto&... more) {
        return shown_count(tx.fetch_one(query, rows_max, more...).value(), call.now);
    };
    Overview shown;
    shown.dead_tasks = count(count_dead_tasks_sql);
    shown.suspense = count(count_suspense_sql);
    shown.disputes = count(count_disputes_sql);
    shown.tickets = count(count_tickets_sql);
    shown.pending_actions = count(count_pending_sql, call.now);
    shown.quarantined_machines = count(count_quarantined_sql);
    shown.held_transfers = count(count_held_sql);
    shown.debts = count(count_debts_sql);
    const auto late = transfers::count_stuck(call, rows_max);
    shown.stuck_transfers = shown_count({late.count, late.oldest}, call.now);
    shown.stuck_rentals = shown_count(count_stuck_rentals(call, rows_max), call.now);
    for (const ledger::Asset asset : ledger::assets)
        if (const auto proof = liabilities::find_newest(tx, asset))
            shown.cover.push_back(shown_cover(*proof, call.now));
    shown.admission_paused = *call.settings<api::Settings>().admission_paused;
    shown.payouts_paused = *call.settings<transfers::Settings>().payouts_paused;
    if (const std::int64_t looked_at = watched_->looked_at; looked_at > 0)
        shown.chain = ChainLook{{std::max<std::int64_t>(0, watched_->lag_blocks)}, {looked_at}};
    shown.as_of = call.now;
    return shown;
}

void OverviewDesk::add_routes(api::Router& router) const {
    router.add({.method = "GET",
                .path = "/api/v1/admin/overview",
                .name = "show_overview",
                .group = "admin",
                .summary = "What waits for operators: how much of each, and since when.",
                .access = api::Access::operator_},
               [this](api::Call& call) { return show(call); });
}

}  // namespace berth::admin
