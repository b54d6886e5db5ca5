// What a gate tells the server, and what it does at the server's word.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "agent_protocol/signature.hpp"
#include "gate/gate_double.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using support::eventually;
using support::RawSocket;

// A stream with so many bytes each way, ended.
void carry(GateWorld& world, LinkEnd& link, std::size_t in, std::size_t out) {
    RawSocket stranger(world.door_port());
    stranger.send(std::string(ssh_greeting) + std::string(in - ssh_greeting.size(), 'i'));
    stranger.finish_sending();
    RawSocket machine = world.call(link.await_call());
    EXPECT_EQ(machine.receive_all().size(), in);
    machine.send(std::string(out, 'o'));
    machine.finish_sending();
    EXPECT_EQ(stranger.receive_all().size(), out);
    EXPECT_TRUE(eventually([&] { return world.gate->present().streams == 0; }));
}

std::string row(bool linked, std::size_t in, std::size_t out, int streams = 0) {
    return fmt::format(
        R"({{"door_id":"{}","linked":{},"bytes_in":{},"bytes_out":{},"streams":{}}})", uuid_text(1),
        linked, in, out, streams);
}

std::string cut_order() {
    return fmt::format(R"("relays":[],"cut":["{}"],"drain":false)", uuid_text(1));
}

TEST(GateReports, AreSignedAsTheGate) {
    GateWorld world;
    const http::Request request = world.server.last();
    EXPECT_EQ(request.method, "POST");
    const auto parsed =
        agent_protocol::parse_signature(request.headers, agent_protocol::Signer::gate);
    ASSERT_FALSE(parsed.fault);
    EXPECT_EQ(to_string(parsed.value.key_id), world.gate_id());
    const std::string authority = agent_protocol::authority_of(request);
    EXPECT_TRUE(agent_protocol::has_digest(parsed.value, request.body));
    EXPECT_TRUE(agent_protocol::verify(parsed.value, agent_protocol::parts_of(request, authority),
                                       gate::key_of(world.gate->identity()).public_key()));
}

TEST(GateReports, TellWhatWasCarriedSinceTheStart) {
    GateWorld world;
    LinkEnd link = world.link();
    carry(world, link, 1'000, 5'000);
    carry(world, link, 100, 1);
    ASSERT_TRUE(world.gate->report_once());
    const std::string body = world.server.last().body;
    EXPECT_NE(body.find(row(true, 1'100, 5'001)), body.npos) << body;
    EXPECT_FALSE(member_of(body, "boot_id").empty());
    EXPECT_NE(body.find(R"("draining":false)"), body.npos);
}

// A link that answers no call is as good as none.
TEST(GateReports, TellWhatAMachineLetsPassUntilItAnswers) {
    GateWorld::Options options;
    options.timings.tick = std::chrono::milliseconds(10);
    options.timings.wait_max = std::chrono::milliseconds(100);
    options.timings.unanswered_told = std::chrono::minutes(10);
    GateWorld world(options);
    LinkEnd link = world.link({.doors = {{.kind = "test"}}});
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(RawSocket(world.door_port()).receive_all(), "");
        EXPECT_FALSE(link.await_call().empty());
    }
    ASSERT_TRUE(world.gate->report_once());
    const std::string told = world.server.last().body;
    EXPECT_NE(told.find(R"("linked":true)"), std::string::npos) << told;
    EXPECT_NE(told.find(R"("unanswered":2)"), std::string::npos) << told;
    EXPECT_TRUE(eventually([&] {
        const RawSocket stranger(world.door_port());
        try {
            const RawSocket machine = world.call(link.await_call());
            return true;
        } catch (const std::exception&) {  // too late
            return false;
        }
    }));
    ASSERT_TRUE(world.gate->report_once());
    EXPECT_EQ(world.server.last().body.find("unanswered"), std::string::npos);
}

TEST(GateReports, ForgetSoonWhatWasLetPass) {
    GateWorld::Options options;
    options.timings.tick = std::chrono::milliseconds(10);
    options.timings.wait_max = std::chrono::milliseconds(50);
    options.timings.unanswered_told = std::chrono::milliseconds(1);
    GateWorld world(options);
    LinkEnd link = world.link({.doors = {{.kind = "test"}}});
    EXPECT_EQ(RawSocket(world.door_port()).receive_all(), "");
    EXPECT_TRUE(eventually([&] {
        return world.gate->report_once() &&
               world.server.last().body.find("unanswered") == std::string::npos;
    }));
}

TEST(GateReports, TellThatAMachineHasNoLink) {
    GateWorld world;
    { LinkEnd link = world.link(); }
    ASSERT_TRUE(eventually([&] { return world.gate->present().links == 0; }));
    ASSERT_TRUE(world.gate->report_once());
    EXPECT_NE(world.server.last().body.find(row(false, 0, 0)), std::string::npos);
}

