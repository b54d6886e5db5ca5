// What changed in how one gets into an account: it is told to its owner by mail and as an event,
// and kept in the audit record. Whoever holds a stolen session or key can do nothing of the kind
// unheard.
#pragma once

#include "accounts/site.hpp"
#include "accounts/store.hpp"
#include "api/call.hpp"
#include "audit/audit.hpp"
#include "mail/outbox.hpp"

namespace berth::accounts {

struct Notice {
    AccountId account;
    std::string action;  // as the audit record has it: "enable_authenticator"
    std::string what;  // "an authenticator was turned on": it ends the subject and begins the text
    std::string detail = {};                  // one more sentence
    std::vector<audit::Change> changes = {};  // for the record
    std::optional<std::string> key_prefix = {};
};

class Notices {
public:
    Notices(const Site& site, const mail::Outbox& outbox) : site_(site), outbox_(outbox) {}

    // Leaves with the change itself, in its transaction. An agent has no mailbox and is not told.
    // It comes after every other change, as the audit record wants it.
    void send(api::Call& call, const Notice& notice) const;
    // To another address than the account's, and in no record: one that it had before.
    void mail(api::Call& call, const std::string& email, const Notice& notice) const;

private:
    const Site& site_;
    const mail::Outbox& outbox_;
};

}  // namespace berth::accounts
