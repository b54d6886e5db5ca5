// Who is given a link. Everything hostile here is text that somebody might send.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "gate/gate_double.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using gate::Refused;

// Holds that there is neither a link nor an open door after all that.
void expect_nothing_open(GateWorld& world) {
    EXPECT_EQ(world.gate->present().links, 0U);
    EXPECT_EQ(world.gate->present().doors, 0U);
}

TEST(GateTickets, OfTheServerGiveALink) {
    GateWorld world;
    LinkEnd link = world.link();
    EXPECT_EQ(link.id().size(), 36U);
    EXPECT_EQ(world.gate->present().links, 1U);
    EXPECT_EQ(world.gate->present().doors, 1U);
}

TEST(GateTickets, ARequestIsGoodOnce) {
    GateWorld world;
    const std::string request = world.signed_request(world.ticket());
    EXPECT_EQ(world.status_of(request), 200);
    EXPECT_EQ(world.status_of(request), 401);
    EXPECT_EQ(world.gate->tally().refused(Refused::replayed), 1U);
}

TEST(GateTickets, OfAnotherMachineAreNoUse) {
    GateWorld world;
    // Stolen and shown by a machine that signs as itself, or as the one that it robbed.
    const std::string stolen = world.ticket({.machine = 2, .machine_key = 'o'});
    EXPECT_EQ(world.status_of(world.signed_request(stolen, {.machine = 1, .key = 'm'})), 403);
    EXPECT_EQ(world.status_of(world.signed_request(stolen, {.machine = 2, .key = 'm'})), 401);
    expect_nothing_open(world);
}

TEST(GateTickets, WithAFlippedBitAreRefused) {
    GateWorld world;
    const std::string good = world.ticket();
    for (std::size_t at = 0; at < good.size(); at += 7) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        const int status = world.status_of(world.signed_request(bad));
        EXPECT_TRUE(status == 403 || status == 429) << at << ": " << status;
    }
    expect_nothing_open(world);
}

TEST(GateTickets, ByAnotherKeyThanTheServersAreRefused) {
    GateWorld world;
    EXPECT_EQ(world.status_of(world.signed_request(world.ticket({.server_key = 'x'}))), 403);
    EXPECT_EQ(world.status_of(world.signed_request(world.ticket({.key_id = "k2"}))), 403);
    expect_nothing_open(world);
}

TEST(GateTickets, ForAnotherGateAreRefused) {
    GateWorld world;
    EXPECT_EQ(world.status_of(world.signed_request(world.ticket({.gate_id = uuid_text(9)}))), 403);
    expect_nothing_open(world);
}

