#include "machines/commands.hpp"

#include <gtest/gtest.h>

#include "agent_protocol/hashes.hpp"
#include "support/machines.hpp"
#include "wire/wire.hpp"

namespace berth::machines {
namespace {

class QueuedCommands : public testing::Test {
protected:
    test::Harness harness{{.real_accounts = true}};
    const AccountId owner = AccountId::make(harness.clock.now(), harness.random);
    const Machine machine = test::enrolled(harness, owner);
    const crypto::Sealer sealer{crypto::Secret(Bytes(32, 's'))};
    const agent_protocol::CommandKey key{crypto::Ed25519Key{crypto::Secret(Bytes(32, 'c'))}};
    const Commands commands{sealer, key};

    template <class Function>
    auto in_write(Function function) {
        return harness.app->database().write([&](db::Transaction& tx) {
            return function(db::Context{tx, harness.random, harness.clock.now()});
        });
    }
    CommandId queue(const NewCommand& command) {
        return in_write(
            [&](const db::Context& context) { return commands.queue(context, machine, command); });
    }
    std::vector<agent_protocol::Command> waiting() {
        return harness.app->database().read([&](db::Transaction& tx) {
            return commands.waiting(tx, machine.machine_id, harness.clock.now());
        });
    }
};

TEST_F(QueuedCommands, ComeSignedAndInOrderUntilAcknowledged) {
    const CommandId first = queue({.kind = CommandKind::qualify, .payload = R"({"seed":"1"})"});
    harness.clock.advance(std::chrono::milliseconds(1));
    const JobId job = JobId::make(harness.clock.now(), harness.random);
    const CommandId second = queue({.kind = CommandKind::stop, .job_id = job, .lease_seq = 4});
    for (int times = 0; times < 2; ++times) {
        const auto list = waiting();
        ASSERT_EQ(list.size(), 2u);
        EXPECT_EQ(list[0].command_id, first);
        EXPECT_EQ(list[0].payload.text, R"({"seed":"1"})");
        EXPECT_EQ(list[1].command_id, second);
        EXPECT_EQ(list[1].fence.value, machine.fence);
        const auto checked =
            agent_protocol::check_command(wire::encode(list[1]), machine.machine_id,
                                          {key.id(), key.public_key()}, harness.clock.now());
        EXPECT_TRUE(checked.command);
    }
    in_write([&](const db::Context& context) {
        set_command_state(context.tx, first, CommandState::accepted, "{}");
    });
    ASSERT_EQ(waiting().size(), 1u);
    EXPECT_EQ(waiting()[0].command_id, second);
}

TEST_F(QueuedCommands, AreNotReadableInTheDatabase) {
    const CommandId id = queue({.kind = CommandKind::start, .payload = R"({"hub_token":"hf_x"})"});
    const auto row = harness.app->database().read(
        [&](db::Transaction& tx) { return find_command(tx, machine.machine_id, id); });
    ASSERT_TRUE(row);
    EXPECT_EQ(row->payload.find("hub_token"), std::string::npos);
    EXPECT_EQ(commands.payload_of(*row), R"({"hub_token":"hf_x"})");
}

TEST_F(QueuedCommands, AreNotSentOnceExpired) {
    const CommandId id = queue({.kind = CommandKind::clean, .lasts = std::chrono::seconds(30)});
    harness.clock.advance(std::chrono::seconds(30));
    EXPECT_TRUE(waiting().empty());
    in_write([&](const db::Context& context) {
        EXPECT_TRUE(machines_with_commands(context.tx, context.now).empty());
        EXPECT_EQ(sweep_commands(context.tx, context.now, 10), 1);
        EXPECT_EQ(find_command(context.tx, machine.machine_id, id)->state, CommandState::expired);
    });
    harness.clock.advance(std::chrono::hours(24 * 31));
    in_write([&](const db::Context& context) {
        EXPECT_EQ(sweep_commands(context.tx, context.now, 10), 1);
        EXPECT_FALSE(find_command(context.tx, machine.machine_id, id));
    });
}

TEST_F(QueuedCommands, OfAKindWeDoNotKnowLetTheOthersGoOn) {
    const CommandId odd = queue({.kind = CommandKind::clean});
    const CommandId known = queue({.kind = CommandKind::qualify});
    in_write([&](const db::Context& context) {
        context.tx.run("UPDATE machine_commands SET kind = 'DANCE' WHERE command_id = $1", odd);
    });
    ASSERT_EQ(waiting().size(), 1u);
    EXPECT_EQ(waiting()[0].command_id, known);
}

TEST_F(QueuedCommands, BelongToOneMachine) {
    const CommandId id = queue({.kind = CommandKind::qualify});
    const Machine neighbour = test::enrolled(harness, owner);
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_FALSE(find_command(tx, neighbour.machine_id, id));
        EXPECT_TRUE(commands.waiting(tx, neighbour.machine_id, harness.clock.now()).empty());
        EXPECT_EQ(machines_with_commands(tx, harness.clock.now()), std::vector{machine.machine_id});
        EXPECT_EQ(commands_topic(harness.clock).news(tx),
                  std::vector{to_string(machine.machine_id)});
    });
    in_write([&](const db::Context& context) { cancel_commands(context.tx, machine.machine_id); });
    EXPECT_TRUE(waiting().empty());
}

TEST_F(QueuedCommands, AreFoundByTheirJob) {
    const JobId job = JobId::make(harness.clock.now(), harness.random);
    queue({.kind = CommandKind::stop, .job_id = job});
    harness.app->database().read([&](db::Transaction& tx) {
        const Time now = harness.clock.now();
        EXPECT_TRUE(has_command(tx, machine.machine_id, CommandKind::stop, job, now));
        EXPECT_FALSE(has_command(tx, machine.machine_id, CommandKind::clean, job, now));
        EXPECT_FALSE(has_command(tx, machine.machine_id, CommandKind::stop, job,
                                 now + std::chrono::minutes(2)));
    });
}

}  // namespace
}  // namespace berth::machines
