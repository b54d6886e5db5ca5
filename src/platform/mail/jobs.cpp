#include "base/check.hpp"
#include "base/log.hpp"
#include "mail/outbox.hpp"

namespace berth::mail {
namespace {

constexpr std::string_view prune_sql =
    "DELETE FROM outbox WHERE mail_id IN "
    "(SELECT mail_id FROM outbox WHERE state <> 'waiting' AND created_at < $1 "
    "ORDER BY created_at LIMIT $2)";

void give_up(worker::Attempt& attempt, MailId id, std::string_view why) {
    attempt.finish([&](db::Transaction& tx) { mark_failed(tx, id, why); });
    log(Level::warn, "mail_failed", {{"mail", to_string(id)}, {"why", why}});
}

struct Sender {
    const Outbox& outbox;
    Transport& transport;
    db::Database& database;
    const Clock& clock;

    // What it throws, apart from what is caught here, makes the worker try again later.
    void operator()(worker::Attempt& attempt) const {
        const auto uuid = parse_uuid(attempt.task().payload);
        require(uuid.has_value(), "the task of a mail names it");
        const auto mail =
            database.read([&](db::Transaction& tx) { return find_waiting(tx, MailId{*uuid}); });
        if (!mail) return;
        if (clock.now() >= mail->useful_until)
            return give_up(attempt, mail->mail_id, "it could not be sent while it was of use");
        try {
            transport.deliver(outbox.open(*mail));
        } catch (const Refused& refusal) {
            return give_up(attempt, mail->mail_id, redact(refusal.what()));
        }
        attempt.finish([&](db::Transaction& tx) { mark_sent(tx, mail->mail_id, clock.now()); });
        log(Level::info, "mail_sent", {{"mail", to_string(mail->mail_id)}});
    }
};

}  // namespace

worker::Kind send_mail_kind(const Outbox& outbox, Transport& transport, db::Database& database,
                            const Clock& clock) {
    return {.name = std::string(send_mail_kind_name),
            .run = Sender{outbox, transport, database, clock},
            // The end is useful_until, at most mail_tried away; with these waits that is about a
            // hundred attempts, so only a worker that dies each time gets to the last one.
            .attempts_max = 1000,
            .retry_first = std::chrono::seconds(2),
            .retry_max = std::chrono::hours(1),
            .lane = "mail"};
}

std::int64_t prune_outbox(db::Transaction& tx, Time now, std::int64_t rows_max) {
    return tx.run(prune_sql, now - mail_kept, rows_max).affected;
}

}  // namespace berth::mail
