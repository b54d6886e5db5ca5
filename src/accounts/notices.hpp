// Mail that tells the owner of an account what changed in how one gets into it. Whoever holds a
// stolen session or key can do nothing of the kind without the owner hearing of it.
#pragma once

#include "accounts/site.hpp"
#include "accounts/store.hpp"
#include "api/call.hpp"
#include "mail/outbox.hpp"

namespace berth::accounts {

struct Notice {
    AccountId account;
    std::string what;  // "an authenticator was turned on": it ends the subject and begins the text
    std::string detail = {};  // one more sentence
};

class Notices {
public:
    Notices(const Site& site, const mail::Outbox& outbox) : site_(site), outbox_(outbox) {}

    // Leaves with the change itself, in its transaction. An agent has no mailbox and is not told.
    void send(api::Call& call, const Notice& notice) const;

private:
    const Site& site_;
    const mail::Outbox& outbox_;
};

}  // namespace berth::accounts
