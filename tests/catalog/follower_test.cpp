// How the catalog follows the database: late commits, other servers, rebuilding beside looks.
#include <gtest/gtest.h>

#include <future>

#include "catalog/catalog.hpp"
#include "catalog/market.hpp"
#include "support/eventually.hpp"
#include "support/postgres_cluster.hpp"

namespace berth::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Ids = std::vector<OfferId>;

// Puts a row's changed_at where a transaction that committed late would have left it.
void backdate(Market& market, const Machine& machine, Duration by) {
    market.write([&](db::Transaction& tx) {
        tx.run("UPDATE machines SET changed_at = $2 WHERE machine_id = $1", machine.machine_id,
               market.harness.clock.now() - by);
    });
}

TEST(CatalogFollower, FindsAChangeWhoseTimeLiesBeforeTheLastLook) {
    Market market;
    const Machine first = market.sell();
    market.refresh();
    const Machine late = market.sell({.rate = Micro{500'000}});
    backdate(market, late, seconds(4));
    market.refresh();
    EXPECT_EQ(market.ids(), (Ids{first.offer_id, late.offer_id}));
}

TEST(CatalogFollower, FindsAVeryLateChangeInTheNextWideLookAndAnyByRebuilding) {
    Market market;
    const Machine late = market.sell();
    backdate(market, late, seconds(100));
    int looks = 0;
    while (market.ids().empty() && looks < 2 * catalog::Follower::looks_per_wide_one) {
        market.refresh();
        ++looks;
    }
    EXPECT_EQ(market.ids(), Ids{late.offer_id});

    const Machine later = market.sell({.rate = Micro{500'000}});
    backdate(market, later, minutes(60));
    for (int i = 0; i < 2 * catalog::Follower::looks_per_wide_one; ++i) market.refresh();
    EXPECT_EQ(market.ids(), Ids{late.offer_id}) << "the test must be able to fail";
    market.harness.app->catalog().follower().rebuild(market.harness.app->database(),
                                                     market.harness.clock.now());
    EXPECT_EQ(market.ids(), (Ids{late.offer_id, later.offer_id}));
}

TEST(CatalogFollower, FindsAHeartbeatThatWasWrittenLate) {
    Market market;
    const Machine machine = market.sell();
    market.refresh();
    market.harness.clock.advance(seconds(60));
    const Time heard = market.harness.clock.now();
    market.harness.clock.advance(seconds(8));
    market.refresh();
    market.write([&](db::Transaction& tx) {
        machines::note_heard(tx, {machine.machine_id, heard, "boot"});
    });
    for (int i = 0; i < catalog::Follower::looks_per_wide_one; ++i) market.refresh();
    market.harness.clock.advance(seconds(40));
    EXPECT_EQ(market.offers().items.at(0).last_seen_age_s.value, 48);
}

TEST(CatalogFollower, AfterAnOutageReadsWhatItMissed) {
    Market market;
    market.refresh();
    market.refresh();
    const Machine machine = market.sell();
    market.harness.clock.advance(minutes(9));
    market.heard(machine);
    market.refresh();
    EXPECT_EQ(market.ids(), Ids{machine.offer_id});
}

TEST(CatalogFollower, ANewVersionReplacesTheOldAndIsNotShownTwice) {
    Market market;
    const Machine machine = market.sell();
    const Machine other = market.sell({.rate = Micro{500'000}});
    market.harness.app->catalog().follower().rebuild(market.harness.app->database(),
                                                     market.harness.clock.now());
    for (std::int64_t version = 2; version < 6; ++version) {
        market.harness.clock.advance(seconds(1));
        market.write([&](db::Transaction& tx) {
            Machine row = machines::hold(tx, machine.machine_id).value();
            row.offer_version = version;
            market.add_version(tx, row, {.rate = Micro{100'000 * version}});
            machines::save({tx, market.harness.random, market.harness.clock.now()}, row);
        });
        market.refresh();
        std::map<OfferId, std::int64_t> rates;
        for (const OfferSummary& offer : market.offers().items)
            rates[offer.offer_id] = offer.total_rate_micro_per_hour.value;
        EXPECT_EQ(rates, (std::map<OfferId, std::int64_t>{{machine.offer_id, 100'000 * version},
                                                          {other.offer_id, 500'000}}));
    }
}

TEST(CatalogFollower, FollowsByItselfWithinAMoment) {
    Market market;
    const SystemClock clock;
    market.harness.clock.advance(clock.now() - market.harness.clock.now());
    // It was started by another clock: by this one it has not been away.
    market.write([](db::Transaction& tx) { tx.run("DELETE FROM service_life"); });
    market.harness.app->catalog().follow(market.harness.app->database(), clock);
    const Machine machine = market.sell();
    EXPECT_TRUE(support::eventually([&] { return !market.ids().empty(); }));
    EXPECT_EQ(market.ids(), Ids{machine.offer_id});
    market.harness.app->catalog().stop();
}

// Everything changes all the time while it is read anew again and again; at the end it is right.
TEST(CatalogFollower, RebuildingBesideLooksLosesNothing) {
    Market market;
    std::vector<Machine> machines;
    for (int i = 0; i < 30; ++i) machines.push_back(market.sell());
    market.refresh();
    db::Database& database = market.harness.app->database();
    catalog::Follower& follower = market.harness.app->catalog().follower();
    std::atomic<bool> over = false;
    std::atomic<bool> asked = false;
    std::thread rebuilds([&] {
        while (!over)
            if (asked.exchange(false))
                follower.rebuild(database, market.harness.clock.now());
            else
                std::this_thread::yield();
    });
    std::set<OfferId> listed;
    for (int round = 0; round < 10; ++round)
        for (std::size_t i = 0; i < machines.size(); ++i) {
            const bool on = (i * 7 + static_cast<std::size_t>(round)) % 3 != 0;
            market.change(machines[i], [&](Machine& machine) {
                machine.offer_state =
                    on ? machines::OfferState::listed : machines::OfferState::unlisted;
            });
            if (on)
                listed.insert(machines[i].offer_id);
            else
                listed.erase(machines[i].offer_id);
            if (i % 7 == 0) asked = true;  // one that never pauses would keep the looks waiting
            if (i % 5 == 0) market.refresh();
        }
    market.refresh();
    over = true;
    rebuilds.join();
    const auto found = market.ids("?limit=100");
    EXPECT_EQ(std::set<OfferId>(found.begin(), found.end()), listed);
}

// A catalog with room for two machines shows two, goes on, and has room again when one is gone.
TEST(CatalogFollower, WithoutRoomForMoreMachinesItLeavesTheLastOutAndGoesOn) {
    Market market;
    std::vector<Machine> machines;
    for (int i = 0; i < 3; ++i) machines.push_back(market.sell());
    catalog::Pulses pulses(2);
    catalog::Published<catalog::Snapshot> published(std::make_unique<const catalog::Snapshot>());
    catalog::Follower follower(published, pulses, machines::Settings{});
    db::Database& database = market.harness.app->database();
    const auto shown = [&](const Machine& machine) {
        const auto snapshot = published.read();
        for (const catalog::Shard& shard : snapshot->shards)
            if (const auto slot = shard.index->find(machine.offer_id);
                slot && shard.listed.test(*slot))
                return true;
        return false;
    };
    follower.look(database, market.harness.clock.now());
    EXPECT_TRUE(shown(machines[0]));
    EXPECT_TRUE(shown(machines[1]));
    EXPECT_FALSE(shown(machines[2]));

    market.change(machines[0],
                  [](Machine& machine) { machine.offer_state = machines::OfferState::unlisted; });
    follower.look(database, market.harness.clock.now());
    EXPECT_FALSE(shown(machines[0]));
    market.harness.clock.advance(minutes(10));
    for (const Machine& machine : machines) market.heard(machine);
    for (int i = 0; i < 4 * catalog::Follower::looks_per_wide_one; ++i)
        follower.look(database, market.harness.clock.now());
    EXPECT_FALSE(shown(machines[2]));
    for (int i = 0; i < 3; ++i) follower.rebuild(database, market.harness.clock.now());
    EXPECT_FALSE(shown(machines[0]));
    EXPECT_TRUE(shown(machines[1]));
    EXPECT_TRUE(shown(machines[2]));

    market.change(machines[0],
                  [](Machine& machine) { machine.offer_state = machines::OfferState::listed; });
    follower.look(database, market.harness.clock.now());
    EXPECT_FALSE(shown(machines[0])) << "both places are taken";
}

TEST(CatalogPulses, ANumberThatWasGivenBackRestsBeforeAnotherMachineGetsIt) {
    catalog::Pulses pulses(2);
    const Time early{1'000'000};
    const Time late{9'000'000};
    const auto first = pulses.add(late).value();
    EXPECT_NE(pulses.add(late).value(), first);
    EXPECT_EQ(pulses.add(late), std::nullopt);
    pulses.give_back({first});
    EXPECT_EQ(pulses.add(early), std::nullopt);
    pulses.give_back({});
    EXPECT_EQ(pulses.add(early), first);
    EXPECT_EQ(pulses.get(first), early) << "nothing is left of the machine that had it";
}

// A transaction takes its time, another one commits, the catalog looks, and then the first commits.
TEST(PostgresOnlyCatalogFollower, SeesATransactionThatWasOpenDuringTheLook) {
    const PostgresCluster cluster;
    const auto database = TestDatabase::postgres(cluster.url());
    Market market({.db = database->url()});
    const Machine slow = market.ready();
    std::promise<void> written;
    std::promise<void> commit;
    auto open = std::async(std::launch::async, [&] {
        market.write([&](db::Transaction& tx) {
            market.add(tx, slow, {}, Market::usual_measures());
            tx.run("SELECT 1");
            written.set_value();
            commit.get_future().wait();
        });
    });
    written.get_future().wait();
    market.harness.clock.advance(seconds(1));
    const Machine quick = market.sell({.rate = Micro{500'000}});
    market.refresh();
    EXPECT_EQ(market.ids(), Ids{quick.offer_id});
    commit.set_value();
    open.get();
    market.refresh();
    EXPECT_EQ(market.ids(), (Ids{slow.offer_id, quick.offer_id}));
}

TEST(PostgresOnlyCatalogFollower, TwoServersShowTheSame) {
    const PostgresCluster cluster;
    const auto database = TestDatabase::postgres(cluster.url());
    Market one({.db = database->url()});
    Market two({.db = database->url()});
    two.harness.clock.advance(seconds(1));  // with the same clock both would make the same ids
    for (int i = 0; i < 7; ++i) (i % 2 == 0 ? one : two).sell({.rate = Micro{100'000 + i}});
    one.harness.clock.advance(seconds(1));
    one.refresh();
    two.refresh();
    EXPECT_EQ(one.ids().size(), 7U);
    for (const std::string query : {"", "?sort=newest&limit=3", "?near=EU&include_unverified=true"})
        EXPECT_EQ(one.ids(query), two.ids(query)) << query;
}

}  // namespace
}  // namespace berth::test
