// The allow list of a closed market as operators keep it, and the mail that invites.
#pragma once

#include "accounts/site.hpp"
#include "api/router.hpp"
#include "guests/types.hpp"
#include "mail/outbox.hpp"

namespace berth::guests {

class Guests {
public:
    Guests(const accounts::Site& site, const mail::Outbox& outbox) : site_(site), outbox_(outbox) {}

    void add_routes(api::Router& router) const;

    Guest add(api::Call& call, const NewGuest& request) const;
    void remove(api::Call& call, const GuestPath& path, const RemoveGuest& request) const;
    api::Page<Guest> list(api::Call& call, const GuestsQuery& query) const;

private:
    void invite(api::Call& call, const accounts::Allowed& allowed) const;

    const accounts::Site& site_;
    const mail::Outbox& outbox_;
};

}  // namespace berth::guests
