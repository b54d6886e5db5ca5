// What operators do to machines, with jobs on them and without.
#include <gtest/gtest.h>

#include "accounts/accounts.hpp"
#include "rentals/market.hpp"
#include "support/told.hpp"

namespace berth::test {
namespace {

using machines::OfferState;
using machines::VerificationLevel;

class MachineActions : public MarketTest {
protected:
    Browser admin() {
        database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, town.harness.random, now()}, "root@example.org");
        });
        Browser browser = town.person("root@example.org");
        browser.enroll();
        return browser;
    }
    machines::Machine machine_now(const machines::Machine& machine) {
        return seen(town.harness, machine.machine_id);
    }
    http::Response send_action(MachineId id, const std::string& body) {
        return root.send("POST", "/api/v1/admin/machines/" + to_string(id) + "/actions", body,
                         town.harness.new_id());
    }
    http::Response act(const machines::Machine& machine, const std::string& action) {
        return send_action(machine.machine_id, body_of(action, machine_now(machine).version));
    }
    static std::string body_of(const std::string& action, std::int64_t version) {
        return fmt::format(
            R"({{"action":"{}","reason":"for a good reason","expected_version":"{}"}})", action,
            version);
    }
    std::string level(const machines::Machine& machine) {
        return std::string(enum_name(machine_now(machine).verification_level));
    }
    // The fences of the commands of a kind that wait for the machine.
    std::vector<std::int64_t> waiting(const machines::Machine& machine, const std::string& kind) {
        return database().read([&](db::Transaction& tx) {
            return tx.fetch_values<std::int64_t>(
                "SELECT fence FROM machine_commands WHERE machine_id = $1 AND kind = $2 "
                "AND state = 'queued' ORDER BY command_id",
                machine.machine_id, kind);
        });
    }
    machines::Machine simple(const NewMachine& wanted = {}) {
        return enrolled(town.harness, ada.account, wanted);
    }

    Browser root = admin();
    const int stepped_up = root.step_up("admin-sensitive").status;
};

TEST_F(MachineActions, AQuarantineStopsTheRunningJobWhichIsSettledOnce) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    get_ready(job);
    town.harness.clock.advance(seconds(10));
    beat(job, 10'000);
    const auto before = machine_now(machine);

    const auto done = act(machine, "quarantine");
    ASSERT_EQ(done.status, 200) << done.body;
    const auto aside = machine_now(machine);
    EXPECT_EQ(aside.state, machines::MachineState::QUARANTINED);
    EXPECT_EQ(aside.fence, before.fence + 1);
    EXPECT_EQ(member(done.body, "machine_id"), to_string(machine.machine_id));
    EXPECT_EQ(member(done.body, "version"), std::to_string(aside.version));
    EXPECT_EQ(member(done.body, "action"), "quarantine");
    EXPECT_EQ(member(done.body, "changed.0.field"), "state");
    EXPECT_EQ(member(done.body, "changed.0.from"), "ALLOCATED");
    EXPECT_EQ(member(done.body, "changed.0.to"), "QUARANTINED");
    EXPECT_NE(member(done.body, "consequence"), "");
    EXPECT_NE(member(done.body, "audit_event_id"), "");
    EXPECT_EQ(state_of(job), JobState::STOPPING);
    EXPECT_EQ(member(show(ben, job), "end_reason"), "operator_stop");
    EXPECT_EQ(waiting(machine, "STOP"), (std::vector{aside.fence})) << "older ones are ignored";

    town.harness.clock.advance(seconds(5));
    beat(job, 15'000);
    EXPECT_TRUE(waiting(machine, "CLEAN").empty()) << "the workload has not ended";
    EXPECT_EQ(end(job, 15'000), "CLOSED");
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 10'000}) << "nothing after the stop";
    EXPECT_EQ(balances(ben).held, Micro{0});
    beat(job, 15'000);
    EXPECT_EQ(waiting(machine, "CLEAN").size(), 1U);
    clean(job);
    EXPECT_EQ(machine_now(machine).state, machines::MachineState::QUARANTINED)
        << "only by an operator";
    ASSERT_EQ(act(machine, "release").status, 200);
    EXPECT_EQ(machine_now(machine).state, machines::MachineState::UNQUALIFIED);
    EXPECT_EQ(untold(town.harness.app->database(),
                     {"machine.quarantined", "operations.machine_quarantined"}),
              "");
}

TEST_F(MachineActions, AJobThatNoAgentHeardOfEndsAtOnceAndCostsNothing) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    ASSERT_EQ(act(machine, "quarantine").status, 200);
    EXPECT_EQ(state_of(job), JobState::CLOSED);
    EXPECT_EQ(member(show(ben, job), "end_reason"), "operator_stop");
    EXPECT_EQ(balances(ben).available, Micro{10'000'000});
    EXPECT_TRUE(waiting(machine, "START").empty());
}

TEST_F(MachineActions, AQuarantineEndsTheRetrievalWindow) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    get_ready(job);
    stop(ben, job);
    EXPECT_EQ(end(job), "STOPPED");
    EXPECT_NE(member(show(ben, job), "retrieval_until"), "null");
    ASSERT_EQ(act(machine, "quarantine").status, 200);
    EXPECT_EQ(state_of(job), JobState::CLOSED);
    EXPECT_EQ(member(show(ben, job), "retrieval_until"), "null");
    EXPECT_EQ(member(show(ben, job), "state_deadline"), "null");
}

TEST_F(MachineActions, AJobThatIsBeingStoppedIsToldAgainUnderTheNewFence) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    get_ready(job);
    stop(ben, job);
    ASSERT_EQ(act(machine, "quarantine").status, 200);
    EXPECT_EQ(state_of(job), JobState::STOPPING);
    EXPECT_EQ(member(show(ben, job), "end_reason"), "renter_stop");
    EXPECT_EQ(waiting(machine, "STOP"), (std::vector{machine_now(machine).fence}));
}

TEST_F(MachineActions, NoReleaseWaivesTheCleaningOfTheLastJob) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    get_ready(job);
    ASSERT_EQ(act(machine, "quarantine").status, 200);
    end(job);
    const auto released = act(machine, "release");
    ASSERT_EQ(released.status, 200) << released.body;
    EXPECT_EQ(machine_now(machine).state, machines::MachineState::QUARANTINED);
    EXPECT_EQ(member(released.body, "changed.0.field"), "quarantine_held");
    clean(job);
    EXPECT_EQ(machine_now(machine).state, machines::MachineState::UNQUALIFIED);
}

