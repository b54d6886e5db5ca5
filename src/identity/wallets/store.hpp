// All SQL of challenges and bindings.
#pragma once

#include <optional>
#include <vector>

#include "crypto/evm.hpp"
#include "db/migrate.hpp"
#include "wallets/types.hpp"

namespace berth::wallets {

struct Challenge {
    std::string nonce;
    std::string purpose;   // "wallet", "agent"
    std::string bound_to;  // the session, or the hash of the message we wrote
    Time issued_at;
    Time expires_at;
};
BOOST_DESCRIBE_STRUCT(Challenge, (), (nonce, purpose, bound_to, issued_at, expires_at))
void add_challenge(db::Transaction& tx, const Challenge& challenge);
std::optional<Challenge> find_challenge(db::Transaction& tx, std::string_view purpose,
                                        std::string_view nonce);
// The challenge, for the one caller that spends it; empty when it is unknown, spent or expired.
std::optional<Challenge> spend_challenge(db::Transaction& tx, std::string_view purpose,
                                         std::string_view nonce, Time now);
std::int64_t prune_challenges(db::Transaction& tx, Time now, std::int64_t rows_max);

// Reserves the address for the account unless somebody has it; gives the owner.
AccountId reserve_address(db::Transaction& tx, const crypto::Address& address, AccountId account);

std::optional<AccountId> find_owner(db::Transaction& tx, const crypto::Address& address);
// A wallet that another one has taken the place of: its signature opens nothing any more. Of an
// account, all but the one that is kept, also those that never registered.
void bar_wallets(db::Transaction& tx, AccountId account, const crypto::Address& kept, Time now);
bool is_barred(db::Transaction& tx, const crypto::Address& address);
// A wallet has signed for what it wants. Not of a suspended account, which it does not open.
void note_signature(db::Transaction& tx, const crypto::Address& address, Time now);
// Whether a wallet of the account, other than this one, has signed after `since`.
bool has_signed(db::Transaction& tx, AccountId account, const crypto::Address& besides, Time since);

struct Binding {
    BindingId binding_id;
    AccountId account_id;
    crypto::Address address;
    std::int64_t version = 1;
    Time linked_at;
    std::optional<Time> unlinked_at = {};
};
BOOST_DESCRIBE_STRUCT(Binding, (),
                      (binding_id, account_id, address, version, linked_at, unlinked_at))
std::vector<Binding> list_bindings(db::Transaction& tx, AccountId account);  // oldest first
std::optional<Binding> find_latest_binding(db::Transaction& tx, const crypto::Address& address);
std::optional<Binding> find_binding(db::Transaction& tx, BindingId id, AccountId account);
// False when this version is there already: somebody else linked at the same moment.
bool add_binding(db::Transaction& tx, const Binding& binding);
// False when it was unlinked before.
bool unlink(db::Transaction& tx, BindingId id, Time now);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::wallets
