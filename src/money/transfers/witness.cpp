#include "transfers/witness.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "chain/transaction.hpp"
#include "crypto/keccak.hpp"
#include "transfers/store.hpp"

namespace berth::transfers {
namespace {

using ledger::Movement;
using ledger::Posted;
using ledger::Report;

constexpr std::int64_t page_rows = 500;

// Words of the tables are compared as they stand: one that is none of ours is a fault to tell of.
struct Known {
    std::string kind;
    AccountId account_id;
    std::string asset;
    Micro amount;
    std::string state;
};
BOOST_DESCRIBE_STRUCT(Known, (), (kind, account_id, asset, amount, state))
const db::Query<Known> transfer_sql("SELECT {} FROM transfers WHERE transfer_id = $1");

// Money is locked from INTENT until the transfer has ended, and only then. One that was called off
// before its link was used never had any.
struct Mismatch {
    TransferId transfer_id;
    std::string state;
    std::optional<std::string> ledger_state;
};
BOOST_DESCRIBE_STRUCT(Mismatch, (), (transfer_id, state, ledger_state))
// Which rows a proof looks at: those that have changed since, and older ones that are open. Each
// of the two has an index; the sign keeps the second from taking the first one's.
constexpr std::string_view changed = "t.updated_at >= $1 ";
constexpr std::string_view still_open =
    "+t.updated_at < $1 AND t.state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT', 'SUBMITTED') ";

db::Query<Mismatch> mismatches(std::string_view which) {
    return db::Query<Mismatch>(
        "SELECT {} FROM (SELECT t.transfer_id, t.state, l.state AS ledger_state FROM transfers t "
        "LEFT JOIN ledger_transfers l ON l.transfer_id = t.transfer_id WHERE " +
        std::string(which) +
        "AND t.kind <> 'return' AND (NOT ("
        "(t.state IN ('INTENT', 'SUBMITTED') AND l.state = 'locked') OR "
        "(t.state = 'SETTLED' AND l.state = 'settled') OR "
        "(t.state IN ('FAILED', 'CANCELLED') AND l.state = 'returned') OR "
        "(t.state IN ('AWAITING_EMAIL_CONFIRMATION', 'EXPIRED', 'CANCELLED') AND l.state IS NULL)) "
        "OR (l.state IS NULL AND t.state IN ('INTENT', 'SUBMITTED', 'SETTLED', 'FAILED')) "
        "OR l.amount <> t.amount OR l.asset <> t.asset OR l.account_id <> t.account_id "
        "OR l.source <> t.kind) LIMIT 100) AS mismatches");
}
const std::array mismatched_transfers{mismatches(changed), mismatches(still_open)};

// A return is of a deposit that is marked so, and is booked when it is settled.
struct WrongReturn {
    TransferId transfer_id;
    std::string state;
    std::optional<std::string> deposit_state;
};
BOOST_DESCRIBE_STRUCT(WrongReturn, (), (transfer_id, state, deposit_state))
db::Query<WrongReturn> wrong_ones(std::string_view which) {
    return db::Query<WrongReturn>(
        "SELECT {} FROM (SELECT t.transfer_id, t.state, d.state AS deposit_state FROM transfers t "
        "LEFT JOIN deposits d ON d.tx_hash = t.deposit_tx AND d.ordinal = t.deposit_ordinal "
        "LEFT JOIN ledger_transactions p ON p.reference = 'suspense_return:8453:' || t.deposit_tx "
        "|| ':' || CAST(t.deposit_ordinal AS TEXT) WHERE " +
        std::string(which) +
        "AND t.kind = 'return' AND (d.tx_hash IS NULL OR d.amount <> t.amount "
        "OR d.asset <> t.asset OR t.state IN ('AWAITING_EMAIL_CONFIRMATION', 'EXPIRED') "
        "OR (t.state IN ('INTENT', 'SUBMITTED') AND (d.state <> 'RETURNING' "
        "  OR p.transaction_id IS NOT NULL)) "
        "OR (t.state = 'SETTLED' AND (d.state <> 'RETURNED' OR p.transaction_id IS NULL))) "
        "LIMIT 100) AS wrong_ones");
}
const std::array wrong_returns{wrong_ones(changed), wrong_ones(still_open)};
constexpr std::string_view stranded_sql =
    "SELECT d.tx_hash FROM deposits d LEFT JOIN transfers t "
    "ON t.deposit_tx = d.tx_hash AND t.deposit_ordinal = d.ordinal AND t.kind = 'return' "
    "AND t.state IN ('INTENT', 'SUBMITTED', 'SETTLED') "
    "WHERE d.state <> 'CLAIMED' AND d.state = 'RETURNING' "
    "AND (t.transfer_id IS NULL OR t.state = 'SETTLED') LIMIT 100";

// An attempt beside its transfer; of one without attempts the last two are NULL.
struct Signed {
    TransferId transfer_id;
    Micro amount;
    crypto::Address address;
    std::string state;
    std::optional<std::string> settled_by;
    std::optional<std::string> tx_hash;
    std::optional<Bytes> signed_bytes;
};
BOOST_DESCRIBE_STRUCT(Signed, (),
                      (transfer_id, amount, address, state, settled_by, tx_hash, signed_bytes))
const db::Query<Signed> attempts_sql(
    "SELECT {} FROM (SELECT t.transfer_id, t.amount, t.address, t.state, "
    "t.tx_hash AS settled_by, a.tx_hash, a.signed_bytes, a.attempt FROM transfers t "
    "LEFT JOIN transfer_attempts a ON a.transfer_id = t.transfer_id "
    "WHERE t.state IN ('SUBMITTED', 'SETTLED', 'FAILED') AND t.transfer_id > $1 "
    "AND t.transfer_id <= $2) AS signed_ones ORDER BY transfer_id, attempt");
const db::Query<Signed> attempts_of_sql(
    "SELECT {} FROM (SELECT t.transfer_id, t.amount, t.address, t.state, "
    "t.tx_hash AS settled_by, a.tx_hash, a.signed_bytes, a.attempt FROM transfers t "
    "LEFT JOIN transfer_attempts a ON a.transfer_id = t.transfer_id "
    "WHERE t.state IN ('SUBMITTED', 'SETTLED', 'FAILED') AND t.transfer_id = $1) AS signed_ones "
    "ORDER BY attempt");
constexpr std::string_view new_ones_sql =
    "SELECT transfer_id FROM transfers WHERE updated_at >= $1 UNION ALL "
    "SELECT transfer_id FROM transfers WHERE state = 'SUBMITTED' AND +updated_at < $1";
constexpr std::string_view next_page_sql =
    "SELECT transfer_id FROM transfers WHERE transfer_id > $1 ORDER BY transfer_id LIMIT $2";
constexpr std::string_view foreign_attempts_sql =
    "SELECT a.transfer_id FROM transfer_attempts a "
    "LEFT JOIN transfers t ON t.transfer_id = a.transfer_id "
    "WHERE a.created_at >= $1 AND (t.transfer_id IS NULL "
    "OR t.state NOT IN ('SUBMITTED', 'SETTLED', 'FAILED')) LIMIT 100";
// The next nonce is above every one that was used.
constexpr std::string_view signers_sql =
    "SELECT treasury FROM treasury_nonces UNION "
    "SELECT signer FROM transfer_attempts WHERE created_at >= $1";
constexpr std::string_view last_nonce_sql =
    "SELECT MAX(nonce) FROM transfer_attempts WHERE signer = $1";
constexpr std::string_view next_nonce_sql =
    "SELECT next_nonce FROM treasury_nonces WHERE treasury = $1";

struct TransferSum {
    TransferKind kind{};
    Asset asset{};
    TransferState state{};
    Micro amount;
};
BOOST_DESCRIBE_STRUCT(TransferSum, (), (kind, asset, state, amount))
const db::Query<TransferSum> sums_sql(
    "SELECT {} FROM (SELECT kind, asset, state, CAST(SUM(amount) AS BIGINT) AS amount "
    "FROM transfers WHERE state IN ('INTENT', 'SUBMITTED', 'SETTLED') AND kind <> 'return' "
    "GROUP BY kind, asset, state) AS sums");

const db::Query<TransferSum> open_sums_sql(
    "SELECT {} FROM (SELECT kind, asset, state, CAST(SUM(amount) AS BIGINT) AS amount "
    "FROM transfers WHERE state IN ('AWAITING_EMAIL_CONFIRMATION', 'INTENT', 'SUBMITTED') "
    "AND state <> 'AWAITING_EMAIL_CONFIRMATION' AND kind <> 'return' "
    "GROUP BY kind, asset, state) AS sums");

bool is_end(std::string_view state) {
    return state == "SETTLED" || state == "FAILED" || state == "CANCELLED";
}

// Whether a transfer in this state can have such a posting.
bool fits(Movement movement, std::string_view state) {
    switch (movement) {
        case Movement::withdrawal_settle:
        case Movement::payout_settle:
        case Movement::advance: return state == "SETTLED";
        case Movement::withdrawal_return:
        case Movement::payout_return: return state == "FAILED" || state == "CANCELLED";
        default: return is_end(state) || state == "INTENT" || state == "SUBMITTED";
    }
}

bool is_payout(Movement movement) {
    return movement == Movement::payout_lock || movement == Movement::payout_settle ||
           movement == Movement::payout_return;
}

void check_posting(const Posted& posted, const std::optional<Known>& transfer, Report& report) {
    if (!transfer)
        return report.add(fmt::format(
            "transfer {}: the ledger moves money for it, but there is none", posted.subject()));
    const bool same = transfer->kind == (is_payout(posted.movement) ? "payout" : "withdrawal") &&
                      transfer->account_id == posted.account &&
                      transfer->asset == ledger::name(posted.asset) &&
                      (transfer->amount == posted.amount ||
                       // An advance is for what the balance did not cover.
                       (posted.movement == Movement::advance && posted.amount < transfer->amount));
    report.expect(same, posted.name() + ": its transfer is another");
    report.expect(fits(posted.movement, transfer->state),
                  fmt::format("{}: its transfer is {}", posted.name(), transfer->state));
}

// Every attempt pays what was asked for, to whom it was asked for, and its name is the hash of its
// bytes; the one that settled the transfer is one of them.
void check_attempts(const std::vector<Signed>& rows, Report& report) {
    for (std::size_t i = 0; i < rows.size();) {
        const Signed& first = rows[i];
        const std::string what = "transfer " + to_string(first.transfer_id);
        const Bytes payment = chain::erc20_transfer({first.address, first.amount});
        bool known = false;
        for (; i < rows.size() && rows[i].transfer_id == first.transfer_id; ++i) {
            if (!rows[i].tx_hash) continue;
            const std::string& name = *rows[i].tx_hash;
            const Bytes& bytes = rows[i].signed_bytes.value();
            report.expect(bytes.find(payment) != bytes.npos,
                          what + ": an attempt pays another amount or address");
            report.expect("0x" + to_hex(crypto::keccak256(bytes)) == name,
                          what + ": an attempt is not what its hash says");
            known = known || first.settled_by == name;
        }
        report.expect(known, what + ": is " + first.state + " by a transaction that nobody signed");
    }
}

// Every attempt there is, or those of transfers with something new.
void check_signed(db::Transaction& tx, const std::optional<Time>& since, Report& report) {
    if (!since) {
        TransferId last;
        for (;;) {
            const auto page = tx.fetch_values<TransferId>(next_page_sql, last, page_rows);
            if (page.empty()) return;
            check_attempts(tx.fetch(attempts_sql, last, page.back()), report);
            last = page.back();
        }
    }
    const auto ids = tx.fetch_values<TransferId>(new_ones_sql, *since);
    constexpr std::size_t together = 500;
    for (std::size_t first = 0; first < ids.size(); first += together) {
        std::vector<db::Transaction::Ticket> tickets;
        for (std::size_t i = first; i < std::min(ids.size(), first + together); ++i)
            tickets.push_back(tx.start(attempts_of_sql.sql(), ids[i]));
        for (const db::Transaction::Ticket ticket : tickets)
            check_attempts(attempts_of_sql.rows(tx.finish(ticket)), report);
    }
}

void check_nonces(db::Transaction& tx, Time since, Report& report) {
    for (const std::string& signer : tx.fetch_values<std::string>(signers_sql, since)) {
        const auto last =
            tx.fetch_value<std::optional<std::int64_t>>(last_nonce_sql, signer).value();
        const auto next = tx.fetch_value<std::int64_t>(next_nonce_sql, signer);
        report.expect(!last || next.value_or(0) > *last,
                      fmt::format("treasury {}: its next nonce was used before", signer));
    }
}

}  // namespace

bool TransferWitness::posts(Movement movement) const {
    switch (movement) {
        case Movement::withdrawal_lock:
        case Movement::withdrawal_settle:
        case Movement::withdrawal_return:
        case Movement::payout_lock:
        case Movement::payout_settle:
        case Movement::payout_return:
        case Movement::advance: return true;
        default: return false;
    }
}

void TransferWitness::check_postings(db::Transaction& tx, std::span<const Posted> postings,
                                     Report& report) const {
    std::vector<std::pair<const Posted*, db::Transaction::Ticket>> asked;
    for (const Posted& posted : postings) {
        const auto id = parse_uuid(posted.subject());
        if (!id)
            report.add(posted.name() + ": names no transfer");
        else
            asked.emplace_back(&posted, tx.start(transfer_sql.sql(), *id));
    }
    for (const auto& [posted, ticket] : asked)
        check_posting(*posted, transfer_sql.row(tx.finish(ticket)), report);
}

void TransferWitness::check_rows(db::Transaction& tx, const Scope& scope, Report& report) const {
    const Time since = scope.since.value_or(Time{});
    const Time signed_since = scope.adds_up ? Time{} : since;
    for (const auto& query : mismatched_transfers)
        for (const Mismatch& one : tx.fetch(query, since))
            report.add(fmt::format("transfer {}: is {}, the ledger has it {}",
                                   to_string(one.transfer_id), one.state,
                                   one.ledger_state.value_or("not at all")));
    for (const auto& query : wrong_returns)
        for (const WrongReturn& one : tx.fetch(query, since))
            report.add(fmt::format("transfer {}: is {}, what it sends back is {}",
                                   to_string(one.transfer_id), one.state,
                                   one.deposit_state.value_or("not there")));
    for (const std::string& hash : tx.fetch_values<std::string>(stranded_sql))
        report.add(fmt::format("deposit {}: is being sent back by no payment", hash));
    check_signed(tx, scope.since, report);
    for (const TransferId id : tx.fetch_values<TransferId>(foreign_attempts_sql, signed_since))
        report.add(
            fmt::format("transfer {}: was signed, and is not one that goes out", to_string(id)));
    check_nonces(tx, signed_since, report);
    check_sums(tx, scope, report);
}

void TransferWitness::check_sums(db::Transaction& tx, const Scope& scope, Report& report) const {
    std::array<Micro, ledger::assets.size()> open{};
    std::array<std::array<Micro, 2>, ledger::assets.size()> settled{};
    for (const TransferSum& sum : tx.fetch(scope.adds_up ? sums_sql : open_sums_sql)) {
        const auto asset = static_cast<std::size_t>(sum.asset);
        if (sum.state == TransferState::SETTLED)
            settled[asset][sum.kind == TransferKind::payout ? 1 : 0] += sum.amount;
        else
            open[asset] += sum.amount;
    }
    const ledger::Totals& totals = scope.totals;
    for (const ledger::Asset asset : ledger::assets) {
        const auto expect = [&](std::string_view what, Micro rows, Micro booked) {
            report.expect(rows == booked,
                          fmt::format("{} {}: transfers make {}, the ledger has {}",
                                      ledger::name(asset), what, rows.value, booked.value));
        };
        const auto place = static_cast<std::size_t>(asset);
        expect("on its way out", open[place], totals.balance(asset, ledger::Pocket::reserved));
        if (!scope.adds_up) continue;
        expect("withdrawn", settled[place][0], totals.of(asset, Movement::withdrawal_settle));
        expect("paid out", settled[place][1], totals.of(asset, Movement::payout_settle));
    }
}

}  // namespace berth::transfers
