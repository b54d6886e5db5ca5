#include "admin/search.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/mailbox.hpp"
#include "base/letters.hpp"
#include "block_list/block_list.hpp"
#include "funding/suspense.hpp"
#include "ledger/journal.hpp"
#include "mail/address.hpp"
#include "recovery/types.hpp"
#include "tickets/types.hpp"
#include "wallets/wallets.hpp"

namespace berth::admin {
namespace {

struct HitColumns {
    HitKind kind{};
    Uuid id;
    std::optional<AccountId> account_id;
    std::optional<std::string> label;
};
BOOST_DESCRIBE_STRUCT(HitColumns, (), (kind, id, account_id, label))

// An id is made once in all the house, so that at most one of these has it.
const db::Query<HitColumns> by_id_sql(
    "SELECT {} FROM (SELECT 'machine' AS kind, machine_id AS id, owner AS account_id, label "
    "FROM machines WHERE machine_id = $1 "
    "UNION ALL SELECT 'rental', job_id, renter_id, state FROM jobs WHERE job_id = $1 "
    "UNION ALL SELECT 'transfer', transfer_id, account_id, state FROM transfers "
    "WHERE transfer_id = $1 "
    "UNION ALL SELECT 'intent', intent_id, account_id, state FROM funding_intents "
    "WHERE intent_id = $1 "
    "UNION ALL SELECT 'key', key_id, account_id, prefix FROM api_keys WHERE key_id = $1 "
    "UNION ALL SELECT 'address', address_id, account_id, address FROM withdrawal_addresses "
    "WHERE address_id = $1 "
    "UNION ALL SELECT 'wallet', binding_id, account_id, address FROM wallet_bindings "
    "WHERE binding_id = $1 "
    "UNION ALL SELECT 'pending_action', pending_action_id, about, action FROM pending_actions "
    "WHERE pending_action_id = $1 "
    "UNION ALL SELECT 'recovery', recovery_id, account_id, state FROM recoveries "
    "WHERE recovery_id = $1 "
    "UNION ALL SELECT 'ticket', ticket_id, account_id, state FROM tickets WHERE ticket_id = $1 "
    "UNION ALL SELECT 'note', note_id, account_id, NULL FROM account_notes WHERE note_id = $1 "
    "UNION ALL SELECT 'guest', allowed_id, NULL, value FROM allow_list WHERE allowed_id = $1 "
    "UNION ALL SELECT 'campaign', campaign_id, NULL, code FROM campaigns WHERE campaign_id = $1 "
    "UNION ALL SELECT 'credit', credit_id, account_id, NULL FROM credits WHERE credit_id = $1 "
    "UNION ALL SELECT 'payee', payee_id, NULL, address FROM refused_payees "
    "WHERE payee_id = $1) AS hits");
const db::Query<HitColumns> disputes_by_id_sql(
    "SELECT {} FROM (SELECT 'dispute' AS kind, d.dispute_id AS id, j.renter_id AS account_id, "
    "d.state AS label FROM disputes d LEFT JOIN jobs j ON j.job_id = d.job_id "
    "WHERE d.dispute_id = $1) AS hits");

const db::Query<HitColumns> saved_at_sql(
    "SELECT {} FROM (SELECT 'address' AS kind, address_id AS id, account_id, address AS label "
    "FROM withdrawal_addresses WHERE address = $1) AS hits ORDER BY id DESC LIMIT $2");
const db::Query<HitColumns> sent_to_sql(
    "SELECT {} FROM (SELECT 'transfer' AS kind, transfer_id AS id, account_id, state AS label "
    "FROM transfers WHERE address = $1) AS hits ORDER BY id DESC LIMIT $2");
const db::Query<HitColumns> refused_at_sql(
    "SELECT {} FROM (SELECT 'payee' AS kind, payee_id AS id, NULL AS account_id, asset AS label "
    "FROM refused_payees WHERE address = $1) AS hits ORDER BY id DESC LIMIT $2");
const db::Query<HitColumns> campaigns_by_code_sql(
    "SELECT {} FROM (SELECT 'campaign' AS kind, campaign_id AS id, NULL AS account_id, "
    "code AS label FROM campaigns WHERE code = UPPER($1)) AS hits");
const db::Query<HitColumns> guests_by_email_sql(
    "SELECT {} FROM (SELECT 'guest' AS kind, allowed_id AS id, NULL AS account_id, "
    "value AS label FROM allow_list a WHERE a.kind = 'email' AND a.value = $1) AS hits");
constexpr std::string_view formerly_of_sql =
    "SELECT account_id FROM former_emails WHERE email = $1 ORDER BY ended_at DESC LIMIT $2";
const db::Query<HitColumns> paid_by_sql(
    "SELECT {} FROM (SELECT 'transfer' AS kind, t.transfer_id AS id, t.account_id, "
    "t.state AS label FROM transfer_attempts a JOIN transfers t "
    "ON t.transfer_id = a.transfer_id WHERE a.tx_hash = $1) AS hits ORDER BY id DESC LIMIT $2");
const db::Query<HitColumns> claimed_by_sql(
    "SELECT {} FROM (SELECT 'claim' AS kind, p.intent_id AS id, i.account_id, i.state AS label "
    "FROM pending_claims p JOIN funding_intents i ON i.intent_id = p.intent_id "
    "WHERE p.tx_hash = $1) AS hits ORDER BY id DESC LIMIT $2");
const db::Query<HitColumns> agents_named_sql(
    "SELECT {} FROM (SELECT 'agent' AS kind, account_id AS id, account_id, name AS label "
    "FROM agent_profiles WHERE REPLACE(LOWER(name), $1, '') <> LOWER(name)) AS hits "
    "ORDER BY id DESC LIMIT $2");
const db::Query<HitColumns> machines_named_sql(
    "SELECT {} FROM (SELECT 'machine' AS kind, machine_id AS id, owner AS account_id, label "
    "FROM machines WHERE REPLACE(LOWER(label), $1, '') <> LOWER(label)) AS hits "
    "ORDER BY id DESC LIMIT $2");

struct DepositHit {
    std::string tx_hash;
    std::int64_t ordinal = 0;
    std::optional<AccountId> account_id;
    std::string state;
};
BOOST_DESCRIBE_STRUCT(DepositHit, (), (tx_hash, ordinal, account_id, state))
const db::Query<DepositHit> deposit_sql(
    "SELECT {} FROM deposits WHERE tx_hash = $1 AND ordinal = $2");
const db::Query<DepositHit> deposits_of_sql(
    "SELECT {} FROM deposits WHERE tx_hash = $1 ORDER BY ordinal LIMIT $2");
const db::Query<DepositHit> deposits_from_sql(
    "SELECT {} FROM deposits WHERE sender = $1 ORDER BY tx_hash, ordinal LIMIT $2");

struct PaymentHit {
    std::string reference;
    std::string movement;
};
BOOST_DESCRIBE_STRUCT(PaymentHit, (), (reference, movement))
const db::Query<PaymentHit> payments_of_sql(
    "SELECT {} FROM treasury_payments WHERE tx_hash = $1 ORDER BY ordinal LIMIT $2");

// A part of a name is looked for in every row of three tables.
const api::RateRule search_rate{"searches",
                                [](const settings::Snapshot&) { return searches_per_minute; },
                                std::chrono::minutes(1), api::RateRule::By::account};

// What was found so far. Every look asks for one row more than it shows.
class Findings {
public:
    explicit Findings(db::Transaction& tx) : tx_(tx) {}

