// What only a simulated server answers, for who plays with it on its own machine: a faucet, and the
// mail it sent. Any other server says that there is no such thing.
#pragma once

#include <boost/describe.hpp>
#include <vector>

#include "api/router.hpp"
#include "ledger/chart.hpp"
#include "server/faucet.hpp"
#include "server/kept_mail.hpp"
#include "wire/rules.hpp"

namespace berth::server {

struct FaucetWish {
    ledger::Asset asset{};
    wire::Amount<1, faucet_call_max.value> amount_micro;
};
BOOST_DESCRIBE_STRUCT(FaucetWish, (), (asset, amount_micro))
constexpr auto wire_docs(const FaucetWish*) {
    return std::to_array<wire::Doc>({
        {"asset", "Which token.", "USDC"},
        {"amount_micro", "How much play money, at most 1,000 units.", "100000000"},
    });
}

struct FaucetPaid {
    ledger::Asset asset{};
    Micro amount_micro;
    wire::TransactionHash tx_hash;
};
BOOST_DESCRIBE_STRUCT(FaucetPaid, (), (asset, amount_micro, tx_hash))
constexpr auto wire_docs(const FaucetPaid*) {
    return std::to_array<wire::Doc>({
        {"asset", "Which token.", "USDC"},
        {"amount_micro", "What the account has more, to spend.", "100000000"},
    });
}

struct PlayMailQuery {
    wire::Text<3, 254> to;
};
BOOST_DESCRIBE_STRUCT(PlayMailQuery, (), (to))
constexpr auto wire_docs(const PlayMailQuery*) {
    return std::to_array<wire::Doc>({
        {"to", "The address that the mails went to.", "ada@example.org"},
    });
}

struct PlayMail {
    std::string subject;
    std::string text;
    Time sent_at;
};
BOOST_DESCRIBE_STRUCT(PlayMail, (), (subject, text, sent_at))
constexpr auto wire_docs(const PlayMail*) {
    return std::to_array<wire::Doc>({
        {"subject", "Its subject.", "Your Berth sign-in code"},
        {"text", "All of its text.", "Your sign-in code for Berth: 123456"},
        {"sent_at", "When it left."},
    });
}

struct PlayMails {
    std::vector<PlayMail> items;
};
BOOST_DESCRIBE_STRUCT(PlayMails, (), (items))
constexpr auto wire_docs(const PlayMails*) {
    return std::to_array<wire::Doc>({
        {"items", "At most the last five, the newest first."},
    });
}

// Null together: the server is not simulated, or the routes are only described.
struct Play {
    Faucet* faucet = nullptr;
    const KeptMail* mail = nullptr;
};
void add_play_routes(api::Router& router, const Play& play);

}  // namespace berth::server
