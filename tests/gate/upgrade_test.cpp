// A gate that is replaced by a newer process while it carries sessions.
#include <gtest/gtest.h>

#include <optional>
#include <type_traits>

#include "gate/gate_double.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using support::eventually;
using support::RawSocket;

// The newer one of the same folder, beside `world.gate`.
std::unique_ptr<gate::Gate> start_newer(GateWorld& world) {
    auto newer =
        std::make_unique<gate::Gate>(world.gate_options(), world.clock, world.random, world.client);
    newer->start();
    return newer;
}

void drain_by_order(GateWorld& world) {
    world.server.order(R"("relays":[],"cut":[],"drain":true)");
    ASSERT_TRUE(world.gate->report_once());
    world.server.order();
}

// Whoever comes in the very moment in which the older process closes a port may be reset, and
// comes again.
template <class Work>
auto patiently(const Work& work) {
    std::optional<std::invoke_result_t<Work>> got;
    EXPECT_TRUE(eventually([&] {
        try {
            got.emplace(work());
        } catch (const std::exception&) {
        }
        return got.has_value();
    }));
    return std::move(got.value());
}

GateWorld::Options soon() {
    GateWorld::Options options;
    options.timings.tick = std::chrono::milliseconds(10);
    return options;
}

TEST(GateDrain, SaysByeAndTakesNoMoreLinks) {
    GateWorld world;
    LinkEnd link = world.link();
    drain_by_order(world);
    EXPECT_EQ(member_of(link.next_word(), "reason"), "draining");
    EXPECT_THROW(RawSocket(world.link_port()), std::exception);
    EXPECT_TRUE(world.gate->present().draining);
    ASSERT_TRUE(world.gate->report_once());
    EXPECT_NE(world.server.last().body.find(R"("draining":true)"), std::string::npos);
}

TEST(GateDrain, SessionsGoOnAndTheGateEndsWithTheLast) {
    GateWorld world(soon());
    auto link = std::make_unique<LinkEnd>(world.link());
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    RawSocket machine = world.call(link->await_call());
    drain_by_order(world);
    link.reset();
    ASSERT_TRUE(eventually([&] { return world.gate->present().links == 0; }));
    EXPECT_EQ(world.gate->present().doors, 0U);
    EXPECT_FALSE(world.gate->is_drained());
    // Its ticket is renewed at the newer process: here it may run out, while the server is heard.
    for (int i = 0; i < 12; ++i) {
        world.clock.advance(std::chrono::minutes(10));
        ASSERT_TRUE(world.gate->report_once());
    }
    EXPECT_EQ(machine.receive_until("\n"), ssh_greeting);
    machine.send("still here\n");
    EXPECT_EQ(stranger.receive_until("\n"), "still here\n");
    stranger.finish_sending();
    machine.finish_sending();
    EXPECT_TRUE(eventually([&] { return world.gate->is_drained(); }));
}

TEST(GateDrain, ACutDoorEndsItsStreamsToo) {
    GateWorld world(soon());
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    RawSocket machine = world.call(link.await_call());
    drain_by_order(world);
    world.server.order(R"("relays":[],"cut":[")" + uuid_text(1) + R"("],"drain":true)");
    ASSERT_TRUE(world.gate->report_once());
    stranger.await_end();
    machine.await_end();
}

TEST(GateUpgrade, ACallThatReachesTheOtherProcessIsPassedOn) {
    GateWorld world;
    LinkEnd link = world.link();
    const auto newer = start_newer(world);
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    const std::string call_id = link.await_call();
    drain_by_order(world);  // from here on the newer one has the ports of links and calls alone
    RawSocket machine = patiently([&] { return world.call(call_id); });
    EXPECT_EQ(machine.receive_until("\n"), ssh_greeting);
    machine.send(std::string(300'000, 'x') + "\n");
    EXPECT_EQ(stranger.receive_until("\n").size(), 300'001U);
    EXPECT_EQ(world.gate->present().streams, 1U);
    EXPECT_EQ(newer->present().streams, 0U);
    EXPECT_FALSE(newer->is_drained());
}

TEST(GateUpgrade, TheMachineMovesAndNoSessionIsLost) {
    GateWorld world(soon());
    auto older_link = std::make_unique<LinkEnd>(world.link());
    RawSocket session(world.door_port());
    session.send(ssh_greeting);
    RawSocket machine = world.call(older_link->await_call());
    const auto newer = start_newer(world);
    ASSERT_TRUE(newer->report_once());
    drain_by_order(world);
    EXPECT_EQ(member_of(older_link->next_word(), "reason"), "draining");
    LinkEnd newer_link = patiently([&] { return world.link({.serial = 2}); });
    EXPECT_EQ(newer->present().doors, 1U);
    older_link.reset();
    ASSERT_TRUE(eventually([&] { return world.gate->present().doors == 0; }));

    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    const std::string newer_call = newer_link.await_call();
    RawSocket answered = patiently([&] { return world.call(newer_call); });
    EXPECT_EQ(answered.receive_until("\n"), ssh_greeting);
    EXPECT_EQ(machine.receive_until("\n"), ssh_greeting);
    machine.send("still here\n");
    EXPECT_EQ(session.receive_until("\n"), "still here\n");
    session.finish_sending();
    machine.finish_sending();
    EXPECT_TRUE(eventually([&] { return world.gate->is_drained(); }));
}

TEST(GateRestart, TicketsBringEverythingBack) {
    GateWorld world;
    {
        LinkEnd link = world.link();
        world.gate.reset();
        EXPECT_EQ(link.next_word(), "");
    }
    world.gate = start_newer(world);
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    EXPECT_EQ(world.call(link.await_call()).receive_until("\n"), ssh_greeting);
}

}  // namespace
}  // namespace berth::test