TEST_F(MachineActions, AnIdleMachineThatIsPutAsideLeavesTheMarketAndIsTestedAfterItsRelease) {
    const auto machine = put_up();
    ASSERT_EQ(act(machine, "quarantine").status, 200);
    EXPECT_EQ(quote(ben, machine, {}).status, 409);
    EXPECT_EQ(machine_now(machine).quarantined_by, machines::QuarantineCause::operator_);
    ASSERT_EQ(act(machine, "release").status, 200);
    const auto back = machine_now(machine);
    EXPECT_EQ(back.state, machines::MachineState::UNQUALIFIED);
    EXPECT_EQ(back.qualify_state, machines::QualifyState::waiting);
    EXPECT_EQ(error_code(act(machine, "release")), "CONFLICT") << "it is in no quarantine";
    EXPECT_EQ(untold(town.harness.app->database(), {"machine.unqualified"}), "");
}

TEST_F(MachineActions, VerifyingIsAnOperatorsWordAndIsTakenBackByOne) {
    const auto tested = simple({.state = machines::MachineState::UNLISTED});
    const std::string by_test = level(tested);
    const auto done = act(tested, "verify");
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(level(tested), "manually_verified");
    EXPECT_EQ(member(done.body, "changed.0.from"), by_test);
    EXPECT_EQ(member(act(tested, "verify").body, "changed"), "[]") << "it was so already";
    ASSERT_EQ(act(tested, "unverify").status, 200);
    EXPECT_EQ(level(tested), "auto_verified");
    EXPECT_EQ(member(act(tested, "unverify").body, "changed"), "[]");

    const auto untested = simple();
    ASSERT_EQ(act(untested, "verify").status, 200);
    ASSERT_EQ(act(untested, "unverify").status, 200);
    EXPECT_EQ(level(untested), "unverified");
}

TEST_F(MachineActions, ASimulatedMachineIsNeverVerifiedByHand) {
    const auto machine = simple({.runtime_kind = machines::RuntimeKind::simulated});
    EXPECT_EQ(error_code(act(machine, "verify")), "CONFLICT");
    EXPECT_NE(level(machine), "manually_verified");
}

