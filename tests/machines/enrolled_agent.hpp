// An enrolled machine whose agent speaks to a server in this process.
#pragma once

#include <gtest/gtest.h>

#include "machines/host_agents.hpp"
#include "machines/states.hpp"
#include "support/machine_agent.hpp"
#include "support/machines.hpp"

namespace berth::test {

class Agents : public testing::Test {
protected:
    Agents() { EXPECT_EQ(agent.enroll(MachineAgent::token_for(harness, owner)).status, 201); }

    machines::Machine machine() { return seen(harness, agent.machine); }
    machines::CommandId queue(const machines::NewCommand& command) {
        const machines::Machine row = machine();
        return harness.app->database().write([&](db::Transaction& tx) {
            return harness.app->host_agents().commands().queue(
                {tx, harness.random, harness.clock.now()}, row, command);
        });
    }
    void pass_test() {
        harness.app->database().write([&](db::Transaction& tx) {
            auto row = machines::hold(tx, agent.machine).value();
            machines::apply({tx, harness.random, harness.clock.now()}, row,
                            machines::MachineEvent::test_passed);
        });
    }
    std::string stored_telemetry() {
        return harness.app->database()
            .read([&](db::Transaction& tx) {
                return tx.fetch_value<std::optional<std::string>>(
                    "SELECT telemetry FROM machine_health WHERE machine_id = $1", agent.machine);
            })
            .value_or("none")
            .value_or("null");
    }

    Harness harness{{.real_accounts = true}};
    const AccountId owner = AccountId::make(harness.clock.now(), harness.random);
    MachineAgent agent{harness};
};

}  // namespace berth::test
