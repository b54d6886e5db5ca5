#include "server/treasury_commands.hpp"

#include <fmt/format.h>

#include <map>

#include "accounts/accounts.hpp"
#include "base/check.hpp"
#include "base/problem.hpp"
#include "server/app.hpp"
#include "server/chain_setup.hpp"
#include "server/schema.hpp"
#include "server/simulation.hpp"
#include "treasury/treasury.hpp"

namespace berth::server {
namespace {

constexpr std::string_view treasury_word = "treasury";
constexpr std::int64_t listed_max = 1000;

[[noreturn]] void refuse(const std::string& why) { throw Problem(Code::invalid_input, why); }

// HASH:ORDINAL; the ordinal may be missing where `ordinal_needed` is not set.
struct OnChain {
    chain::Hash transaction;
    std::optional<std::int64_t> ordinal = {};
};
OnChain parse_place(const std::string& text, std::string_view what) {
    const std::size_t colon = text.find(':');
    const auto hash = chain::parse_hash(text.substr(0, colon));
    if (!hash) refuse(fmt::format("{}: must be a transaction hash, or HASH:ORDINAL", what));
    if (colon == text.npos) return {*hash};
    const auto ordinal = parse_decimal(std::string_view(text).substr(colon + 1));
    if (!ordinal) refuse(fmt::format("{}: must be a transaction hash, or HASH:ORDINAL", what));
    return {*hash, ordinal};
}

funding::DepositMark parse_deposit(const std::string& text) {
    const OnChain place = parse_place(text, "--deposit");
    if (!place.ordinal) refuse("--deposit: must be HASH:ORDINAL");
    return {chain::to_string(place.transaction), *place.ordinal};
}

treasury::Payment payment_of(const TreasuryOrder& order, db::Database& database,
                             chain::Chain* chain) {
    const OnChain place = parse_place(order.payment, "--payment");
    if (chain == nullptr) refuse("--chain-rpc: is needed to see what left the treasury");
    return treasury::find_payment(*chain, database.read(funding::list_watched), place.transaction,
                                  place.ordinal);
}

const std::map<std::string, treasury::Purpose> purposes{
    {"gas", treasury::Purpose::gas},
    {"fee-take-out", treasury::Purpose::fee_take_out},
    {"to-cold", treasury::Purpose::to_cold}};

}  // namespace

Words to_words(const TreasuryOrder& order) {
    Words words{std::string(treasury_word),
                order.verb,
                order.deposit,
                order.payment,
                order.account,
                order.address,
                order.reason};
    words.insert(words.end(), order.evidence.begin(), order.evidence.end());
    return words;
}

std::optional<TreasuryOrder> parse_order(const Words& words) {
    if (words.size() < 7 || words[0] != treasury_word) return std::nullopt;
    return TreasuryOrder{words[1],
                         words[2],
                         words[3],
                         words[4],
                         words[5],
                         words[6],
                         {words.begin() + 7, words.end()}};
}

std::string carry_out(const TreasuryOrder& order, const TreasuryParts& parts) {
    const treasury::Authority authority{audit::Actor::local_operator(), order.reason,
                                        order.evidence};
    const auto book = [&](auto operation) {
        const audit::AuditEventId event = parts.database.write([&](db::Transaction& tx) {
            return operation(ledger::Context{tx, parts.random, parts.clock.now()});
        });
        return "booked; audit event " + to_string(event);
    };
    if (const auto purpose = purposes.find(order.verb); purpose != purposes.end()) {
        const treasury::Payment payment = payment_of(order, parts.database, parts.chain);
        return book([&](ledger::Context context) {
            return treasury::pay(context, parts.treasury, {purpose->second, payment}, authority);
        });
    }
    const funding::DepositMark deposit = parse_deposit(order.deposit);
    const std::optional<crypto::Address> to = crypto::parse_address(order.address);
    if (!order.address.empty() && !to) refuse("--address: must be an address, 0x…");
    if (order.verb == "return" && order.payment.empty())
        return book([&](ledger::Context context) {
            return treasury::send_back(context, parts.treasury, deposit, to, authority).event;
        });
    if (order.verb == "cancel-return")
        return book([&](ledger::Context context) {
            return treasury::keep_here(context, deposit, authority).event;
        });
    if (order.verb == "return") {
        const treasury::Payment payment = payment_of(order, parts.database, parts.chain);
        if (to && *to != payment.transfer.to)
            refuse("--address: the payment went to " + crypto::checksummed(payment.transfer.to));
        return book([&](ledger::Context context) {
            return treasury::give_back(context, deposit, payment, authority);
        });
    }
    if (order.verb == "match") {
        const auto account = parse_uuid(order.account);
        const bool known = account && parts.database.read([&](db::Transaction& tx) {
            return accounts::find_account(tx, AccountId{*account}).has_value();
        });
        if (!known) refuse("--account: there is no such account");
        return book([&](ledger::Context context) {
            return treasury::match(context, deposit, AccountId{*account}, authority);
        });
    }
    if (order.verb != "top-up" && order.verb != "from-cold") refuse("there is no such order");
    const auto own = order.verb == "top-up" ? treasury::Own::top_up : treasury::Own::from_cold;
    return book([&](ledger::Context context) {
        return treasury::keep(context, parts.treasury, {deposit, own}, authority);
    });
}

int order_treasury(const settings::Given& given, const TreasuryOrder& order) {
    const auto start = registry().snapshot(given);
    const Settings& settings = start->get<Settings>();
    SystemRandom random;
    std::string sentence;
    try {
        const auto database = db::open(*settings.db);
        db::migrate(*database, schema());
        require_stamp_fits(*database, *start);
        http::CurlClient client;
        const auto clock = make_clock(settings);
        const auto chain = open_chain(client, *start, *clock);
        // Whoever has the key pays; here it is only asked for.
        const auto& named = start->get<chain::Settings>();
        const ledger::Treasury ours = treasury_of(named, *named.treasury, true);
        sentence = carry_out(order, {*database, ours, chain.get(), *clock, random});
    } catch (const db::Held& held) {
        sentence = ask_server(*settings.db, held.holder(), to_words(order), random);
    }
    fmt::print("{}\n", sentence);
    return 0;
}

int list_suspense(const settings::Given& given) {
    db::Options options;
    options.read_only = true;
    const auto database = db::open(*start_settings(given).db, options);
    const auto rows = database->read([](db::Transaction& tx) {
        return funding::list_unclaimed(tx, std::nullopt, std::nullopt, listed_max);
    });
    for (const funding::UnclaimedRow& one : rows) {
        const funding::DepositRow& row = one.deposit;
        fmt::print("{}:{} {} {} from {}, block {}, seen {}{}\n", chain::to_string(row.transaction),
                   row.ordinal, ledger::name(row.asset), row.amount.value,
                   crypto::checksummed(row.sender), row.block, to_rfc3339(row.seen_at),
                   one.state == funding::UnclaimedState::RETURNING ? ", on its way back" : "");
    }
    return 0;
}

}  // namespace berth::server
