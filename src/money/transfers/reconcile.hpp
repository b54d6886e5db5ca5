// Books that are behind the chain brought up to it. A restored database does not know what was
// signed after its backup, and would sign it again; whoever else has the treasury's key leaves
// nonces that the books know nothing of. Both are found by what the treasury paid on chain, each
// payment naming its transfer, and a person decides about the rest.
//
// Every treasury that the books know is looked at, not the present one alone: books from before a
// change of treasury call unpaid what the earlier one paid.
//
// Nothing is decided about what is not final: while the chain has transactions of a treasury that
// are not, examine() says so.
#pragma once

#include <span>

#include "chain/chain.hpp"
#include "ledger/treasury.hpp"
#include "transfers/adopt.hpp"

namespace berth::transfers {

// A nonce of the treasury that the chain has used up and the books do not account for.
struct Finding {
    enum class Kind {
        adopt,    // it paid a transfer of ours, which becomes SUBMITTED with it
        foreign,  // it paid no transfer that waits; a person must say why
    };
    Kind kind = Kind::foreign;
    std::int64_t nonce = 0;
    std::optional<chain::Original> original = {};  // none: it moved no tokens of ours
    Time paid_at = {};                             // with it: of its block
    std::optional<TransferRow> transfer = {};      // with `adopt`
    std::int64_t attempt = 1;                      // its number then
    std::string text;                              // one line for a person
};

struct Reconciliation {
    crypto::Address treasury;
    std::int64_t books_nonce = 0;
    std::int64_t chain_nonce = 0;  // finalized
    std::int64_t after_block = 0;  // what was looked at begins here
    bool is_moving = false;        // something is not final yet: nothing can be decided
    std::optional<std::string> hold = {};
    std::vector<Finding> findings = {};
};

class Reconciler {
public:
    struct Parts {
        const ledger::Treasury& treasury;
        chain::Chain& chain;
        db::Database& database;
    };
    explicit Reconciler(const Parts& parts) : parts_(parts) {}

    // Every treasury that the books know and that is not retired, and those that are named here:
    // the present one, and any that had its time after the backup was made. `first_block` is where
    // to begin to look, unless the books end further back.
    std::vector<Reconciliation> examine(const std::vector<crypto::Address>& named,
                                        std::optional<std::int64_t> first_block) const;

    // The final payment with this nonce, of the one of these treasuries that has it, or of the one
    // that is named, whether or not somebody called it foreign before: an operator says whose it
    // was. Throws std::runtime_error with one sentence when there is none, or more than one, and
    // while something of any of them is not final: that may pay a transfer which the adoption would
    // call off.
    struct Lost {
        chain::Original payment;
        Time paid_at;
        std::int64_t after_block = 0;
    };
    Lost find_payment(std::span<const Reconciliation> looked_at, std::int64_t nonce,
                      const std::optional<crypto::Address>& of) const;

    // What used up the nonce of this SUBMITTED transfer, none of whose attempts the chain has.
    // Throws std::runtime_error with one sentence when it is not so.
    Finding examine(TransferId transfer) const;

private:
    Reconciliation examine_one(const crypto::Address& treasury,
                               std::optional<std::int64_t> first_block) const;
    struct Paid {
        chain::Original original;
        Time at;  // of its block
    };
    std::vector<Paid> payments(const crypto::Address& treasury, chain::Chain::Range range) const;
    Finding judge(db::Transaction& tx, const crypto::Address& treasury, const Paid& paid) const;

    Parts parts_;
};

// Adopts, marks as foreign, and lifts every hold, all or nothing and for all treasuries together.
// Throws std::runtime_error with one sentence when the books have changed since, know a treasury
// that was not examined, or something is left that nobody has explained.
void reconcile(db::Transaction& tx, Time now, std::span<const Reconciliation> found,
               const std::optional<std::string>& why_foreign);

// Nothing leaves an account that owns an address which one of these paid, by a payment that the
// books do not know, until that payment is adopted or explained. Whose they are, by nonce.
struct Frozen {
    UnknownPayment payment;
    AccountId account;
};
std::vector<Frozen> freeze_owners(db::Transaction& tx, Time now,
                                  std::span<const Reconciliation> found);

// Accounts for what this treasury sent so far, and for nothing that it sends from now on: that is
// not ours, and nothing is signed with its key any more. Holds stay. Throws std::runtime_error with
// one sentence while something of it is not final, and when it paid what nobody has explained:
// either may be the payment of a transfer that waits, which the next treasury would pay again.
struct Retirement {
    std::string why;
    std::optional<std::string> why_foreign = {};  // it paid what is no transfer of the books
    // Whoever stole its key could otherwise keep it from being retired for ever.
    bool while_moving = false;
};
void retire(db::Transaction& tx, Time now, const Reconciliation& found,
            const Retirement& retirement);

// Adopts what paid the transfer, or gives its money back because its nonce was used up by what did
// not.
void resolve(ledger::Context context, TransferId transfer, const Finding& found,
             std::string_view why);

}  // namespace berth::transfers
