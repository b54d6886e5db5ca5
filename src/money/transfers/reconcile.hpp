// Books that are behind the chain brought up to it. A restored database does not know what was
// signed after its backup, and would sign it again; whoever else has the treasury's key leaves
// nonces that the books know nothing of. Both are found by what the treasury paid on chain, each
// payment naming its transfer, and a person decides about the rest.
//
// Nothing is decided about what is not final: while the chain has transactions of the treasury that
// are not, examine() says so.
#pragma once

#include "chain/chain.hpp"
#include "ledger/treasury.hpp"
#include "transfers/settlement.hpp"

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

    // `first_block` is where to begin to look, unless the books know better.
    Reconciliation examine(const crypto::Address& treasury,
                           std::optional<std::int64_t> first_block) const;

    // What used up the nonce of this SUBMITTED transfer, none of whose attempts the chain has.
    // Throws std::runtime_error with one sentence when it is not so.
    Finding examine(TransferId transfer) const;

private:
    std::vector<chain::Original> payments(const crypto::Address& treasury,
                                          chain::Chain::Range range) const;
    Finding judge(db::Transaction& tx, const crypto::Address& treasury,
                  const chain::Original& original) const;

    Parts parts_;
};

// Adopts, marks as foreign, and lifts every hold, all or nothing. Throws std::runtime_error with
// one sentence when the books have changed since, or something is left that nobody has explained.
void reconcile(db::Transaction& tx, Time now, const Reconciliation& found,
               const std::optional<std::string>& why_foreign);

// Adopts what paid the transfer, or gives its money back because its nonce was used up by what did
// not.
void resolve(ledger::Context context, TransferId transfer, const Finding& found,
             std::string_view why);

}  // namespace berth::transfers
