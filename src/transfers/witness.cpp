#include "transfers/witness.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "chain/transaction.hpp"
#include "crypto/keccak.hpp"
#include "transfers/rows.hpp"

namespace berth::transfers {
namespace {

using ledger::Movement;
using ledger::Posted;
using ledger::Report;

constexpr std::int64_t page_rows = 500;

constexpr std::string_view transfer_sql =
    "SELECT kind, account_id, asset, amount, state FROM transfers WHERE transfer_id = $1";
// Money is locked from INTENT until the transfer has ended, and only then. One that was called off
// before its link was used never had any.
constexpr std::string_view mismatched_transfers_sql =
    "SELECT t.transfer_id, t.state, l.state FROM transfers t "
    "LEFT JOIN ledger_transfers l ON l.transfer_id = t.transfer_id "
    "WHERE (t.updated_at >= $1 OR t.state IN ('INTENT', 'SUBMITTED')) AND (NOT ("
    "(t.state IN ('INTENT', 'SUBMITTED') AND l.state = 'locked') OR "
    "(t.state = 'SETTLED' AND l.state = 'settled') OR "
    "(t.state IN ('FAILED', 'CANCELLED') AND l.state = 'returned') OR "
    "(t.state IN ('AWAITING_EMAIL_CONFIRMATION', 'EXPIRED', 'CANCELLED') AND l.state IS NULL)) "
    "OR (l.state IS NULL AND t.state IN ('INTENT', 'SUBMITTED', 'SETTLED', 'FAILED')) "
    "OR l.amount <> t.amount OR l.asset <> t.asset OR l.account_id <> t.account_id "
    "OR l.source <> t.kind) LIMIT 100";
constexpr std::string_view attempts_sql =
    "SELECT t.transfer_id, t.asset, t.amount, t.address, t.state, t.tx_hash, a.tx_hash, "
    "a.signed_bytes FROM transfers t "
    "LEFT JOIN transfer_attempts a ON a.transfer_id = t.transfer_id "
    "WHERE t.state IN ('SUBMITTED', 'SETTLED', 'FAILED') "
    "AND (t.updated_at >= $1 OR t.state = 'SUBMITTED') AND t.transfer_id > $2 "
    "AND t.transfer_id <= $3 "
    "ORDER BY t.transfer_id, a.attempt";
constexpr std::string_view next_page_sql =
    "SELECT transfer_id FROM transfers WHERE transfer_id > $1 ORDER BY transfer_id LIMIT $2";
constexpr std::string_view foreign_attempts_sql =
    "SELECT a.transfer_id FROM transfer_attempts a "
    "LEFT JOIN transfers t ON t.transfer_id = a.transfer_id "
    "WHERE t.transfer_id IS NULL OR t.state NOT IN ('SUBMITTED', 'SETTLED', 'FAILED') LIMIT 100";
// The next nonce is above every one that was used.
constexpr std::string_view nonces_sql =
    "SELECT a.signer, MAX(a.nonce), MIN(n.next_nonce) FROM transfer_attempts a "
    "LEFT JOIN treasury_nonces n ON n.treasury = a.signer GROUP BY a.signer";
constexpr std::string_view sums_sql =
    "SELECT kind, asset, state, CAST(SUM(amount) AS BIGINT) FROM transfers "
    "WHERE state IN ('INTENT', 'SUBMITTED', 'SETTLED') GROUP BY kind, asset, state";

bool is_end(std::string_view state) {
    return state == "SETTLED" || state == "FAILED" || state == "CANCELLED";
}

// Whether a transfer in this state can have such a posting.
bool fits(Movement movement, std::string_view state) {
    switch (movement) {
        case Movement::withdrawal_settle:
        case Movement::payout_settle:
            return state == "SETTLED";
        case Movement::withdrawal_return:
        case Movement::payout_return:
            return state == "FAILED" || state == "CANCELLED";
        default:
            return is_end(state) || state == "INTENT" || state == "SUBMITTED";
    }
}

bool is_payout(Movement movement) {
    return movement == Movement::payout_lock || movement == Movement::payout_settle ||
           movement == Movement::payout_return;
}

void check_posting(const Posted& posted, const db::Result& rows, Report& report) {
    if (rows.empty())
        return report.add(fmt::format(
            "transfer {}: the ledger moves money for it, but there is none", posted.subject()));
    const auto row = rows[0];
    const bool same =
        row.get<std::string>(0) == (is_payout(posted.movement) ? "payout" : "withdrawal") &&
        row.get<AccountId>(1) == posted.account &&
        row.get<std::string>(2) == ledger::name(posted.asset) && row.get<Micro>(3) == posted.amount;
    report.expect(same, posted.name() + ": its transfer is another");
    report.expect(fits(posted.movement, row.get<std::string>(4)),
                  fmt::format("{}: its transfer is {}", posted.name(), row.get<std::string>(4)));
}

// Every attempt pays what was asked for, to whom it was asked for, and its name is the hash of its
// bytes; the one that settled the transfer is one of them.
void check_attempts(const db::Result& rows, Report& report) {
    for (std::size_t i = 0; i < rows.size();) {
        const auto first = rows[i];
        const auto id = first.get<TransferId>(0);
        const std::string what = "transfer " + to_string(id);
        const Bytes payment =
            chain::erc20_transfer({get_address(first, 3), first.get<Micro>(2)});
        const auto settled_by = first.get<std::optional<std::string>>(5);
        bool known = false;
        for (; i < rows.size() && rows[i].get<TransferId>(0) == id; ++i) {
            if (rows[i].is_null(6)) continue;
            const auto name = rows[i].get<std::string>(6);
            const auto bytes = rows[i].get<Bytes>(7);
            report.expect(bytes.find(payment) != bytes.npos,
                          what + ": an attempt pays another amount or address");
            report.expect("0x" + to_hex(crypto::keccak256(bytes)) == name,
                          what + ": an attempt is not what its hash says");
            known = known || settled_by == name;
        }
        report.expect(known, what + ": is " + first.get<std::string>(4) +
                                 " by a transaction that nobody signed");
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
            return true;
        default:
            return false;
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
            asked.emplace_back(&posted, tx.start(transfer_sql, *id));
    }
    for (const auto& [posted, ticket] : asked) check_posting(*posted, tx.finish(ticket), report);
}

void TransferWitness::check_rows(db::Transaction& tx, const Scope& scope, Report& report) const {
    const Time since = scope.since.value_or(Time{});
    const auto mismatched = tx.run(mismatched_transfers_sql, since);
    for (std::size_t i = 0; i < mismatched.size(); ++i)
        report.add(fmt::format(
            "transfer {}: is {}, the ledger has it {}", to_string(mismatched[i].get<TransferId>(0)),
            mismatched[i].get<std::string>(1),
            mismatched[i].get<std::optional<std::string>>(2).value_or("not at all")));
    TransferId last;
    for (;;) {
        const auto page = tx.run(next_page_sql, last, page_rows);
        if (page.empty()) break;
        const auto end = page[page.size() - 1].get<TransferId>(0);
        check_attempts(tx.run(attempts_sql, since, last, end), report);
        last = end;
    }
    const auto foreign = tx.run(foreign_attempts_sql);
    for (std::size_t i = 0; i < foreign.size(); ++i)
        report.add(fmt::format("transfer {}: was signed, and is not one that goes out",
                               to_string(foreign[i].get<TransferId>(0))));
    const auto nonces = tx.run(nonces_sql);
    for (std::size_t i = 0; i < nonces.size(); ++i)
        report.expect(nonces[i].get<std::optional<std::int64_t>>(2).value_or(0) >
                          nonces[i].get<std::int64_t>(1),
                      fmt::format("treasury {}: its next nonce was used before",
                                  nonces[i].get<std::string>(0)));
    check_sums(tx.run(sums_sql), scope.totals, report);
}

void TransferWitness::check_sums(const db::Result& sums, const ledger::Totals& totals,
                                 Report& report) const {
    std::array<Micro, ledger::assets.size()> open{};
    std::array<std::array<Micro, 2>, ledger::assets.size()> settled{};
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto asset = static_cast<std::size_t>(get_asset(sums[i], 1));
        const auto sum = sums[i].get<Micro>(3);
        if (sums[i].get<std::string>(2) == "SETTLED")
            settled[asset][sums[i].get<std::string>(0) == "payout" ? 1 : 0] += sum;
        else
            open[asset] += sum;
    }
    for (const ledger::Asset asset : ledger::assets) {
        const auto expect = [&](std::string_view what, Micro rows, Micro booked) {
            report.expect(rows == booked,
                          fmt::format("{} {}: transfers make {}, the ledger has {}",
                                      ledger::name(asset), what, rows.value, booked.value));
        };
        const auto place = static_cast<std::size_t>(asset);
        expect("on its way out", open[place],
               totals.balance(asset, ledger::Pocket::reserved));
        expect("withdrawn", settled[place][0], totals.of(asset, Movement::withdrawal_settle));
        expect("paid out", settled[place][1], totals.of(asset, Movement::payout_settle));
    }
}

}  // namespace berth::transfers
