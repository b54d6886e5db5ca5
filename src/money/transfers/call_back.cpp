#include "transfers/call_back.hpp"

#include "transfers/settlement.hpp"
#include "transfers/store.hpp"

namespace berth::transfers {
namespace {

struct Unsigned {
    TransferId transfer_id;
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(Unsigned, (), (transfer_id, amount))
const db::Query<Unsigned> unsigned_sql(
    "SELECT {} FROM transfers WHERE account_id = $1 AND state = 'INTENT' AND kind = $2 "
    "AND asset = $3 ORDER BY transfer_id DESC");

}  // namespace

// Keeps: a transfer is either called back or signed; both move it on from INTENT by a conditional
// update. Its money goes back in the same transaction.
std::vector<CalledBack> call_back(ledger::Context context, const CallBack& wish) {
    std::vector<CalledBack> called;
    if (wish.wanted <= Micro{} || find_hold(context.tx)) return called;
    Micro found;
    for (const Unsigned& one :
         context.tx.fetch(unsigned_sql, wish.account, wish.kind, wish.asset)) {
        if (found >= wish.wanted) break;
        if (!move_transfer(context.tx, one.transfer_id,
                           {TransferState::INTENT, TransferState::CANCELLED, wish.reason},
                           context.now))
            continue;  // signed, or called off, at this very moment
        ledger::give_back(context, one.transfer_id);
        found += one.amount;
        called.push_back({one.transfer_id, one.amount});
    }
    return called;
}

}  // namespace berth::transfers
