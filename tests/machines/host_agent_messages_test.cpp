// What an enrolled agent answers and tells beside its heartbeats.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "machines/enrolled_agent.hpp"
#include "machines/qualification.hpp"
#include "machines/qualification_runs.hpp"
#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

using agent_protocol::CommandKind;
using machines::MachineState;

TEST_F(Agents, GetCommandsUntilTheyAcknowledgeThem) {
    EXPECT_TRUE(agent.orders().commands.empty());
    const auto id = queue({.kind = CommandKind::qualify, .payload = R"({"run_id":"r"})"});
    ASSERT_EQ(agent.orders().commands.size(), 1u);
    const auto in_beat = agent_protocol::read_orders(agent.heartbeat().body);
    ASSERT_EQ(in_beat->commands.size(), 1u);
    const auto checked = agent_protocol::check_command(in_beat->commands[0], agent.machine,
                                                       agent.pinned, harness.clock.now());
    ASSERT_TRUE(checked.command);
    EXPECT_EQ(checked.command->payload.text, R"({"run_id":"r"})");

    const http::Response taken = agent.acknowledge(id, "accepted");
    ASSERT_EQ(taken.status, 200) << taken.body;
    EXPECT_EQ(member(taken.body, "state"), "accepted");
    EXPECT_EQ(agent.acknowledge(id, "accepted").body, taken.body);
    EXPECT_TRUE(agent.orders().commands.empty());
    EXPECT_EQ(member(agent.acknowledge(id, "completed").body, "state"), "completed");
    EXPECT_EQ(agent.acknowledge(id, "rejected", R"(,"code":"STALE_FENCE")").status, 409);
    EXPECT_EQ(
        agent.acknowledge(agent_protocol::CommandId{machine().offer_id.uuid}, "accepted").status,
        404);
    MachineAgent neighbour(harness, "GPU-2");
    neighbour.enroll(MachineAgent::token_for(harness, owner));
    EXPECT_EQ(neighbour.acknowledge(id, "completed").status, 404);
}

TEST_F(Agents, MayAcknowledgeATestAfterItsResult) {
    const auto id = queue({.kind = CommandKind::qualify});
    harness.app->database().write(
        [&](db::Transaction& tx) { machines::end_test_commands(tx, agent.machine); });
    EXPECT_EQ(member(agent.acknowledge(id, "accepted").body, "state"), "completed");
    EXPECT_EQ(member(agent.acknowledge(id, "completed").body, "state"), "completed");
    EXPECT_EQ(agent.acknowledge(id, "rejected", R"(,"code":"CONFLICT")").status, 409);
}

TEST_F(Agents, AreTooLateForWhatWasTakenBackMeanwhile) {
    const auto id = queue({.kind = CommandKind::start, .lasts = std::chrono::seconds(30)});
    harness.app->database().write(
        [&](db::Transaction& tx) { machines::cancel_commands(tx, agent.machine); });
    EXPECT_EQ(error_code(agent.acknowledge(id, "accepted")), "CONFLICT");
    harness.clock.advance(std::chrono::seconds(30));
    EXPECT_EQ(error_code(agent.acknowledge(id, "accepted")), "COMMAND_EXPIRED");
}

TEST_F(Agents, CannotAcknowledgeForThePastNorTooLate) {
    const auto id = queue({.kind = CommandKind::qualify, .lasts = std::chrono::seconds(30)});
    agent.fence = 0;
    const http::Response stale = agent.acknowledge(id, "accepted");
    EXPECT_EQ(stale.status, 409);
    EXPECT_EQ(error_code(stale), "STALE_FENCE");
    agent.fence = 1;
    harness.clock.advance(std::chrono::seconds(30));
    const http::Response late = agent.acknowledge(id, "accepted");
    EXPECT_EQ(late.status, 409);
    EXPECT_EQ(error_code(late), "COMMAND_EXPIRED");
    // Only the first one must be in time.
    const auto long_one = queue({.kind = CommandKind::qualify, .lasts = std::chrono::seconds(30)});
    EXPECT_EQ(agent.acknowledge(long_one, "accepted").status, 200);
    harness.clock.advance(std::chrono::seconds(60));
    EXPECT_EQ(agent.acknowledge(long_one, "completed").status, 200);
}

TEST_F(Agents, AreToldWhenTheServerDoesNotKnowAKind) {
    const auto id = queue({.kind = CommandKind::clean});
    harness.app->database().write([&](db::Transaction& tx) {
        tx.run("UPDATE machine_commands SET kind = 'DANCE' WHERE command_id = $1", id);
    });
    const http::Response response = agent.acknowledge(id, "completed");
    EXPECT_EQ(response.status, 422);
    EXPECT_EQ(error_code(response), "UNKNOWN_COMMAND_KIND");
}

