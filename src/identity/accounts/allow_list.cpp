#include "accounts/allow_list.hpp"

#include "accounts/settings.hpp"
#include "mail/address.hpp"

namespace berth::accounts {
namespace {

const db::Query<Allowed> add_allowed_sql(
    "INSERT INTO allow_list ({}) VALUES ({$}) ON CONFLICT (kind, value) DO NOTHING");
const db::Query<Allowed> find_allowed_sql("SELECT {} FROM allow_list WHERE allowed_id = $1");
const db::Query<Allowed> list_allowed_sql(
    "SELECT {} FROM allow_list WHERE (allowed_id < $1 OR $1 IS NULL) "
    "AND (kind = $2 OR $2 IS NULL) ORDER BY allowed_id DESC LIMIT $3");
constexpr std::string_view remove_allowed_sql = "DELETE FROM allow_list WHERE allowed_id = $1";
// An address or a wallet comes in once, a domain with everybody that it has.
constexpr std::string_view use_allowed_sql =
    "UPDATE allow_list SET used_at = COALESCE(used_at, $3) WHERE kind = $1 AND value = $2 "
    "AND (used_at IS NULL OR kind = 'domain') AND (expires_at IS NULL OR expires_at > $3)";

bool is_closed(const api::Call& call) { return *call.settings<Settings>().market_closed; }

bool use_allowed(api::Call& call, AllowedKind kind, std::string_view value) {
    return call.tx().run(use_allowed_sql, kind, value, call.now).affected == 1;
}

}  // namespace

bool add_allowed(db::Transaction& tx, const Allowed& allowed) {
    return tx.insert(add_allowed_sql, allowed).affected == 1;
}

std::optional<Allowed> find_allowed(db::Transaction& tx, AllowedId id) {
    return tx.fetch_one(find_allowed_sql, id);
}

std::vector<Allowed> list_allowed(db::Transaction& tx, const AllowedWanted& wanted,
                                  std::int64_t rows_max) {
    return tx.fetch(list_allowed_sql, wanted.before, wanted.kind, rows_max);
}

bool remove_allowed(db::Transaction& tx, AllowedId id) {
    return tx.run(remove_allowed_sql, id).affected == 1;
}

bool lets_mailbox_in(api::Call& call, const std::string& email) {
    return !is_closed(call) || use_allowed(call, AllowedKind::email, email) ||
           use_allowed(call, AllowedKind::domain, mail::domain_of(email));
}

bool lets_wallet_in(api::Call& call, const std::string& address) {
    return !is_closed(call) || use_allowed(call, AllowedKind::wallet, address);
}

void refuse_entrance() {
    throw api::CommittedProblem(
        Code::forbidden, "this market is closed: an operator has to invite you; write to support");
}

}  // namespace berth::accounts
