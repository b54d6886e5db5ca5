#include "transfers/payees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "api/router.hpp"
#include "audit/audit.hpp"
#include "base/log.hpp"
#include "transfers/returns.hpp"
#include "transfers/rows.hpp"
#include "transfers/settlement.hpp"

namespace berth::transfers {
namespace {

struct PayeeRow {
    PayeeId payee_id;
    Asset asset{};
    crypto::Address address;
    std::int64_t refusals = 0;
    Time refused_at;
    std::string why;
    std::optional<Time> barred_at = {};
};
BOOST_DESCRIBE_STRUCT(PayeeRow, (),
                      (payee_id, asset, address, refusals, refused_at, why, barred_at))

const db::Query<PayeeRow> find_payee_sql("SELECT {} FROM refused_payees WHERE payee_id = $1");
const db::Query<PayeeRow> list_payees_sql(
    "SELECT {} FROM refused_payees ORDER BY payee_id DESC LIMIT $1");
const db::Query<PayeeRow> list_payees_before_sql(
    "SELECT {} FROM refused_payees WHERE payee_id < $2 ORDER BY payee_id DESC LIMIT $1");
constexpr std::string_view count_barred_sql =
    "SELECT COUNT(*) FROM refused_payees "
    "WHERE asset = $1 AND address = $2 AND barred_at IS NOT NULL";
constexpr std::string_view any_barred_sql =
    "SELECT payee_id FROM refused_payees WHERE barred_at IS NOT NULL LIMIT 1";
const db::Query<TransferRow> waiting_for_barred_sql(
    "SELECT {} FROM transfers WHERE state = 'INTENT' AND held_why IS NULL AND (asset, address) IN "
    "(SELECT asset, address FROM refused_payees WHERE barred_at IS NOT NULL) "
    "ORDER BY account_id, transfer_id LIMIT $1");
constexpr std::int64_t called_off_together_max = 100;
constexpr std::string_view add_payee_sql =
    "INSERT INTO refused_payees (payee_id, asset, address, refusals, refused_at, why, barred_at) "
    "VALUES ($1, $2, $3, 1, $4, $5, NULL) ON CONFLICT (asset, address) DO NOTHING";
constexpr std::string_view count_refusal_sql =
    "UPDATE refused_payees SET refusals = refusals + 1, refused_at = $3, why = $4 "
    "WHERE asset = $1 AND address = $2 AND refused_at <= $5";
constexpr std::string_view bar_payee_sql =
    "UPDATE refused_payees SET barred_at = $3 "
    "WHERE asset = $1 AND address = $2 AND refusals >= $4 AND barred_at IS NULL";
constexpr std::string_view any_counted_sql =
    "SELECT COUNT(*) FROM refused_payees WHERE barred_at IS NULL";
constexpr std::string_view forget_payee_sql =
    "DELETE FROM refused_payees WHERE asset = $1 AND address = $2 AND barred_at IS NULL";
constexpr std::string_view lift_payee_sql =
    "DELETE FROM refused_payees WHERE payee_id = $1 RETURNING payee_id";
constexpr std::string_view forget_counted_sql =
    "DELETE FROM refused_payees WHERE asset = $1 AND barred_at IS NULL";
constexpr std::string_view count_reverts_sql =
    "INSERT INTO reverts_in_a_row (asset, reverts) VALUES ($1, $2) ON CONFLICT (asset) DO UPDATE "
    "SET reverts = reverts_in_a_row.reverts + excluded.reverts RETURNING reverts";
constexpr std::string_view forget_reverts_sql =
    "UPDATE reverts_in_a_row SET reverts = 0 WHERE asset = $1 AND reverts > 0";

// How a refusal is counted.
struct Refused {
    std::string_view why;
    std::int64_t bar_after = 0;
    Duration apart{};
};
struct Counted {
    bool is_first = false;    // since the address was last paid
    bool was_barred = false;  // by this one
};
Counted count_refusal(db::Context context, const Payee& payee, const Refused& refused) {
    Counted counted;
    counted.is_first = context.tx
                           .run(add_payee_sql, PayeeId::make(context.now, context.random),
                                payee.asset, payee.address, context.now, refused.why)
                           .affected == 1;
    if (!counted.is_first)
        context.tx.run(count_refusal_sql, payee.asset, payee.address, context.now, refused.why,
                       context.now - refused.apart);
    counted.was_barred =
        context.tx.run(bar_payee_sql, payee.asset, payee.address, context.now, refused.bar_after)
            .affected == 1;
    return counted;
}

// Whoever counts several changes their rows in this order.
std::vector<Payee> in_order(std::vector<Payee> payees) {
    std::ranges::sort(payees, [](const Payee& left, const Payee& right) {
        return std::tie(left.asset, left.address) < std::tie(right.asset, right.address);
    });
    return payees;
}

// Last in its transaction, as every event is.
void record_bars(db::Context context, const std::vector<Payee>& barred) {
    for (const Payee& payee : barred) {
        const std::string address = crypto::checksummed(payee.address);
        log(Level::error, "payee_barred",
            {{"address", address}, {"asset", ledger::name(payee.asset)}});
        audit::record(
            context,
            {.actor = audit::Actor::system(),
             .action = "bar_payee",
             .target = {"payee", address},
             .reason = "its token refused payments to it",
             .changes = {{"asset", std::nullopt, std::string(ledger::name(payee.asset))}}});
    }
}

RefusedPayee shown_payee(const PayeeRow& row) {
    RefusedPayee payee;
    payee.payee_id = row.payee_id;
    payee.asset = row.asset;
    payee.address = {crypto::checksummed(row.address)};
    payee.refusals = {row.refusals};
    payee.refused_at = row.refused_at;
    payee.why = row.why;
    payee.barred_at = row.barred_at;
    return payee;
}

api::Page<RefusedPayee> list_payees(api::Call& call, const api::PageQuery& query) {
    const api::Pager pager(call.cursors, {"refused_payees", ""}, query);
    const auto before = pager.after_id<PayeeId>();
    const auto rows = before ? call.tx().fetch(list_payees_before_sql, pager.rows_wanted(), *before)
                             : call.tx().fetch(list_payees_sql, pager.rows_wanted());
    return pager.page(rows, &PayeeRow::payee_id, shown_payee);
}

PayeeLifted lift_payee(api::Call& call, const PayeePath& path, const LiftPayee& request) {
    const auto row = call.tx().fetch_one(find_payee_sql, path.payee_id);
    if (!row) throw Problem(Code::not_found, "no such address");
    call.require_step_up();
    // Lifted at the same moment by somebody else: it is lifted once.
    if (!call.tx().fetch_value<PayeeId>(lift_payee_sql, path.payee_id))
        throw Problem(Code::not_found, "no such address");
    PayeeLifted lifted;
    lifted.payee_id = row->payee_id;
    lifted.asset = row->asset;
    lifted.address = {crypto::checksummed(row->address)};
    const auto text = [](const std::optional<Time>& time) {
        return time ? std::optional(to_rfc3339(*time)) : std::nullopt;
    };
    lifted.audit_event_id = audit::record(
        call.context(), {.actor = audit::Actor::of(call.caller.account),
                         .action = "lift_payee",
                         .target = {"payee", lifted.address.value},
                         .reason = request.reason.value,
                         .changes = {{"asset", std::string(ledger::name(row->asset)), std::nullopt},
                                     {"refusals", std::to_string(row->refusals), std::nullopt},
                                     {"barred_at", text(row->barred_at), std::nullopt}},
                         .request = call.request_id});
    return lifted;
}

}  // namespace

bool is_barred(db::Transaction& tx, const Payee& payee) {
    return tx.fetch_value<std::int64_t>(count_barred_sql, payee.asset, payee.address).value() > 0;
}

void require_payable(db::Transaction& tx, const Payee& payee) {
    if (is_barred(tx, payee))
        throw Problem(Code::conflict,
                      fmt::format("{} refused payments to this address, which is barred until an "
                                  "operator lifts that; use another address, or write to support",
                                  ledger::name(payee.asset)));
}

bool bars_any(db::Transaction& tx) { return !tx.run(any_barred_sql).empty(); }

// The rows of payees are changed here before any of the ledger, and no money moves: what is called
// off is called off in a transaction of its own.
void count_refusals(db::Context context, std::span<const TransferRow> refused,
                    const Settings& limits) {
    std::vector<Payee> payees;
    for (const TransferRow& transfer : refused)
        payees.push_back({transfer.asset, transfer.address});
    std::vector<Payee> barred;
    for (const Payee& payee : in_order(std::move(payees)))
        if (count_refusal(context, payee,
                          {"the token would revert a payment to it", *limits.payee_refusals_max,
                           refusals_apart})
                .was_barred)
            barred.push_back(payee);
    record_bars(context, barred);
}

bool any_waits_for_barred(db::Transaction& tx) {
    return tx.fetch_one(waiting_for_barred_sql, std::int64_t{1}).has_value();
}

std::vector<TransferId> call_off_barred(db::Context context) {
    std::vector<TransferId> called_off;
    if (find_hold(context.tx)) return called_off;
    const Step step{.from = TransferState::INTENT,
                    .to = TransferState::CANCELLED,
                    .reason = "the token refuses payments to this address",
                    .unless_held = true};
    for (const TransferRow& transfer :
         context.tx.fetch(waiting_for_barred_sql, called_off_together_max)) {
        if (!move_transfer(context, transfer.transfer_id, step)) continue;
        book_ending(context, transfer, TransferState::CANCELLED);
        called_off.push_back(transfer.transfer_id);
    }
    return called_off;
}

// After a hold all that was counted is forgotten: whoever lifts it begins anew, and the same
// addresses hold payments again when they are reverted again.
bool note_endings(db::Context context, const ChainEndings& endings, const Settings& limits) {
    std::vector<Payee> barred;
    std::array<std::int64_t, ledger::assets.size()> firsts{};
    std::array<bool, ledger::assets.size()> paid{};
    for (const Payee& payee : in_order(endings.reverted)) {
        const Counted counted = count_refusal(
            context, payee, {"a payment to it was reverted", *limits.payee_refusals_max, {}});
        if (counted.is_first) ++firsts[static_cast<std::size_t>(payee.asset)];
        if (counted.was_barred) barred.push_back(payee);
    }
    for (const Payee& payee : endings.paid) paid[static_cast<std::size_t>(payee.asset)] = true;
    if (!endings.paid.empty() && context.tx.fetch_value<std::int64_t>(any_counted_sql).value() > 0)
        for (const Payee& payee : in_order(endings.paid))
            context.tx.run(forget_payee_sql, payee.asset, payee.address);
    bool holds = false;
    for (const Asset asset : ledger::assets) {
        const auto which = static_cast<std::size_t>(asset);
        if (paid[which]) {
            context.tx.run(forget_reverts_sql, asset);
        } else if (firsts[which] > 0) {
            const auto in_a_row =
                context.tx.fetch_value<std::int64_t>(count_reverts_sql, asset, firsts[which]);
            if (in_a_row.value() < *limits.reverts_in_a_row_max) continue;
            holds = true;
            context.tx.run(forget_reverts_sql, asset);
            context.tx.run(forget_counted_sql, asset);
        }
    }
    if (holds && !find_hold(context.tx))
        add_hold(context, "payments to different addresses were reverted one after the other");
    record_bars(context, barred);
    return holds;
}

void add_payee_routes(api::Router& router) {
    router.add(
        {.method = "GET",
         .path = "/api/v1/admin/payees",
         .name = "list_refused_payees",
         .group = "admin",
         .summary = "Addresses that their token would not pay, and which of them are barred.",
         .access = api::Access::operator_},
        [](api::Call& call, const api::Query<api::PageQuery>& query) {
            return list_payees(call, *query);
        });
    router.add({.method = "POST",
                .path = "/api/v1/admin/payees/{payee_id}/lift",
                .name = "lift_payee",
                .group = "admin",
                .summary = "Forgets what a token refused: the address can be paid again.",
                .access = api::Access::finance,
                .work = api::Work::write,
                .step_up = api::StepUp::admin_sensitive,
                .idempotent = true,
                .errors = {{Code::not_found, "no payment to such an address was refused"}}},
               [](api::Call& call, const api::Path<PayeePath>& path,
                  const api::Body<LiftPayee>& body) { return lift_payee(call, *path, *body); });
}

}  // namespace berth::transfers