TEST_F(Agents, WithJobsThatNobodyKnowsAreToldToStopAndClean) {
    const std::string job = harness.new_id();
    agent.jobs = {{.job_id = {parse_uuid(job).value()},
                   .lease_seq = {3},
                   .budget_version = {1},
                   .phase = agent_protocol::JobPhase::running,
                   .container_id = wire::Text<1, 128>{"c"},
                   .runtime_ms = {5}}};
    for (int times = 0; times < 2; ++times) {
        harness.clock.advance(std::chrono::seconds(20));
        const auto orders = wire::decode<agent_protocol::Orders>(agent.heartbeat().body);
        ASSERT_EQ(orders.commands.size(), 2u);
        EXPECT_EQ(orders.commands[0].kind, CommandKind::stop);
        EXPECT_EQ(orders.commands[1].kind, CommandKind::clean);
        EXPECT_EQ(to_string(*orders.commands[0].job_id), job);
        EXPECT_TRUE(orders.leases.empty());
    }
    const http::Response event = agent.send(
        {.target = "/api/v1/host-agent/jobs/" + job + "/events",
         .body = R"({"fence":"1","lease_seq":"3","kind":"STOPPED","at":"2026-01-01T00:00:00Z",)"
                 R"("evidence":{}})"});
    EXPECT_EQ(event.status, 200);  // it is not charged, and waited for
    const http::Response stale = agent.send(
        {.target = "/api/v1/host-agent/jobs/" + job + "/events",
         .body = R"({"fence":"0","lease_seq":"3","kind":"STOPPED","at":"2026-01-01T00:00:00Z",)"
                 R"("evidence":{}})"});
    EXPECT_EQ(error_code(stale), "STALE_FENCE");
}

TEST_F(Agents, ReportTheirHealthOnce) {
    const std::string body = R"({"fence":"1","kind":"GPU_XID","at":"2026-01-01T00:00:00Z",)"
                             R"("evidence":{"xid":79}})";
    const http::Response first = agent.send({.target = "/api/v1/host-agent/events", .body = body});
    ASSERT_EQ(first.status, 200) << first.body;
    harness.clock.advance(std::chrono::seconds(1));
    EXPECT_EQ(agent.send({.target = "/api/v1/host-agent/events", .body = body}).body, first.body);
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_EQ(tx.fetch_value<std::int64_t>(
                      "SELECT COUNT(*) FROM machine_events WHERE machine_id = $1", agent.machine),
                  1);
    });
}

TEST_F(Agents, ThatLeaveAreGone) {
    queue({.kind = CommandKind::qualify});
    EXPECT_EQ(agent.send({.target = "/api/v1/host-agent/leave"}).status, 204);
    EXPECT_EQ(agent.heartbeat().status, 401);
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_FALSE(machines::find(tx, agent.machine));
        EXPECT_TRUE(machines::machines_with_commands(tx, harness.clock.now()).empty());
    });
}

TEST_F(Agents, CannotLeaveWithAJob) {
    agent.heartbeat();
    pass_test();
    harness.app->database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, agent.machine).value();
        row.offer_version = 1;
        row.offer_state = machines::OfferState::listed;
        row.state = MachineState::AVAILABLE;
        machines::save({tx, harness.random, harness.clock.now()}, row);
        machines::apply({tx, harness.random, harness.clock.now()}, row,
                        machines::MachineEvent::reserve,
                        {.job_id = JobId::make(harness.clock.now(), harness.random)});
    });
    EXPECT_EQ(agent.send({.target = "/api/v1/host-agent/leave"}).status, 409);
}

TEST_F(Agents, EndATestAtOnceThatTheyRefuse) {
    EXPECT_EQ(agent.heartbeat().status, 200);
    const machines::Qualifications tests(harness.app->host_agents().commands(),
                                         http::Reach::public_only);
    const bool begun = harness.app->database().write([&](db::Transaction& tx) {
        return tests.begin({tx, harness.random, harness.clock.now()}, agent.machine);
    });
    ASSERT_TRUE(begun);
    const auto commands = agent.orders().commands;
    ASSERT_EQ(commands.size(), 1U);
    const auto answer =
        agent.acknowledge(commands[0].command_id, "rejected", R"(,"code":"UNKNOWN_COMMAND_KIND")");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const machines::Machine after = machine();
    EXPECT_EQ(after.qualify_state, machines::QualifyState::retrying);
    EXPECT_EQ(after.qualify_run_id, std::nullopt);
    EXPECT_EQ(after.qualify_next_at, harness.clock.now() + std::chrono::minutes(1));
    EXPECT_NE(after.qualify_reason.value_or("").find("UNKNOWN_COMMAND_KIND"), std::string::npos);
    harness.app->database().read([&](db::Transaction& tx) {
        const auto run = machines::find_last_run(tx, agent.machine);
        EXPECT_EQ(run->state, machines::RunState::failed);
        EXPECT_NE(run->findings.value_or("").find("test.rejected"), std::string::npos);
    });
    // Told again, it changes nothing more.
    EXPECT_EQ(
        agent.acknowledge(commands[0].command_id, "rejected", R"(,"code":"UNKNOWN_COMMAND_KIND")")
            .status,
        200);
    EXPECT_EQ(machine().version, after.version);
}

TEST_F(Agents, SayNothingThatIsTooDeepToBeKept) {
    const auto id = queue({.kind = CommandKind::rotate_key, .payload = R"({"nonce":"abc"})"});
    const auto nested = [](int levels) {
        return std::string(static_cast<std::size_t>(levels - 1), '[') +
               std::string(static_cast<std::size_t>(levels - 1), ']');
    };
    const auto answer = [&](int levels) {
        return agent.acknowledge(id, "rejected",
                                 fmt::format(R"(,"detail":{{"a":{}}})", nested(levels)));
    };
    EXPECT_EQ(error_message(answer(17)), "body.detail: must not be nested deeper than 16 levels");
    EXPECT_EQ(answer(31).status, 422);
    EXPECT_EQ(answer(16).status, 200);
}

}  // namespace
}  // namespace berth::test
