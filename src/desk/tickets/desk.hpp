// The support desk: what people write to it, what it answers, and the mail that tells both sides.
#pragma once

#include <functional>

#include "accounts/site.hpp"
#include "api/router.hpp"
#include "mail/outbox.hpp"
#include "tickets/store.hpp"

namespace berth::tickets {

// Whether the account has claimed, received or sent by this transaction. The features of money are
// not known here; the server puts their answers together.
using KnowsTransaction =
    std::function<bool(db::Transaction& tx, AccountId account, const std::string& hash)>;

class Desk {
public:
    Desk(const accounts::Site& site, const mail::Outbox& outbox, KnowsTransaction knows_transaction)
        : site_(site), outbox_(outbox), knows_transaction_(std::move(knows_transaction)) {}

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
    // Without secrets, but with the transactions of the owner's money.
    std::string cleaned(api::Call& call, AccountId owner, const std::string& text) const;
    void tell_owner(api::Call& call, const News& news) const;
    void tell_support(api::Call& call, const News& news) const;
    void send(api::Call& call, const std::string& to, const News& news) const;

    const accounts::Site& site_;
    const mail::Outbox& outbox_;
    KnowsTransaction knows_transaction_;
};

}  // namespace berth::tickets
