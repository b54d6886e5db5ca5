// A token that carries a price, and the wish to list: what becomes of them when the machine passes
// its test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "machines/host_agent_types.hpp"
#include "machines/qualification.hpp"
#include "support/machine_agent.hpp"
#include "support/machines.hpp"
#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

using namespace machines;

struct WishedOffers : ::testing::Test {
    WishedOffers() : town(Harness::Options{.flags = {{"allow-private-endpoints", "true"}}}) {
        const auto made = town.enlist(crypto::SigningKey::make(town.harness.random), R"(["host"])");
        key = member(made.body, "api_key.secret");
    }
    http::Response ask(const std::string& method, const std::string& target,
                       const std::string& body = "", const std::string& repeated = "") {
        return town.harness.ask({.method = method,
                                 .target = target,
                                 .as = key,
                                 .key = method == "GET"    ? ""
                                        : repeated.empty() ? town.harness.new_id()
                                                           : repeated,
                                 .body = body});
    }
    // Comes in by a token that says this.
    void enroll(const std::string& wish) {
        const auto made =
            ask("POST", "/api/v1/hosts/enrollments", R"({"tier":"container")" + wish + "}");
        ASSERT_EQ(made.status, 201) << made.body;
        enrollment = member(made.body, "enrollment_id");
        ASSERT_EQ(agent.enroll(member(made.body, "token")).status, 201);
        ASSERT_EQ(agent.heartbeat().status, 200);
    }
    http::Response take_test(const std::string& spoiled = "") {
        town.harness.clock.advance(std::chrono::seconds(2));
        town.run_tasks();
        RunId run;
        for (const auto& command : agent.orders().commands)
            if (command.kind == CommandKind::qualify)
                run = wire::decode<QualifyPayload>(command.payload.text, "payload").run_id;
        std::string checks;
        for (const std::string id : checks_of_host)
            checks += fmt::format(R"({}{{"id":"{}","status":"{}"}})", checks.empty() ? "" : ",", id,
                                  id == spoiled ? "fail" : "pass");
        const std::string body =
            fmt::format(R"({{"fence":"1","checks":[{}],"measurements":{{)"
                        R"("vram_bytes":"25757220864","disk_bytes":"{}"}},"endpoint":null}})",
                        checks, disk_bytes);
        return repeat([&] {
            return agent.send({.target = fmt::format("/api/v1/host-agent/qualification/{}/result",
                                                     to_string(run)),
                               .body = body});
        });
    }
    // The answer may be lost: whatever is sent again changes nothing.
    template <class Send>
    http::Response repeat(const Send& send) {
        const http::Response first = send();
        EXPECT_EQ(first.status, 202) << first.body;
        EXPECT_EQ(send().body, first.body);
        return first;
    }
    std::string path() { return "/api/v1/hosts/machines/" + to_string(agent.machine); }
    std::string versions() { return ask("GET", path() + "/offers").body; }
    Machine machine() { return seen(town.harness, agent.machine); }
    std::vector<std::string> told() {
        const std::string all = ask("GET", "/api/v1/events?limit=100").body;
        std::vector<std::string> kinds;
        for (int i = 0; i < 100; ++i)
            if (const std::string kind = member(all, fmt::format("items.{}.type", i));
                !kind.empty())
                kinds.push_back(kind);
        return kinds;
    }
    std::ptrdiff_t count_told(const std::string& kind) {
        const auto all = told();
        return std::count(all.begin(), all.end(), kind);
    }

    Town town;
    std::string key;
    std::string enrollment;
    std::int64_t disk_bytes = 1'000'000'000'000;
    MachineAgent agent{town.harness};
};

