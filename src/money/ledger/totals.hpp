// What a ledger adds up to: by pocket, by movement, and how many rows there are. Totals of one part
// of the ledger and of the next are added up to those of both.
#pragma once

#include "ledger/journal.hpp"

namespace berth::ledger {

struct Totals {
    struct Sides {
        Micro debit;
        Micro credit;
    };
    template <class Value, int Count>
    using Table = std::array<std::array<Value, static_cast<std::size_t>(Count)>, assets.size()>;

    Table<Sides, pocket_count> pockets{};
    Table<Micro, movement_count> moved{};  // the first legs of each movement
    std::int64_t transactions = 0;
    std::int64_t entries = 0;
    // That were begun, ended or not.
    std::int64_t jobs = 0;
    std::int64_t transfers = 0;
    std::int64_t disputes = 0;

    Sides& sides(Asset asset, Pocket pocket) {
        return pockets[static_cast<std::size_t>(asset)][static_cast<std::size_t>(pocket)];
    }
    const Sides& sides(Asset asset, Pocket pocket) const {
        return pockets[static_cast<std::size_t>(asset)][static_cast<std::size_t>(pocket)];
    }
    // Above zero: more was credited.
    Micro balance(Asset asset, Pocket pocket) const {
        return sides(asset, pocket).credit - sides(asset, pocket).debit;
    }
    Micro& of(Asset asset, Movement movement) {
        return moved[static_cast<std::size_t>(asset)][static_cast<std::size_t>(movement)];
    }
    Micro of(Asset asset, Movement movement) const {
        return moved[static_cast<std::size_t>(asset)][static_cast<std::size_t>(movement)];
    }

    void add(const Header& header, const std::vector<Entry>& entries);
    void add(const Totals& other);
};

}  // namespace berth::ledger
