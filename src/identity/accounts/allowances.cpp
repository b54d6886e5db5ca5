#include "accounts/allowances.hpp"

#include "base/check.hpp"

namespace berth::accounts {
namespace {

// One time says it all: when the allowance will be full again. Taking moves it on, and the time
// that passes catches up with it.
constexpr std::string_view take_sql =
    "INSERT INTO allowances (kind, subject, full_at) VALUES ($1, $2, $3) "
    "ON CONFLICT (kind, subject) DO UPDATE SET full_at = "
    "CASE WHEN allowances.full_at < $4 THEN $3 ELSE allowances.full_at + $5 END "
    "WHERE allowances.full_at <= $6";
constexpr std::string_view give_back_sql =
    "UPDATE allowances SET full_at = full_at - $3 WHERE kind = $1 AND subject = $2";
constexpr std::string_view lock_sql =
    "INSERT INTO allowances (kind, subject, full_at) VALUES ($1, $2, $3) "
    "ON CONFLICT (kind, subject) DO UPDATE SET full_at = allowances.full_at";
constexpr std::string_view prune_sql =
    "DELETE FROM allowances WHERE (kind, subject) IN "
    "(SELECT kind, subject FROM allowances WHERE full_at <= $1 LIMIT $2)";

Duration time_of(const Allowance& allowance, std::int64_t units) {
    require(allowance.units > 0 && units > 0, "an allowance is for something");
    return allowance.window / allowance.units * units;
}

}  // namespace

bool take(db::Transaction& tx, const Allowance& allowance, std::int64_t units, Time now) {
    if (units > allowance.units) return false;
    const Duration time = time_of(allowance, units);
    return tx.run(take_sql, allowance.kind, allowance.subject, now + time, now, time.count(),
                  now + allowance.window - time)
               .affected == 1;
}

void give_back(db::Transaction& tx, const Allowance& allowance, std::int64_t units) {
    tx.run(give_back_sql, allowance.kind, allowance.subject, time_of(allowance, units).count());
}

void lock(db::Transaction& tx, const Allowance& allowance, Time now) {
    tx.run(lock_sql, allowance.kind, allowance.subject, now);
}

std::int64_t prune_allowances(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.run(prune_sql, now, rows_max).affected;
}

}  // namespace berth::accounts
