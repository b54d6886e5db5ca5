// What other features may do with transfers that nobody has claimed. Money moves in the ledger, in
// the same transaction.
#pragma once

#include "funding/store.hpp"

namespace berth::funding {

std::string deposit_reference(const chain::Transfer& transfer);
std::string reference_of(const DepositMark& deposit);

// "8453:0x…:0", as the ledger's references name a transfer.
std::optional<DepositMark> parse_reference(std::string_view text);

// What is asked of the payments that leave the treasury. They stand above this feature, so the
// server hands their answers in.
class Payments {
public:
    virtual ~Payments() = default;
    // Throws a Problem UNAVAILABLE while settlement is held: the books may be older than the chain,
    // and what they have in suspense, or do not know, may have been sent back already.
    virtual void require_books_current(db::Transaction& tx) const = 0;
    // What sends a deposit back, or did; none when nothing does, or it was paid by hand.
    virtual std::optional<DepositReturn> find_return(db::Transaction& tx,
                                                     const DepositMark& deposit) const = 0;
};

enum class SuspenseEnd { claimed, own, returned };
// Takes a transfer out of suspense, for good. Throws a Problem NOT_FOUND, or CONFLICT when it is
// not in suspense any more. The caller has made sure that the books are current, but for one that
// was returned: the payment on the chain is what makes them so. An account comes with `claimed`.
DepositRow end_suspense(ledger::Context context, const DepositMark& deposit, SuspenseEnd end,
                        const std::optional<AccountId>& account);

// One that is being sent back is nobody else's meanwhile; throws, and wants current books, as
// end_suspense() does. In the end it is returned, or in suspense again.
DepositRow begin_return(ledger::Context context, const DepositMark& deposit);
void end_return(ledger::Context context, const DepositMark& deposit, bool paid);

}  // namespace berth::funding
