// What waits for operators, in one look: how much of each, and since when. Nothing is listed; each
// has a list of its own.
#pragma once

#include <memory>

#include "admin/types.hpp"
#include "api/router.hpp"
#include "funding/watcher.hpp"

namespace berth::admin {

inline constexpr std::int64_t waiting_counted_max = 1000;  // of each

struct WaitingCount {
    wire::Count count;
    bool more = false;
    wire::Nullable<Time> oldest_at;
    wire::Nullable<wire::Count> oldest_age_s;
};
BOOST_DESCRIBE_STRUCT(WaitingCount, (), (count, more, oldest_at, oldest_age_s))
constexpr auto wire_docs(const WaitingCount*) {
    return std::to_array<wire::Doc>({
        {"count", "How many there are; no more than 1,000 are counted.", "2"},
        {"more", "Whether there are more than were counted.", "false"},
        {"oldest_at", "Since when the oldest of them waits; null where nothing tells."},
        {"oldest_age_s", "The same, in seconds until now.", "5400"},
    });
}

struct AssetCover {
    ledger::Asset asset = ledger::Asset::usdc;
    Micro owed_micro;
    wire::Nullable<Micro> held_micro;
    wire::Nullable<wire::Count> cover_bps;
    Time as_of;
    wire::Count age_s;
};
BOOST_DESCRIBE_STRUCT(AssetCover, (), (asset, owed_micro, held_micro, cover_bps, as_of, age_s))
constexpr auto wire_docs(const AssetCover*) {
    return std::to_array<wire::Doc>({
        {"owed_micro", "All that is owed, by the newest proof of liabilities.", "25000000"},
        {"held_micro", "What the chain had for it then; null where nobody looked.", "26000000"},
        {"cover_bps",
         "What is held for what is owed, in hundredths of a per cent; null when nothing is owed or "
         "nobody looked.",
         "10400"},
        {"age_s", "How old that is, in seconds.", "1800"},
    });
}

struct ChainLook {
    wire::Count lag_blocks;
    Time looked_at;
};
BOOST_DESCRIBE_STRUCT(ChainLook, (), (lag_blocks, looked_at))
constexpr auto wire_docs(const ChainLook*) {
    return std::to_array<wire::Doc>({
        {"lag_blocks", "Final blocks that were not read yet.", "0"},
        {"looked_at", "When everything was last seen."},
    });
}

struct Overview {
    WaitingCount dead_tasks;
    WaitingCount suspense;
    WaitingCount disputes;
    WaitingCount tickets;
    WaitingCount pending_actions;
    WaitingCount quarantined_machines;
    WaitingCount stuck_transfers;
    WaitingCount stuck_rentals;
    WaitingCount held_transfers;
    WaitingCount debts;
    std::vector<AssetCover> cover;
    bool admission_paused = false;
    bool payouts_paused = false;
    wire::Nullable<ChainLook> chain;
    Time as_of;
};
BOOST_DESCRIBE_STRUCT(Overview, (),
                      (dead_tasks, suspense, disputes, tickets, pending_actions,
                       quarantined_machines, stuck_transfers, stuck_rentals, held_transfers, debts,
                       cover, admission_paused, payouts_paused, chain, as_of))
constexpr auto wire_docs(const Overview*) {
    return std::to_array<wire::Doc>({
        {"dead_tasks", "Background tasks that the worker gave up."},
        {"suspense", "Transfers to the treasury that nobody has claimed."},
        {"disputes", "Disputes that are not decided."},
        {"tickets", "Tickets whose last word is their owner's."},
        {"pending_actions", "What waits for a second admin, while it can be confirmed."},
        {"quarantined_machines", "Machines that were put aside."},
        {"stuck_transfers", "Transfers that are held back, or wait for too long."},
        {"stuck_rentals", "Rentals whose host is silent, or that wait for too long."},
        {"held_transfers", "Transfers that an operator holds back."},
        {"debts", "Balances of accounts that owe; nothing tells since when."},
        {"cover", "What is owed and held, one for each asset of which there is a proof."},
        {"admission_paused", "Whether new rentals are refused at the moment.", "false"},
        {"payouts_paused", "Whether nothing that leaves is signed at the moment.", "false"},
        {"chain", "How far the chain was read; null where this process does not read it."},
        {"as_of", "When this was counted."},
    });
}

class OverviewDesk {
public:
    explicit OverviewDesk(std::shared_ptr<const funding::WatcherVitals> watched)
        : watched_(std::move(watched)) {}

    void add_routes(api::Router& router) const;

    Overview show(api::Call& call) const;

private:
    std::shared_ptr<const funding::WatcherVitals> watched_;
};

}  // namespace berth::admin
