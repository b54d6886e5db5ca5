// Links: what a machine is told on them, how they end, and what lives on without them.
#include <gtest/gtest.h>

#include "gate/gate_double.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using support::eventually;
using support::RawSocket;

GateWorld::Options quick() {
    GateWorld::Options options;
    options.timings.tick = std::chrono::milliseconds(10);
    options.timings.ping = std::chrono::milliseconds(20);
    return options;
}

std::string kind_of(const std::string& line) { return member_of(line, "kind"); }

TEST(GateLinks, SayPingsWhileNobodyKnocks) {
    GateWorld world(quick());
    LinkEnd link = world.link();
    EXPECT_EQ(kind_of(link.next_line()), "ping");
    EXPECT_EQ(kind_of(link.next_line()), "ping");
}

TEST(GateLinks, OfTwoWithOneTicketTheNewerStays) {
    GateWorld world;
    LinkEnd first = world.link();
    LinkEnd second = world.link();
    const std::string bye = first.next_word();
    EXPECT_EQ(kind_of(bye), "bye");
    EXPECT_EQ(member_of(bye, "reason"), "replaced");
    EXPECT_EQ(first.next_line(), "");
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    EXPECT_FALSE(second.await_call().empty());
    EXPECT_EQ(world.gate->present().links, 1U);
}

TEST(GateLinks, OfAClonedDiskTheOneWithTheHigherTicketStays) {
    GateWorld world;
    LinkEnd original = world.link({.serial = 7});
    EXPECT_EQ(world.status_of(world.signed_request(world.ticket({.serial = 6}))), 409);
    LinkEnd renewed = world.link({.serial = 8});
    EXPECT_EQ(member_of(original.next_word(), "reason"), "replaced");
    EXPECT_EQ(world.gate->present().links, 1U);
}

// Its provider gave it another address: what it had before is silent, and nobody has said so yet.
TEST(GateLinks, AMachineThatComesFromAnotherAddressHasItsDoorsThere) {
    GateWorld world;
    LinkEnd silent = world.link();
    RawSocket before(world.door_port());
    before.send(ssh_greeting);
    const std::string told_to_nobody = silent.await_call();
    LinkEnd there = world.link({.serial = 2}, "127.0.0.2");
    EXPECT_EQ(world.gate->present().links, 1U);
    EXPECT_EQ(there.await_call(), told_to_nobody) << "who waits is there for it";
    EXPECT_EQ(world.call(told_to_nobody).receive_until("\n"), ssh_greeting);
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    EXPECT_EQ(world.call(there.await_call()).receive_until("\n"), ssh_greeting);
}

TEST(GateLinks, StreamsLiveOnWhenALinkIsLost) {
    GateWorld world;
    std::unique_ptr<RawSocket> knocking;
    std::unique_ptr<RawSocket> machine;
    {
        LinkEnd link = world.link();
        knocking = std::make_unique<RawSocket>(world.door_port());
        knocking->send(ssh_greeting);
        machine = std::make_unique<RawSocket>(world.call(link.await_call()));
    }
    ASSERT_TRUE(eventually([&] { return world.gate->present().links == 0; }));
    EXPECT_EQ(machine->receive_until("\n"), ssh_greeting);
    machine->send("still here\n");
    EXPECT_EQ(knocking->receive_until("\n"), "still here\n");
}

TEST(GateLinks, ARenewedTicketReplacesTheDoors) {
    GateWorld world;
    LinkEnd link = world.link({.doors = {{.number = 1, .port = 0}, {.number = 2, .port = 1}}});
    EXPECT_EQ(world.renew(link, {.doors = {{.number = 2, .port = 1}, {.number = 3, .port = 2}},
                                 .serial = 2}),
              204);
    EXPECT_THROW(RawSocket(world.door_port(0)), std::exception);
    for (const int port : {1, 2}) {
        RawSocket stranger(world.door_port(port));
        stranger.send(ssh_greeting);
        EXPECT_FALSE(link.await_call().empty());
    }
}

TEST(GateLinks, ADoorThatIsLeftOutEndsItsStreams) {
    GateWorld world;
    LinkEnd link = world.link({.doors = {{.number = 1, .port = 0}, {.number = 2, .port = 1}}});
    RawSocket stranger(world.door_port(0));
    stranger.send(ssh_greeting);
    RawSocket machine = world.call(link.await_call());
    EXPECT_EQ(world.renew(link, {.doors = {{.number = 2, .port = 1}}, .serial = 2}), 204);
    stranger.await_end();
    machine.await_end();
}

TEST(GateLinks, WithoutADoorLeftEnd) {
    GateWorld world;
    LinkEnd link = world.link();
    EXPECT_EQ(world.renew(link, {.doors = {}, .serial = 2}), 204);
    EXPECT_EQ(member_of(link.next_word(), "reason"), "refused");
    EXPECT_EQ(link.next_line(), "");
    EXPECT_EQ(world.gate->present().doors, 0U);
}

TEST(GateLinks, EndWithTheirTicketAndStreamsALittleLater) {
    GateWorld world(quick());
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    RawSocket machine = world.call(link.await_call());
    world.clock.advance(std::chrono::minutes(15));
    EXPECT_EQ(member_of(link.next_word(), "reason"), "expired");
    EXPECT_EQ(world.gate->present().doors, 0U);
    EXPECT_THROW(RawSocket(world.door_port()), std::exception);
    EXPECT_EQ(machine.receive_until("\n"), ssh_greeting);
    machine.send("still here\n");
    EXPECT_EQ(stranger.receive_until("\n"), "still here\n");
    world.clock.advance(std::chrono::minutes(15));
    stranger.await_end();
    machine.await_end();
}

TEST(GateLinks, ARenewedTicketLivesLonger) {
    GateWorld world(quick());
    LinkEnd link = world.link();
    world.clock.advance(std::chrono::minutes(10));
    EXPECT_EQ(world.renew(link, {.serial = 2}), 204);
    world.clock.advance(std::chrono::minutes(10));
    EXPECT_EQ(kind_of(link.next_line()), "ping");
    EXPECT_EQ(kind_of(link.next_line()), "ping");
    EXPECT_EQ(world.gate->present().doors, 1U);
}

TEST(GateLinks, OfTwoDoorsAtOnePortTheOneThatWasGivenLaterIsThere) {
    GateWorld world;
    LinkEnd first = world.link();
    world.clock.advance(std::chrono::seconds(1));
    LinkEnd second =
        world.link({.doors = {{.number = 2, .port = 0}}, .machine = 2, .machine_key = 'o'});
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    EXPECT_FALSE(second.await_call().empty());
}

TEST(GateLinks, ARenewalForALinkThatIsGoneIsToldSo) {
    GateWorld world;
    LinkEnd first = world.link();
    LinkEnd second = world.link();
    EXPECT_EQ(world.renew(first, {.serial = 2}), 404);
    EXPECT_EQ(world.renew(second, {.serial = 2}), 204);
}

TEST(GateLinks, AMachineThatGoesBeforeItsAnswerLeavesNoLink) {
    GateWorld world;
    for (int i = 0; i < 20; ++i) {
        TlsSocket socket = world.dial();
        socket.send(world.signed_request(world.ticket()));
    }
    EXPECT_TRUE(eventually([&] { return world.gate->present().links == 0; }));
}

}  // namespace
}  // namespace berth::test