TEST_F(MachineActions, AtAnotherVersionNothingIsDone) {
    const auto machine = simple();
    const auto stale = send_action(machine.machine_id, body_of("quarantine", machine.version + 1));
    EXPECT_EQ(stale.status, 409);
    EXPECT_EQ(error_code(stale), "STALE_VERSION");
    EXPECT_EQ(machine_now(machine).state, machine.state);
    EXPECT_EQ(machine_now(machine).version, machine.version);
}

TEST_F(MachineActions, AnOperatorRetiresAnyMachineWhateverItDoes) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    get_ready(job);
    town.harness.clock.advance(seconds(10));
    beat(job, 10'000);
    EXPECT_EQ(send(ada, "DELETE", "/api/v1/hosts/machines/" + to_string(machine.machine_id)).status,
              409)
        << "its owner could not";
    const auto done = act(machine, "retire");
    ASSERT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(member(done.body, "action"), "retire");
    EXPECT_NE(done.body.find(R"("field":"retired","from":"false","to":"true")"), std::string::npos)
        << done.body;
    EXPECT_EQ(send(ada, "GET", "/api/v1/hosts/machines/" + to_string(machine.machine_id)).status,
              404);
    EXPECT_EQ(state_of(job), JobState::STOPPING);
    pass(seconds(301));
    EXPECT_EQ(state_of(job), JobState::CLOSED);
    EXPECT_EQ(member(show(ben, job), "end_reason"), "operator_stop");
    EXPECT_EQ(balances(ben).held, Micro{});
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 10'000});
    ASSERT_EQ(root.step_up("admin-sensitive").status, 200);
    const auto idle = put_up();
    EXPECT_EQ(act(idle, "retire").status, 200);
    EXPECT_EQ(send_action(idle.machine_id, body_of("retire", 9)).status, 404) << "it is gone";
    EXPECT_EQ(act(simple(), "retire").status, 200);
    EXPECT_EQ(untold(town.harness.app->database(), {"machine.retired"}), "");
}

TEST_F(MachineActions, EveryFaultOfTheRequestIsNamed) {
    const auto machine = simple();
    const auto fault = [&](const std::string& body) {
        const auto answer = send_action(machine.machine_id, body);
        EXPECT_EQ(answer.status, 422) << answer.body;
        return member(answer.body, "error.message");
    };
    EXPECT_NE(fault(R"({"action":"paint","reason":"a reason","expected_version":"1"})")
                  .find("body.action"),
              std::string::npos);
    EXPECT_NE(
        fault(R"({"action":"verify","reason":"why","expected_version":"1"})").find("body.reason"),
        std::string::npos);
    EXPECT_NE(fault(R"({"action":"verify","reason":"a reason"})").find("body.expected_version"),
              std::string::npos);
    EXPECT_NE(fault(R"({"action":"verify","reason":"a reason","expected_version":"1","x":1})")
                  .find("body.x"),
              std::string::npos);
    EXPECT_EQ(send_action(MachineId::make(now(), town.harness.random), body_of("verify", 1)).status,
              404);
    EXPECT_EQ(machine_now(machine).version, machine.version);
}

TEST_F(MachineActions, AnOperatorMayAskAMachineForANewKey) {
    const auto machine = simple();
    const auto asked =
        root.send("POST", "/api/v1/hosts/machines/" + to_string(machine.machine_id) + "/rotate-key",
                  "", town.harness.new_id());
    EXPECT_EQ(asked.status, 202) << asked.body;
    EXPECT_EQ(waiting(machine, "ROTATE_KEY").size(), 1U);
    EXPECT_EQ(
        send(ben, "POST", "/api/v1/hosts/machines/" + to_string(machine.machine_id) + "/rotate-key")
            .status,
        403)
        << "a renter's key has no business with machines";
}

TEST_F(MachineActions, AFreshProofIsAskedForAndEachCommandIsOnRecord) {
    EXPECT_EQ(stepped_up, 200);
    const auto machine = simple();
    ASSERT_EQ(act(machine, "quarantine").status, 200);
    const std::string events = root.send("GET", "/api/v1/admin/audit").body;
    EXPECT_EQ(member(events, "items.0.action"), "quarantine_machine");
    EXPECT_EQ(member(events, "items.0.target.id"), to_string(machine.machine_id));
    EXPECT_EQ(member(events, "items.0.reason"), "for a good reason");
    town.harness.clock.advance(std::chrono::minutes(6));
    const auto refused = act(machine, "release");
    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(error_code(refused), "FORBIDDEN");
    EXPECT_EQ(machine_now(machine).state, machines::MachineState::QUARANTINED);
}

