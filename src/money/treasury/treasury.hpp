// The operator's own money: gas, fee income, cold storage, and transfers that nobody claims. Every
// operation works in the caller's transaction, has a reason and evidence, and is audited. None asks
// the chain itself: what left the treasury comes as the transfer that find_payment() saw.
#pragma once

#include "audit/audit.hpp"
#include "chain/chain.hpp"
#include "db/migrate.hpp"
#include "funding/suspense.hpp"
#include "ledger/ledger.hpp"
#include "ledger/report.hpp"
#include "ledger/treasury.hpp"
#include "transfers/adopt.hpp"

namespace berth::treasury {

inline constexpr std::size_t reason_min = 5;
inline constexpr std::size_t reason_max = 2000;

// On whose word it happens.
struct Authority {
    audit::Actor actor;
    std::string reason;
    std::vector<std::string> evidence = {};
    std::optional<RequestId> request = {};
};

// Throws a Problem INVALID_INPUT for a reason that is too short or too long.
void check_authority(const Authority& authority);

// The final transfer out of one of these treasuries that a transaction made. With several, the
// ordinal of its log chooses. Throws a Problem with a sentence when there is none; asks the chain.
struct Payment {
    chain::Transfer transfer;
    ledger::Asset asset{};
};
Payment find_payment(chain::Chain& chain, const std::vector<funding::Watched>& ours,
                     const chain::Hash& transaction, const std::optional<std::int64_t>& ordinal);

// Whether a transaction moved money that the books know: it paid in, was signed here, or is booked.
bool knows_transaction(db::Transaction& tx, const std::string& transaction);

enum class Purpose { gas, fee_take_out, to_cold };
std::string_view name(Purpose purpose);
struct Spending {
    Purpose purpose;
    Payment payment;
};
// Books what left the treasury. CONFLICT when it is booked already, is a customer's transfer, is
// more than there is of fee income, or did not go to cold storage, to where fee income goes or to
// where gas is bought.
audit::AuditEventId pay(ledger::Context context, const ledger::Treasury& ours,
                        const Spending& spending, const Authority& authority);

// Credits a transfer in suspense to the account that proved that it is its own.
audit::AuditEventId match(ledger::Context context, const funding::DepositMark& deposit,
                          AccountId account, const Authority& authority);

enum class Own { top_up, from_cold };
struct Keeping {
    funding::DepositMark deposit;
    Own own;
};
// Says that a transfer in suspense is the operator's own. CONFLICT when it is said to come from
// cold storage and does not.
audit::AuditEventId keep(ledger::Context context, const ledger::Treasury& ours,
                         const Keeping& keeping, const Authority& authority);

// Throws a Problem unless it has a reason, is of somebody else's account and address, and that
// account owns the address which was paid or evidence says why it is to bear the payment: whoever
// has the treasury's key could otherwise pay himself from anybody's balance. Who owns the address.
std::vector<AccountId> check_adoption(db::Transaction& tx, const transfers::Adoption& adoption,
                                      const Authority& authority);
// Books that a payment which the books had lost was this account's withdrawal: see
// transfers/adopt.hpp. Checks it as above; CONFLICT when it is booked as something else.
struct AdoptedPayment {
    transfers::Adopted what;
    audit::AuditEventId event;
};
AdoptedPayment adopt(ledger::Context context, const ledger::Treasury& ours,
                     const transfers::Adoption& adoption, const Authority& authority);

// Books that a transfer in suspense went back, in its whole amount, by a payment that nobody here
// signed: to whoever sent it, or to another address, not of whose word it is, when evidence says
// why.
audit::AuditEventId give_back(ledger::Context context, const funding::DepositMark& deposit,
                              const Payment& payment, const Authority& authority);

// Sends a transfer in suspense back: to its sender, or to another address when evidence says why.
// The settler pays it, and books it when it is final. What it is called: the transfer's id.
struct Returning {
    ledger::TransferId transfer;
    audit::AuditEventId event;
};
Returning send_back(ledger::Context context, const ledger::Treasury& treasury,
                    const funding::DepositMark& deposit, const std::optional<crypto::Address>& to,
                    const Authority& authority);
// Calls that off, as long as it is not signed: it is in suspense again.
Returning keep_here(ledger::Context context, const funding::DepositMark& deposit,
                    const Authority& authority);

// Every payment that is booked here is in the ledger, and the other way round.
class PaymentWitness final : public ledger::Witness {
public:
    bool posts(ledger::Movement movement) const override;
    void check_postings(db::Transaction& tx, std::span<const ledger::Posted> postings,
                        ledger::Report& report) const override;
    void check_rows(db::Transaction& tx, const Scope& scope, ledger::Report& report) const override;
};

extern const std::span<const db::Migration> migrations;

}  // namespace berth::treasury
