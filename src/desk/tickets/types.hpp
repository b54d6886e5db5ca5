// Requests and responses of support tickets.
#pragma once

#include <boost/describe.hpp>

#include "api/audited.hpp"
#include "api/page.hpp"
#include "wire/rules.hpp"
#include "wire/type.hpp"

namespace berth::tickets {

using TicketId = Id<struct TicketTag>;
using MessageId = Id<struct MessageTag>;

inline constexpr std::size_t text_max = 64 * 1024;  // a body has no more
inline constexpr std::size_t messages_max = 100;    // of one ticket

enum class TicketState { open, answered, closed };
BOOST_DESCRIBE_ENUM(TicketState, open, answered, closed)

enum class Author { owner, support };
BOOST_DESCRIBE_ENUM(Author, owner, support)

struct NewTicket {
    wire::Text<1, text_max> category;
    wire::Text<1, text_max> text;
    std::optional<JobId> job_id;
    std::optional<wire::Text<0, text_max>> payment_reference;
};
BOOST_DESCRIBE_STRUCT(NewTicket, (), (category, text, job_id, payment_reference))
constexpr auto wire_docs(const NewTicket*) {
    return std::to_array<wire::Doc>({
        {"category", "In a word or two, what it is about.", "billing"},
        {"text", "What happened. Secrets in it are taken out before it is kept.",
         "My deposit does not show."},
        {"job_id", "The rental it is about, one of the account's own."},
        {"payment_reference", "The payment it is about; it is kept as it is.",
         "0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b"},
    });
}

struct Ticket {
    TicketId ticket_id;
    AccountId account_id;
    std::string category;
    std::string text;
    wire::Nullable<JobId> job_id;
    wire::Nullable<std::string> payment_reference;
    TicketState state = TicketState::open;
    Time created_at;
    Time updated_at;
};
BOOST_DESCRIBE_STRUCT(Ticket, (),
                      (ticket_id, account_id, category, text, job_id, payment_reference, state,
                       created_at, updated_at))
constexpr auto wire_docs(const Ticket*) {
    return std::to_array<wire::Doc>({
        {"account_id", "Whose ticket it is."},
        {"category", "", "billing"},
        {"text", "Without the secrets that were in it.", "My deposit does not show."},
        {"job_id", "Null when it is about no rental.", "null"},
        {"payment_reference", "As it was given; null when there is none.", "null"},
        {"state", "open until support has answered; a closed one takes no more messages."},
        {"updated_at", "When it was last written to."},
    });
}

struct NewMessage {
    wire::Text<1, text_max> text;
};
BOOST_DESCRIBE_STRUCT(NewMessage, (), (text))
constexpr auto wire_docs(const NewMessage*) {
    return std::to_array<wire::Doc>({
        {"text", "Secrets in it are taken out before it is kept.", "It shows now, thank you."},
    });
}

struct TicketMessage {
    MessageId message_id;
    Author author = Author::owner;
    std::string text;
    Time created_at;
};
BOOST_DESCRIBE_STRUCT(TicketMessage, (), (message_id, author, text, created_at))
constexpr auto wire_docs(const TicketMessage*) {
    return std::to_array<wire::Doc>({
        {"author", "Who wrote it: the owner of the ticket, or support."},
        {"text", "Without the secrets that were in it.", "It shows now, thank you."},
    });
}

struct Conversation {
    TicketId ticket_id;
    AccountId account_id;
    std::string category;
    std::string text;
    wire::Nullable<JobId> job_id;
    wire::Nullable<std::string> payment_reference;
    TicketState state = TicketState::open;
    Time created_at;
    Time updated_at;
    std::vector<TicketMessage> messages;
};
BOOST_DESCRIBE_STRUCT(Conversation, (),
                      (ticket_id, account_id, category, text, job_id, payment_reference, state,
                       created_at, updated_at, messages))
constexpr auto wire_docs(const Conversation*) {
    return std::to_array<wire::Doc>({
        {"account_id", "Whose ticket it is."},
        {"category", "", "billing"},
        {"text", "Without the secrets that were in it.", "My deposit does not show."},
        {"job_id", "Null when it is about no rental.", "null"},
        {"payment_reference", "As it was given; null when there is none.", "null"},
        {"state", "open until support has answered; a closed one takes no more messages."},
        {"updated_at", "When it was last written to."},
        {"messages", "What was written since, oldest first."},
    });
}

struct TicketPath {
    TicketId id;
};
BOOST_DESCRIBE_STRUCT(TicketPath, (), (id))

struct TicketsQuery {
    std::optional<std::string> cursor;
    std::optional<api::PageLimit> limit;
    std::optional<TicketState> state;
    std::optional<AccountId> account_id;
};
BOOST_DESCRIBE_STRUCT(TicketsQuery, (), (cursor, limit, state, account_id))
constexpr auto wire_docs(const TicketsQuery*) {
    return std::to_array<wire::Doc>({
        {"cursor",
         "Where to go on: next_cursor of the page before. Left out for the "
         "first page."},
        {"limit", "How many items at most.", "50", "20"},
        {"state", "Only tickets in this state.", "open"},
        {"account_id",
         "Whose tickets, for an admin, who reads everybody's when it is left out; everybody else "
         "reads their own."},
    });
}

struct CloseTicket {
    api::Reason reason;
};
BOOST_DESCRIBE_STRUCT(CloseTicket, (), (reason))
constexpr auto wire_docs(const CloseTicket*) {
    return std::to_array<wire::Doc>({
        api::reason_doc("Answered a week ago; nothing is left to do."),
    });
}

}  // namespace berth::tickets
