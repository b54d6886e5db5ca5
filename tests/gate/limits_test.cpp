// How much one door, one stranger and one machine may have.
#include <gtest/gtest.h>

#include "gate/gate_double.hpp"
#include "gate/limits.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using gate::Bucket;
using gate::Refused;
using gate::Sources;
using support::eventually;
using support::RawSocket;

constexpr Time start{1'000'000'000};

TEST(GateBucket, GivesItsBurstAndThenItsPace) {
    Bucket bucket;
    const gate::Pace pace{10, 50};
    int taken = 0;
    while (bucket.take(pace, start)) ++taken;
    EXPECT_EQ(taken, 50);
    EXPECT_FALSE(bucket.take(pace, start + std::chrono::milliseconds(99)));
    EXPECT_TRUE(bucket.take(pace, start + std::chrono::milliseconds(100)));
    EXPECT_FALSE(bucket.take(pace, start + std::chrono::milliseconds(100)));
    EXPECT_FALSE(bucket.is_full(pace, start + std::chrono::seconds(1)));
    EXPECT_TRUE(bucket.is_full(pace, start + std::chrono::minutes(1)));
}

TEST(GateBucket, SparesWhatIsForOthers) {
    Bucket bucket;
    const gate::Pace pace{10, 50};
    int strangers = 0;
    while (bucket.take(pace, start, 10)) ++strangers;
    EXPECT_EQ(strangers, 40);
    int relays = 0;
    while (bucket.take(pace, start)) ++relays;
    EXPECT_EQ(relays, 10);
}

TEST(GateBucket, IsNotFilledByAClockThatGoesBack) {
    Bucket bucket;
    const gate::Pace pace{1, 1};
    EXPECT_TRUE(bucket.take(pace, start));
    EXPECT_FALSE(bucket.take(pace, start - std::chrono::hours(1)));
}

TEST(GateSources, HaveABucketEachAndForgetThoseWhoWait) {
    Sources sources({1, 1});
    const auto one = http::parse_address("192.0.2.1").value();
    const auto other = http::parse_address("192.0.2.2").value();
    EXPECT_TRUE(sources.take(one, start));
    EXPECT_FALSE(sources.take(one, start));
    EXPECT_TRUE(sources.take(other, start));
    // One subscriber has all of a /64.
    EXPECT_TRUE(sources.take(http::parse_address("2001:db8::1").value(), start));
    EXPECT_FALSE(sources.take(http::parse_address("2001:db8::2").value(), start));
}

TEST(GateSources, WhoComesAllTheTimeIsNotSeldomThoughItKeepsToItsPace) {
    const gate::LimitNumbers limits;
    Sources sources(limits.calls_of_source);
    Sources seldom(limits.seldom_of_network);
    const auto renter = gate::network_of(http::parse_address("192.0.2.1").value());
    const auto all_day = http::parse_address("192.0.2.2").value();
    Time now = start;
    for (int i = 0; i < 300; ++i, now = now + std::chrono::milliseconds(200)) {
        EXPECT_TRUE(sources.take(all_day, now)) << "five a second are its own";
        seldom.take(gate::network_of(all_day), now);
    }
    EXPECT_FALSE(seldom.is_half_full(gate::network_of(all_day), now));
    for (int i = 0; i < 5; ++i) seldom.take(renter, now);
    EXPECT_TRUE(seldom.is_half_full(renter, now)) << "a few at once are no flood";
    EXPECT_TRUE(seldom.is_half_full(gate::network_of(all_day), now + std::chrono::minutes(1)));
}

TEST(GateSources, OfOneCustomersManyNetworksAreOne) {
    const auto of = [](const std::string& text) {
        return gate::network_of(http::parse_address(text).value());
    };
    EXPECT_EQ(of("2001:db8:7:1::1"), of("2001:db8:7:ffff::2"));
    EXPECT_NE(of("2001:db8:7::1"), of("2001:db8:8::1"));
    EXPECT_NE(of("192.0.2.1"), of("192.0.2.2"));
    EXPECT_EQ(of("192.0.2.1"), of("::ffff:192.0.2.1"));
}

TEST(GateSources, AreBounded) {
    Sources sources({0.001, 1});
    http::Address address = http::parse_address("10.0.0.0").value();
    for (std::size_t i = 0; i < Sources::sources_max + 10; ++i) {
        address.bytes[13] = static_cast<unsigned char>(i >> 16);
        address.bytes[14] = static_cast<unsigned char>(i >> 8);
        address.bytes[15] = static_cast<unsigned char>(i);
        EXPECT_EQ(sources.take(address, start), i < Sources::sources_max) << i;
    }
    EXPECT_EQ(sources.size(), Sources::sources_max);
    EXPECT_TRUE(sources.take(address, start + std::chrono::hours(1)));
    EXPECT_EQ(sources.size(), 1U);
}

// Knocks so often and gives those who were not sent away at once.
std::vector<RawSocket> knock(GateWorld& world, int times, const std::string& source) {
    std::vector<RawSocket> there;
    for (int i = 0; i < times; ++i) there.push_back(knock_from(source, world.door_port()));
    return there;
}

TEST(GateLimits, AFloodOfOneDoorIsStopped) {
    GateWorld::Options options;
    options.limits.calls_of_door = {0.001, 12};
    GateWorld world(options);
    LinkEnd link = world.link();
    const auto strangers = knock(world, 5, "127.0.0.1");
    ASSERT_TRUE(eventually([&] { return world.gate->tally().refused(Refused::door_pace) == 3; }));
    EXPECT_EQ(world.gate->present().waiting, 2U);
}

TEST(GateLimits, ASourceHasItsShareAndOthersHaveTheirs) {
    GateWorld::Options options;
    options.limits.calls_of_source = {0.001, 2};
    GateWorld world(options);
    LinkEnd link = world.link();
    const auto flood = knock(world, 5, "127.0.0.2");
    ASSERT_TRUE(eventually([&] { return world.gate->tally().refused(Refused::source_pace) == 3; }));
    const auto other = knock(world, 1, "127.0.0.3");
    EXPECT_TRUE(eventually([&] { return world.gate->present().waiting == 3; }));
}

TEST(GateLimits, TheServersRelaysHaveNoShareAndRoomThatStrangersCannotTake) {
    GateWorld::Options options;
    options.limits.calls_of_source = {0.001, 2};
    options.limits.calls_of_door = {0.001, 12};
    GateWorld world(options);
    world.server.order(R"("relays":["127.0.0.9"],"cut":[],"drain":false)");
    ASSERT_TRUE(world.gate->report_once());
    LinkEnd link = world.link();
    const auto one = knock(world, 2, "127.0.0.2");
    const auto two = knock(world, 2, "127.0.0.3");
    ASSERT_TRUE(eventually([&] { return world.gate->tally().refused(Refused::door_pace) == 2; }));
    const auto relay = knock(world, 10, "127.0.0.9");
    EXPECT_TRUE(eventually([&] { return world.gate->present().waiting == 12; }));
}

TEST(GateLimits, OneMachineCannotHaveAllThatWait) {
    GateWorld::Options options;
    options.limits.waiting_of_machine_max = 3;
    GateWorld world(options);
    LinkEnd link = world.link();
    const auto strangers = knock(world, 5, "127.0.0.1");
    EXPECT_TRUE(
        eventually([&] { return world.gate->tally().refused(Refused::machine_waiting) == 2; }));
    EXPECT_EQ(world.gate->present().waiting, 3U);
}

TEST(GateLimits, RelaysComeInWhereStrangersWait) {
    for (const bool at_gate : {true, false}) {
        GateWorld::Options options;
        (at_gate ? options.limits.waiting_max : options.limits.waiting_of_machine_max) = 8;
        const Refused why = at_gate ? Refused::waiting : Refused::machine_waiting;
        GateWorld world(options);
        world.server.order(R"("relays":["127.0.0.9"],"cut":[],"drain":false)");
        ASSERT_TRUE(world.gate->report_once());
        LinkEnd link = world.link();
        const auto strangers = knock(world, 10, "127.0.0.2");
        ASSERT_TRUE(eventually([&] { return world.gate->tally().refused(why) == 3; }));
        const auto relays = knock(world, 2, "127.0.0.9");
        EXPECT_TRUE(eventually([&] { return world.gate->present().waiting == 8; }));
        EXPECT_TRUE(eventually([&] { return world.gate->tally().refused(why) == 4; }));
    }
}

TEST(GateLimits, TheGateHasSoManyWaitingAndNoMore) {
    GateWorld::Options options;
    options.limits.waiting_max = 3;
    GateWorld world(options);
    LinkEnd link = world.link();
    const auto strangers = knock(world, 5, "127.0.0.1");
    EXPECT_TRUE(eventually([&] { return world.gate->tally().refused(Refused::waiting) == 2; }));
}

TEST(GateLimits, ADoorHasAsManyStreamsAsItsTicketSays) {
    GateWorld world;
    LinkEnd link = world.link({.doors = {{.kind = "test", .streams_max = 1}}});
    RawSocket stranger(world.door_port());
    RawSocket machine = world.call(link.await_call());
    RawSocket second(world.door_port());
    EXPECT_EQ(second.receive_all(), "");
    EXPECT_EQ(world.gate->tally().refused(Refused::streams), 1U);
    machine.finish_sending();
    stranger.finish_sending();
    ASSERT_TRUE(eventually([&] { return world.gate->present().streams == 0; }));
    RawSocket third(world.door_port());
    EXPECT_FALSE(link.await_call().empty());
}

// Streams of so many strangers from there, who say no more than their greeting.
std::vector<RawSocket> greet(GateWorld& world, LinkEnd& link, int times, const std::string& source,
                             std::vector<RawSocket>& machine) {
    std::vector<RawSocket> there = knock(world, times, source);
    for (RawSocket& each : there) {
        each.send(ssh_greeting);
        machine.push_back(world.call(link.await_call()));
    }
    return there;
}

GateWorld::Options unhurried() {
    GateWorld::Options options;
    options.limits.calls_of_source = {0.001, 200};
    options.limits.calls_of_door = {0.001, 400};
    return options;
}

TEST(GateLimits, StrangersWhoSayNothingAtADoorForSshDoNotKeepTheRenterOut) {
    GateWorld world(unhurried());
    LinkEnd link = world.link({.doors = {{.streams_max = 16}}});
    std::vector<RawSocket> machine;
    auto flood = greet(world, link, 14, "127.0.0.2", machine);
    ASSERT_TRUE(eventually([&] { return world.gate->present().streams == 14; }));
    const auto one_more = knock(world, 1, "127.0.0.2");
    ASSERT_TRUE(eventually([&] { return world.gate->tally().refused(Refused::streams) == 1; }));

    RawSocket renter = knock_from("127.0.0.3", world.door_port());
    renter.send(ssh_greeting);
    machine.push_back(world.call(link.await_call()));
    EXPECT_EQ(machine.back().receive_until("\n"), ssh_greeting);
    EXPECT_EQ(flood.front().receive_all(), "") << "the oldest has made room";
    EXPECT_TRUE(eventually([&] { return world.gate->present().streams == 14; }));
    flood.back().send("still there");
    EXPECT_EQ(machine[13].receive_until("still there"), std::string(ssh_greeting) + "still there");
}

TEST(GateLimits, WhoHasAFewSessionsLosesNoneForOthers) {
    GateWorld world(unhurried());
    LinkEnd link = world.link({.doors = {{.streams_max = 16}}});
    std::vector<RawSocket> machine;
    std::vector<std::vector<RawSocket>> there;
    there.push_back(greet(world, link, 4, "127.0.0.2", machine));
    there.push_back(greet(world, link, 4, "127.0.0.3", machine));
    there.push_back(greet(world, link, 4, "127.0.0.4", machine));
    there.push_back(greet(world, link, 2, "127.0.0.5", machine));
    RawSocket other = knock_from("127.0.0.6", world.door_port());
    EXPECT_EQ(other.receive_all(), "");
    EXPECT_EQ(world.gate->tally().refused(Refused::streams), 1U);
    EXPECT_EQ(world.gate->present().streams, 14U);
}

TEST(GateLimits, WhoHasShownTheKeyLosesNoSessionForOthers) {
    GateWorld::Options options = unhurried();
    options.timings.stranger_max = Duration(0);
    GateWorld world(options);
    LinkEnd link = world.link({.doors = {{.streams_max = 16}}});
    std::vector<RawSocket> machine;
    const auto renters = greet(world, link, 14, "127.0.0.2", machine);
    RawSocket other = knock_from("127.0.0.3", world.door_port());
    EXPECT_EQ(other.receive_all(), "");
    EXPECT_EQ(world.gate->present().streams, 14U);
}

TEST(GateLimits, StrangersLeaveRelaysStreamsOfADoor) {
    GateWorld world(unhurried());
    world.server.order(R"("relays":["127.0.0.9"],"cut":[],"drain":false)");
    ASSERT_TRUE(world.gate->report_once());
    LinkEnd link = world.link({.doors = {{.kind = "http", .streams_max = 16}}});
    const auto strangers = knock(world, 20, "127.0.0.2");
    ASSERT_TRUE(eventually([&] { return world.gate->tally().refused(Refused::streams) == 6; }));
    const auto relays = knock(world, 3, "127.0.0.9");
    EXPECT_TRUE(eventually([&] { return world.gate->tally().refused(Refused::streams) == 7; }));
    EXPECT_EQ(world.gate->present().waiting, 16U);
}

TEST(GateLimits, AFewAddressesThatComeAllTheTimeLeaveRoomForWhoComesSeldom) {
    GateWorld::Options options;
    options.limits.calls_of_source = {0.001, 10};
    options.limits.seldom_of_network = {0.001, 10};
    options.limits.calls_of_door = {0.001, 50};
    GateWorld world(options);
    LinkEnd link = world.link();
    std::vector<std::vector<RawSocket>> floods;
    for (const char* source : {"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"})
        floods.push_back(knock(world, 10, source));
    ASSERT_TRUE(eventually([&] { return world.gate->tally().refused(Refused::door_pace) == 4; }));
    const auto renter = knock(world, 1, "127.0.0.6");
    EXPECT_TRUE(eventually([&] { return world.gate->present().waiting == 37; }));
    EXPECT_EQ(world.gate->tally().refused(Refused::door_pace), 4U);
}

TEST(GateLimits, SilentStrangersGoAfterTheirTime) {
    GateWorld::Options options;
    options.timings.tick = std::chrono::milliseconds(10);
    options.timings.silence_max = std::chrono::milliseconds(30);
    GateWorld world(options);
    LinkEnd link = world.link({.doors = {{.kind = "http"}}});
    const auto strangers = knock(world, 20, "127.0.0.1");
    EXPECT_TRUE(eventually([&] {
        return world.gate->tally().refused(Refused::first_bytes) == 20 &&
               world.gate->present().waiting == 0;
    }));
}

}  // namespace
}  // namespace berth::test
