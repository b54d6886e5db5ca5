#include "billing/billing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/oversight.hpp"
#include "accounts/settings.hpp"
#include "billing/receipts.hpp"
#include "chain/settings.hpp"
#include "credits/credits.hpp"
#include "ledger/days.hpp"
#include "ledger/maturing.hpp"
#include "ledger/settings.hpp"
#include "machines/machine.hpp"
#include "rentals/rentals.hpp"
#include "transfers/evidence.hpp"

namespace berth::billing {
namespace {

constexpr std::int64_t micros_per_day = 86'400'000'000;

ledger::Days last_days(Time now, std::int64_t count) {
    const std::int64_t today = ledger::day_of(now);
    return {today - count + 1, today};
}

Time start_of(std::int64_t day) { return {day * micros_per_day}; }

Micro at_least_zero(Micro amount) { return std::max(amount, Micro{}); }

// An entry has no id of its own in the ledger: it is its transaction's, with its ordinal mixed into
// the last byte, so that each is a UUID and both follow from one another.
Uuid entry_id(const ledger::Entry& entry) {
    Uuid id = entry.transaction.uuid;
    id.bytes.back() = static_cast<char>(id.bytes.back() ^ entry.ordinal);
    return id;
}

std::string mark_text(const ledger::Mark& mark) {
    return fmt::format("{}", fmt::join(mark.places, ":"));
}

ledger::Mark parse_mark(std::string_view text) {
    ledger::Mark mark;
    for (std::size_t i = 0; i < mark.places.size(); ++i) {
        const std::size_t colon = text.find(':');
        const bool last = i + 1 == mark.places.size();
        const auto place = parse_decimal(text.substr(0, colon));
        require(place && (colon == text.npos) == last, "a signed cursor holds what we put there");
        mark.places[i] = *place;
        text.remove_prefix(last ? text.size() : colon + 1);
    }
    return mark;
}

// The transfer whose end on chain an entry tells of.
std::optional<ledger::TransferId> ended_transfer(const ledger::Entry& entry) {
    switch (entry.kind) {
        case ledger::Kind::withdrawal_settled:
        case ledger::Kind::withdrawal_returned:
        case ledger::Kind::payout_settled:
        case ledger::Kind::payout_returned: {
            const std::string_view reference = entry.reference;
            const auto id = parse_uuid(reference.substr(reference.find(':') + 1));
            return id ? std::optional(ledger::TransferId{*id}) : std::nullopt;
        }
        default: return std::nullopt;
    }
}

Micro size_of(Micro amount) { return amount < Micro{} ? -amount : amount; }

// Each transaction of the job once for each kind. Of two sides of one, that line is shown which
// changes what can be spent or paid out: a hold takes from it, whatever it adds to what is held.
std::vector<ReceiptEntry> lines_of(const std::vector<ledger::Entry>& entries) {
    std::vector<ReceiptEntry> lines;
    for (const ledger::Entry& entry : entries) {
        const ReceiptEntry line{to_string(entry.transaction),
                                entry.kind,
                                entry.amount > Micro{} ? ledger::Side::credit : ledger::Side::debit,
                                size_of(entry.amount),
                                entry.reference,
                                entry.at};
        const bool same = !lines.empty() && lines.back().transaction_id == line.transaction_id &&
                          lines.back().kind == line.kind;
        if (!same)
            lines.push_back(line);
        else if (entry.pocket == ledger::Pocket::available ||
                 entry.pocket == ledger::Pocket::payable)
            lines.back() = line;
    }
    return lines;
}

// What the renter gets by a refund, and what host and fee give for it. Where a promotional credit
// had paid a part, that part is a transaction of its own.
std::vector<ReceiptRefund> refunds_of(const std::vector<ledger::Entry>& entries) {
    std::vector<ReceiptRefund> refunds;
    for (const ledger::Entry& entry : entries) {
        const bool part = entry.kind == ledger::Kind::refund_host_reversal ||
                          entry.kind == ledger::Kind::refund_fee_reversal;
        const bool whole =
            entry.kind == ledger::Kind::refund || entry.kind == ledger::Kind::credit_refund;
        if (!part && !whole) continue;
        const std::string id = entry.reference.substr(entry.reference.find(':') + 1);
        if (refunds.empty() || refunds.back().refund_id != id) {
            ReceiptRefund refund;
            refund.refund_id = id;
            refund.transaction_id = to_string(entry.transaction);
            refund.at = entry.at;
            refunds.push_back(std::move(refund));
        }
        Micro& amount = whole ? refunds.back().amount_micro
                        : entry.kind == ledger::Kind::refund_host_reversal
                            ? refunds.back().host_micro
                            : refunds.back().fee_micro;
        amount += size_of(entry.amount);
    }
    return refunds;
}

std::vector<EarningsDay> shown(const std::vector<ledger::DayEarnings>& days) {
    std::vector<EarningsDay> series;
    for (const ledger::DayEarnings& day : days)
        series.push_back({.day = to_rfc3339(start_of(day.day)).substr(0, 10),
                          .earned_micro = {day.earned},
                          .fee_micro = {day.fee},
                          .paid_micro = day.paid,
                          .rental_count = {day.rentals}});
    return series;
}

// "<n>d" with n from 1 to 365.
std::int64_t parse_window(const std::optional<std::string>& window) {
    if (!window) return earnings_window_days;
    const bool in_days = window->ends_with('d');
    const auto days = in_days
                          ? parse_decimal(std::string_view(*window).substr(0, window->size() - 1))
                          : std::nullopt;
    if (!days || *days < 1 || *days > window_days_max)
        throw Problem(Code::invalid_input, "query.window: must be 1d to 365d");
    return *days;
}

}  // namespace

Billing BillingDesk::balances(api::Call& call, const AssetQuery& query) const {
    const Asset asset = query.asset.value_or(Asset::usdc);
    const auto has = ledger::balances(call.tx(), call.caller.account, asset);
    const Micro spent =
        ledger::spent(call.tx(), call.caller.account, asset, last_days(call.now, 30));
    return {.asset = asset,
            .spendable_micro = has.available,
            .held_micro = has.held,
            .pending_micro = has.reserved,
            .disputed_micro = has.escrow,
            .withdrawable_micro = has.available,
            .credit_micro = credits::spendable(call.tx(), call.caller.account, asset, call.now),
            .spent_30d_micro = at_least_zero(spent),
            .as_of = call.now};
}

api::Page<StatementEntry> BillingDesk::entries(api::Call& call, const EntriesQuery& query) const {
    const AccountId account = query.account_id.value_or(call.caller.account);
    if (account != call.caller.account && !call.caller.admin)
        throw Problem(Code::forbidden, "only an admin may read another account's entries");
    accounts::note_look(call, {account, "read_entries", {"account", to_string(account)}});
    const api::Pager pager(call.cursors, {"ledger entries by place", to_string(account)}, query);
    std::optional<ledger::Mark> before;
    if (pager.after()) before = parse_mark(*pager.after());
    const auto lines = ledger::statement(call.tx(), account, before, pager.rows_wanted());
    auto evidence = evidence_of(call, lines);
    const auto show = [&](const ledger::StatementLine& line) -> StatementEntry {
        const ledger::Entry& entry = line.entry;
        const bool credit = entry.amount > Micro{};
        return {
            .entry_id = entry_id(entry),
            .transaction_id = entry.transaction,
            .kind = entry.kind,
            .direction = credit ? ledger::Side::credit : ledger::Side::debit,
            .amount_micro = credit ? entry.amount : -entry.amount,
            .asset = entry.asset,
            .pocket = entry.pocket,
            .job_id = entry.job,
            .external_ref = entry.reference,
            .evidence_links = std::move(evidence[static_cast<std::size_t>(&line - lines.data())]),
            .at = entry.at};
    };
    return pager.page(
        lines, [](const ledger::StatementLine& line) { return mark_text(line.mark); }, show);
}

// A reference names what stands behind an entry: "deposit:8453:0x…:0", "charge:<job>:…",
// "withdrawal_settle:<transfer>".
std::vector<std::vector<std::string>> BillingDesk::evidence_of(
    api::Call& call, const std::vector<ledger::StatementLine>& lines) const {
    std::vector<std::optional<ledger::TransferId>> transfers;
    std::vector<ledger::TransferId> ended;
    for (const auto& [entry, mark] : lines) {
        transfers.push_back(ended_transfer(entry));
        if (transfers.back()) ended.push_back(*transfers.back());
    }
    const auto payments = transfers::find_payments(call.tx(), ended);
    const std::string explorer = *call.settings<chain::Settings>().explorer_url + "/tx/";
    std::vector<std::vector<std::string>> all;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const ledger::Entry& entry = lines[i].entry;
        std::vector<std::string>& links = all.emplace_back();
        if (entry.job)
            links.push_back(fmt::format("{}/api/v1/billing/receipts/{}", site_.base_url,
                                        to_string(*entry.job)));
        if (const std::size_t hash = entry.reference.find(":0x"); hash != std::string::npos)
            links.push_back(explorer + entry.reference.substr(hash + 1, 66));
        if (!transfers[i]) continue;
        if (const auto payment = payments.find(*transfers[i]); payment != payments.end())
            links.push_back(explorer + payment->second);
    }
    return all;
}

