#include "accounts/resealing.hpp"

#include <boost/describe.hpp>

namespace berth::accounts {
namespace {

constexpr std::int64_t page_rows = 200;

// A row is changed only while it holds what was read: whoever writes at the same time wins.
struct Factor {
    AccountId account_id;
    Bytes totp_secret;
};
BOOST_DESCRIBE_STRUCT(Factor, (), (account_id, totp_secret))
const db::Query<Factor> factors_sql(
    "SELECT {} FROM accounts WHERE totp_secret IS NOT NULL AND account_id > $1 "
    "ORDER BY account_id LIMIT $2");
constexpr std::string_view set_factor_sql =
    "UPDATE accounts SET totp_secret = $2 WHERE account_id = $1 AND totp_secret = $3";

struct Enrollment {
    Uuid enrollment_id;
    AccountId account_id;
    Bytes sealed_secret;
};
BOOST_DESCRIBE_STRUCT(Enrollment, (), (enrollment_id, account_id, sealed_secret))
const db::Query<Enrollment> enrollments_sql(
    "SELECT {} FROM totp_enrollments WHERE enrollment_id > $1 ORDER BY enrollment_id LIMIT $2");
constexpr std::string_view set_enrollment_sql =
    "UPDATE totp_enrollments SET sealed_secret = $2 WHERE enrollment_id = $1 "
    "AND sealed_secret = $3";

struct Token {
    AccountId account_id;
    std::string provider;
    Bytes sealed_token;
};
BOOST_DESCRIBE_STRUCT(Token, (), (account_id, provider, sealed_token))
const db::Query<Token> tokens_sql(
    "SELECT {} FROM integrations WHERE (account_id, provider) > ($1, $2) "
    "ORDER BY account_id, provider LIMIT $3");
constexpr std::string_view set_token_sql =
    "UPDATE integrations SET sealed_token = $3 WHERE account_id = $1 AND provider = $2 "
    "AND sealed_token = $4";

// Those of before recovery codes were sealed are as long as a hash, and stay as they are.
struct Recovery {
    AccountId account_id;
    Bytes code_hash;
};
BOOST_DESCRIBE_STRUCT(Recovery, (), (account_id, code_hash))
const db::Query<Recovery> recoveries_sql(
    "SELECT {} FROM recovery_codes WHERE (account_id, code_hash) > ($1, $2) "
    "AND LENGTH(code_hash) > 32 ORDER BY account_id, code_hash LIMIT $3");
constexpr std::string_view set_recovery_sql =
    "UPDATE recovery_codes SET code_hash = $2 WHERE account_id = $1 AND code_hash = $3";

// Runs `page` until it has come to the last row; each gives the last row it saw.
template <class Mark, class Page>
void go_through(db::Database& database, Mark first, Page page) {
    for (std::optional<Mark> mark = std::move(first); mark;)
        mark = database.write([&](db::Transaction& tx) { return page(tx, *mark); });
}

}  // namespace

std::string totp_context(AccountId account) { return "totp:" + to_string(account); }

std::string recovery_context(AccountId account) { return "recovery:" + to_string(account); }

std::string integration_context(AccountId account, std::string_view provider) {
    return "integration:" + to_string(account) + ":" + std::string(provider);
}

void reseal(db::Database& database, crypto::Resealing& resealing) {
    go_through(database, AccountId{}, [&](db::Transaction& tx, AccountId after) {
        std::optional<AccountId> last;
        for (const Factor& row : tx.fetch(factors_sql, after, page_rows)) {
            if (const auto renewed =
                    resealing.renew({row.totp_secret, totp_context(row.account_id)}))
                tx.run(set_factor_sql, row.account_id, db::Blob{*renewed},
                       db::Blob{row.totp_secret});
            last = row.account_id;
        }
        return last;
    });
    go_through(database, Uuid{}, [&](db::Transaction& tx, Uuid after) {
        std::optional<Uuid> last;
        for (const Enrollment& row : tx.fetch(enrollments_sql, after, page_rows)) {
            if (const auto renewed =
                    resealing.renew({row.sealed_secret, totp_context(row.account_id)}))
                tx.run(set_enrollment_sql, row.enrollment_id, db::Blob{*renewed},
                       db::Blob{row.sealed_secret});
            last = row.enrollment_id;
        }
        return last;
    });
    // A row that is renewed moves in this order, and is met once more at most.
    using RecoveryMark = std::pair<AccountId, Bytes>;
    go_through(database, RecoveryMark{}, [&](db::Transaction& tx, const RecoveryMark& after) {
        std::optional<RecoveryMark> last;
        for (const Recovery& row :
             tx.fetch(recoveries_sql, after.first, db::Blob{after.second}, page_rows)) {
            if (const auto renewed =
                    resealing.renew({row.code_hash, recovery_context(row.account_id)}))
                tx.run(set_recovery_sql, row.account_id, db::Blob{*renewed},
                       db::Blob{row.code_hash});
            last = RecoveryMark{row.account_id, row.code_hash};
        }
        return last;
    });
    using TokenMark = std::pair<AccountId, std::string>;
    go_through(database, TokenMark{}, [&](db::Transaction& tx, const TokenMark& after) {
        std::optional<TokenMark> last;
        for (const Token& row : tx.fetch(tokens_sql, after.first, after.second, page_rows)) {
            const std::string context = integration_context(row.account_id, row.provider);
            if (const auto renewed = resealing.renew({row.sealed_token, context}))
                tx.run(set_token_sql, row.account_id, row.provider, db::Blob{*renewed},
                       db::Blob{row.sealed_token});
            last = TokenMark{row.account_id, row.provider};
        }
        return last;
    });
}

}  // namespace berth::accounts
