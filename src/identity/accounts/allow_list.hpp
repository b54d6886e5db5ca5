// Who may open an account while the market is closed: an address of mail, everybody of a domain, or
// a wallet. The first two are proved by mail and the third by a signature, so that no code has to
// be handed out with an invitation. Accounts that are there are not asked.
#pragma once

#include "accounts/types.hpp"
#include "api/call.hpp"

namespace berth::accounts {

using AllowedId = Id<struct AllowedTag>;

enum class AllowedKind { email, domain, wallet };
BOOST_DESCRIBE_ENUM(AllowedKind, email, domain, wallet)

struct Allowed {
    AllowedId allowed_id;
    AllowedKind kind = AllowedKind::email;
    std::string value;  // in lower case
    std::string reason;
    AccountId added_by;
    Time created_at;
    std::optional<Time> expires_at = {};
    std::optional<Time> invited_at = {};  // when a mail went to the address
    std::optional<Time> used_at = {};     // when somebody came by it first
};
BOOST_DESCRIBE_STRUCT(Allowed, (),
                      (allowed_id, kind, value, reason, added_by, created_at, expires_at,
                       invited_at, used_at))

// False when the same is on the list already.
bool add_allowed(db::Transaction& tx, const Allowed& allowed);
std::optional<Allowed> find_allowed(db::Transaction& tx, AllowedId id);
struct AllowedWanted {
    std::optional<AllowedKind> kind = {};
    std::optional<AllowedId> before = {};
};
// Newest first.
std::vector<Allowed> list_allowed(db::Transaction& tx, const AllowedWanted& wanted,
                                  std::int64_t rows_max);
bool remove_allowed(db::Transaction& tx, AllowedId id);  // false when it is gone

// Whether an account may be made for it: always, unless the market is closed. Then this takes the
// place on the list, which an address or a wallet has once.
bool lets_mailbox_in(api::Call& call, const std::string& email);
bool lets_wallet_in(api::Call& call, const std::string& address);
// Throws a CommittedProblem FORBIDDEN: what proved the address stays spent.
[[noreturn]] void refuse_entrance();

}  // namespace berth::accounts
