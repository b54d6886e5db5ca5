#include "accounts/leaving.hpp"

#include "accounts/store.hpp"
#include "mail/outbox.hpp"

namespace berth::accounts {
namespace {

constexpr std::string_view forget_email_sql =
    "UPDATE accounts SET email = $2, host_capability = 0, last_sign_in_at = NULL, "
    "version = version + 1 WHERE account_id = $1";
constexpr std::string_view forget_key_names_sql =
    "UPDATE api_keys SET name = '' WHERE account_id = $1";
constexpr std::string_view forget_all_networks_sql =
    "DELETE FROM sign_in_networks WHERE account_id = $1";
constexpr std::string_view forget_integrations_sql =
    "DELETE FROM integrations WHERE account_id = $1";
constexpr std::string_view forget_codes_sql = "DELETE FROM email_codes WHERE email = $1";
constexpr std::string_view list_all_former_sql =
    "SELECT email FROM former_emails WHERE account_id = $1";
constexpr std::string_view forget_all_former_sql =
    "DELETE FROM former_emails WHERE account_id = $1";
constexpr std::string_view forget_guest_sql =
    "DELETE FROM allow_list WHERE kind = 'email' AND value = $1";
constexpr std::string_view list_networks_sql =
    "SELECT network FROM sign_in_networks WHERE account_id = $1 ORDER BY network";

void forget_mailbox(db::Transaction& tx, const std::string& email) {
    tx.run(forget_codes_sql, email);
    tx.run(forget_guest_sql, email);
}

}  // namespace

bool shut(db::Transaction& tx, const Seen& seen, Time now) {
    if (!put_suspension(tx, seen, true, now)) return false;
    revoke_keys(tx, seen.account, now);
    return true;
}

// A person's row has a mailbox by its own rule, so that it gets one that nobody has.
void forget_person(db::Transaction& tx, const Record& account, Time now) {
    const AccountId id = account.account_id;
    delete_sessions(tx, id);
    revoke_keys(tx, id, now);
    disable_totp(tx, id);
    tx.run(forget_key_names_sql, id);
    tx.run(forget_all_networks_sql, id);
    tx.run(forget_integrations_sql, id);
    end_promises(tx, id);
    for (const std::string& former : tx.fetch_values<std::string>(list_all_former_sql, id)) {
        if (find_account_by_email(tx, former)) continue;  // somebody else's by now
        forget_mailbox(tx, former);
        mail::forget_recipient(tx, former);
    }
    tx.run(forget_all_former_sql, id);
    std::optional<std::string> nobody;
    if (account.email) {
        forget_mailbox(tx, *account.email);
        nobody = "erased-" + to_string(id) + std::string(mail::nobody_domain);
    }
    tx.run(forget_email_sql, id, nobody);
}

std::vector<std::string> list_networks(db::Transaction& tx, AccountId account) {
    return tx.fetch_values<std::string>(list_networks_sql, account);
}

}  // namespace berth::accounts
