#include "transfers/news.hpp"

#include "accounts/notices.hpp"
#include "accounts/settings.hpp"
#include "transfers/letters.hpp"
#include "transfers/rows.hpp"

namespace berth::transfers {
namespace {

const db::Query<TransferRow> untold_sql(
    "SELECT {} FROM transfers WHERE told = 0 "
    "AND state IN ('SETTLED', 'FAILED', 'EXPIRED', 'CANCELLED') ORDER BY transfer_id LIMIT $1");
constexpr std::string_view mark_told_sql =
    "UPDATE transfers SET told = 1 WHERE transfer_id = $1 AND told = 0";

}  // namespace

// Keeps: a transfer is marked in the transaction that writes its mail, so each is told once.
std::int64_t tell_owners(db::Context context, const Teller& teller, std::int64_t rows_max) {
    const auto over = context.tx.fetch(untold_sql, rows_max);
    for (const TransferRow& transfer : over) {
        if (context.tx.run(mark_told_sql, transfer.transfer_id).affected == 0)
            continue;  // another worker was quicker
        if (transfer.kind == TransferKind::return_) continue;
        const auto account = accounts::find_account(context.tx, transfer.account_id);
        if (account && account->email)
            teller.outbox.send(
                context, letters::ended({teller.brand, teller.site}, *account->email, transfer));
    }
    return static_cast<std::int64_t>(over.size());
}

worker::Kind tell_owners_kind(const NewsParts& parts) {
    constexpr int passes_max = 100;  // the rest comes with the next attempt
    return {.name = "tell_owners",
            .run =
                [parts](worker::Attempt& attempt) {
                    const Teller teller{parts.outbox, parts.site,
                                        *attempt.settings<accounts::Branding>().name};
                    for (int pass = 0; pass < passes_max; ++pass) {
                        const auto told = parts.database.write([&](db::Transaction& tx) {
                            return tell_owners({tx, parts.random, parts.clock.now()}, teller,
                                               told_rows_max);
                        });
                        if (told < told_rows_max) return;
                    }
                },
            .every = std::chrono::seconds(5)};
}

}  // namespace berth::transfers
