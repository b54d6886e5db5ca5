// Stories of the gate that take their time: programs killed in every state of a rental, and a gate
// that stays away.
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>

#include "gate_world/world.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

// How many rounds of kills there are beyond those of every test: BERTH_GATE_DRILL, see
// tools/gate_drill.
int rounds() {
    const char* const said = ::getenv("BERTH_GATE_DRILL");
    return said == nullptr ? 0 : std::atoi(said);
}

enum class Victim { server, agent, gate };
constexpr Victim victims[] = {Victim::server, Victim::agent, Victim::gate};
constexpr const char* names[] = {"server", "agent", "gate"};

void kill_and_start(World& world, Victim victim) {
    switch (victim) {
        case Victim::server: World::kill(world.server); return world.start_server();
        case Victim::agent: World::kill(world.agent); return world.start_agent();
        case Victim::gate: World::kill(world.first.process); return world.start_gate(world.first);
    }
}

// Who is killed while it starts, while it runs under load, and while it stops.
struct Kills {
    Victim starting;
    Victim running;
    Victim stopping;
};

class GateKills : public GateStory {
protected:
    void live_through(const Kills& kills) {
        SCOPED_TRACE(fmt::format("killed: {} at the start, {} while it runs, {} at the stop",
                                 names[static_cast<int>(kills.starting)],
                                 names[static_cast<int>(kills.running)],
                                 names[static_cast<int>(kills.stopping)]));
        const std::string job = world().reserve();
        kill_and_start(world(), kills.starting);
        ASSERT_TRUE(world().await_state(job, "RUNNING")) << world().show(job);
        const World::Door door = world().door_of(job);
        EXPECT_TRUE(world().knocks_in(door));
        {
            Counting load(world(), door, 1000, 10ms);
            EXPECT_TRUE(load.reaches(1)) << load.said();
            kill_and_start(world(), kills.running);
            EXPECT_TRUE(world().knocks_in(world().door_of(job)));
            EXPECT_EQ(world().state_of(job), "RUNNING") << world().show(job);
            world().post(world().ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done"})", 202);
            kill_and_start(world(), kills.stopping);
        }
        ASSERT_TRUE(world().await_state(job, "CLOSED")) << world().show(job);
        EXPECT_EQ(member(world().show(job), "end_reason"), "renter_stop") << world().show(job);
        EXPECT_GT(world().charged(job), 0);
        EXPECT_TRUE(world().knocks_in_vain(door)) << "its door ends with it";
        EXPECT_EQ(member(world().get(world().ben, "/api/v1/billing"), "held_micro"), "0");
    }
};

TEST_F(GateKills, InEveryStateOfARentalLeaveSoundBooks) {
    world().free_machine();
    live_through({Victim::server, Victim::gate, Victim::agent});
    for (int round = 0; round < rounds() && !HasFailure(); ++round)
        for (const Victim starting : victims)
            for (const Victim running : victims)
                for (const Victim stopping : victims)
                    if (!HasFailure()) live_through({starting, running, stopping});
    EXPECT_EQ(world().check_books(), "");
}

class AbsentGate : public GateStory {
protected:
    std::string status_of(const std::string& job) {
        return member(world().show(job), "host_status");
    }
    // Nothing was charged within that time.
    bool stands(const std::string& job, std::chrono::seconds span) {
        const std::int64_t before = world().charged(job);
        return !soon([&] { return world().charged(job) != before; }, span);
    }
};

// A minute is the renter's risk; after that nobody pays for what no gate carries.
TEST_F(AbsentGate, StopsTheMeterAfterAMinuteAndTheDoorsMoveToTheNextGate) {
    if (std::getenv("BERTH_GATE_DRILL") == nullptr)
        GTEST_SKIP() << "takes three minutes, so that tools/gate_drill runs it";
    const std::string job = world().running();
    const World::Door before = world().door_of(job);
    const std::int64_t at_first = world().charged(job);
    EXPECT_TRUE(soon([&] { return world().charged(job) > at_first; }));
    World::kill(world().first.process);
    EXPECT_TRUE(soon([&] { return status_of(job) == "unreachable"; })) << world().show(job);
    EXPECT_TRUE(soon([&] { return stands(job, 8s); })) << "the meter goes on";
    const std::int64_t stood = world().charged(job);
    EXPECT_EQ(world().state_of(job), "RUNNING") << world().show(job);

    world().add_gate(world().second);
    EXPECT_TRUE(soon([&] { return world().door_of(job).host == world().second.address; }))
        << "the doors stay with a gate that is not there";
    EXPECT_TRUE(world().knocks_in(world().door_of(job)));
    EXPECT_EQ(world().door_of(job).tls_key, before.tls_key) << "the pin is the job's, not a gate's";
    EXPECT_TRUE(soon([&] { return status_of(job) == "ok"; })) << world().show(job);
    EXPECT_TRUE(soon([&] { return world().charged(job) > stood; })) << "the meter stands for ever";
    const auto said =
        world().send(world().ben.key, "POST", "/api/v1/jobs/" + job + "/openai/v1/chat/completions",
                     R"({"model":"m","messages":[{"role":"user","content":"x"}],)"
                     R"("max_tokens":2})");
    EXPECT_EQ(said.status, 200) << "the relay follows the doors: " << said.body;
    world().stop(job);
    EXPECT_EQ(world().check_books(), "");
}

}  // namespace
}  // namespace berth::test
