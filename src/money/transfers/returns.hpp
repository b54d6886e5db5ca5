// Transfers in suspense that go back to whoever sent them: a payment like any other, signed by the
// settler. Until it has ended the deposit is RETURNING, so that nobody claims it, matches it or
// sends it back a second time; the money is in suspense until the chain has moved it.
#pragma once

#include "funding/suspense.hpp"
#include "ledger/treasury.hpp"
#include "transfers/store.hpp"

namespace berth::transfers {

// Throws a Problem UNAVAILABLE while settlement is held: a transfer that the books have in
// suspense, or do not know, may have been sent back already.
void require_books_current(db::Transaction& tx);

// What funding asks of this feature.
class PaymentsForFunding final : public funding::Payments {
public:
    void require_books_current(db::Transaction& tx) const override;
    std::optional<funding::DepositReturn> find_return(
        db::Transaction& tx, const funding::DepositMark& deposit) const override;
};

// Throws a Problem: NOT_FOUND, CONFLICT when it is not in suspense any more or its sender cannot be
// paid, INVALID_INPUT for an address that must not be paid, UNAVAILABLE where nobody pays or
// the books are not current.
TransferRow begin_return(ledger::Context context, const ledger::Treasury& treasury,
                         const funding::DepositMark& deposit,
                         const std::optional<crypto::Address>& to);
// Only while it is not signed; CONFLICT after that, UNAVAILABLE while it cannot be known.
TransferRow cancel_return(ledger::Context context, const funding::DepositMark& deposit);

// Books what became of a transfer's money, whatever its kind: SETTLED it is gone, else it is back
// where it came from. The caller has moved the transfer to this state.
void book_ending(ledger::Context context, const TransferRow& transfer, TransferState state);

}  // namespace berth::transfers
