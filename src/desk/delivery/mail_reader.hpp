// Events by mail: the reader of every account's stream that writes to its owner. What is wanted now
// is mailed one by one, up to five mails in ten minutes; beyond that, what gathers meanwhile comes
// in one mail. What is wanted as a digest comes once a day.
//
// The place in the stream moves in the transaction that writes the mails, so each event is mailed
// once, whatever dies in between. Agents have no mailbox, and the operators' stream is not mailed.
#pragma once

#include "accounts/site.hpp"
#include "api/call.hpp"
#include "delivery/mail_store.hpp"
#include "events/reading.hpp"
#include "events/registry.hpp"
#include "mail/outbox.hpp"
#include "worker/worker.hpp"

namespace berth::delivery {

inline constexpr std::int64_t single_mails_max = 5;
inline constexpr Duration single_mails_within = std::chrono::minutes(10);
inline constexpr Duration digest_every = std::chrono::hours(24);

class MailReader {
public:
    struct Parts {
        const events::Registry& registry;
        const mail::Outbox& outbox;
        const accounts::Site& site;
    };
    explicit MailReader(const Parts& parts) : parts_(parts) {}

    // What an account may choose, with what it has chosen.
    MailNotices show(api::Call& call) const;
    MailNotices choose(api::Call& call, const MailNotices& wish) const;

    // One look at an account's stream; `brand` is the name of the service.
    void look(const db::Context& context, AccountId account, const std::string& brand) const;
    void send_digest(const db::Context& context, AccountId account, const std::string& brand) const;

    struct TaskParts {
        db::Database& database;
        const Clock& clock;
        Random& random;
    };
    worker::Kind mail_events_kind(const TaskParts& parts) const;

private:
    struct Addressee {
        std::string email;
        const std::string& brand;
    };
    MailChoice choice_of(const std::string& type, const MailChoices& chosen) const;
    // Sets aside in `place` what waits for a digest, and gives what is wanted now.
    std::vector<events::Event> wanted_now(std::vector<events::Kept> rows, const MailChoices& chosen,
                                          MailPlace& place, Time now) const;
    void write_one(const db::Context& context, const Addressee& to,
                   const events::Event& event) const;
    void write_many(const db::Context& context, const Addressee& to,
                    const std::vector<events::Event>& all) const;
    events::Words words_of(const events::Event& event) const;
    void send(const db::Context& context, const Addressee& to, const events::Words& words) const;

    const Parts parts_;
};

}  // namespace berth::delivery
