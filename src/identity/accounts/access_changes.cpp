#include "accounts/access_changes.hpp"

#include <set>

namespace berth::accounts {
namespace {

constexpr std::string_view take_epoch_sql =
    "INSERT INTO access_epoch (one, epoch) VALUES (1, 1) "
    "ON CONFLICT (one) DO UPDATE SET epoch = access_epoch.epoch + 1";
constexpr std::string_view note_change_sql =
    "INSERT INTO access_changes (account_id, epoch) SELECT $1, epoch FROM access_epoch "
    "WHERE one = 1 ON CONFLICT (account_id) DO UPDATE SET epoch = excluded.epoch";
constexpr std::string_view epoch_sql = "SELECT epoch FROM access_epoch WHERE one = 1";
constexpr std::string_view changed_since_sql =
    "SELECT account_id FROM access_changes WHERE epoch > $1 ORDER BY account_id";

class Changed final : public db::Batch {
public:
    void add(AccountId account) { accounts_.insert(account); }

    void write(db::Transaction& tx) override {
        tx.start(take_epoch_sql);
        for (const AccountId& account : accounts_) {
            tx.start(note_change_sql, account);
            tx.wake_after_commit({access_topic, to_string(account)});
        }
    }

private:
    std::set<AccountId> accounts_;
};

}  // namespace

void note_access_change(db::Transaction& tx, AccountId account) {
    tx.before_commit<Changed>().add(account);
}

std::int64_t current_access_epoch(db::Transaction& tx) {
    return tx.fetch_value<std::int64_t>(epoch_sql).value_or(0);
}

AccessChanges access_changes_since(db::Transaction& tx, std::int64_t epoch) {
    const std::int64_t newest = current_access_epoch(tx);
    if (newest <= epoch) return {newest, {}};
    return {newest, tx.fetch_values<AccountId>(changed_since_sql, epoch)};
}

}  // namespace berth::accounts