Receipt BillingDesk::receipt(api::Call& call, const JobPath& path,
                             const ReceiptQuery& query) const {
    const auto job = ledger::find_job(call.tx(), path.job);
    if (!job || (job->renter != call.caller.account && !call.caller.admin))
        throw Problem(Code::not_found, "no such job");
    Receipt receipt;
    receipt.job_id = job->job;
    // The ledger has what was settled, the job what has run.
    const auto summary = rentals::find_summary(call.tx(), path.job, call.now);
    const Micro charge = summary ? std::max(summary->charge, job->charged) : job->charged;
    receipt.state = summary       ? std::string(enum_name(summary->state))
                    : job->closed ? "SETTLED"
                                  : "HELD";
    receipt.machine_rate_micro_per_hour = job->rate_per_hour;
    receipt.platform_fee_bps = {job->fee_bps};
    receipt.accepted_runtime_ms = {
        std::max(summary ? summary->accepted_runtime_ms : 0, job->runtime_ms)};
    if (summary && summary->uncarried_ms)
        receipt.uncarried_ms = wire::Decimal{*summary->uncarried_ms};
    if (summary && summary->carried_bytes)
        receipt.carried_bytes = wire::Decimal{*summary->carried_bytes};
    receipt.charge_micro = charge;
    receipt.fee_micro = scale_floor(charge, {job->fee_bps, 10'000});
    receipt.host_micro = charge - receipt.fee_micro;
    receipt.funded_budget_micro = job->budget;
    receipt.supplier = {to_string(job->host)};
    receipt.operator_.name = accounts::brand(call);
    const std::string& support = *call.settings<accounts::Contact>().support_email;
    if (!support.empty()) receipt.operator_.support_email = support;
    receipt.refunded_micro = job->refunded;
    receipt.credit_micro = std::min(job->credit, charge);
    const auto entries = ledger::entries_of(call.tx(), path.job, receipt_entries_max);
    receipt.entries = lines_of(entries);
    receipt.refunds = refunds_of(entries);
    if (!query.signed_.value_or(false)) return receipt;
    receipt.as_of = call.now;
    receipt.evidence_head.emplace();
    if (summary && summary->evidence_head)
        receipt.evidence_head->value = wire::Sha256Hash{*summary->evidence_head};
    sign(receipt, key_);
    return receipt;
}

Earnings BillingDesk::earnings(api::Call& call, const AssetQuery& query) const {
    const Asset asset = query.asset.value_or(Asset::usdc);
    const auto has = ledger::balances(call.tx(), call.caller.account, asset);
    const ledger::Days days = last_days(call.now, earnings_window_days);
    Earnings earnings;
    earnings.earned_micro = has.earned;
    earnings.disputed_micro = has.escrow;
    const ledger::Maturing maturing =
        ledger::maturing(call.tx(), call.caller.account, asset, call.now);
    earnings.maturing_micro = std::min(maturing.amount, at_least_zero(has.payable));
    earnings.payable_micro = at_least_zero(has.payable - maturing.amount);
    earnings.next_payable_at = maturing.next;
    earnings.payout_delay_hours = {*call.settings<ledger::Settings>().payout_delay_hours};
    earnings.repaid_micro = has.repaid;
    earnings.debt_micro = at_least_zero(-has.payable);
    earnings.requested_micro = has.requested();
    earnings.settled_micro = has.paid;
    earnings.gross_micro = has.earned + has.fees;
    earnings.fee_micro = has.fees;
    earnings.fee_bps = {*call.settings<ledger::Settings>().platform_fee_bps};
    earnings.window_days = {earnings_window_days};
    earnings.from = start_of(days.first);
    earnings.to = call.now;
    earnings.days = shown(ledger::earnings_by_day(call.tx(), call.caller.account, asset, days));
    return earnings;
}

// Who has not earned with a machine yet sees a series of zeros; a retired one keeps its history.
MachineEarnings BillingDesk::machine_earnings(api::Call& call, const MachinePath& path,
                                              const WindowQuery& query) const {
    const std::int64_t window = parse_window(query.window);
    const auto owner = machines::owner_of(call.tx(), path.id);
    if (!owner || *owner != call.caller.account || !call.caller.host)
        throw Problem(Code::not_found, "no such machine");
    const ledger::Days days = last_days(call.now, window);
    auto series =
        ledger::earnings_by_day(call.tx(), path.id, query.asset.value_or(Asset::usdc), days);
    return {{window},
            start_of(days.first),
            call.now,
            {*call.settings<ledger::Settings>().payout_delay_hours},
            shown(series)};
}

}  // namespace berth::billing