TEST_F(WishedOffers, ArePublishedAndListedWhenTheTestIsPassed) {
    enroll(R"(,"rate_micro_per_hour":"400000","list":true)");
    EXPECT_EQ(machine().offer_version, 0);
    EXPECT_EQ(member(versions(), "items.0.offer_version"), "");
    take_test();
    EXPECT_EQ(machine().state, MachineState::AVAILABLE);
    EXPECT_EQ(machine().offer_state, OfferState::listed);
    EXPECT_EQ(machine().listed_at, town.harness.clock.now());
    const std::string all = versions();
    EXPECT_EQ(member(all, "items.0.offer_version"), "1");
    EXPECT_EQ(member(all, "items.1.offer_version"), "");
    EXPECT_EQ(member(all, "items.0.rate_micro_per_hour"), "400000");
    EXPECT_EQ(member(all, "items.0.included_disk_gib"), "100");
    EXPECT_EQ(member(all, "items.0.included_egress_gib"), "1000");
    EXPECT_EQ(member(all, "items.0.available_until"),
              to_rfc3339(town.harness.clock.now() + std::chrono::hours(24 * 365)));
    for (const char* kind : {"offer.published", "offer.listed", "machine.available"})
        EXPECT_EQ(count_told(kind), 1) << kind;
    EXPECT_EQ(count_told("machine.listing_rejected"), 0);
}

TEST_F(WishedOffers, AreOnlyPublishedWhereNoListingWasWished) {
    enroll(R"(,"rate_micro_per_hour":"350000","included_egress_gib":5,"available_days":7)");
    take_test();
    EXPECT_EQ(machine().state, MachineState::UNLISTED);
    EXPECT_EQ(machine().offer_state, OfferState::unlisted);
    EXPECT_EQ(member(versions(), "items.0.included_egress_gib"), "5");
    EXPECT_EQ(machine().available_until, town.harness.clock.now() + std::chrono::hours(24 * 7));
}

TEST_F(WishedOffers, AreNoneWithoutAPrice) {
    enroll("");
    take_test();
    EXPECT_EQ(machine().state, MachineState::UNLISTED);
    EXPECT_EQ(machine().offer_version, 0);
}

TEST_F(WishedOffers, PromiseNoMoreDiskThanThereIs) {
    disk_bytes = std::int64_t{40} << 30;
    enroll(R"(,"rate_micro_per_hour":"400000","included_disk_gib":500,"list":true)");
    take_test();
    EXPECT_EQ(member(versions(), "items.0.included_disk_gib"), "40");
    EXPECT_EQ(machine().state, MachineState::AVAILABLE);
}

TEST_F(WishedOffers, LeaveRoomForImagesWhereTheHostNamedNoDisk) {
    disk_bytes = std::int64_t{60} << 30;
    enroll(R"(,"rate_micro_per_hour":"400000","list":true)");
    take_test();
    EXPECT_EQ(member(versions(), "items.0.included_disk_gib"), "40");
}

TEST_F(WishedOffers, GiveWayToWhatTheOwnerPublishedMeanwhile) {
    enroll(R"(,"rate_micro_per_hour":"400000","list":true)");
    const auto edited =
        ask("PATCH", path() + "/offer",
            fmt::format(R"({{"expected_version":"0","rate_micro_per_hour":"900000",)"
                        R"("included_disk_gib":1,"included_egress_gib":1,"available_from":"{}",)"
                        R"("available_until":"{}"}})",
                        to_rfc3339(town.harness.clock.now()),
                        to_rfc3339(town.harness.clock.now() + std::chrono::hours(100))));
    ASSERT_EQ(edited.status, 202) << edited.body;
    take_test();
    EXPECT_EQ(machine().offer_version, 1);
    EXPECT_EQ(machine().state, MachineState::UNLISTED) << "the owner did not list it";
    EXPECT_EQ(member(versions(), "items.0.rate_micro_per_hour"), "900000");
}

