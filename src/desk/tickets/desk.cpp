#include "tickets/desk.hpp"

#include <fmt/format.h>

#include "accounts/notices.hpp"
#include "accounts/settings.hpp"
#include "audit/audit.hpp"
#include "base/redaction.hpp"
#include "ledger/ledger.hpp"
#include "tickets/told.hpp"

namespace berth::tickets {
namespace {

constexpr std::size_t quoted_bytes_max = 8'000;  // of a text in a mail

// Whoever is to look at the ticket next.
void tell(api::Call& call, const TicketRow& ticket, TicketState state) {
    const TicketFacts facts{state};
    if (state == TicketState::open)
        events::tell_operators(call.context(), operations_ticket_opened, ticket.ticket_id, facts);
    else
        events::tell(call.context(), state == TicketState::closed ? ticket_closed : ticket_answered,
                     ticket.account_id, ticket.ticket_id, facts);
}

Ticket shown(const TicketRow& row) {
    return {row.ticket_id,         row.account_id, row.category,   row.text,      row.job_id,
            row.payment_reference, row.state,      row.created_at, row.updated_at};
}

Conversation conversation(db::Transaction& tx, const TicketRow& row) {
    Conversation whole{
        row.ticket_id,         row.account_id, row.category,   row.text,       row.job_id,
        row.payment_reference, row.state,      row.created_at, row.updated_at, {}};
    for (MessageRow& message : list_messages(tx, row.ticket_id))
        whole.messages.push_back(
            {message.message_id, message.author, std::move(message.text), message.created_at});
    return whole;
}

bool is_support(const api::Call& call) { return call.caller.admin || call.caller.support; }

// Strangers learn nothing, not even that there is such a ticket.
TicketRow require_ticket(api::Call& call, TicketId id) {
    auto row = find_ticket(call.tx(), id);
    if (!row || (row->account_id != call.caller.account && !is_support(call)))
        throw Problem(Code::not_found, "no such ticket");
    return std::move(*row);
}

void require_own_job(api::Call& call, JobId id) {
    const auto job = ledger::find_job(call.tx(), id);
    const bool own = job && (job->renter == call.caller.account ||
                             job->host == call.caller.account || call.caller.admin);
    if (!own) throw Problem(Code::not_found, "body.job_id: no such job");
}

// As much of it as a mail takes, cut between two characters.
std::string quote(std::string_view text) {
    if (text.size() <= quoted_bytes_max) return std::string(text);
    std::size_t end = 0;
    for (std::size_t length; end < quoted_bytes_max; end += length) {
        length = utf8_sequence_length(text.substr(end));
        require(length > 0, "what was read as text is text");
    }
    return std::string(text.substr(0, end)) + " …";
}

}  // namespace

Ticket Desk::create(api::Call& call, const NewTicket& request) const {
    if (request.job_id) require_own_job(call, *request.job_id);
    const AccountId owner = call.caller.account;
    TicketRow row;
    row.ticket_id = call.make_id<TicketId>();
    row.account_id = owner;
    row.category = cleaned(call, owner, request.category.value);
    row.text = cleaned(call, owner, request.text.value);
    row.job_id = request.job_id;
    if (request.payment_reference) row.payment_reference = request.payment_reference->value;
    row.created_at = row.updated_at = call.now;
    add_ticket(call.tx(), row);
    tell_owner(call, {row, "Your ticket has arrived, and support will answer it.", row.text});
    tell_support(call, {row, "A ticket was opened.", row.text});
    tell(call, row, TicketState::open);
    return shown(row);
}

api::Page<Ticket> Desk::list(api::Call& call, const TicketsQuery& query) const {
    std::optional<AccountId> account = query.account_id;
    if (!is_support(call)) {
        if (account.value_or(call.caller.account) != call.caller.account)
            throw Problem(Code::forbidden, "only an admin may read another account's tickets");
        account = call.caller.account;
    }
    const std::string filters = fmt::format("{}:{}", account ? to_string(*account) : "all",
                                            query.state ? enum_name(*query.state) : "any");
    const api::Pager pager(call.cursors, {"tickets", filters}, query);
    const TicketsWanted wanted{account, query.state, pager.after_id<TicketId>()};
    return pager.page(list_tickets(call.tx(), wanted, pager.rows_wanted()), &TicketRow::ticket_id,
                      shown);
}

Conversation Desk::show(api::Call& call, const TicketPath& path) const {
    return conversation(call.tx(), require_ticket(call, path.id));
}

Conversation Desk::write(api::Call& call, const TicketPath& path, const NewMessage& message) const {
    const TicketRow before = require_ticket(call, path.id);
    const bool by_owner = before.account_id == call.caller.account;
    const std::string text = cleaned(call, before.account_id, message.text.value);
    const bool added = add_message(call.tx(),
                                   {.message_id = call.make_id<MessageId>(),
                                    .ticket_id = before.ticket_id,
                                    .account_id = call.caller.account,
                                    .author = by_owner ? Author::owner : Author::support,
                                    .text = text,
                                    .created_at = call.now},
                                   by_owner ? TicketState::open : TicketState::answered);
    if (!added)
        throw Problem(Code::conflict,
                      "the ticket is closed or has as many messages as it can; open another one");
    if (by_owner)
        tell_support(call, {before, "The owner of a ticket has written.", text});
    else
        tell_owner(call, {before, "Support has answered your ticket.", text});
    tell(call, before, by_owner ? TicketState::open : TicketState::answered);
    return conversation(call.tx(), require_ticket(call, path.id));
}

Ticket Desk::close(api::Call& call, const TicketPath& path, const CloseTicket& request) const {
    const TicketRow before = require_ticket(call, path.id);
    call.require_step_up();
    if (!close_ticket(call.tx(), path.id, call.now))
        throw Problem(Code::conflict, "the ticket is closed already");
    tell_owner(call, {before, "Your ticket was closed. If something is left, open another one."});
    tell(call, before, TicketState::closed);
    TicketRow after = before;
    after.state = TicketState::closed;
    after.updated_at = call.now;
    audit::record(call.context(),
                  {.actor = audit::Actor::of(call.caller.account),
                   .action = "close_ticket",
                   .target = {"ticket", to_string(path.id)},
                   .reason = request.reason.value,
                   .changes = {{"state", std::string(enum_name(before.state)), "closed"}},
                   .request = call.request_id});
    return shown(after);
}

// An agent has no mailbox: it reads its tickets.
std::string Desk::cleaned(api::Call& call, AccountId owner, const std::string& text) const {
    return without_secrets(
        text, [&](const std::string& hash) { return knows_transaction_(call.tx(), owner, hash); });
}

void Desk::tell_owner(api::Call& call, const News& news) const {
    const auto account = accounts::find_account(call.tx(), news.ticket.account_id);
    require(account.has_value(), "a ticket belongs to an account that is there");
    if (account->email) send(call, *account->email, news);
}

void Desk::tell_support(api::Call& call, const News& news) const {
    const std::string& address = *call.settings<accounts::Contact>().support_email;
    if (!address.empty()) send(call, address, news);
}

void Desk::send(api::Call& call, const std::string& to, const News& news) const {
    const std::string id = to_string(news.ticket.ticket_id);
    const std::string quoted = news.quoted.empty() ? "" : quote(news.quoted) + "\n\n";
    outbox_.send(
        call.context(),
        {.to = to,
         .subject = fmt::format("{} ticket {}", accounts::brand(call), id),
         .text = fmt::format("{}\n\nAbout: {}\n\n{}It is read and answered at {} under "
                             "its number, {}. Never send keys, codes or passwords.\n",
                             news.what, quote(news.ticket.category), quoted, site_.base_url, id)});
}

}  // namespace berth::tickets
