// Mail as rows: a request writes the mail in its own transaction, the worker sends it. A mail
// server that is down delays mail and loses none of it.
//
// The text holds sign-in codes and links, so it is sealed in the database and wiped when the mail
// is sent or given up. Recipient and subject stay readable: put no secret into the subject.
#pragma once

#include <optional>
#include <string>

#include "crypto/seal.hpp"
#include "db/migrate.hpp"
#include "mail/transport.hpp"
#include "worker/worker.hpp"

namespace berth::mail {

struct Message {
    std::string to;  // is_email
    std::string subject;
    std::string text;
    // After this the mail is dropped instead of sent: a code that has expired helps nobody. Mail
    // without it, or with a later time, is tried for mail_tried.
    std::optional<Time> useful_until = {};
};

inline constexpr Duration mail_tried = std::chrono::hours(48);
inline constexpr Duration mail_kept = std::chrono::hours(24 * 30);  // the row, without the text

// A row that has not been sent yet.
struct WaitingMail {
    MailId mail_id;
    std::string recipient;
    std::string subject;
    Bytes sealed_text;
    Time created_at;
    Time useful_until;
};
BOOST_DESCRIBE_STRUCT(WaitingMail, (),
                      (mail_id, recipient, subject, sealed_text, created_at, useful_until))

class Outbox {
public:
    // `from` is the address every mail comes from; throws std::invalid_argument if it is none.
    Outbox(const crypto::Sealer& sealer, std::string from);

    // Writes the mail and its task; nothing leaves before the transaction commits. Throws a Problem
    // INVALID_INPUT when recipient, subject or text cannot be a mail's.
    void send(db::Context context, const Message& message) const;

    // The mail as it goes out, the same each time. Throws NotDelivered when the text does not open:
    // another key than it was sealed with, or a row that was tampered with.
    Envelope open(const WaitingMail& mail) const;

private:
    const crypto::Sealer& sealer_;
    std::string from_;
};

// Where the mail of erased accounts would go: nowhere. No such name is ever on the network (RFC
// 2606), and what is written to it is dropped.
inline constexpr std::string_view nobody_domain = "@erased.invalid";

// Forgets that there was mail to this address, but for what still waits.
void forget_recipient(db::Transaction& tx, std::string_view address);

// Empty when the mail is not waiting any more.
std::optional<WaitingMail> find_waiting(db::Transaction& tx, MailId id);
// Both wipe the text. The mail was waiting, or this is a bug.
void mark_sent(db::Transaction& tx, MailId id, Time now);
void mark_failed(db::Transaction& tx, MailId id, std::string_view why);

// Whether a mail has been waiting for more than ten minutes: for the status of the service.
bool is_behind(db::Transaction& tx, Time now);

// Brings texts that wait under the present key.
void reseal(db::Database& database, crypto::Resealing& resealing);

// The task of the worker that sends.
inline constexpr std::string_view send_mail_kind_name = "send_mail";
worker::Kind send_mail_kind(const Outbox& outbox, Transport& transport, db::Database& database,
                            const Clock& clock);
// Deletes up to `rows_max` rows of mail that is not waiting and older than mail_kept; how many.
std::int64_t prune_outbox(db::Transaction& tx, Time now, std::int64_t rows_max);

extern const std::span<const db::Migration> migrations;

}  // namespace berth::mail
