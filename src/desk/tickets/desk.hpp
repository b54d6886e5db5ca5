// The support desk: what people write to it, what it answers, and the mail that tells both sides.
#pragma once

#include "accounts/site.hpp"
#include "api/router.hpp"
#include "mail/outbox.hpp"
#include "tickets/store.hpp"

namespace berth::tickets {

class Desk {
public:
    Desk(const accounts::Site& site, const mail::Outbox& outbox) : site_(site), outbox_(outbox) {}

    void add_routes(api::Router& router) const;

    Ticket create(api::Call& call, const NewTicket& request) const;
    api::Page<Ticket> list(api::Call& call, const TicketsQuery& query) const;
    Conversation show(api::Call& call, const TicketPath& path) const;
    // Of the owner, or of an admin, who answers.
    Conversation write(api::Call& call, const TicketPath& path, const NewMessage& message) const;
    Ticket close(api::Call& call, const TicketPath& path, const CloseTicket& request) const;

private:
    struct News {
        const TicketRow& ticket;
        std::string what;  // "Support has answered your ticket."
        std::string quoted = {};
    };
    void tell_owner(api::Call& call, const News& news) const;
    void tell_support(api::Call& call, const News& news) const;
    void send(api::Call& call, const std::string& to, const News& news) const;

    const accounts::Site& site_;
    const mail::Outbox& outbox_;
};

}  // namespace berth::tickets
