#include "funding/operators.hpp"

#include <fmt/format.h>

#include <limits>

#include "funding/store.hpp"
#include "wire/wire.hpp"

namespace berth::funding {
namespace {

struct AllIntentsRow {
    IntentId intent_id;
    AccountId account_id;
    crypto::Address wallet;
    Asset asset{};
    crypto::Address treasury;
    Micro amount;
    IntentState state{};
    std::optional<std::string> exception;
    Time created_at;
    Time expires_at;
    std::optional<std::string> claim_tx;
    std::optional<std::int64_t> claim_log_index;
    std::optional<Time> confirmed_at;
};
BOOST_DESCRIBE_STRUCT(AllIntentsRow, (),
                      (intent_id, account_id, wallet, asset, treasury, amount, state, exception,
                       created_at, expires_at, claim_tx, claim_log_index, confirmed_at))
// EXPIRED is in no row: it is an open one whose time is over.
constexpr std::string_view intent_filters =
    "AND (asset = $4 OR $4 IS NULL) AND (created_at >= $5 OR $5 IS NULL) "
    "AND (created_at < $6 OR $6 IS NULL) AND ($3 IS NULL "
    "OR ($3 = 'EXPIRED' AND state = 'OPEN' AND expires_at <= $7) "
    "OR ($3 = 'OPEN' AND state = 'OPEN' AND expires_at > $7) OR ($3 <> 'OPEN' AND state = $3)) "
    "ORDER BY intent_id DESC LIMIT $8";
db::Query<AllIntentsRow> all_intents(std::string_view which) {
    return db::Query<AllIntentsRow>(fmt::format(
        "SELECT {{}} FROM funding_intents WHERE intent_id < $1 {} {}", which, intent_filters));
}
const auto all_intents_sql = all_intents("AND $2 IS NULL");
const auto all_intents_refused_sql = all_intents("AND $2 IS NULL AND state = 'EXCEPTION'");
const auto all_intents_of_sql = all_intents("AND account_id = $2");

struct AllClaimsRow {
    IntentId intent_id;
    AccountId account_id;
    Asset asset{};
    Micro amount;
    std::string tx_hash;
    std::int64_t log_index = 0;
    Time claimed_at;
    Time looked_at;  // when the next look is due
    Time until;
};
BOOST_DESCRIBE_STRUCT(AllClaimsRow, (),
                      (intent_id, account_id, asset, amount, tx_hash, log_index, claimed_at,
                       looked_at, until))
const db::Query<AllClaimsRow> all_claims_sql(
    "SELECT {} FROM (SELECT p.intent_id, i.account_id, i.asset, i.amount, p.tx_hash, p.log_index, "
    "p.claimed_at, p.looked_at, p.until FROM pending_claims p "
    "JOIN funding_intents i ON i.intent_id = p.intent_id "
    "WHERE p.intent_id < $1 AND (i.account_id = $2 OR $2 IS NULL)) AS claims "
    "ORDER BY intent_id DESC LIMIT $3");

struct AllDepositsRow {
    std::string tx_hash;
    std::int64_t ordinal = 0;
    DepositState state{};
    Asset asset{};
    Micro amount;
    crypto::Address sender;
    std::int64_t block = 0;
    std::optional<AccountId> account_id;
    std::optional<IntentId> intent_id;
    Time seen_at;
    Time updated_at;
};
BOOST_DESCRIBE_STRUCT(AllDepositsRow, (),
                      (tx_hash, ordinal, state, asset, amount, sender, block, account_id, intent_id,
                       seen_at, updated_at))
// A sender and an account have an index each, so they have statements of their own.
db::Query<AllDepositsRow> all_deposits(std::string_view which) {
    return db::Query<AllDepositsRow>(
        fmt::format("SELECT {{}} FROM deposits WHERE (seen_at, tx_hash, ordinal) < ($1, $2, $3) {} "
                    "AND (state = $5 OR $5 IS NULL) AND (asset = $6 OR $6 IS NULL) "
                    "AND (seen_at >= $8 OR $8 IS NULL) AND (seen_at < $9 OR $9 IS NULL) "
                    "ORDER BY seen_at DESC, tx_hash DESC, ordinal DESC LIMIT $10",
                    which));
}
const auto all_deposits_sql = all_deposits("AND $4 IS NULL AND $7 IS NULL");
const auto all_deposits_from_sql =
    all_deposits("AND (account_id = $4 OR $4 IS NULL) AND sender = $7");
const auto all_deposits_of_sql = all_deposits("AND account_id = $4 AND $7 IS NULL");

IntentId newest_intent() {
    IntentId last;
    last.uuid.bytes.fill(static_cast<char>(0xff));
    return last;
}

// What tells the filters of a page apart from those of another.
template <class Asked>
std::string filters_of(Asked asked) {
    asked.cursor.reset();
    asked.limit.reset();
    return wire::encode(asked);
}

// Where a page of deposits ended: when the last was seen, and which it was.
struct DepositPlace {
    Time seen_at{std::numeric_limits<std::int64_t>::max()};  // before the first page
    DepositMark mark;
};
DepositPlace place_after(const std::optional<std::string>& key) {
    if (!key) return {};
    const std::size_t first = key->find(':');
    const std::size_t second = key->find(':', first + 1);
    return {Time{parse_decimal(key->substr(0, first)).value_or(0)},
            {key->substr(first + 1, second - first - 1),
             parse_decimal(key->substr(second + 1)).value_or(0)}};
}

AdminIntent shown_to_operator(const AllIntentsRow& row, Time now) {
    AdminIntent intent;
    intent.intent_id = row.intent_id;
    intent.account_id = row.account_id;
    intent.asset = row.asset;
    intent.amount_micro = row.amount;
    intent.wallet = {crypto::checksummed(row.wallet)};
    intent.treasury_address = {crypto::checksummed(row.treasury)};
    const bool over = row.state == IntentState::OPEN && now >= row.expires_at;
    intent.state = over ? IntentState::EXPIRED : row.state;
    intent.exception = row.exception;
    if (row.claim_tx)
        intent.claim =
            IntentClaim{{*row.claim_tx}, {row.claim_log_index.value()}, row.confirmed_at.value()};
    intent.created_at = row.created_at;
    intent.expires_at = row.expires_at;
    return intent;
}

}  // namespace

api::Page<AdminIntent> list_all_intents(api::Call& call, const AdminIntentsQuery& query) {
    const api::Pager pager(call.cursors, {"operators' intents", filters_of(query)}, query);
    const auto& which = query.account                           ? all_intents_of_sql
                        : query.state == IntentState::EXCEPTION ? all_intents_refused_sql
                                                                : all_intents_sql;
    const auto rows = call.tx().fetch(which, pager.after_id<IntentId>().value_or(newest_intent()),
                                      query.account, query.state, query.asset, query.since,
                                      query.until, call.now, pager.rows_wanted());
    return pager.page(rows, &AllIntentsRow::intent_id,
                      [&](const AllIntentsRow& row) { return shown_to_operator(row, call.now); });
}

api::Page<AdminClaim> list_all_claims(api::Call& call, const AdminClaimsQuery& query) {
    const api::Pager pager(call.cursors, {"operators' claims", filters_of(query)}, query);
    const auto rows =
        call.tx().fetch(all_claims_sql, pager.after_id<IntentId>().value_or(newest_intent()),
                        query.account, pager.rows_wanted());
    return pager.page(rows, &AllClaimsRow::intent_id, [](const AllClaimsRow& row) {
        return AdminClaim{row.intent_id,   row.account_id, row.asset,     row.amount, {row.tx_hash},
                          {row.log_index}, row.claimed_at, row.looked_at, row.until};
    });
}

api::Page<AdminDeposit> list_all_deposits(api::Call& call, const AdminDepositsQuery& query) {
    std::optional<crypto::Address> from;
    if (query.sender) {
        from = crypto::parse_address(query.sender->value);
        if (!from) throw Problem(Code::invalid_input, "query.sender: has a wrong checksum");
    }
    const api::Pager pager(call.cursors, {"operators' deposits", filters_of(query)}, query);
    const DepositPlace place = place_after(pager.after());
    const auto& which = from            ? all_deposits_from_sql
                        : query.account ? all_deposits_of_sql
                                        : all_deposits_sql;
    const auto rows = call.tx().fetch(which, place.seen_at, place.mark.transaction,
                                      place.mark.ordinal, query.account, query.state, query.asset,
                                      from, query.since, query.until, pager.rows_wanted());
    const auto key = [](const AllDepositsRow& row) {
        return fmt::format("{}:{}:{}", row.seen_at.micros, row.tx_hash, row.ordinal);
    };
    return pager.page(rows, key, [](const AllDepositsRow& row) {
        return AdminDeposit{.deposit_id = id_of({row.tx_hash, row.ordinal}),
                            .state = row.state,
                            .asset = row.asset,
                            .amount_micro = row.amount,
                            .from = {crypto::checksummed(row.sender)},
                            .tx_hash = {row.tx_hash},
                            .block_number = {row.block},
                            .account_id = row.account_id,
                            .intent_id = row.intent_id,
                            .seen_at = row.seen_at,
                            .updated_at = row.updated_at};
    });
}

void add_operator_routes(api::Router& router) {
    using api::Access;
    router.add({.method = "GET",
                .path = "/api/v1/admin/funding-intents",
                .name = "list_all_intents",
                .group = "admin",
                .summary = "Funding intents of all accounts, newest first.",
                .access = Access::operator_},
               [](api::Call& call, const api::Query<AdminIntentsQuery>& query) {
                   return list_all_intents(call, *query);
               });
    router.add({.method = "GET",
                .path = "/api/v1/admin/claims",
                .name = "list_all_claims",
                .group = "admin",
                .summary = "Claims whose transfer the chain does not call final yet.",
                .access = Access::operator_},
               [](api::Call& call, const api::Query<AdminClaimsQuery>& query) {
                   return list_all_claims(call, *query);
               });
    router.add({.method = "GET",
                .path = "/api/v1/admin/deposits",
                .name = "list_all_deposits",
                .group = "admin",
                .summary = "Transfers to the treasury, whoever got them, newest first.",
                .access = Access::operator_},
               [](api::Call& call, const api::Query<AdminDepositsQuery>& query) {
                   return list_all_deposits(call, *query);
               });
}

}  // namespace berth::funding
