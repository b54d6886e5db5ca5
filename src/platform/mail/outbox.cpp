#include "mail/outbox.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/problem.hpp"
#include "mail/address.hpp"
#include "mail/mime.hpp"

namespace berth::mail {
namespace {

constexpr std::string_view insert_sql =
    "INSERT INTO outbox (mail_id, recipient, subject, sealed_text, state, created_at, "
    "useful_until, sent_at, last_error) VALUES ($1, $2, $3, $4, 'waiting', $5, $6, NULL, NULL)";

const db::Query<WaitingMail> find_waiting_sql(
    "SELECT {} FROM outbox WHERE mail_id = $1 AND state = 'waiting'");

constexpr std::string_view mark_sent_sql =
    "UPDATE outbox SET state = 'sent', sealed_text = NULL, sent_at = $2 "
    "WHERE mail_id = $1 AND state = 'waiting'";

constexpr std::string_view mark_failed_sql =
    "UPDATE outbox SET state = 'failed', sealed_text = NULL, last_error = $2 "
    "WHERE mail_id = $1 AND state = 'waiting'";

constexpr std::string_view forget_sql =
    "DELETE FROM outbox WHERE recipient = $1 AND state <> 'waiting'";

constexpr std::string_view behind_sql =
    "SELECT mail_id FROM outbox WHERE state = 'waiting' AND created_at < $1 "
    "AND useful_until > $2 LIMIT 1";

struct SealedMail {
    MailId mail_id;
    std::string recipient;
    Bytes sealed_text;
};
BOOST_DESCRIBE_STRUCT(SealedMail, (), (mail_id, recipient, sealed_text))
constexpr std::int64_t resealed_at_once = 200;
const db::Query<SealedMail> sealed_sql(
    "SELECT {} FROM outbox WHERE state = 'waiting' AND mail_id > $1 ORDER BY mail_id LIMIT $2");
constexpr std::string_view set_text_sql =
    "UPDATE outbox SET sealed_text = $2 WHERE mail_id = $1 AND state = 'waiting'";

// Bound to the row and its recipient: a sealed text that is moved to another row, or whose
// recipient is changed, does not open.
std::string seal_context(MailId id, std::string_view to) {
    return "mail:" + to_string(id) + ":" + std::string(to);
}

void insist(bool holds, const char* otherwise) {
    if (!holds) throw Problem(Code::invalid_input, otherwise);
}

constexpr db::Migration history[] = {
    {.feature = "mail",
     .number = 1,
     .sql = "CREATE TABLE outbox ("
            "  mail_id @id NOT NULL PRIMARY KEY,"
            "  recipient @text NOT NULL,"
            "  subject @text NOT NULL,"
            "  sealed_text @bytes,"  // there while the mail waits
            "  state @text NOT NULL CHECK (state IN ('waiting', 'sent', 'failed')),"
            "  created_at @int NOT NULL,"
            "  useful_until @int NOT NULL,"
            "  sent_at @int,"
            "  last_error @text,"
            "  CHECK ((state = 'waiting') = (sealed_text IS NOT NULL)),"
            "  CHECK ((state = 'sent') = (sent_at IS NOT NULL))"
            ") @strict;"
            "CREATE INDEX outbox_by_age ON outbox (state, created_at);",
     .formerly = 3},
};

}  // namespace

const std::span<const db::Migration> migrations = history;

Outbox::Outbox(const crypto::Sealer& sealer, std::string from)
    : sealer_(sealer), from_(std::move(from)) {
    if (!is_email(from_)) throw std::invalid_argument("the sender of mail is no email address");
}

void Outbox::send(db::Context context, const Message& message) const {
    insist(is_email(message.to), "this is not an email address");
    insist(is_subject(message.subject), "this cannot be the subject of a mail");
    insist(is_text(message.text), "this cannot be the text of a mail");
    if (message.to.ends_with(nobody_domain)) return;
    const auto& [tx, random, now] = context;
    const MailId id = MailId::make(now, random);
    const Time last = now + mail_tried;
    const Bytes sealed = sealer_.seal({message.text, seal_context(id, message.to)}, random);
    tx.run(insert_sql, id, message.to, message.subject, db::Blob{sealed}, now,
           std::min(message.useful_until.value_or(last), last));
    worker::enqueue(context,
                    {.kind = send_mail_kind_name, .payload = to_string(id), .run_at = now});
}

Envelope Outbox::open(const WaitingMail& mail) const {
    const std::string context = seal_context(mail.mail_id, mail.recipient);
    const auto text = sealer_.open({mail.sealed_text, context});
    if (!text) throw NotDelivered("the text of the mail does not open with this key");
    const Letter letter{.id = to_string(mail.mail_id),
                        .date = mail.created_at,
                        .from = from_,
                        .to = mail.recipient,
                        .subject = mail.subject,
                        .text = *text};
    return {mail.mail_id,          from_,          mail.recipient,
            write_message(letter), letter.subject, letter.text};
}

std::optional<WaitingMail> find_waiting(db::Transaction& tx, MailId id) {
    return tx.fetch_one(find_waiting_sql, id);
}

void mark_sent(db::Transaction& tx, MailId id, Time now) {
    require(tx.run(mark_sent_sql, id, now).affected == 1, "a mail is sent from waiting");
}

void mark_failed(db::Transaction& tx, MailId id, std::string_view why) {
    require(tx.run(mark_failed_sql, id, why).affected == 1, "a mail fails from waiting");
}

void forget_recipient(db::Transaction& tx, std::string_view address) {
    tx.run(forget_sql, address);
}

bool is_behind(db::Transaction& tx, Time now) {
    constexpr Duration wait_usual = std::chrono::minutes(10);
    return !tx.run(behind_sql, now - wait_usual, now).empty();
}

void reseal(db::Database& database, crypto::Resealing& resealing) {
    for (std::optional<MailId> after = MailId{}; after;)
        after = database.write([&](db::Transaction& tx) {
            std::optional<MailId> last;
            for (const SealedMail& row : tx.fetch(sealed_sql, *after, resealed_at_once)) {
                const std::string context = seal_context(row.mail_id, row.recipient);
                if (const auto renewed = resealing.renew({row.sealed_text, context}))
                    tx.run(set_text_sql, row.mail_id, db::Blob{*renewed});
                last = row.mail_id;
            }
            return last;
        });
}

}  // namespace berth::mail