TEST_F(MachineActions, OneIsFoundAmongAllAlsoWhenItIsOutOfService) {
    const auto machine = simple();
    const auto other = simple();
    const auto find = [&](const std::string& id) {
        return root.send("GET", "/api/v1/admin/machines?machine=" + id).body;
    };
    EXPECT_EQ(member(find(to_string(machine.machine_id)), "items.0.machine_id"),
              to_string(machine.machine_id));
    EXPECT_EQ(member(find(to_string(machine.machine_id)), "items.1.machine_id"), "");
    ASSERT_EQ(act(other, "retire").status, 200);
    EXPECT_EQ(member(find(to_string(other.machine_id)), "items.0.machine_id"),
              to_string(other.machine_id));
    EXPECT_EQ(find(town.harness.new_id()).find("machine_id"), std::string::npos);
}

TEST_F(MachineActions, ThoseBehindAGateAreFoundAmongAll) {
    simple();
    const auto behind = simple();
    town.harness.app->database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, behind.machine_id).value();
        row.reach = machines::Reach::gate;
        machines::save({tx, town.harness.random, town.harness.clock.now()}, row);
        machines::save_reach_why(tx, behind.machine_id, "No address of its own.");
    });
    const std::string found = root.send("GET", "/api/v1/admin/machines?reach=gate").body;
    EXPECT_EQ(member(found, "items.0.machine_id"), to_string(behind.machine_id)) << found;
    EXPECT_EQ(member(found, "items.0.reach_why"), "No address of its own.");
    EXPECT_EQ(member(found, "items.1.machine_id"), "");
    const std::string others = root.send("GET", "/api/v1/admin/machines?reach=direct").body;
    EXPECT_EQ(others.find(to_string(behind.machine_id)), std::string::npos);
}

TEST_F(MachineActions, APreviewTellsWhatAQuarantineWouldEndAndChangesNothing) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    get_ready(job);
    const auto before = machine_now(machine);
    const Micro held = balances(ben).held;
    town.harness.clock.advance(std::chrono::minutes(6));  // it needs no fresh proof
    const std::string path =
        "/api/v1/admin/machines/" + to_string(machine.machine_id) + "/actions/preview";
    const auto shown = root.send("POST", path, body_of("quarantine", before.version));
    ASSERT_EQ(shown.status, 200) << shown.body;
    EXPECT_EQ(member(shown.body, "allowed"), "true");
    EXPECT_EQ(member(shown.body, "refusal"), "");
    EXPECT_EQ(member(shown.body, "effects.0.what"), "rentals_stopped");
    EXPECT_EQ(member(shown.body, "effects.0.count"), "1");
    EXPECT_EQ(member(shown.body, "effects.0.ids.0"), to_string(job));
    EXPECT_EQ(member(shown.body, "effects.0.amount_micro"), to_string(held));
    EXPECT_NE(member(shown.body, "consequence"), "");
    EXPECT_EQ(machine_now(machine).version, before.version);
    EXPECT_EQ(machine_now(machine).state, before.state);
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    EXPECT_TRUE(waiting(machine, "STOP").empty());
    EXPECT_EQ(root.send("GET", "/api/v1/admin/audit").body.find("quarantine_machine"),
              std::string::npos);

    const auto refused = root.send("POST", path, body_of("release", before.version));
    ASSERT_EQ(refused.status, 200) << refused.body;
    EXPECT_EQ(member(refused.body, "allowed"), "false");
    EXPECT_EQ(member(refused.body, "refusal.code"), "CONFLICT");
    EXPECT_EQ(member(refused.body, "effects"), "[]");
    const auto stale = root.send("POST", path, body_of("quarantine", before.version + 1));
    EXPECT_EQ(member(stale.body, "refusal.code"), "STALE_VERSION");
    EXPECT_EQ(root.send("POST", path, R"({"action":"paint","reason":"a reason"})").status, 422);
}

TEST_F(MachineActions, APreviewOfAnIdleMachineTellsThatItLeavesTheMarket) {
    const auto machine = put_up();
    const auto shown = root.send(
        "POST", "/api/v1/admin/machines/" + to_string(machine.machine_id) + "/actions/preview",
        body_of("retire", machine_now(machine).version));
    EXPECT_EQ(member(shown.body, "effects.0.what"), "machines_hidden") << shown.body;
    EXPECT_EQ(member(shown.body, "effects.1.what"), "");
    EXPECT_EQ(quote(ben, machine, {}).status, 201) << "it is still there";
}

}  // namespace
}  // namespace berth::test
