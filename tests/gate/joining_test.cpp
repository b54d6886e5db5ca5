// Who knocks at a door, and how the machine behind it takes the call.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "gate/gate_double.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using gate::CallOutcome;
using gate::Refused;
using support::eventually;
using support::RawSocket;

constexpr std::string_view client_hello{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11};

GateWorld::Options hasty() {
    GateWorld::Options options;
    options.timings.tick = std::chrono::milliseconds(10);
    options.timings.silence_max = std::chrono::milliseconds(50);
    return options;
}

// Strangers wait for no machine, or not for long.
GateWorld::Options brief() {
    GateWorld::Options options;
    options.timings.tick = std::chrono::milliseconds(10);
    options.timings.wait_max = std::chrono::milliseconds(300);
    return options;
}

TEST(GateJoins, AStrangerAndTheMachineBehindTheDoorBothWays) {
    GateWorld world;
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    RawSocket machine = world.call(link.await_call());
    EXPECT_EQ(machine.receive_until("\n"), ssh_greeting);
    machine.send("SSH-2.0-machine\r\n");
    EXPECT_EQ(stranger.receive_until("\n"), "SSH-2.0-machine\r\n");
    EXPECT_EQ(world.gate->present().streams, 1U);
}

TEST(GateJoins, PassesOnThatOneSideHasFinishedAndStillTheOtherWay) {
    GateWorld world;
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    RawSocket machine = world.call(link.await_call());
    stranger.finish_sending();
    EXPECT_EQ(machine.receive_all(), ssh_greeting);
    machine.send("the rest");
    machine.finish_sending();
    EXPECT_EQ(stranger.receive_all(), "the rest");
    EXPECT_TRUE(eventually([&] { return world.gate->present().streams == 0; }));
}

