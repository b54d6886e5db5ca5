// Money that leaves: withdrawals from a balance, payouts of earnings, and the addresses they go to.
// Every way in proves that the account's owner wants it: a code by mail, the authenticator, a link,
// or a key that reaches addresses the owner saved before. The settler carries it out.
#pragma once

#include "accounts/accounts.hpp"
#include "api/router.hpp"
#include "ledger/treasury.hpp"
#include "transfers/letters.hpp"
#include "transfers/operators.hpp"
#include "transfers/settings.hpp"
#include "wallets/challenges.hpp"

namespace berth::transfers {

inline constexpr Duration confirmation_lifetime = std::chrono::hours(24);
inline constexpr std::size_t addresses_max = 100;        // of one account
inline constexpr std::int64_t open_transfers_max = 100;  // of one account
inline constexpr std::int64_t links_per_hour_max = 10;   // to one account

class Transfers {
public:
    Transfers(const accounts::Site& site, const ledger::Treasury& treasury,
              const accounts::Accounts& accounts, const mail::Outbox& outbox)
        : site_(site),
          treasury_(treasury),
          accounts_(accounts),
          outbox_(outbox),
          challenges_(site) {}

    void add_routes(api::Router& router) const;

    TransferAccepted request(api::Call& call, TransferKind kind,
                             const TransferRequest& request) const;
    api::Page<Transfer> list(api::Call& call, TransferKind kind, const api::PageQuery& query) const;
    Transfer cancel(api::Call& call, TransferKind kind, const TransferPath& path) const;
    accounts::CodeSent send_code(api::Call& call, const AskCode& request) const;
    TransferChallenge challenge(api::Call& call, const AskCode& request) const;

    AddressAccepted add_address(api::Call& call, const NewAddress& request) const;
    WithdrawalAddresses list_addresses(api::Call& call) const;
    void remove_address(api::Call& call, const AddressPath& path) const;
    Confirmed confirm(api::Call& call, const ConfirmationPath& path,
                      const ConfirmationToken& request) const;

private:
    using Wish = letters::Wish;  // the proof is bound to all of it

    void add_transfer_routes(api::Router& router) const;
    void add_address_routes(api::Router& router) const;

    Wish wish_of(api::Call& call, TransferKind kind, const wire::EvmAddress& address, Micro amount,
                 const std::optional<Asset>& asset) const;
    void require_payments() const;
    void check_least(api::Call& call, const Wish& wish) const;
    void check_most(api::Call& call, const Wish& wish) const;
    crypto::Address checked_address(api::Call& call, const wire::EvmAddress& address) const;

    void check_person(api::Call& call, const accounts::Account& account, const Wish& wish,
                      const TransferRequest& request) const;
    void check_key(api::Call& call, const accounts::Account& account, const Wish& wish,
                   const TransferRequest& request, bool saved) const;
    void check_signature(api::Call& call, const Wish& wish, const TransferRequest& request) const;

    TransferAccepted begin(api::Call& call, const TransferRow& transfer,
                           const accounts::Account& account) const;
    TransferAccepted park(api::Call& call, TransferRow transfer, const accounts::Account& account,
                          const std::optional<Label>& label) const;
    void go_on(api::Call& call, const ConfirmationRow& confirmation, Confirmed& confirmed) const;
    ConfirmationRow ask_confirmation(api::Call& call, const accounts::Account& account,
                                     const AddressRow& address, const TransferRow* transfer) const;

    const accounts::Site& site_;
    const ledger::Treasury& treasury_;
    const accounts::Accounts& accounts_;
    const mail::Outbox& outbox_;
    wallets::Challenges challenges_;
    Operators operators_;
};

// Locks the money of a transfer: from here on the settler has it.
void lock_transfer(ledger::Context context, const TransferRow& transfer);

// Ends up to `rows_max` confirmations whose time is over, with what waited for them; how many.
std::int64_t expire_confirmations(const db::Context& context, std::int64_t rows_max);

}  // namespace berth::transfers
