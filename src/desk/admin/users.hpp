// What operators do with accounts. There is no command that changes a balance.
#pragma once

#include "admin/types.hpp"
#include "api/preview.hpp"
#include "api/router.hpp"
#include "mail/outbox.hpp"

namespace berth::admin {

struct UserPlan;

class Users {
public:
    explicit Users(const mail::Outbox& outbox) : outbox_(outbox) {}

    void add_routes(api::Router& router) const;

    api::Page<UserSummary> list(api::Call& call, const UsersQuery& query) const;
    User show(api::Call& call, const UserPath& path) const;
    ActionTaken act(api::Call& call, const UserPath& path, const UserAction& wish) const;
    // The same, in a transaction that is undone; it asks for no step-up.
    api::ActionPreview preview(api::Call& call, const UserPath& path, const UserAction& wish) const;

    ActionTaken set_desk_role(api::Call& call, const UserPath& path, const SetDeskRole& wish) const;
    ActionTaken set_freeze(api::Call& call, const UserPath& path, const SetFreeze& wish) const;
    ActionTaken revoke_keys(api::Call& call, const UserPath& path, const RevokeKeys& wish) const;
    UserNote write_note(api::Call& call, const UserPath& path, const NewNote& wish) const;

private:
    void add_guarding_routes(api::Router& router) const;
    ActionTaken tell(api::Call& call, const accounts::Record& user, const UserPlan& plan) const;
    ActionTaken carry_out(api::Call& call, const accounts::Record& user,
                          const UserPlan& plan) const;

    const mail::Outbox& outbox_;
};

}  // namespace berth::admin
