#include "transfers/call_back.hpp"

#include "base/problem.hpp"
#include "transfers/returns.hpp"
#include "transfers/settlement.hpp"

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
        if (!move_transfer(context, one.transfer_id,
                           {TransferState::INTENT, TransferState::CANCELLED, wish.reason}))
            continue;  // signed, or called off, at this very moment
        ledger::give_back(context, one.transfer_id);
        found += one.amount;
        called.push_back({one.transfer_id, one.amount});
    }
    return called;
}

// Keeps: money that was locked goes back in the transaction that ends its transfer, and never for
// one that was signed. The settler signs by the same conditional update from INTENT, so one of the
// two finds the transfer gone.
void end_unsigned(ledger::Context context, const TransferRow& transfer, const Ending& ending) {
    const auto end = [&](TransferState from) {
        const Step step{from, TransferState::CANCELLED, ending.reason, ending.unless_held};
        return move_transfer(context, transfer.transfer_id, step);
    };
    if (end(TransferState::AWAITING_EMAIL_CONFIRMATION)) {
        for (const ConfirmationRow& waiting : find_confirmations(context.tx, transfer.address_id))
            if (waiting.transfer_id == transfer.transfer_id)
                delete_confirmation(context.tx, waiting.confirmation_id);
    } else if (end(TransferState::INTENT)) {
        if (find_hold(context.tx))
            throw Problem(Code::unavailable,
                          "payments are being compared with the chain, where this one may be "
                          "already; try again later");
        book_ending(context, transfer, TransferState::CANCELLED);
    }
}

}  // namespace berth::transfers
