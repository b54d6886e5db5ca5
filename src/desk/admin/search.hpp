// One box for whatever an operator has in hand: a mail address or a part of one, an id, a wallet,
// an address, a transaction, the beginning of a key, the name of an agent or of a machine.
#pragma once

#include "admin/types.hpp"
#include "api/router.hpp"

namespace berth::admin {

inline constexpr std::int64_t hits_max = 20;             // of each kind
inline constexpr std::int64_t searches_per_minute = 60;  // of one operator

struct SearchQuery {
    wire::Text<2, 320> q;
};
BOOST_DESCRIBE_STRUCT(SearchQuery, (), (q))
constexpr auto wire_docs(const SearchQuery*) {
    return std::to_array<wire::Doc>({
        {"q",
         "What is looked for: a mail address, also a former one, or a part of one; any id; a "
         "wallet, a saved, blocked or refused address; a transaction; the first twelve letters of "
         "an API key; a campaign's code; a part of the name of an agent or a machine.",
         "ada@"},
    });
}

enum class HitKind {
    account,
    agent,
    wallet,
    address,
    key,
    machine,
    rental,
    transfer,
    intent,
    claim,
    deposit,
    payment,
    dispute,
    pending_action,
    recovery,
    ticket,
    note,
    guest,
    campaign,
    credit,
    payee,
    blocked,
};
BOOST_DESCRIBE_ENUM(HitKind, account, agent, wallet, address, key, machine, rental, transfer,
                    intent, claim, deposit, payment, dispute, pending_action, recovery, ticket,
                    note, guest, campaign, credit, payee, blocked)

struct Hit {
    HitKind kind = HitKind::account;
    std::string id;
    wire::Nullable<AccountId> account_id;
    wire::Nullable<std::string> label;
};
BOOST_DESCRIBE_STRUCT(Hit, (), (kind, id, account_id, label))
constexpr auto wire_docs(const Hit*) {
    return std::to_array<wire::Doc>({
        {"kind",
         "A payment is one of the operator's own, a guest is on the allow list, a payee is an "
         "address that a token would not pay, what is blocked is on the block list.",
         "wallet"},
        {"id", "What a command about it takes.", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57"},
        {"account_id", "Whose it is; null when it is nobody's."},
        {"label", "What it is recognised by; null when it has nothing of the kind.",
         "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
    });
}

struct Hits {
    std::vector<Hit> items;
    bool complete = true;
};
BOOST_DESCRIBE_STRUCT(Hits, (), (items, complete))
constexpr auto wire_docs(const Hits*) {
    return std::to_array<wire::Doc>({
        {"complete", "False when there is more than is shown: look for something more exact.",
         "true"},
    });
}

class Search {
public:
    void add_routes(api::Router& router) const;

    Hits find(api::Call& call, const SearchQuery& query) const;
};

}  // namespace berth::admin