    template <class... Params>
    void look(const db::Query<HitColumns>& query, const Params&... params) {
        for (const HitColumns& row : cut(tx_.fetch(query, params...)))
            add({row.kind, to_string(row.id), row.account_id, row.label});
    }
    template <class Row, class Show, class... Params>
    void look_at(const db::Query<Row>& query, Show show, const Params&... params) {
        for (const Row& row : cut(tx_.fetch(query, params...))) add(show(row));
    }
    template <class Row>
    std::vector<Row> cut(std::vector<Row> rows) {
        if (rows.size() <= static_cast<std::size_t>(hits_max)) return rows;
        hits_.complete = false;
        rows.resize(static_cast<std::size_t>(hits_max));
        return rows;
    }
    void add(Hit hit) {
        // What goes back to a stranger is on no account's behalf.
        if (hit.account_id.value == ledger::platform) hit.account_id = std::nullopt;
        hits_.items.push_back(std::move(hit));
    }
    bool is_empty() const { return hits_.items.empty(); }
    Hits take() { return std::move(hits_); }
    db::Transaction& tx() const { return tx_; }

private:
    db::Transaction& tx_;
    Hits hits_;
};

constexpr std::int64_t one_more = hits_max + 1;

Hit account_hit(const accounts::Record& row) {
    return {HitKind::account, to_string(row.account_id), row.account_id, row.email};
}

Hit deposit_hit(const DepositHit& row) {
    return {HitKind::deposit, to_string(funding::id_of({row.tx_hash, row.ordinal})), row.account_id,
            row.state};
}

Hit key_hit(const accounts::KeyRecord& row) {
    return {HitKind::key, to_string(row.key_id), row.account_id, row.prefix};
}

void look_for_id(Findings& findings, const Uuid& id) {
    db::Transaction& tx = findings.tx();
    if (const auto account = accounts::find_record(tx, AccountId{id}))
        findings.add(account_hit(*account));
    findings.look(by_id_sql, id);
    findings.look(disputes_by_id_sql, id);
    if (const auto mark = funding::find_mark(tx, funding::DepositId{id}))
        findings.look_at(deposit_sql, deposit_hit, mark->transaction, mark->ordinal);
}

void look_for_address(Findings& findings, const crypto::Address& address) {
    const std::string text = crypto::checksummed(address);
    if (const auto wallet = wallets::find_latest_binding(findings.tx(), address))
        findings.add({HitKind::wallet, to_string(wallet->binding_id), wallet->account_id, text});
    else if (const auto owner = wallets::find_owner(findings.tx(), address))
        findings.add({HitKind::wallet, text, *owner, text});  // it may register, and has not yet
    findings.look(saved_at_sql, address, one_more);
    findings.look(sent_to_sql, address, one_more);
    findings.look(refused_at_sql, address, one_more);
    for (const block_list::Blocked& row : block_list::find(findings.tx(), address))
        findings.add({HitKind::blocked, text, std::nullopt, row.reason});
    findings.look_at(deposits_from_sql, deposit_hit, address, one_more);
}

void look_for_transaction(Findings& findings, const std::string& transaction) {
    findings.look(paid_by_sql, transaction, one_more);
    findings.look(claimed_by_sql, transaction, one_more);
    findings.look_at(deposits_of_sql, deposit_hit, transaction, one_more);
    findings.look_at(
        payments_of_sql,
        [](const PaymentHit& row) {
            return Hit{HitKind::payment, row.reference, std::nullopt, row.movement};
        },
        transaction, one_more);
}

void look_for_key(Findings& findings, const std::string& prefix, Time now) {
    for (const accounts::KeyRecord& row : findings.cut(
             accounts::list_key_records(findings.tx(), {.prefix = prefix, .now = now}, one_more)))
        findings.add(key_hit(row));
}

// Whoever has the address, or had it.
void look_for_mailbox(Findings& findings, const std::string& email) {
    db::Transaction& tx = findings.tx();
    auto owners = tx.fetch_values<AccountId>(formerly_of_sql, email, one_more);
    if (const auto owner = accounts::find_account_by_email(tx, email))
        owners.insert(owners.begin(), owner->id);
    for (const AccountId id : findings.cut(std::move(owners)))
        if (const auto account = accounts::find_record(tx, id)) findings.add(account_hit(*account));
    findings.look(guests_by_email_sql, email);
}

void look_for_name(Findings& findings, const std::string& part) {
    for (const accounts::Record& row :
         findings.cut(accounts::list_records(findings.tx(), {part, std::nullopt}, one_more)))
        findings.add(account_hit(row));
    findings.look(agents_named_sql, part, one_more);
    findings.look(machines_named_sql, part, one_more);
}

std::string trimmed(const std::string& text) {
    constexpr std::string_view blank = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blank);
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

}  // namespace

// What it looks like says what it is looked for as; a word that is nothing else is a name.
Hits Search::find(api::Call& call, const SearchQuery& query) const {
    const std::string given = trimmed(query.q.value);
    if (given.size() < 2)
        throw Problem(Code::invalid_input, "query.q: must have two letters that are no blanks");
    std::string text = given;
    std::transform(text.begin(), text.end(), text.begin(), to_lower);
    Findings findings(call.tx());
    if (const auto id = parse_uuid(text)) {
        look_for_id(findings, *id);
    } else if (const auto address = crypto::parse_address(text)) {
        look_for_address(findings, *address);
    } else if (const auto transaction = chain::parse_hash(text)) {
        look_for_transaction(findings, chain::to_string(*transaction));
    } else {
        if (const auto prefix = key_beginning(given)) look_for_key(findings, *prefix, call.now);
        findings.look(campaigns_by_code_sql, text);
        if (mail::is_email(text)) look_for_mailbox(findings, text);
        // A part of something is looked for in every row: not for an address that is known whole.
        if (!mail::is_email(text) || findings.is_empty()) look_for_name(findings, text);
    }
    return findings.take();
}

void Search::add_routes(api::Router& router) const {
    router.add({.method = "GET",
                .path = "/api/v1/admin/search",
                .name = "search",
                .group = "admin",
                .summary = "Finds whatever is known by a text: accounts, and what is theirs.",
                .access = api::Access::operator_,
                .rate = &search_rate},
               [this](api::Call& call, const api::Query<SearchQuery>& query) {
                   return find(call, *query);
               });
}

}  // namespace berth::admin
