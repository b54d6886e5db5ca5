// What the world and operators see of gates, and how operators say which there are.
#include "gates/yard.hpp"
#include "server/gate_commands.hpp"

namespace berth::test {
namespace {

TEST_F(Yard, EverybodySeesWhichGatesThereAre) {
    const auto shown = [&] {
        const http::Response response = harness.ask({.target = "/api/v1/gates"});
        EXPECT_EQ(response.status, 200);
        return response.body;
    };
    EXPECT_EQ(shown(), R"({"items":[]})");
    const Gate gate = add_gate('a', {20'000, 20'099}, machines::Continent::EU);
    EXPECT_EQ(shown(), fmt::format(R"({{"items":[{{"gate_id":"{}","host":"gate-a.example.com",)"
                                   R"("continent":"EU","link_port":443,"call_port":8443,)"
                                   R"("tls_key_sha256":"{}","live":false,"draining":false}}]}})",
                                   to_string(gate.id), std::string(64, 'a')));
    report(gate);
    EXPECT_NE(shown().find(R"("live":true)"), std::string::npos);
    wait(16);
    EXPECT_NE(shown().find(R"("live":false)"), std::string::npos);
}

// Real signatures of gates, the bank's credentials of people.
class Operators : public testing::Test {
protected:
    std::string carry_out(const server::GateOrder& order) {
        return server::carry_out(order, harness.app->database(), harness.clock, harness.random);
    }
    server::GateOrder good() {
        return {.verb = "add",
                .id = id,
                .host = "gate-1.example.com",
                .dial_host = "203.0.113.20",
                .link_port = "443",
                .call_port = "8443",
                .ports = "20000-20099",
                .continent = "EU",
                .public_key = to_base64(Bytes(32, 'k')),
                .tls_key_sha256 = std::string(64, 'e')};
    }
    std::vector<std::string> audited() {
        return harness.app->database().read([&](db::Transaction& tx) {
            return tx.fetch_values<std::string>(
                "SELECT action FROM audit_events WHERE target_kind = 'gate' ORDER BY sequence");
        });
    }
    std::string list() {
        const http::Response response =
            harness.ask({.target = "/api/v1/admin/gates", .as = "admin " + harness.new_id()});
        EXPECT_EQ(response.status, 200) << response.body;
        return response.body;
    }

    Harness harness;
    const std::string id = "01920000-0000-7000-8000-00000000000a";
};

TEST_F(Operators, AddAGateAndSeeItsLoad) {
    EXPECT_NE(carry_out(good()).find(id), std::string::npos);
    const std::string shown = list();
    for (const char* part :
         {R"("dial_host":"203.0.113.20")", R"("ports_from":20000)", R"("ports_to":20099)",
          R"("heard_at":null)", R"("silent_s":null)", R"("doors":0)", R"("ports_used_percent":0)",
          R"("bytes_in":"0")", R"("live":false)"})
        EXPECT_NE(shown.find(part), std::string::npos) << part << " in " << shown;
    for (const char* who : {"renter", "host", "session"})
        EXPECT_EQ(harness
                      .ask({.target = "/api/v1/admin/gates",
                            .as = std::string(who) + " " + harness.new_id()})
                      .status,
                  403)
            << who;
}

TEST_F(Operators, SayTheSameAgainWithoutAChangeAndAnotherThingWithOne) {
    carry_out(good());
    carry_out(good());
    EXPECT_EQ(audited(), std::vector<std::string>{"add_gate"});
    server::GateOrder other = good();
    other.ports = "21000-21099";
    carry_out(other);
    EXPECT_EQ(audited().size(), 2U);
    EXPECT_NE(list().find(R"("ports_from":21000)"), std::string::npos);
    server::GateOrder fresh = good();
    fresh.id.clear();
    carry_out(fresh);
    EXPECT_EQ(audited().size(), 3U);
}

TEST_F(Operators, DrainAndRemoveAndTakeItBack) {
    carry_out(good());
    carry_out({.verb = "drain", .id = id});
    carry_out({.verb = "drain", .id = id});
    EXPECT_NE(list().find(R"("draining":true)"), std::string::npos);
    carry_out({.verb = "remove", .id = id});
    EXPECT_EQ(list(), R"({"items":[]})");
    EXPECT_EQ(audited(), (std::vector<std::string>{"add_gate", "drain_gate", "remove_gate"}));
    EXPECT_THROW(carry_out({.verb = "remove", .id = id}), Problem);
    carry_out(good());
    EXPECT_NE(list().find(R"("draining":false)"), std::string::npos);
}

TEST_F(Operators, AreToldWhatIsWrongWithAnOrder) {
    const auto refused = [&](const std::function<void(server::GateOrder&)>& how) {
        server::GateOrder order = good();
        how(order);
        try {
            carry_out(order);
        } catch (const Problem& problem) {
            return problem.message;
        }
        return std::string("taken");
    };
    using Order = server::GateOrder;
    EXPECT_NE(refused([](Order& one) { one.host = ""; }).find("--host"), std::string::npos);
    EXPECT_NE(refused([](Order& one) { one.host = "a b"; }).find("--host"), std::string::npos);
    EXPECT_NE(refused([](Order& one) { one.dial_host = "name"; }).find("--dial-host"),
              std::string::npos);
    EXPECT_NE(refused([](Order& one) { one.link_port = "0"; }).find("--link-port"),
              std::string::npos);
    EXPECT_NE(refused([](Order& one) { one.call_port = "x"; }).find("--call-port"),
              std::string::npos);
    EXPECT_NE(refused([](Order& one) { one.call_port = "443"; }).find("--call-port"),
              std::string::npos);
    for (const char* ports : {"", "20000", "20099-20000", "80-90", "20000-70000", "8000-9000"})
        EXPECT_NE(refused([&](Order& one) { one.ports = ports; }).find("--ports"),
                  std::string::npos)
            << ports;
    EXPECT_NE(refused([](Order& one) { one.continent = "XX"; }).find("--continent"),
              std::string::npos);
    EXPECT_NE(refused([](Order& one) { one.public_key = "AAAA"; }).find("--public-key"),
              std::string::npos);
    EXPECT_NE(refused([](Order& one) { one.tls_key_sha256 = "E3"; }).find("--tls-key-sha256"),
              std::string::npos);
    EXPECT_NE(refused([](Order& one) { one.id = "no"; }).find("ID"), std::string::npos);
    EXPECT_TRUE(audited().empty());
}

TEST_F(Operators, LeaveAnOrderWithTheServerThatHoldsTheDatabase) {
    const server::Words words = server::to_words(good());
    const auto read = server::parse_gate_order(words);
    ASSERT_TRUE(read);
    EXPECT_EQ(server::to_words(*read), words);
    EXPECT_NE(
        server::carry_out(words, harness.app->database(), harness.clock, harness.random).find(id),
        std::string::npos);
    EXPECT_FALSE(server::parse_gate_order({"gates", "add"}));
}

}  // namespace
}  // namespace berth::test
