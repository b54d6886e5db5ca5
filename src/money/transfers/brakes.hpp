// The operator's brakes on what leaves: caps for a day, the cooling-off of new addresses, accounts
// that are suspended. A thief of a key or a session gets at most a day's worth, and not to an
// address that was saved a moment ago.
#pragma once

#include <map>

#include "accounts/accounts.hpp"
#include "transfers/settings.hpp"
#include "transfers/store.hpp"

namespace berth::transfers {

// An authenticator that is older when an address is saved vouches for it. A thief of a mailbox can
// enroll one at once.
inline constexpr Duration factor_age_min = std::chrono::hours(24);

class Brakes {
public:
    Brakes(db::Transaction& tx, const Settings& limits, Time now);

    // Whether this one may leave now; what may not waits.
    bool let_go(const TransferRow& transfer);
    // It leaves: it counts from now on.
    void count(const TransferRow& transfer);

private:
    struct Of {
        bool barred = false;
        bool cools = false;  // its new addresses do
        Micro signed_today;
    };
    Of& of(AccountId account);
    bool is_cooling(const TransferRow& transfer);

    db::Transaction& tx_;
    const Settings& limits_;
    Time now_;
    Micro signed_today_;
    std::map<AccountId, Of> accounts_;
};

}  // namespace berth::transfers
