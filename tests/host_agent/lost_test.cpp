// Hosts that are started anew or fall silent, and engines that hang: what the server makes of it,
// and what it costs.
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/shared_clock.hpp"
#include "host_agent/agent_town.hpp"

namespace berth::test {
namespace {

class LostHost : public AgentTown {
protected:
    void prepare(db::Transaction& tx) override {
        ledger::deposit({tx, random, clock.now()},
                        {AccountId{parse_uuid(ben.id).value()}, ledger::Asset::usdc,
                         Micro{250'000'000}, "test:2"});
    }
    std::int64_t accepted_ms(const std::string& job) {
        return std::stoll(member(show(job), "accepted_runtime_ms"));
    }
    // One of which the server has accepted some time.
    std::string run_job() {
        open_host();
        // For much longer than a host may be silent: where the test moves the clock, a server that
        // had no turn for a while must not find that the money is gone too.
        const std::string job = reserve(250'000'000);
        await_state(job, "RUNNING");
        kill_agent();
        start_agent();  // its first heartbeat comes at once
        EXPECT_TRUE(eventually([&] { return accepted_ms(job) > 0; })) << show(job) << logs();
        return job;
    }
    pid_t keeper_of(const std::string& job) const {
        return std::stoi(member(read_text(state() + "/jobs/" + job + "/process.json"), "pid"));
    }
    void expect_lost(const std::string& job, std::int64_t known_ms) {
        await_state(job, "CLOSED");
        const std::string seen = show(job);
        EXPECT_EQ(member(seen, "end_reason"), "host_lost") << seen << logs();
        EXPECT_EQ(accepted_ms(job), known_ms) << seen;
        EXPECT_EQ(std::stoll(member(seen, "cumulative_charge_micro")), rate * known_ms / 3'600'000)
            << seen;
    }
};

TEST_F(LostHost, ThatWasStartedAnewHasLostItsJobAndIsPaidUntilItsLastReport) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a process another name of the boot";
    const std::string job = run_job();
    kill_agent();
    ::kill(keeper_of(job), SIGKILL);
    const std::int64_t known_ms = accepted_ms(job);
    const std::string boot = folder.path() + "/boot_id";
    std::ofstream(boot) << "11111111-1111-1111-1111-111111111111\n";
    agent = std::make_unique<Process>(
        std::vector<std::string>{
            "/usr/bin/unshare", "--mount", "/bin/sh", "-c",
            R"(mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$1" run --state "$2")",
            boot, program_path("berth-agent"), state()},
        folder.path() + "/agent.log");
    expect_lost(job, known_ms);
    // It was put aside, and comes back once it has cleaned up.
    EXPECT_TRUE(eventually([&] {
        const std::string seen = member(get(ada, machine_place()), "state");
        return seen != "QUARANTINED" && seen != "ALLOCATED" && seen != "CLEANING";
    })) << get(ada, machine_place())
        << logs();
    EXPECT_FALSE(std::filesystem::exists(state() + "/jobs/" + job + "/work"));
}

// The server took READY; the answer was lost with the agent, and the workload ended meanwhile.
TEST_F(LostHost, ThatNeverHeardThatItsJobIsReadySaysThatItStopped) {
    const std::string job = run_job();
    kill_agent();
    ::kill(keeper_of(job), SIGKILL);
    const std::string file = state() + "/jobs/" + job + "/record.json";
    const std::string record = std::regex_replace(
        read_text(file), std::regex(R"("phase":"RUNNING")"), R"("phase":"PREPARING")");
    std::ofstream(file) << std::regex_replace(record, std::regex(R"("ready_us":[0-9]+,)"), "");
    start_agent();
    await_state(job, "CLOSED");
    EXPECT_EQ(member(show(job), "end_reason"), "engine_failed") << show(job);
    await_machine("AVAILABLE");
}

TEST_F(LostHost, ThatWasAwayWhenItsJobEndedIsPaidUntilThen) {
    open_host();
    const auto before = std::chrono::steady_clock::now();
    const auto since = [](std::chrono::steady_clock::time_point moment) {
        return (std::chrono::steady_clock::now() - moment) / std::chrono::milliseconds(1);
    };
    const std::string job = reserve(45'000'000);
    await_state(job, "RUNNING");
    kill_agent();
    ::kill(keeper_of(job), SIGTERM);
    ASSERT_TRUE(eventually(
        [&] { return std::filesystem::exists(state() + "/jobs/" + job + "/exit.json"); }));
    const auto ended = std::chrono::steady_clock::now();
    const auto ran_ms = since(before);
    ASSERT_TRUE(eventually([&] { return since(ended) > ran_ms + 2000; }));
    start_agent();
    await_state(job, "CLOSED");
    EXPECT_EQ(member(show(job), "end_reason"), "engine_failed") << show(job);
    EXPECT_LE(accepted_ms(job), ran_ms) << show(job) << logs();
}

