// What only PostgreSQL can do to a commit.
#include <cstdlib>

#include "events/stream.hpp"
#include "support/postgres_cluster.hpp"

namespace berth::test {
namespace {

// A commit whose connection broke may have happened: whoever waits is told to look, and numbers go
// on behind what is there.
TEST(PostgresOnlyEvents, ACommitOfUnknownOutcomeIsToldAndTakesNoNumberTwice) {
    PostgresCluster cluster;
    const auto fresh = TestDatabase::postgres(cluster.url());
    const auto database = fresh->open();
    db::migrate(*database, events::migrations);
    database->write([](db::Transaction& tx) {
        tx.script(R"(
            CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN IF NEW.data = '{"text":"cut"}' THEN
                    PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END $$;
            CREATE CONSTRAINT TRIGGER end_session AFTER INSERT ON events
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_session();)");
    });
    ManualClock clock;
    SeededRandom random;
    const AccountId ada = AccountId::make(clock.now(), random);
    int woken = 0;
    const auto listening = database->wakes().listen([&](const WakeKey&) { ++woken; });
    const auto tell = [&](const std::string& text) {
        database->write([&](db::Transaction& tx) {
            events::tell({tx, random, clock.now()}, note_left, ada, "n", NoteFacts{text});
        });
    };
    tell("first");
    EXPECT_EQ(woken, 1);
    EXPECT_THROW(tell("cut"), db::OutcomeUnknown);
    EXPECT_EQ(woken, 2) << "it may have happened: look";
    tell("third");
    const auto all =
        database->read([&](db::Transaction& tx) { return events::read_after(tx, ada, 0, 10); });
    std::int64_t expected = 0;
    for (const events::Kept& kept : all) EXPECT_EQ(kept.event.sequence.value, ++expected);
    EXPECT_GE(expected, 2);
}

}  // namespace
}  // namespace berth::test
