#include "accounts/accounts.hpp"

#include <stdexcept>

#include "mail/address.hpp"

namespace berth::accounts {

Accounts::Accounts(const Site& site, const Bytes& secret, const crypto::Sealer& sealer,
                   const mail::Outbox& outbox)
    : notices_(site, outbox),
      codes_(secret),
      sessions_(site, secret),
      factors_(sealer, notices_, secret),
      sign_in_(site, codes_, sessions_, factors_, outbox, notices_),
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
