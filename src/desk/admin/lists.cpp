#include "admin/lists.hpp"

#include <fmt/format.h>

#include "admin/stuck.hpp"

namespace berth::admin {
namespace {

struct DebtColumns {
    AccountId account_id;
    std::optional<std::string> email;
    ledger::Asset asset{};
    Micro payable;
    Micro escrow;
    Micro earned;
    Micro paid;
    bool suspended = false;
    bool frozen = false;
};
BOOST_DESCRIBE_STRUCT(DebtColumns, (),
                      (account_id, email, asset, payable, escrow, earned, paid, suspended, frozen))
// No index helps it: one would make every posting dearer, and debts are few among accounts.
const db::Query<DebtColumns> list_debts_sql(
    "SELECT {} FROM (SELECT l.account_id, a.email, l.asset, l.payable, l.escrow, l.earned, l.paid, "
    "a.suspended, a.frozen FROM ledger_accounts l JOIN accounts a ON a.account_id = l.account_id "
    "WHERE l.payable < 0 AND ($1 IS NULL OR (l.account_id, l.asset) > ($1, $2)) "
    "AND (l.asset = $3 OR $3 IS NULL)) AS debts ORDER BY account_id, asset LIMIT $4");

// "…uuid…:USDC", as a page of debts ends.
struct DebtPlace {
    std::optional<AccountId> account;
    std::string asset;
};
DebtPlace debts_after(const std::optional<std::string>& key) {
    if (!key) return {};
    const std::size_t colon = key->find(':');
    const auto account = parse_uuid(key->substr(0, colon));
    return {AccountId{account.value()}, key->substr(colon + 1)};
}

Debt shown_debt(const DebtColumns& row) {
    return {row.account_id, row.email, row.asset,     -row.payable, row.escrow,
            {row.earned},   row.paid,  row.suspended, row.frozen};
}

// "3:…key…", as a page of what is stuck ends: the kind, and the key within it.
struct StuckPlace {
    std::size_t source = 0;
    std::optional<std::string> key;
};
StuckPlace stuck_after(const std::optional<std::string>& key) {
    if (!key) return {};
    const std::size_t colon = key->find(':');
    const auto source = parse_decimal(key->substr(0, colon)).value_or(0);
    return {static_cast<std::size_t>(source), key->substr(colon + 1)};
}

}  // namespace

api::Page<UserKey> Lists::keys(api::Call& call, const AdminKeysQuery& query) const {
    // No key begins with nothing.
    std::optional<std::string> prefix;
    if (query.prefix) prefix = key_beginning(query.prefix->value).value_or("");
    const std::string filters =
        fmt::format("{}/{}/{}", query.account ? to_string(*query.account) : "", prefix.value_or(""),
                    query.good ? (*query.good ? "good" : "ended") : "");
    const api::Pager pager(call.cursors, {"operators' keys", filters}, query);
    return pager.page(accounts::list_key_records(call.tx(),
                                                 {.account = query.account,
                                                  .prefix = prefix,
                                                  .good = query.good,
                                                  .before = pager.after_id<accounts::KeyId>(),
                                                  .now = call.now},
                                                 pager.rows_wanted()),
                      &accounts::KeyRecord::key_id, shown_key);
}

api::Page<Debt> Lists::debts(api::Call& call, const DebtsQuery& query) const {
    const api::Pager pager(
        call.cursors, {"debts", query.asset ? std::string(ledger::name(*query.asset)) : ""}, query);
    const DebtPlace place = debts_after(pager.after());
    const auto rows = call.tx().fetch(list_debts_sql, place.account, place.asset, query.asset,
                                      pager.rows_wanted());
    const auto key = [](const DebtColumns& row) {
        return fmt::format("{}:{}", to_string(row.account_id), ledger::name(row.asset));
    };
    return pager.page(rows, key, shown_debt);
}

api::Page<Stuck> Lists::stuck(api::Call& call, const StuckQuery& query) const {
    const api::Pager pager(call.cursors,
                           {"stuck", query.kind ? std::string(enum_name(*query.kind)) : ""}, query);
    const StuckPlace place = stuck_after(pager.after());
    const auto sources = stuck_sources();
    std::vector<FoundStuck> found;
    for (std::size_t i = place.source; i < sources.size(); ++i) {
        if (query.kind && sources[i].kind != *query.kind) continue;
        const std::int64_t room = pager.rows_wanted() - static_cast<std::int64_t>(found.size());
        if (room <= 0) break;
        const auto after = i == place.source ? place.key : std::nullopt;
        for (FoundStuck& one : sources[i].list(call, after, room)) {
            one.key = fmt::format("{}:{}", i, one.key);
            found.push_back(std::move(one));
        }
    }
    return pager.page(found, &FoundStuck::key, [](const FoundStuck& one) { return one.shown; });
}

void Lists::add_routes(api::Router& router) const {
    using api::Access;
    router.add({.method = "GET",
                .path = "/api/v1/admin/keys",
                .name = "list_all_keys",
                .group = "admin",
                .summary = "API keys of all accounts, newest first.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<AdminKeysQuery>& query) {
                   return keys(call, *query);
               });
    router.add({.method = "GET",
                .path = "/api/v1/admin/debts",
                .name = "list_debts",
                .group = "admin",
                .summary = "Accounts that owe: refunds of what was paid out, and advances.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<DebtsQuery>& query) {
                   return debts(call, *query);
               });
    router.add({.method = "GET",
                .path = "/api/v1/admin/stuck",
                .name = "list_stuck",
                .group = "admin",
                .summary = "What waits for longer than it should, why, and what can be done.",
                .access = Access::operator_},
               [this](api::Call& call, const api::Query<StuckQuery>& query) {
                   return stuck(call, *query);
               });
}

}  // namespace berth::admin
