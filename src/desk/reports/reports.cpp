#include "reports/reports.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accounts/operators.hpp"
#include "accounts/oversight.hpp"
#include "ledger/days.hpp"
#include "ledger/figures.hpp"

namespace berth::reports {
namespace {

using ledger::Kind;
using ledger::KindSum;
using ledger::Pocket;
using ledger::Stretch;

constexpr Duration one_day = std::chrono::hours(24);

Time parse_day(const Day& day, std::string_view name) {
    const auto time = parse_rfc3339(day.value + "T00:00:00Z");
    // What comes after the last day has to be a day, too.
    if (!time || day.value.starts_with("9999"))
        throw Problem(Code::invalid_input,
                      fmt::format("query.{}: must be a day as YYYY-MM-DD", name));
    return *time;
}

std::string day_text(Time time) { return to_rfc3339(time).substr(0, 10); }
std::string month_text(Time time) { return to_rfc3339(time).substr(0, 7); }

Time first_of_month(Time time) { return parse_rfc3339(month_text(time) + "-01T00:00:00Z").value(); }

// No month has 32 days, and each has more than one.
Time first_of_next_month(Time time) { return first_of_month(first_of_month(time) + 31 * one_day); }

Time first_of_year(std::int64_t year) {
    return parse_rfc3339(fmt::format("{:04}-01-01T00:00:00Z", year)).value();
}

struct Period {
    std::string name;
    Stretch stretch;
};

// The days or months from one moment to the other; the first and the last month may be a part.
std::vector<Period> periods_of(Time from, Time to, By by) {
    const std::int64_t most = by == By::day ? figures_days_max : figures_months_max;
    std::vector<Period> periods;
    for (Time at = from; at < to;) {
        if (static_cast<std::int64_t>(periods.size()) == most)
            throw Problem(Code::invalid_input,
                          fmt::format("query.last_day: there may be at most {} {}", most,
                                      by == By::day ? "days" : "months"));
        const Time next = std::min(to, by == By::day ? at + one_day : first_of_next_month(at));
        periods.push_back({by == By::day ? day_text(at) : month_text(at), {at, next}});
        at = next;
    }
    return periods;
}

// What the pocket of promotional credits gains and loses: by campaigns, and by rentals that credits
// pay for. What is refunded to one is refunded like anything else.
void add_promotion(FiguresRow& row, const KindSum& sum) {
    const Micro gained = sum.credit - sum.debit;
    const bool of_campaign = sum.kind == Kind::campaign_fund || sum.kind == Kind::campaign_end;
    if (of_campaign)
        row.campaigns_micro.value += gained;
    else
        row.credits_spent_micro.value -= gained;
    if (sum.kind == Kind::credit_refund) row.refunded_micro += sum.credit;
}

// Which column a sum stands in. Each kind is counted in one pocket of the movement alone.
void add_sum(FiguresRow& row, const KindSum& sum) {
    if (sum.pocket == Pocket::promotions) return add_promotion(row, sum);
    const bool out = sum.pocket == Pocket::outbound;
    const bool fees = sum.pocket == Pocket::fee_income;
    switch (sum.kind) {
        case Kind::job_charge: row.charged_micro += sum.debit; break;
        case Kind::refund: row.refunded_micro += sum.credit; break;
        case Kind::platform_fee: row.fees_micro.value += sum.credit; break;
        case Kind::refund_fee_reversal: row.fees_micro.value -= sum.debit; break;
        case Kind::host_earning: row.host_earnings_micro.value += sum.credit; break;
        case Kind::refund_host_reversal: row.host_earnings_micro.value -= sum.debit; break;
        case Kind::deposit:
            if (sum.pocket != Pocket::treasury) break;
            row.received_micro += sum.debit;
            row.received_count.value += sum.entries;
            break;
        case Kind::withdrawal_settled:
            if (!out) break;
            row.withdrawn_micro += sum.credit;
            row.withdrawn_count.value += sum.entries;
            break;
        case Kind::payout_settled:
            if (!out) break;
            row.paid_out_micro += sum.credit;
            row.paid_out_count.value += sum.entries;
            break;
        case Kind::suspense_return:
            if (out) row.returned_micro += sum.credit;
            break;
        case Kind::gas:
            if (out) row.gas_micro += sum.credit;
            break;
        case Kind::fee_take_out:
            if (out) row.fees_taken_out_micro += sum.credit;
            break;
        case Kind::debt_covered:
            if (fees || sum.pocket == Pocket::capital) row.debts_covered_micro += sum.debit;
            break;
        default: break;
    }
}

StatementBalance shown(const ledger::Pockets& pockets) {
    const auto of = [&](Pocket pocket) { return pockets[static_cast<std::size_t>(pocket)]; };
    return {of(Pocket::available),
            of(Pocket::held),
            {of(Pocket::payable)},
            of(Pocket::escrow),
            of(Pocket::reserved)};
}

}  // namespace

ServiceFigures Reports::figures(api::Call& call, const FiguresQuery& query) const {
    const Time from = parse_day(query.first_day, "first_day");
    const Time to = parse_day(query.last_day, "last_day") + one_day;
    if (to <= from)
        throw Problem(Code::invalid_input, "query.last_day: must not be before first_day");
    const By by = query.by.value_or(By::day);
    const std::vector<Period> periods = periods_of(from, to, by);
    std::vector<Stretch> stretches;
    for (const Period& period : periods) stretches.push_back(period.stretch);
    const auto sums = ledger::sums_by_kind(call.tx(), stretches);
    ServiceFigures figures{from, to, by, {}};
    for (std::size_t i = 0; i < periods.size(); ++i)
        for (const Asset asset : ledger::assets) {
            if (query.asset && *query.asset != asset) continue;
            FiguresRow& row = figures.rows.emplace_back();
            row.period = periods[i].name;
            row.asset = asset;
            for (const KindSum& sum : sums[i])
                if (sum.asset == asset) add_sum(row, sum);
        }
    return figures;
}

TrialBalance Reports::trial_balance(api::Call& call, const TrialQuery& query) const {
    // Nothing is posted for a time to come, so that this is everything.
    const auto sums = ledger::sums_by_pocket(call.tx(), query.at.value_or(call.now + one_day));
    TrialBalance trial{query.at.value_or(call.now), true, {}};
    for (const Asset asset : ledger::assets) {
        Micro sum;
        for (const ledger::PocketSum& pocket : sums) {
            if (pocket.asset != asset) continue;
            const Micro balance = pocket.credit - pocket.debit;
            sum += balance;
            trial.rows.push_back({asset, pocket.pocket, pocket.debit, pocket.credit, {balance}});
        }
        trial.balanced = trial.balanced && sum == Micro{};
    }
    return trial;
}

api::Page<HostYear> Reports::hosts(api::Call& call, const HostsQuery& query) const {
    const Asset asset = query.asset.value_or(Asset::usdc);
    const api::Pager pager(
        call.cursors,
        {"hosts' earnings", fmt::format("{} {}", query.year.value, ledger::name(asset))}, query);
    const ledger::HostsWanted wanted{
        .asset = asset,
        .first_day = ledger::day_of(first_of_year(query.year.value)),
        .last_day = ledger::day_of(first_of_year(query.year.value + 1)) - 1,
        .after = pager.after_id<AccountId>()};
    const auto show = [&](const ledger::HostSum& sum) -> HostYear {
        const auto account = accounts::find_record(call.tx(), sum.account_id);
        return {sum.account_id,         account ? account->email : std::nullopt,
                {sum.earned + sum.fee}, {sum.fee},
                {sum.earned},           sum.paid};
    };
    return pager.page(ledger::sums_by_host(call.tx(), wanted, pager.rows_wanted()),
                      &ledger::HostSum::account_id, show);
}

AccountStatement Reports::statement(api::Call& call, AccountId account,
                                    const StatementQuery& query) const {
    if (query.until <= query.since)
        throw Problem(Code::invalid_input, "query.until: must be after since");
    const Asset asset = query.asset.value_or(Asset::usdc);
    const auto entries = ledger::entries_between(
        call.tx(), {account, asset, {query.since, query.until}}, statement_rows_max + 1);
    if (entries.size() > static_cast<std::size_t>(statement_rows_max))
        throw Problem(Code::invalid_input,
                      fmt::format("query.until: the statement would have more than {} entries; ask "
                                  "for a shorter time",
                                  statement_rows_max));
    ledger::Pockets pockets = ledger::pockets_before(call.tx(), account, asset, query.since);
    AccountStatement statement{account, asset, query.since, query.until, shown(pockets), {}, {}};
    for (const ledger::Entry& entry : entries) {
        const bool credit = entry.amount > Micro{};
        Micro& pocket = pockets.at(static_cast<std::size_t>(entry.pocket));
        pocket += entry.amount;
        statement.entries.push_back(
            {.at = entry.at,
             .transaction_id = entry.transaction,
             .kind = entry.kind,
             .pocket = entry.pocket,
             .direction = credit ? ledger::Side::credit : ledger::Side::debit,
             .amount_micro = credit ? entry.amount : -entry.amount,
             .balance_micro = {pocket},
             .job_id = entry.job,
             .external_ref = entry.reference});
    }
    statement.closing = shown(pockets);
    return statement;
}

AccountStatement Reports::statement_of(api::Call& call, const AccountPath& path,
                                       const StatementQuery& query) const {
    const auto id = parse_uuid(path.id);
    const auto account =
        id ? accounts::find_record(call.tx(), AccountId{*id}) : std::optional<accounts::Record>();
    if (!account) throw Problem(Code::not_found, "no such user");
    accounts::note_look(
        call, {account->account_id, "read_statement", {"account", to_string(account->account_id)}});
    return statement(call, account->account_id, query);
}

EarningsYear Reports::year(api::Call& call, const YearPath& path, const YearQuery& query) const {
    const Asset asset = query.asset.value_or(Asset::usdc);
    const Time from = first_of_year(path.year.value);
    const Time to = first_of_year(path.year.value + 1);
    EarningsYear year;
    year.account_id = call.caller.account;
    year.year = path.year;
    year.asset = asset;
    for (const ledger::DayEarnings& day :
         ledger::earnings_by_day(call.tx(), call.caller.account, asset,
                                 {ledger::day_of(from), ledger::day_of(to) - 1})) {
        const std::string name = month_text({day.day * one_day.count()});
        if (year.months.empty() || year.months.back().month != name)
            year.months.emplace_back().month = name;
        EarningsMonth& month = year.months.back();
        month.gross_micro.value += day.earned + day.fee;
        month.fee_micro.value += day.fee;
        month.earned_micro.value += day.earned;
        month.paid_micro += day.paid;
    }
    for (const EarningsMonth& month : year.months) {
        year.gross_micro.value += month.gross_micro.value;
        year.fee_micro.value += month.fee_micro.value;
        year.earned_micro.value += month.earned_micro.value;
        year.paid_micro += month.paid_micro;
    }
    return year;
}

}  // namespace berth::reports