TEST(GateReports, CatchUpWhenTheServerWasAway) {
    GateWorld world;
    LinkEnd link = world.link();
    world.server.refuse(503);
    carry(world, link, 1'000, 2'000);
    EXPECT_FALSE(world.gate->report_once());
    // The door closes meanwhile; what it carried is told all the same, and once that was heard the
    // door is forgotten.
    EXPECT_EQ(world.renew(link, {.doors = {{.number = 2, .port = 1}}, .serial = 2}), 204);
    EXPECT_FALSE(world.gate->report_once());
    world.server.order();
    ASSERT_TRUE(world.gate->report_once());
    EXPECT_NE(world.server.last().body.find(row(false, 1'000, 2'000)), std::string::npos);
    ASSERT_TRUE(world.gate->report_once());
    EXPECT_EQ(world.server.last().body.find(uuid_text(1)), std::string::npos);
    EXPECT_EQ(world.gate->present().bytes_in, 1'000U);
}

TEST(GateReports, WithoutAServerLinksAndStreamsGoOn) {
    GateWorld world;
    world.server.refuse(500);
    LinkEnd link = world.link();
    EXPECT_FALSE(world.gate->report_once());
    carry(world, link, 100, 100);
    world.server.answer("no JSON at all");
    EXPECT_FALSE(world.gate->report_once());
    world.server.answer(R"({"keys":[],"relays":["nonsense"],"cut":[],"drain":false,"later":1})");
    EXPECT_TRUE(world.gate->report_once());
    LinkEnd again = world.link();  // no key at all is no list of keys
    carry(world, again, 100, 100);
}

TEST(GateOrders, ACutDoorIsClosedWithItsStreams) {
    GateWorld world;
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    RawSocket machine = world.call(link.await_call());
    world.server.order(cut_order());
    ASSERT_TRUE(world.gate->report_once());
    stranger.await_end();
    machine.await_end();
    EXPECT_EQ(member_of(link.next_word(), "reason"), "cut");
    EXPECT_THROW(RawSocket(world.door_port()), std::exception);
}

TEST(GateOrders, ACutDoorStaysClosedForTheTicketThatHadIt) {
    GateWorld world;
    LinkEnd link = world.link({.serial = 4});
    world.server.order(cut_order());
    ASSERT_TRUE(world.gate->report_once());
    world.server.order();
    ASSERT_TRUE(world.gate->report_once());
    EXPECT_EQ(world.status_of(world.signed_request(world.ticket({.serial = 4}))), 403);
    EXPECT_EQ(world.gate->present().doors, 0U);
    LinkEnd again = world.link({.serial = 5});
    EXPECT_EQ(world.gate->present().doors, 1U);
}

// The machine gave the door back and wanted it again while the report was on its way.
TEST(GateOrders, ADoorThatWasGivenAgainSinceTheReportIsNotCutForIt) {
    GateWorld world;
    LinkEnd link = world.link({.doors = {{.number = 1, .port = 0}, {.number = 2, .port = 1}}});
    world.server.order(cut_order());
    world.server.do_before_answer([&] {
        EXPECT_EQ(world.renew(link, {.doors = {{.number = 1, .port = 0}, {.number = 2, .port = 1}},
                                     .serial = 2}),
                  204);
    });
    ASSERT_TRUE(world.gate->report_once());
    EXPECT_EQ(world.gate->present().doors, 2U);
    ASSERT_TRUE(world.gate->report_once());
    EXPECT_EQ(world.gate->present().doors, 1U) << "it was not, as the next report is told";
}

TEST(GateOrders, StrangersWhoWaitAtACutDoorGo) {
    GateWorld world;
    LinkEnd link = world.link();
    RawSocket stranger(world.door_port());
    stranger.send(ssh_greeting);
    const std::string call_id = link.await_call();
    world.server.order(cut_order());
    ASSERT_TRUE(world.gate->report_once());
    stranger.await_end();
    RawSocket late(world.call_port());
    late.send(GateWorld::call_request(call_id));
    EXPECT_EQ(late.receive().status, 404);
}

TEST(GateOrders, NewKeysReplaceTheOldOnes) {
    GateWorld world;
    world.server.answer(fmt::format(
        R"({{"keys":[{{"key_id":"k2","public_key":"{}"}}],"relays":[],"cut":[],"drain":false}})",
        to_base64(key_of_letter('n').public_key().view())));
    ASSERT_TRUE(world.gate->report_once());
    EXPECT_EQ(world.status_of(world.signed_request(world.ticket())), 403);
    LinkEnd link = world.link({.server_key = 'n', .key_id = "k2"});
}

TEST(GateMetrics, TellWhatThereIs) {
    GateWorld world;
    LinkEnd link = world.link();
    carry(world, link, 1'000, 2'000);
    http::Outbound request;
    request.url = fmt::format("http://127.0.0.1:{}/metrics", world.gate->metrics_port());
    const std::string page = world.client.send(request).body;
    for (const char* line :
         {"berth_gate_links 1\n", "berth_gate_doors 1\n", "berth_gate_in_bytes_total 1000\n",
          "berth_gate_calls_total{outcome=\"joined\"} 1\n",
          "berth_gate_refused_total{why=\"stale\"} 0\n", "berth_gate_call_seconds_count 1\n"})
        EXPECT_NE(page.find(line), page.npos) << line << page;
}

TEST(GateClock, FollowsTheServersDateWhenItIsFarOff) {
    const ManualClock own(1'800'000'000);
    gate::HeardClock clock(own, gate::HeardClock::Off::noticed);
    http::Response response;
    response.headers.add("Date", "Fri, 15 Jan 2027 09:00:00 GMT");  // an hour later
    EXPECT_TRUE(clock.hear(response));
    EXPECT_EQ(clock.now().micros / 1'000'000, 1'800'003'600);
    EXPECT_FALSE(clock.hear(response));
    gate::HeardClock simulated(own, gate::HeardClock::Off::ignored);
    EXPECT_FALSE(simulated.hear(response));
}

}  // namespace
}  // namespace berth::test