TEST(GateTickets, WithAPortThatIsNoneOfTheDoorsAreRefused) {
    GateWorld world;
    for (const int port : {-1, -2, 8, 1'000})
        EXPECT_EQ(world.status_of(world.signed_request(world.ticket({.doors = {{.port = port}}}))),
                  403)
            << port;
    expect_nothing_open(world);
}

TEST(GateTickets, ThatHaveExpiredAreRefused) {
    GateWorld world;
    const std::string ticket = world.ticket();
    world.clock.advance(std::chrono::minutes(15));
    EXPECT_EQ(world.status_of(world.signed_request(ticket)), 403);
    EXPECT_EQ(world.gate->tally().refused(Refused::expired), 1U);
}

TEST(GateTickets, BelowTheHighestAreRefused) {
    GateWorld world;
    LinkEnd link = world.link({.fence = 3, .serial = 5});
    EXPECT_EQ(world.status_of(world.signed_request(world.ticket({.fence = 2, .serial = 9}))), 409);
    EXPECT_EQ(world.status_of(world.signed_request(world.ticket({.fence = 3, .serial = 4}))), 409);
    EXPECT_EQ(world.renew(link, {.fence = 3, .serial = 4}), 409);
    EXPECT_EQ(world.gate->present().links, 1U);
}

TEST(GateTickets, BelowTheHighestAreRefusedAfterTheLinkHasGoneToo) {
    GateWorld world;
    { LinkEnd link = world.link({.fence = 3, .serial = 5}); }
    ASSERT_TRUE(support::eventually([&] { return world.gate->present().links == 0; }));
    EXPECT_EQ(world.status_of(world.signed_request(world.ticket({.fence = 3, .serial = 4}))), 409);
}

TEST(GateTickets, NeedASignatureOfTheMachine) {
    GateWorld world;
    const std::string ticket = world.ticket();
    EXPECT_EQ(world.status_of(fmt::format("POST /v1/link HTTP/1.1\r\nHost: gate.example:{}\r\n"
                                          "Content-Length: {}\r\n\r\n{}",
                                          world.link_port(), ticket.size(), ticket)),
              401);
    EXPECT_EQ(world.status_of(world.signed_request(ticket, {.key = 'x'})), 401);
    EXPECT_EQ(world.status_of(world.signed_request(ticket, {.tag = "berth-gate"})), 401);
    EXPECT_EQ(world.status_of(world.signed_request(ticket, {.created_off = -120})), 401);
    EXPECT_EQ(world.status_of(world.signed_request(ticket, {.created_off = 120})), 401);
    expect_nothing_open(world);
}

TEST(GateTickets, AreSignedForThisGateAndNoOtherName) {
    GateWorld world;
    const std::string ticket = world.ticket();
    for (const std::string& host :
         {std::string("gate.example"), std::string("evil.example:443"),
          fmt::format("gate.example:{}", world.call_port()), std::string("127.0.0.1")})
        EXPECT_EQ(world.status_of(world.signed_request(ticket, {.host = host})), 421) << host;
    // Signed for this gate and sent with another name: not what was signed.
    std::string request = world.signed_request(ticket);
    const std::string own = fmt::format("Host: gate.example:{}", world.link_port());
    request.replace(request.find(own), own.size(), "Host: evil.example:1");
    EXPECT_EQ(world.status_of(request), 421);
    expect_nothing_open(world);
}

TEST(GateTickets, ThatAreTooLongAreNotRead) {
    GateWorld world;
    EXPECT_EQ(world.status_of(world.signed_request(std::string(9'000, 'x'))), 413);
    EXPECT_EQ(world.status_of(world.signed_request("{}")), 403);
    EXPECT_EQ(world.status_of(world.signed_request(std::string(8'000, '['))), 403);
}

TEST(GateTickets, WithoutADoorGiveNoLink) {
    GateWorld world;
    EXPECT_EQ(world.status_of(world.signed_request(world.ticket({.doors = {}}))), 403);
    expect_nothing_open(world);
}

TEST(GateTickets, AreNotTakenWithoutTls) {
    GateWorld world;
    support::RawSocket plain(world.call_port());
    const bool taken = plain.try_send(world.signed_request(world.ticket()));
    EXPECT_TRUE(!taken || plain.receive_until("\r\n").starts_with("HTTP/1.1 4"));
    expect_nothing_open(world);
}

TEST(GateTickets, CannotBeShownForALinkOfAnotherMachine) {
    GateWorld world;
    LinkEnd link = world.link();
    EXPECT_EQ(
        world.renew(link, {.doors = {{.number = 2, .port = 1}}, .machine = 2, .machine_key = 'o'}),
        404);
    EXPECT_EQ(world.gate->present().doors, 1U);
}

TEST(GateTickets, AreCheckedByKeysThatWereKept) {
    GateWorld world;
    world.gate.reset();
    world.server.refuse(503);
    world.gate =
        std::make_unique<gate::Gate>(world.gate_options(), world.clock, world.random, world.client);
    world.gate->start();
    EXPECT_FALSE(world.gate->report_once());
    EXPECT_EQ(world.link().id().size(), 36U);
}

TEST(GateTickets, AFloodOfLinksIsSlowedDown) {
    GateWorld::Options options;
    options.limits.links_of_source = {0.001, 3};
    GateWorld world(options);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(world.status_of(world.signed_request("{}")), 403);
    EXPECT_EQ(world.status_of(world.signed_request(world.ticket())), 429);
    expect_nothing_open(world);
}

}  // namespace
}  // namespace berth::test
