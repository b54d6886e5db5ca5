// Addresses that a token will not pay, because its issuer has barred them or for whatever reason of
// its own. Each payment that it refused counts, tried or reverted on the chain; after a few in a
// row the address is barred here: what waits for it is called off with the money back, and nothing
// more is asked for until an operator lifts the bar. A payment that arrives forgets all of it.
//
// Reverts to different addresses, one after the other, are no payee's fault: then nothing is signed
// until a person has looked.
#pragma once

#include "transfers/settings.hpp"
#include "transfers/store.hpp"

namespace berth::api {
class Router;
}

namespace berth::transfers {

// One that was refused a moment ago is not counted again by the next look.
inline constexpr Duration refusals_apart = std::chrono::minutes(1);

// A token pays or bars an address whatever others do.
struct Payee {
    Asset asset{};
    crypto::Address address;
};
bool is_barred(db::Transaction& tx, const Payee& payee);
// Throws a Problem CONFLICT then.
void require_payable(db::Transaction& tx, const Payee& payee);

bool bars_any(db::Transaction& tx);

// Counts a refusal of each; an address may be barred by it.
void count_refusals(db::Context context, std::span<const TransferRow> refused,
                    const Settings& limits);

// What waits for an address that is barred, whoever barred it, and that no operator holds back.
bool any_waits_for_barred(db::Transaction& tx);
// Keeps: its money goes back in the transaction that calls it off. None while books and chain are
// being compared: a payment that the books have lost may be one of these. Gives those, some at a
// time.
std::vector<TransferId> call_off_barred(db::Context context);

// What became of payments on the chain.
struct ChainEndings {
    std::vector<Payee> paid;
    std::vector<Payee> reverted;
};
// True when they were the last of so many reverts that payments are held from now on. Each asset is
// counted by itself: one that pays says nothing about another that does not.
bool note_endings(db::Context context, const ChainEndings& endings, const Settings& limits);

// What operators see of it, and lift.
void add_payee_routes(api::Router& router);

}  // namespace berth::transfers
