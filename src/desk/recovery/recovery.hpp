// Assisted recovery: a person who lost the mailbox, or an agent that lost the wallet, gets another
// one in its place by the word of two admins. Every address that the account is known by is told
// first and has time to object; one objection ends it, but for one from the lost mailbox of an
// account that is suspended. Nothing of the account changes before.
#pragma once

#include "accounts/operators.hpp"
#include "accounts/site.hpp"
#include "api/router.hpp"
#include "mail/outbox.hpp"
#include "recovery/store.hpp"

namespace berth::recovery {

// How long a recovery can be completed once it is ready.
inline constexpr Duration completed_within = std::chrono::hours(24 * 14);
inline constexpr std::int64_t own_recoveries_max = 20;  // that an account is shown

class Recoveries {
public:
    Recoveries(const accounts::Site& site, const mail::Outbox& outbox)
        : site_(site), outbox_(outbox) {}

    void add_routes(api::Router& router) const;

    Recovery open(api::Call& call, const NewRecovery& request) const;
    Recovery complete(api::Call& call, const RecoveryPath& path,
                      const RecoveryDecision& decision) const;
    Recovery cancel(api::Call& call, const RecoveryPath& path,
                    const RecoveryDecision& decision) const;
    api::Page<Recovery> list(api::Call& call, const RecoveriesQuery& query) const;
    Recovery show(api::Call& call, const RecoveryPath& path) const;

    // Of the account itself, by any of its sessions and keys, and by whoever has the mailed link.
    OwnRecoveries list_own(api::Call& call) const;
    OwnRecovery object(api::Call& call, const RecoveryPath& path) const;
    Objected object(api::Call& call, const RecoveryPath& path, const ObjectionToken& token) const;

private:
    struct News {
        std::string subject;  // goes on from the name of the service
        std::string text;
    };
    void add_own_routes(api::Router& router) const;
    void ask_addresses(api::Call& call, const RecoveryRow& row,
                       const accounts::Record& account) const;
    void tell(api::Call& call, const RecoveryRow& row, const accounts::Record& account,
              const News& news) const;
    void send(api::Call& call, const std::string& email, const News& news) const;
    void warn_support(api::Call& call, const RecoveryRow& row, const std::string& who) const;
    void overrule_objections(api::Call& call, const RecoveryRow& row,
                             const accounts::Record& account,
                             const RecoveryDecision& decision) const;
    void note_objection(api::Call& call, const RecoveryRow& row) const;
    void carry_out(api::Call& call, const RecoveryRow& row) const;

    const accounts::Site& site_;
    const mail::Outbox& outbox_;
};

// Ends everything that waits, because the books are from before: objections that were made since
// are lost. How many there were.
std::int64_t end_waiting(db::Transaction& tx, Time now);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::recovery