// Server and agent have a clock in common that the test moves.
class SilentHost : public LostHost {
protected:
    std::vector<std::string> server_options() const override { return {"--simulated"}; }
    std::vector<std::string> agent_options() const override { return {"--clock-file", clock_file}; }
    const std::string clock_file =
        std::filesystem::path(database->url().substr(sizeof "sqlite:" - 1)).parent_path() /
        "simulated-clock";
};

TEST_F(SilentHost, IsLostAfterFiveMinutesAndPaidUntilItsLastReport) {
    const std::string job = run_job();
    const pid_t keeper = keeper_of(job);
    kill_agent();
    const std::int64_t known_ms = accepted_ms(job);
    // In small steps, some seven hundred of them: a server whose clock jumps takes itself for the
    // one that was away.
    SharedClock time(clock_file, SharedClock::Use::move);
    EXPECT_TRUE(support::eventually(
        [&] {
            time.advance(std::chrono::milliseconds(500));
            return member(show(job), "state") == "CLOSED";
        },
        {.at_most = std::chrono::minutes(12), .look_every = std::chrono::milliseconds(50)}))
        << show(job) << logs();
    expect_lost(job, known_ms);
    await_machine("QUARANTINED");
    // What still ran there ends with the next agent, whatever the server says.
    EXPECT_EQ(::kill(keeper, 0), 0);
    start_agent();
    EXPECT_TRUE(eventually([&] { return ::kill(keeper, 0) != 0; })) << logs();
}

class HungEngine : public LostHost {
protected:
    // Every program that `root` started, but those that only stand around another.
    static std::set<pid_t> engines_under(pid_t root) {
        std::multimap<pid_t, pid_t> children;
        for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
            const std::string name = entry.path().filename();
            if (name.find_first_not_of("0123456789") != std::string::npos) continue;
            const std::string stat = read_text(entry.path() / "stat");
            const std::size_t end = stat.rfind(')');
            if (end == std::string::npos) continue;
            std::istringstream rest(stat.substr(end + 1));
            std::string run_state;
            pid_t parent = 0;
            rest >> run_state >> parent;
            children.emplace(parent, std::stoi(name));
        }
        std::set<pid_t> leaves;
        std::vector<pid_t> open{root};
        while (!open.empty()) {
            const pid_t each = open.back();
            open.pop_back();
            const auto below = children.equal_range(each);
            if (below.first == below.second && each != root) leaves.insert(each);
            for (auto at = below.first; at != below.second; ++at) open.push_back(at->second);
        }
        return leaves;
    }
    std::string host_status(const std::string& job) { return member(show(job), "host_status"); }
};

TEST_F(HungEngine, IsSeenAfterThreeProbesAndNotPaidFor) {
    const std::string job = run_job();
    const std::set<pid_t> engines = engines_under(keeper_of(job));
    ASSERT_FALSE(engines.empty());
    for (const pid_t each : engines) ::kill(each, SIGSTOP);
    // Each probe is ten seconds after the last, and five seconds long.
    ASSERT_TRUE(support::eventually([&] { return host_status(job) == "engine_down"; }, patience))
        << show(job) << logs();
    EXPECT_EQ(member(show(job), "state"), "RUNNING");
    const std::int64_t known_ms = accepted_ms(job);
    // Whoever does not hear SIGTERM has ten seconds: they would be seen on the bill.
    post(ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done"})", 202);
    await_state(job, "CLOSED");
    EXPECT_EQ(accepted_ms(job), known_ms) << show(job);
}

// The agent's folder on a disk of its own, which is as large as the test says.
class FullDisk : public LostHost {
protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root can mount a small disk";
        std::filesystem::create_directory(disk);
        ASSERT_EQ(::mount("none", disk.c_str(), "tmpfs", 0, "size=500g"), 0);
        LostHost::SetUp();
    }
    void TearDown() override {
        LostHost::TearDown();
        agent.reset();
        ::umount2(disk.c_str(), MNT_DETACH);
    }
    std::string state() const override { return disk + "/state"; }
    void resize(const std::string& size) const {
        ASSERT_EQ(::mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()), 0);
    }
    // No larger than what is on it.
    void fill() const {
        struct statvfs facts {};
        ASSERT_EQ(::statvfs(disk.c_str(), &facts), 0);
        resize(std::to_string((facts.f_blocks - facts.f_bfree) * facts.f_frsize));
    }
    const std::string disk = folder.path() + "/disk";
};

TEST_F(FullDisk, KeepsNoJobBeyondItsMoney) {
    open_host();
    const std::string job = reserve(rate / 3600 * 10);  // ten seconds
    await_state(job, "RUNNING");
    const pid_t keeper = keeper_of(job);
    server->signal(SIGKILL);
    server->wait();
    fill();
    EXPECT_TRUE(eventually([&] { return ::kill(keeper, 0) != 0; })) << logs();
    EXPECT_TRUE(agent->running()) << logs();
    resize("500g");
    start_server();
    await_state(job, "CLOSED");
    EXPECT_EQ(member(show(job), "end_reason"), "funded_expiry") << show(job);
    await_machine("AVAILABLE");
}

}  // namespace
}  // namespace berth::test