TEST_F(WishedOffers, WaitForATestThatIsPassedAndAreCarriedOutOnce) {
    enroll(R"(,"rate_micro_per_hour":"400000","list":true)");
    take_test("gpu.idle");
    EXPECT_EQ(machine().offer_version, 0);
    town.harness.clock.advance(std::chrono::minutes(2));
    agent.heartbeat();
    take_test();
    EXPECT_EQ(machine().state, MachineState::AVAILABLE);
    ASSERT_EQ(ask("POST", path() + "/unlist").status, 202);
    ASSERT_EQ(ask("POST", path() + "/qualification/retry").status, 202);
    take_test();
    EXPECT_EQ(machine().offer_version, 1);
    EXPECT_EQ(machine().state, MachineState::UNLISTED) << "its owner took it off";
}

TEST_F(WishedOffers, AreListedLaterWhereSomethingStandsInTheWay) {
    town.harness.set("operations.admission_paused", "true");
    enroll(R"(,"rate_micro_per_hour":"400000","list":true)");
    take_test();
    EXPECT_EQ(machine().state, MachineState::UNLISTED);
    EXPECT_EQ(machine().offer_state, OfferState::listed);
    EXPECT_EQ(count_told("machine.listing_rejected"), 1);
    town.harness.set("operations.admission_paused", "false");
    agent.heartbeat();
    town.harness.clock.advance(std::chrono::seconds(30));
    town.run_tasks();
    EXPECT_EQ(machine().state, MachineState::AVAILABLE);
}

// By the host's own word, or its owner's, also before there is anything to be taken back.
TEST_F(WishedOffers, AreNotListedOnceTheMachineWasToTakeNoRental) {
    enroll(R"(,"rate_micro_per_hour":"400000","list":true)");
    ASSERT_EQ(agent.send({.method = "POST", .target = "/api/v1/host-agent/drain"}).status, 200);
    take_test();
    EXPECT_EQ(machine().offer_version, 1);
    EXPECT_EQ(machine().state, MachineState::UNLISTED);
}

TEST_F(WishedOffers, AreNotListedOnceTheOwnerTookTheMachineOff) {
    enroll(R"(,"rate_micro_per_hour":"400000","list":true)");
    ASSERT_EQ(ask("POST", path() + "/unlist").status, 202);
    take_test();
    EXPECT_EQ(machine().state, MachineState::UNLISTED);
}

TEST_F(WishedOffers, AreShownWithTheToken) {
    enroll(R"(,"rate_micro_per_hour":"400000","list":true)");
    const std::string shown = ask("GET", "/api/v1/hosts/enrollments/" + enrollment).body;
    EXPECT_EQ(member(shown, "rate_micro_per_hour"), "400000");
    EXPECT_EQ(member(shown, "list"), "true");
}

TEST_F(WishedOffers, AreRefusedWhereTheyMakeNoSense) {
    for (const auto& [wish, named] : {
             std::pair{R"("list":true)", "body.list"},
             {R"("included_disk_gib":1)", "body.included_disk_gib"},
             {R"("included_egress_gib":1)", "body.included_egress_gib"},
             {R"("available_days":1)", "body.available_days"},
             {R"("rate_micro_per_hour":"1","available_days":0)", "body.available_days"},
             {R"("rate_micro_per_hour":"1","available_days":3651)", "body.available_days"},
             {R"("rate_micro_per_hour":"-1")", "body.rate_micro_per_hour"},
             {R"("rate_micro_per_hour":"1","included_disk_gib":-1)", "body.included_disk_gib"},
             {R"("rate_micro_per_hour":"1","list":"yes")", "body.list"},
         }) {
        const auto refused = ask("POST", "/api/v1/hosts/enrollments",
                                 fmt::format(R"({{"tier":"container",{}}})", wish));
        EXPECT_EQ(refused.status, 422) << wish;
        EXPECT_NE(error_message(refused).find(named), std::string::npos) << error_message(refused);
    }
    const auto plain =
        ask("POST", "/api/v1/hosts/enrollments", R"({"tier":"container","list":false})");
    EXPECT_EQ(plain.status, 201) << plain.body;
}

}  // namespace
}  // namespace berth::test
