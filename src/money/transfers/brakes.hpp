// The operator's brakes on what leaves: caps for a day, the cooling-off of new addresses, accounts
// that are suspended or frozen, single transfers that are held back. A thief of a key or a session
// gets at most a day's worth, and not to an address that was saved a moment ago. What waits says
// why.
#pragma once

#include <map>

#include "accounts/accounts.hpp"
#include "transfers/settings.hpp"
#include "transfers/store.hpp"

namespace berth::transfers {

// An authenticator that is older when an address is saved vouches for it. A thief of a mailbox can
// enroll one at once.
inline constexpr Duration factor_age_min = std::chrono::hours(24);

struct Wait {
    WaitsFor why{};
    std::optional<Time> until = {};  // where it is known
};

class Brakes {
public:
    Brakes(db::Transaction& tx, const Settings& limits, Time now);

    // What keeps one that nobody has signed from leaving now; none: it may.
    std::optional<Wait> brake_on(const TransferRow& transfer);
    bool let_go(const TransferRow& transfer) { return !brake_on(transfer); }
    // It leaves: it counts from now on.
    void count(const TransferRow& transfer);

    // Why a transfer is not over yet, for whoever asks; none: it is, or leaves with the next round.
    std::optional<Wait> wait_of(const TransferRow& transfer);

private:
    struct Of {
        bool barred = false;
        bool frozen = false;
        bool cools = false;  // its new addresses do
        Micro signed_today;
    };
    // What left in a day less what came in on the same account, account by account: whoever sends
    // the same money round uses up nothing of what others may have.
    struct Net {
        std::map<AccountId, Micro> out;
        std::map<AccountId, Micro> in;
        Micro used;

        Micro with(const TransferRow& transfer) const;
    };
    Of& of(AccountId account);
    std::optional<Wait> brake_of_owner(const TransferRow& transfer);
    bool is_above_day_cap(const TransferRow& transfer);
    bool is_blocked(const TransferRow& transfer);
    bool is_refused(const TransferRow& transfer);
    std::optional<Time> cap_frees(const TransferRow& transfer);
    std::optional<Time> cooling_until(const TransferRow& transfer);

    db::Transaction& tx_;
    const Settings& limits_;
    Time now_;
    std::optional<Micro> signed_today_;  // asked for when it is needed, like what follows
    std::optional<Net> net_;
    std::optional<bool> is_held_;
    std::optional<bool> blocks_none_;  // the block list is empty
    std::optional<bool> bars_any_;     // some token refuses some address
    std::map<AccountId, Of> accounts_;
};

}  // namespace berth::transfers
