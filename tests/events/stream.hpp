// Accounts that are told something, on a fresh database.
#pragma once

#include <gtest/gtest.h>

#include "db/migrate.hpp"
#include "events/events.hpp"
#include "events/keeping.hpp"
#include "events/reading.hpp"
#include "support/database.hpp"
#include "support/fakes.hpp"

namespace berth::test {

struct NoteFacts {
    std::string text;
};
BOOST_DESCRIBE_STRUCT(NoteFacts, (), (text))

inline constexpr events::Kind<NoteFacts> note_left{"note.left", "note", events::Audience::both,
                                                   "Somebody left a note.", "{}"};
inline constexpr events::Kind<NoteFacts> note_hosted{"note.hosted", "note", events::Audience::host,
                                                     "A host left a note.", "{}"};
inline constexpr events::Kind<NoteFacts> memo_sent{"memo.sent", "memo", events::Audience::renter,
                                                   "A renter sent a memo.", "{}"};

class Streams : public ::testing::Test {
protected:
    Streams() { db::migrate(*database, events::migrations); }

    db::Context context(db::Transaction& tx) { return {tx, random, clock.now()}; }
    void tell(AccountId account, const std::string& text,
              const events::Kind<NoteFacts>& kind = note_left, const std::string& about = "n1") {
        database->write([&](db::Transaction& tx) {
            events::tell(context(tx), kind, account, about, NoteFacts{text});
        });
    }
    std::vector<std::string> texts(AccountId account, std::int64_t after = 0) {
        return database->read([&](db::Transaction& tx) {
            std::vector<std::string> all;
            for (const events::Kept& kept : events::read_after(tx, account, after, 1000))
                all.push_back(std::to_string(kept.event.sequence.value) + " " +
                              kept.event.data.text);
            return all;
        });
    }
    events::Head head(AccountId account) {
        return database->read([&](db::Transaction& tx) { return events::head_of(tx, account); });
    }

    ManualClock clock;
    SeededRandom random;
    TestDatabase fresh;
    std::unique_ptr<db::Database> database = fresh.open();
    const AccountId ada = AccountId::make(clock.now(), random);
    const AccountId ben = AccountId::make(clock.now(), random);
};

}  // namespace berth::test
