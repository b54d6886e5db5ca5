#include "server/treasury_commands.hpp"

#include <fmt/format.h>

#include <map>

#include "accounts/accounts.hpp"
#include "base/check.hpp"
#include "base/problem.hpp"
#include "server/app.hpp"
#include "server/chain_setup.hpp"
#include "server/operations.hpp"
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

AccountId account_of(db::Transaction& tx, const TreasuryOrder& order) {
    const auto account = parse_uuid(order.account);
    if (!account || !accounts::find_account(tx, AccountId{*account}))
        refuse("--account: there is no such account");
    return AccountId{*account};
}

// Where a return goes, or went; none: to its sender.
std::optional<crypto::Address> recipient_of(const SeenOrder& seen) {
    const auto to = crypto::parse_address(seen.order.address);
    if (!seen.order.address.empty() && !to) refuse("--address: must be an address, 0x…");
    if (!seen.payment) return to;
    const crypto::Address& paid = seen.payment->transfer.to;
    if (to && *to != paid) refuse("--address: the payment went to " + crypto::checksummed(paid));
    return paid;
}

four_eyes::Wish giving(const funding::DepositRow& deposit, const TreasuryOrder& order,
                       std::string action, const std::string& to) {
    return {.action = std::move(action),
            .target = {"transfer_on_chain", chain::to_string(deposit.transaction)},
            .reason = order.reason,
            .consequence = fmt::format("{} micro-units of {} that {} sent go to {}.",
                                       to_string(deposit.amount), ledger::name(deposit.asset),
                                       crypto::checksummed(deposit.sender), to)};
}

// What one operator does not do alone: an unclaimed transfer goes to somebody who did not send it.
// None: anybody may order it, or the order is refused for what it says.
std::optional<four_eyes::Wish> wish_of(db::Transaction& tx, const SeenOrder& seen) {
    const TreasuryOrder& order = seen.order;
    if (order.verb != "match" && order.verb != "return" && order.verb != "top-up")
        return std::nullopt;
    const auto row = funding::find_deposit(tx, parse_deposit(order.deposit));
    if (!row ||
        !funding::find_in_suspense(tx, chain::to_string(row->transaction), row->asset, row->amount))
        return std::nullopt;
    if (order.verb == "top-up") return giving(*row, order, "top_up", "the platform's capital");
    if (order.verb == "match") {
        const AccountId account = account_of(tx, order);
        four_eyes::Wish wish =
            giving(*row, order, "match_suspense", "the balance of account " + to_string(account));
        wish.about = wish.gains = account;
        return wish;
    }
    const auto to = recipient_of(seen);
    if (!to || *to == row->sender || order.evidence.empty()) return std::nullopt;
    four_eyes::Wish wish = giving(*row, order, "return_suspense", crypto::checksummed(*to));
    if (const auto owners = transfers::find_owners(tx, *to); !owners.empty()) {
        wish.gains = owners.front();
        wish.consequence +=
            " That address is known as one of account " + to_string(owners.front()) + ".";
    }
    return wish;
}

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

audit::AuditEventId book_order(ledger::Context context, const ledger::Treasury& ours,
                               const SeenOrder& seen, const treasury::Authority& authority) {
    const TreasuryOrder& order = seen.order;
    if (const auto purpose = purposes.find(order.verb); purpose != purposes.end())
        return treasury::pay(context, ours, {purpose->second, seen.payment.value()}, authority);
    const funding::DepositMark deposit = parse_deposit(order.deposit);
    if (order.verb == "return" && !seen.payment)
        return treasury::send_back(context, ours, deposit, recipient_of(seen), authority).event;
    if (order.verb == "return") {
        recipient_of(seen);
        return treasury::give_back(context, deposit, *seen.payment, authority);
    }
    if (order.verb == "cancel-return")
        return treasury::keep_here(context, deposit, authority).event;
    if (order.verb == "match")
        return treasury::match(context, deposit, account_of(context.tx, order), authority);
    if (order.verb != "top-up" && order.verb != "from-cold") refuse("there is no such order");
    const auto own = order.verb == "top-up" ? treasury::Own::top_up : treasury::Own::from_cold;
    return treasury::keep(context, ours, {deposit, own}, authority);
}

std::string carry_out(const TreasuryOrder& order, const TreasuryParts& parts) {
    const treasury::Authority authority{audit::Actor::local_operator(), order.reason,
                                        order.evidence};
    SeenOrder seen{order};
    if (purposes.contains(order.verb) || (order.verb == "return" && !order.payment.empty()))
        seen.payment = payment_of(order, parts.database, parts.chain);
    return parts.database.write([&](db::Transaction& tx) {
        const ledger::Context context{tx, parts.random, parts.clock.now()};
        const auto wish = wish_of(tx, seen);
        if (!wish || !four_eyes::is_on(tx, parts.settings.get<four_eyes::Settings>(), context.now))
            return "booked; audit event " +
                   to_string(book_order(context, parts.treasury, seen, authority));
        treasury::check_authority(authority);
        return "waits for a second admin; pending action " +
               to_string(ask_for_order(context, seen, *wish));
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
        sentence = carry_out(order, {*database, ours, chain.get(), *clock, random, *start});
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
