#include "machines/leaving.hpp"

namespace berth::machines {
namespace {

constexpr std::string_view count_owned_sql =
    "SELECT COUNT(*) FROM machines WHERE owner = $1 AND retired_at IS NULL";
constexpr std::string_view end_enrollments_sql =
    "DELETE FROM machine_enrollments WHERE owner = $1 AND used_at IS NULL";
constexpr std::string_view forget_labels_sql = "UPDATE machines SET label = NULL WHERE owner = $1";
constexpr std::string_view forget_enrolled_labels_sql =
    "UPDATE machine_enrollments SET label = NULL WHERE owner = $1";

}  // namespace

std::int64_t count_owned(db::Transaction& tx, AccountId owner) {
    return tx.fetch_value<std::int64_t>(count_owned_sql, owner).value();
}

void end_enrollments(db::Transaction& tx, AccountId owner) { tx.run(end_enrollments_sql, owner); }

void forget_labels(db::Transaction& tx, AccountId owner) {
    tx.run(forget_labels_sql, owner);
    tx.run(forget_enrolled_labels_sql, owner);
}

}  // namespace berth::machines
