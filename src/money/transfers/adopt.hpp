// Payments that the books have lost: a treasury made them after the backup that the books are from,
// for a transfer that these have never heard of. An operator says whose each of them was, and it is
// booked as that account's withdrawal. Until that is decided nothing leaves an account that owns
// the address which was paid: it may have its money already.
#pragma once

#include "ledger/treasury.hpp"
#include "transfers/settlement.hpp"

namespace berth::transfers {

// A final payment, and whose it was.
struct Adoption {
    chain::Original payment;
    AccountId account;
    Time paid_at;                  // of its block
    std::int64_t after_block = 0;  // where the look began that found it
    // Transfers that wait in these books and were paid too: they are not called off.
    std::vector<TransferId> paid_too = {};
    // Nonces of the same treasury whose payments the books do not know either: the next look finds
    // them again.
    std::vector<std::int64_t> found_too = {};
};
struct Adopted {
    TransferId transfer;
    Asset asset = Asset::usdc;
    Micro amount;
    crypto::Address address;
    Micro advance;  // what the balance did not cover
    std::vector<TransferId> called_off = {};
};
// Makes the transfer again, as SETTLED, and debits the account. What waits to be signed for it is
// called off as far as that is needed. Throws a Problem CONFLICT when the payment is known, is no
// plain payment of one of our tokens, is of a transfer that waits in the books, or when an earlier
// nonce of its treasury was neither booked nor found: from then on nobody would look for it.
Adopted adopt_payment(ledger::Context context, const ledger::Treasury& ours,
                      const Adoption& adoption);

// Freezes.

// Whoever saved this address, was paid there before, or has it as a wallet. No index helps it: it
// is asked for single payments about which an operator decides.
std::vector<AccountId> find_owners(db::Transaction& tx, const crypto::Address& address);
struct UnknownPayment {
    crypto::Address treasury;
    std::int64_t nonce = 0;
};
void freeze(db::Transaction& tx, const UnknownPayment& payment, AccountId account, Time now);
void end_freezes(db::Transaction& tx, const UnknownPayment& payment, Time now);
bool is_frozen(db::Transaction& tx, AccountId account);
// Throws a Problem UNAVAILABLE then, and CONFLICT where an operator has frozen the account.
void require_not_frozen(db::Transaction& tx, AccountId account);

}  // namespace berth::transfers
