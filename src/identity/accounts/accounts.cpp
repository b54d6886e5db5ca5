#include "accounts/accounts.hpp"

#include <stdexcept>

#include "mail/address.hpp"

namespace berth::accounts {

Accounts::Accounts(const Site& site, CodeKeys code_keys, const crypto::Sealer& sealer,
                   const mail::Outbox& outbox)
    : code_keys_(std::move(code_keys)),
      notices_(site, outbox),
      codes_(code_keys_),
      sessions_(site, code_keys_),
      factors_(sealer, notices_, code_keys_),
      sign_in_(site, codes_, sessions_, factors_, outbox, notices_),
      mailboxes_(site, codes_, sessions_, outbox, notices_),
      keys_(notices_),
      integrations_(sealer),
      credentials_(sessions_) {}

AccountId make_admin(db::Context context, const std::string& email) {
    const auto& [tx, random, now] = context;
    const auto address = mail::normalized_email(email);
    if (!address) throw std::invalid_argument("--email: must be an email address");
    add_human(tx, AccountId::make(now, random), *address, now);
    const auto account = find_account_by_email(tx, *address);
    require(account.has_value(), "an account that was just made is there");
    if (account->role != Role::admin) {
        set_role(tx, account->id, Role::admin);
        delete_sessions(tx, account->id);
    }
    return account->id;
}

}  // namespace berth::accounts
