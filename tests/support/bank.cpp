#include "support/bank.hpp"

#include "server/app.hpp"

namespace berth::test {
namespace {

using api::Access;
using api::Body;
using api::Call;
using api::Credential;
using api::Path;
using api::Query;
using api::Work;

constexpr std::string_view open_account_sql =
    "INSERT INTO bank_accounts (account_id, balance) VALUES ($1, 0) "
    "ON CONFLICT (account_id) DO NOTHING";
constexpr std::string_view credit_sql =
    "UPDATE bank_accounts SET balance = balance + $2 WHERE account_id = $1 RETURNING balance";
constexpr std::string_view debit_sql =
    "UPDATE bank_accounts SET balance = balance - $2 WHERE account_id = $1 AND balance >= $2 "
    "RETURNING balance";
constexpr std::string_view entry_sql =
    "INSERT INTO bank_entries (entry_id, account_id, amount, at) VALUES ($1, $2, $3, $4)";
constexpr std::string_view balance_sql = "SELECT balance FROM bank_accounts WHERE account_id = $1";
struct EntryRow {
    Uuid entry_id;
    AccountId account_id;
    Micro amount;
    Time at;
};
BOOST_DESCRIBE_STRUCT(EntryRow, (), (entry_id, account_id, amount, at))
const db::Query<EntryRow> entries_sql(
    "SELECT {} FROM bank_entries "
    "WHERE account_id = $1 AND entry_id > $2 AND amount >= $3 ORDER BY entry_id LIMIT $4");

BankTransfer deposit(Call& call, const NewDeposit& request) {
    const AccountId account = call.caller.account;
    const Uuid id = make_uuid(call.now, call.random);
    call.tx().start(open_account_sql, account);
    call.tx().start(entry_sql, id, account, request.amount_micro, call.now);
    const auto balance = call.tx().fetch_value<Micro>(credit_sql, account, request.amount_micro);
    return {id, account, request.amount_micro, balance.value()};
}

BankTransfer transfer(Call& call, const NewTransfer& request) {
    const AccountId from = call.caller.account;
    if (request.to == from) throw Problem(Code::conflict, "a transfer goes to another account");
    const Uuid id = make_uuid(call.now, call.random);
    call.tx().run(open_account_sql, request.to);
    // Rows are touched in ascending id, so that two transfers never wait for each other in a ring.
    std::optional<Micro> left;
    for (const AccountId account : {std::min(from, request.to), std::max(from, request.to)}) {
        if (account == from) {
            left = call.tx().fetch_value<Micro>(debit_sql, from, request.amount_micro);
            if (!left) throw Problem(Code::insufficient_funds, "the balance is too small");
        } else {
            call.tx().run(credit_sql, account, request.amount_micro);
        }
    }
    call.tx().start(entry_sql, id, from, -request.amount_micro, call.now);
    call.tx().start(entry_sql, make_uuid(call.now, call.random), request.to, request.amount_micro,
                    call.now);
    return {id, request.to, request.amount_micro, *left};
}

Balance balance(Call& call, const AccountPath& path) {
    if (path.id != call.caller.account) throw Problem(Code::not_found, "no such account");
    const auto balance = call.tx().fetch_value<Micro>(balance_sql, path.id);
    if (!balance) throw Problem(Code::not_found, "no such account");
    return {path.id, *balance};
}

api::Page<Entry> entries(Call& call, const EntryQuery& query) {
    const bool credits_only = query.credits_only.value_or(false);
    const api::Pager pager(call.cursors, {"bank entries", credits_only ? "credits" : ""}, query);
    const Uuid after = pager.after() ? parse_uuid(*pager.after()).value() : Uuid{};
    const auto rows =
        call.tx().fetch(entries_sql, call.caller.account, after,
                        credits_only ? Micro{0} : Micro{INT64_MIN}, pager.rows_wanted());
    return pager.page(
        rows, [](const EntryRow& row) { return to_string(row.entry_id); },
        [](const EntryRow& row) -> Entry {
            return {row.entry_id, row.account_id, {row.amount}, row.at};
        });
}

}  // namespace

db::Migration bank_migration() {
    return {
        .feature = "test bank",
        .number = 1,
        .sql =
            "CREATE TABLE bank_accounts ("
            "  account_id @id NOT NULL PRIMARY KEY,"
            "  balance @int NOT NULL CHECK (balance >= 0)"
            ") @strict;"
            "CREATE TABLE bank_entries ("
            "  entry_id @id NOT NULL PRIMARY KEY,"
            "  account_id @id NOT NULL,"
            "  amount @int NOT NULL,"
            "  at @int NOT NULL"
            ") @strict;"
            "CREATE INDEX bank_entries_by_account ON bank_entries (account_id, entry_id);",
    };
}

const api::RateRule bank_rate{"bank", [](const settings::Snapshot&) { return std::int64_t{5}; },
                              std::chrono::minutes(1), api::RateRule::By::account};

api::Caller BankCallers::identify(const http::Request& request, db::Transaction&, Time) {
    constexpr std::string_view scheme = "Bearer ";
    const std::string_view value = request.headers.find("Authorization").value_or("");
    const std::size_t space = value.find(' ', scheme.size());
    if (value.starts_with(scheme) && space != value.npos) {
        const std::string_view role = value.substr(scheme.size(), space - scheme.size());
        const auto id = parse_uuid(value.substr(space + 1));
        api::Caller caller;
        if (id) caller.account = {*id};
        caller.credential = role == "machine"                      ? Credential::machine
                            : role == "session" || role == "admin" ? Credential::session
                                                                   : Credential::api_key;
        caller.renter = role == "renter" || caller.credential == Credential::session;
        caller.host = role == "host";
        caller.admin = role == "admin";
        if (id && (caller.renter || caller.host || role == "machine")) return caller;
    }
    if (value.empty()) throw Problem(Code::unauthenticated, "a credential is required");
    throw api::InvalidCredential("the credential is of nobody");
}

void add_bank_routes(api::Router& router, const std::shared_ptr<BankControls>& controls) {
    router.add({.method = "POST",
                .path = "/test/deposits",
                .name = "deposit",
                .group = "bank",
                .summary = "Adds to the caller's balance.",
                .access = Access::renter,
                .work = Work::write,
                .idempotent = true,
                .status = 201},
               [controls](Call& call, const Body<NewDeposit>& body) {
                   if (controls->before_deposit) controls->before_deposit();
                   return deposit(call, *body);
               });
    router.add(
        {.method = "POST",
         .path = "/test/transfers",
         .name = "transfer",
         .group = "bank",
         .summary = "Moves money to another account.",
         .access = Access::renter,
         .work = Work::write,
         .idempotent = true,
         .status = 202,
         .errors = {{Code::conflict, "a transfer goes to oneself"}, Code::insufficient_funds}},
        [](Call& call, const Body<NewTransfer>& body) { return transfer(call, *body); });
    router.add({.method = "GET",
                .path = "/test/accounts/{id}",
                .name = "show_account",
                .group = "bank",
                .summary = "The balance of one's own account.",
                .errors = {Code::not_found}},
               [](Call& call, const Path<AccountPath>& path) { return balance(call, *path); });
    router.add({.method = "GET",
                .path = "/test/entries",
                .name = "list_entries",
                .group = "bank",
                .summary = "The caller's entries, oldest first."},
               [](Call& call, const Query<EntryQuery>& query) { return entries(call, *query); });
    router.add({.method = "POST",
                .path = "/test/claims",
                .name = "claim",
                .group = "bank",
                .summary = "Pending until the test says otherwise.",
                .access = Access::renter,
                .work = Work::write,
                .idempotent = true,
                .status = 202},
               [controls](Call& call) {
                   if (controls->claims_confirm) return Claim{ClaimState::CONFIRMED};
                   call.do_not_store();
                   return Claim{};
               });
    router.add({.method = "POST",
                .path = "/test/keys",
                .name = "issue_key",
                .group = "bank",
                .summary = "Shows a secret once.",
                .access = Access::session,
                .work = Work::write,
                .idempotent = true,
                .status = 201},
               [](Call& call, const Body<BankKeyOrder>& body) {
                   return BankKey{body->name, {"ark_" + to_hex(call.random.bytes(32))}};
               });
    router.add({.method = "DELETE",
                .path = "/test/accounts/{id}",
                .name = "close_account",
                .group = "bank",
                .summary = "Does nothing, as an admin.",
                .access = Access::admin,
                .work = Work::write,
                .idempotent = true,
                .status = 204},
               [](Call&, const Path<AccountPath>&) {});
    router.add({.method = "POST",
                .path = "/test/accounts/{id}/actions",
                .name = "act_on_account",
                .group = "bank",
                .summary = "Does one of several things.",
                .access = Access::admin,
                .work = Work::write,
                .idempotent = true},
               [](Call&, const Path<AccountPath>&, const Body<AccountAction>& body) {
                   return ActionDone{*body};
               });
    router.add({.method = "PATCH",
                .path = "/test/plan",
                .name = "edit_plan",
                .group = "bank",
                .summary = "Takes version 7 only.",
                .work = Work::write,
                .idempotent = true,
                .siblings = {current_plan}},
               [](Call&, const Body<EditPlan>& body) {
                   if (body->expected_version.value != 7)
                       throw current_plan.problem("the plan has changed since", {{7}});
                   return Plan{{8}};
               });
    router.add({.method = "GET",
                .path = "/test/plans",
                .name = "list_plans",
                .group = "bank",
                .summary = "A page that was rendered beforehand.",
                .access = Access::anyone,
                .work = Work::memory},
               [controls](Call&) {
                   return wire::Rendered<api::Page<Plan>>{
                       {std::make_shared<const std::string>(controls->plans)}};
               });
    router.add({.method = "POST",
                .path = "/test/limited",
                .name = "limited",
                .group = "bank",
                .summary = "Five a minute.",
                .access = Access::host,
                .work = Work::write,
                .status = 204,
                .rate = &bank_rate},
               [](Call&) {});
    router.add({.method = "POST",
                .path = "/test/heartbeat",
                .name = "heartbeat",
                .group = "bank",
                .summary = "For machines.",
                .access = Access::machine,
                .work = Work::write,
                .status = 204},
               [](Call&) {});
}

}  // namespace berth::test