TEST(GateJoins, TakesACallAtThePortWithTlsToo) {
    GateWorld world;
    LinkEnd link = world.link({.doors = {{.kind = "http"}}});
    RawSocket stranger(world.door_port());
    stranger.send(client_hello);
    TlsSocket machine = world.dial();
    machine.send(GateWorld::call_request(link.await_call()));
    EXPECT_TRUE(machine.receive_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
    EXPECT_EQ(machine.receive_until("\x03\x03"), client_hello);
    machine.send("answer");
    EXPECT_EQ(stranger.receive_until("answer"), "answer");
}

TEST(GateJoins, BytesThatTheMachineSentBehindItsCallAreNotLost) {
    GateWorld world;
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    RawSocket machine(world.call_port());
    machine.send(GateWorld::call_request(link.await_call()) + "SSH-2.0-early\r\n");
    EXPECT_EQ(stranger.receive_until("\n"), "SSH-2.0-early\r\n");
}

TEST(GateJoins, WhoIsSilentAtADoorForSshAfterAWhile) {
    GateWorld world(hasty());
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    RawSocket machine = world.call(link.await_call());
    machine.send("SSH-2.0-machine\r\n");
    EXPECT_EQ(stranger.receive_until("\n"), "SSH-2.0-machine\r\n");
}

TEST(GateJoins, SendsAwayWhoIsSilentAtADoorForHttp) {
    GateWorld world(hasty());
    LinkEnd link = world.link({.doors = {{.kind = "http"}}});
    RawSocket stranger(world.door_port());
    EXPECT_EQ(stranger.receive_all(), "");
    EXPECT_EQ(world.gate->tally().refused(Refused::first_bytes), 1U);
}

TEST(GateJoins, NobodyWhoSpeaksSomethingElse) {
    GateWorld world;
    LinkEnd link =
        world.link({.doors = {{.number = 1, .port = 0, .kind = "http"}, {.number = 2, .port = 1}}});
    for (const int door : {0, 1}) {
        RawSocket stranger(world.door_port(door));
        stranger.send("GET / HTTP/1.1\r\nHost: cheap.example\r\n\r\n");
        EXPECT_EQ(stranger.receive_all(), "");
    }
    RawSocket ssh_at_http(world.door_port(0));
    ssh_at_http.send(ssh_greeting);
    EXPECT_EQ(ssh_at_http.receive_all(), "");
    RawSocket tls_at_ssh(world.door_port(1));
    tls_at_ssh.send(client_hello);
    EXPECT_EQ(tls_at_ssh.receive_all(), "");
    EXPECT_EQ(world.gate->tally().refused(Refused::first_bytes), 4U);
    EXPECT_EQ(world.gate->tally().outcomes(CallOutcome::joined), 0U);
}

TEST(GateJoins, AnythingAtADoorOfATest) {
    GateWorld world;
    LinkEnd link = world.link({.doors = {{.kind = "test"}}});
    RawSocket stranger(world.door_port());
    RawSocket machine = world.call(link.await_call());
    stranger.send("PING");
    EXPECT_EQ(machine.receive_until("PING"), "PING");
}

TEST(GateJoins, AStrangerWaitsForALinkThatComesBack) {
    GateWorld world;
    { LinkEnd link = world.link(); }
    ASSERT_TRUE(eventually([&] { return world.gate->present().links == 0; }));
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    ASSERT_TRUE(eventually([&] { return world.gate->present().waiting == 1; }));
    LinkEnd again = world.link();
    RawSocket machine = world.call(again.await_call());
    EXPECT_EQ(machine.receive_until("\n"), ssh_greeting);
}

TEST(GateJoins, ACallThatALostLinkToldIsToldToTheNext) {
    GateWorld world;
    std::string call_id;
    RawSocket stranger = [&] {
        LinkEnd link = world.link();
        RawSocket knocking(world.door_port());
        knocking.send(ssh_greeting);
        call_id = link.await_call();
        return knocking;
    }();
    ASSERT_TRUE(eventually([&] { return world.gate->present().links == 0; }));
    LinkEnd again = world.link();
    EXPECT_EQ(again.await_call(), call_id);
    EXPECT_EQ(world.call(call_id).receive_until("\n"), ssh_greeting);
}

TEST(GateJoins, NobodyWhenTheMachineHasNoLinkInTime) {
    GateWorld world(brief());
    { LinkEnd link = world.link(); }
    ASSERT_TRUE(eventually([&] { return world.gate->present().links == 0; }));
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    EXPECT_EQ(stranger.receive_all(), "");
    EXPECT_EQ(world.gate->tally().outcomes(CallOutcome::no_link), 1U);
}

TEST(GateCalls, AreGoodOnce) {
    GateWorld world;
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    const std::string call_id = link.await_call();
    RawSocket machine = world.call(call_id);
    RawSocket thief(world.call_port());
    thief.send(GateWorld::call_request(call_id));
    EXPECT_EQ(thief.receive().status, 404);
    EXPECT_EQ(machine.receive_until("\n"), ssh_greeting);
}

TEST(GateCalls, CannotBeGuessed) {
    GateWorld world;
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    const std::string call_id = link.await_call();
    std::string other = call_id;
    other.back() = other.back() == '0' ? '1' : '0';
    for (const std::string& guess : {uuid_text(1), other, std::string("x"), std::string("../calls"),
                                     call_id + "0", std::string(32, '0')}) {
        RawSocket thief(world.call_port());
        thief.send(GateWorld::call_request(guess));
        EXPECT_EQ(thief.receive().status, 404) << guess;
    }
    EXPECT_EQ(world.gate->present().waiting, 1U);
}

TEST(GateCalls, AreOverAfterTheirTime) {
    GateWorld world(brief());
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    const std::string call_id = link.await_call();
    EXPECT_EQ(stranger.receive_all(), "");
    RawSocket late(world.call_port());
    late.send(GateWorld::call_request(call_id));
    EXPECT_EQ(late.receive().status, 404);
    EXPECT_EQ(world.gate->tally().outcomes(CallOutcome::unanswered), 1U);
}

TEST(GateCalls, AreNotUsedUpByARequestThatDoesNotSwitch) {
    GateWorld world;
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    const std::string call_id = link.await_call();
    RawSocket plain(world.call_port());
    plain.send(fmt::format("GET /v1/calls/{} HTTP/1.1\r\nHost: gate\r\n\r\n", call_id));
    EXPECT_EQ(plain.receive().status, 426);
    EXPECT_EQ(world.call(call_id).receive_until("\n"), ssh_greeting);
}

TEST(GateDoors, LeadNowhereElse) {
    GateWorld world;
    LinkEnd link = world.link();
    for (const std::string target : {"http://169.254.169.254/latest", "127.0.0.1:22", "*"}) {
        RawSocket proxy_seeker(world.call_port());
        proxy_seeker.send(fmt::format("CONNECT {} HTTP/1.1\r\nHost: {}\r\n\r\n", target, target));
        const std::string answer = proxy_seeker.receive_until("\r\n\r\n");
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 4")) << answer;
    }
    RawSocket absolute(world.call_port());
    absolute.send("GET http://169.254.169.254/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n");
    EXPECT_TRUE(absolute.receive_until("\r\n\r\n").starts_with("HTTP/1.1 4"));
}

TEST(GateDoors, AreOnlyThoseOfTickets) {
    GateWorld world;
    LinkEnd link = world.link();
    EXPECT_THROW(RawSocket(world.door_port(1)), std::exception);
    EXPECT_EQ(world.gate->present().doors, 1U);
}

TEST(GateEcho, GreetsAndSaysBackWhatItHears) {
    GateWorld world;
    RawSocket doctor(world.call_port());
    doctor.send(
        "GET /v1/echo HTTP/1.1\r\nHost: gate\r\nConnection: Upgrade\r\n"
        "Upgrade: berth-stream\r\n\r\n");
    EXPECT_TRUE(doctor.receive_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
    EXPECT_EQ(doctor.receive_until("\r\n"), "SSH-2.0-berth-gate-echo\r\n");
    doctor.send("hello?");
    EXPECT_EQ(doctor.receive_until("?"), "hello?");
    EXPECT_FALSE(doctor.try_send(std::string(1'000'000, 'x')) &&
                 doctor.receive_all().size() > 70'000);
}

TEST(GateEcho, IsForSixteenAtOnce) {
    GateWorld world;
    std::vector<RawSocket> doctors;
    for (int i = 0; i < 17; ++i) {
        doctors.emplace_back(world.call_port());
        doctors.back().send(
            "GET /v1/echo HTTP/1.1\r\nHost: gate\r\nConnection: Upgrade\r\n"
            "Upgrade: berth-stream\r\n\r\n");
        const std::string head = doctors.back().receive_until("\r\n\r\n");
        EXPECT_TRUE(head.starts_with(i < 16 ? "HTTP/1.1 101 " : "HTTP/1.1 503 ")) << i;
    }
}

TEST(GateHealth, IsToldAtBothPorts) {
    GateWorld world;
    RawSocket plain(world.call_port());
    plain.send("GET /v1/health HTTP/1.1\r\nHost: gate\r\n\r\n");
    EXPECT_EQ(plain.receive().body, R"({"status":"ok"})");
    EXPECT_EQ(world.status_of("GET /v1/health HTTP/1.1\r\nHost: gate\r\n\r\n"), 200);
}

}  // namespace
}  // namespace berth::test
