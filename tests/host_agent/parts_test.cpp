// The agent's parts that decide without asking anybody.
#include <gtest/gtest.h>

#include <fstream>

#include "host_agent/job/deadlines.hpp"
#include "host_agent/job/evidence.hpp"
#include "host_agent/job/prober.hpp"
#include "host_agent/job/workload.hpp"
#include "host_agent/program/options.hpp"
#include "host_agent/qualification/qualification.hpp"
#include "host_agent/runtimes/toy_engine.hpp"
#include "http/server.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"

namespace berth::host_agent {
namespace {

using namespace std::chrono_literals;

class FakeBootClock final : public BootClock {
public:
    Duration since_boot() const override { return now; }
    std::string boot_id() const override { return boot; }
    Duration now = 100s;
    std::string boot = "boot-1";
};

const Time noon = parse_rfc3339("2026-11-15T12:00:00Z").value();

TEST(AgentTime, IsTheServersCarriedByTheBootClock) {
    FakeBootClock clock;
    ServerTime time(clock);
    EXPECT_FALSE(time.now());
    time.hear(noon);
    clock.now += 90s;
    EXPECT_EQ(time.now(), noon + 90s);
    time.hear(noon + 80s);  // what it says last counts, forwards or back
    EXPECT_EQ(time.now(), noon + 80s);
}

TEST(AgentTime, IsRememberedWithinABootAndNotBeyond) {
    FakeBootClock clock;
    const Anchor anchor{"boot-1", 50s, noon};
    ServerTime restarted(clock);
    restarted.remember(anchor);
    EXPECT_EQ(restarted.now(), noon + 50s);
    clock.boot = "boot-2";
    ServerTime rebooted(clock);
    rebooted.remember(anchor);
    EXPECT_FALSE(rebooted.now());
}

TEST(AgentDeadlines, AreTheEndOfFundingAndFiveMinutesAfterTheLease) {
    JobRecord record;
    EXPECT_FALSE(due(record, noon));
    record.lease_expires_at = noon;
    EXPECT_FALSE(due(record, noon + 300s - 1us));
    EXPECT_EQ(due(record, noon + 300s), "lease_ran_out");
    record.funded_through = noon + 60s;
    EXPECT_FALSE(due(record, noon + 60s - 1us));
    EXPECT_EQ(due(record, noon + 60s), "funded_through");
    EXPECT_EQ(next_due(record), noon + 60s);
}

TEST(AgentDeadlines, RuntimeCountsFromReadyAndStandsStillOnceStopped) {
    FakeBootClock clock;
    JobRecord record;
    record.boot_id = clock.boot;
    const auto after = [&](Duration since_boot) {
        clock.now = since_boot;
        return runtime_ms(record, clock);
    };
    EXPECT_EQ(after(500s), 0);
    record.ready_us = wire::Count{100'000'000};
    EXPECT_EQ(after(103s), 3000);
    EXPECT_EQ(after(99s), 0);
    // The clock of another boot says nothing of this one's: what was reported stands.
    record.reported_ms.value = 2000;
    clock.boot = "boot-2";
    EXPECT_EQ(after(500s), 2000);
    clock.boot = "boot-1";
    record.runtime_ms = wire::Count{4000};
    EXPECT_EQ(after(500s), 4000);
}

TEST(AgentDeadlines, RuntimeOfWhatEndedUnseenStopsThereOrAtWhatWasReported) {
    FakeBootClock clock;
    clock.now = 500s;
    JobRecord record;
    record.boot_id = clock.boot;
    EXPECT_EQ(runtime_ms_until(record, clock, 300s), 0);
    record.ready_us = wire::Count{100'000'000};
    record.reported_ms.value = 50'000;
    EXPECT_EQ(runtime_ms_until(record, clock, 300s), 200'000);
    EXPECT_EQ(runtime_ms_until(record, clock, 120s), 50'000);
    EXPECT_EQ(runtime_ms_until(record, clock, 900s), 400'000);
    EXPECT_EQ(runtime_ms_until(record, clock, {}), 50'000);
    clock.boot = "boot-2";
    EXPECT_EQ(runtime_ms_until(record, clock, 300s), 50'000);
    clock.boot = "boot-1";
    record.runtime_ms = wire::Count{4000};
    EXPECT_EQ(runtime_ms_until(record, clock, 300s), 4000);
}

TEST(AgentState, OfAnEarlierVersionIsRead) {
    test::TemporaryFolder folder;
    const StateFolder state(folder.path() + "/state");
    const std::string seed(64, 'a');
    std::ofstream(state.folder() + "/identity.json")
        << R"({"format":1,"server":"http://127.0.0.1:1","seed":")" + seed + R"(","next_seed":")" +
               std::string(64, 'b') +
               R"(","server_key_id":"","server_public_key":"","heartbeat_s":30,"settings":)" +
               wire::encode(Settings{}) + "}";
    const auto identity = state.identity();
    ASSERT_TRUE(identity);
    EXPECT_EQ(identity->seed, seed);
    EXPECT_FALSE(identity->old_seed);
    EXPECT_FALSE(next_pinned_of(*identity));
}

TEST(AgentState, NeitherOfTwoKeysIsLostByTryingTheOther) {
    Identity identity;
    identity.seed = "one";
    EXPECT_FALSE(swap_seeds(identity));
    identity.next_seed = "two";
    ASSERT_TRUE(swap_seeds(identity));
    EXPECT_EQ(identity.seed, "two");
    EXPECT_EQ(identity.old_seed, "one");
    EXPECT_FALSE(identity.next_seed);
    ASSERT_TRUE(swap_seeds(identity));
    EXPECT_EQ(identity.seed, "one");
    EXPECT_EQ(identity.next_seed, "two");
    EXPECT_FALSE(identity.old_seed);
}

TEST(AgentState, KeepsRecordsAndRefusesWhatIsDamaged) {
    test::TemporaryFolder folder;
    const StateFolder state(folder.path() + "/state");
    JobRecord record;
    record.job_id = {parse_uuid("01a1e1c2-c087-7a41-b0b5-4d3b5ed526e2").value()};
    record.phase = agent_protocol::JobPhase::running;
    record.start.text = R"({"job_id":"x"})";
    record.funded_through = noon;
    record.unsent.push_back({"READY", R"({"a":1})"});
    const JobRecords records(state);
    records.save(record);
    const auto found = records.all();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(wire::encode(found.front()), wire::encode(record));
    const std::string path = records.folder(record.job_id) + "/record.json";
    std::ofstream(path) << wire::encode(record).substr(0, 40);
    EXPECT_THROW(records.all(), StateLost);
    records.forget(record.job_id);
    EXPECT_TRUE(records.all().empty());
    EXPECT_FALSE(state.identity());
}

TEST(AgentEvidence, OfALogHasNoSecretsAndAnEnd) {
    const std::string shown = presentable("key=hush-hush\nnext", {"hush-hush", ""});
    EXPECT_EQ(shown, "key=…\nnext");
    std::string lines;
    for (int i = 0; i < 5000; ++i) lines += "line " + std::to_string(i) + "\n";
    const std::string tail = presentable(lines, {});
    EXPECT_LE(tail.size(), 8000U);
    EXPECT_TRUE(tail.starts_with("line "));
    EXPECT_TRUE(tail.ends_with("line 4999\n"));
}

// The server takes an event of 16 KiB; a workload must not be able to keep its own end from it.
TEST(AgentEvidence, IsSmallWhateverAWorkloadPrints) {
    for (const char* piece : {"\"", "\\", "\xff", "\x1b", "\x1b[32m", "\"a\"\n", "\r", "é"}) {
        std::string printed;
        while (printed.size() < 20'000) printed += piece;
        agent_protocol::UsageEvidence said;
        said.log_tail.emplace(agent_protocol::LogTail{presentable(printed, {})});
        EXPECT_LE(wire::encode(said).size(), 13'000U) << piece;
    }
    EXPECT_EQ(presentable("10 %\r20 %\x1b[0m\a\ttab", {}), "10 %\n20 %[0m\ttab");
}

// Answers 500 as many times as it is told to.
class ProbedEngine final : public http::Handler {
public:
    ProbedEngine() : server_({}, *this) { server_.start(); }
    ~ProbedEngine() override { server_.stop(); }
    void handle(http::Request, http::Reply reply) override {
        ++asked;
        const bool fails = failures > 0 && failures-- > 0;
        reply({.status = fails ? 500 : 200});
    }
    std::int64_t port() const { return server_.port(); }
    std::atomic<int> failures{0};
    std::atomic<int> asked{0};

private:
    http::Server server_;
};

TEST(AgentProber, TellsOfAnEngineThatFailsThreeTimesInARowAndOfItsReturn) {
    ProbedEngine engine;
    http::CurlClient client;
    std::mutex mutex;
    std::vector<bool> told;
    const Prober prober(
        client, {engine.port(), "/health", "key"},
        [&](bool is_down) {
            const std::lock_guard lock(mutex);
            told.push_back(is_down);
        },
        1ms);
    const auto hears = [&](std::size_t count) {
        return support::eventually([&] {
            const std::lock_guard lock(mutex);
            return told.size() == count;
        });
    };
    engine.failures = 2;
    ASSERT_TRUE(support::eventually([&] { return engine.failures == 0; }));
    const int before = engine.asked;
    ASSERT_TRUE(support::eventually([&] { return engine.asked > before + 2; }));
    ASSERT_TRUE(hears(0));
    engine.failures = 3;
    ASSERT_TRUE(hears(2));
    EXPECT_EQ(told, (std::vector<bool>{true, false}));
}

TEST(AgentOptions, PortsAreTwoNumbersInOrder) {
    ASSERT_TRUE(parse_ports("40000-40099"));
    EXPECT_EQ(parse_ports("40000-40099")->last, 40099);
    for (const char* bad :
         {"", "1", "5-4", "5000-5000", "0-9", "1023-2000", "5000-65536", "5000-6000x", "-1-2"})
        EXPECT_FALSE(parse_ports(bad)) << bad;
}

TEST(AgentToy, SaysTheSameForTheSameAndThatItIsAToy) {
    const std::string once = toy_completion("hello", 20);
    EXPECT_EQ(once, toy_completion("hello", 20));
    EXPECT_NE(once, toy_completion("good bye", 20));
    EXPECT_TRUE(once.starts_with("This is a toy, not a language model."));
}

gpu::Inventory one_card() {
    gpu::Inventory inventory{"570.1", "12.8", {}};
    agent_protocol::ManifestGpu card;
    card.pci_address.value = "0000:01:00.0";
    card.model = wire::Text<1, 200>{"NVIDIA GeForce RTX 4090"};
    card.memory_class = agent_protocol::MemoryClass::dedicated;
    inventory.gpus.push_back(card);
    return inventory;
}

gpu::Measurement measured_card() {
    gpu::Measurement card;
    card.pci_address.value = "0000:01:00.0";
    card.vram_bytes = wire::Decimal{25'757'220'864};
    card.free_bytes = wire::Decimal{25'000'000'000};
    card.pattern_bytes = wire::Decimal{24'000'000'000};
    card.mismatches = wire::Decimal{0};
    card.results_right = true;
    card.fp32_tflops = 80;
    card.tensor_tflops = 160;
    card.mem_bw_gbps = 900;
    card.pcie_gbps = 25;
    return card;
}

std::string failed(const gpu::Measurement& card) {
    TestResult said;
    judge_cards(one_card(), {}, {card}, 8'000'000'000, said);
    std::string all;
    for (const Check& check : said.checks.value)
        if (check.status == CheckStatus::fail) all += check.id.value + " ";
    return all;
}

TEST(AgentWorkload, HasTheKeyOfItsEndpointsWhereTheTemplateWantsItAndAsASecret) {
    Workload workload;
    workload.environment = {{"HOME", "/work"},
                            {"JUPYTER_TOKEN", "{BERTH_API_KEY}"},
                            {"OPTIONS", "a={BERTH_API_KEY} b={BERTH_API_KEY} c={OTHER}"}};
    fill_in_key(workload, "bjk_1");
    EXPECT_EQ(workload.environment, (std::map<std::string, std::string>{{"HOME", "/work"}}));
    EXPECT_EQ(workload.secrets,
              (std::map<std::string, std::string>{{"JUPYTER_TOKEN", "bjk_1"},
                                                  {"OPTIONS", "a=bjk_1 b=bjk_1 c={OTHER}"}}));
}

TEST(AgentMachineTest, PassesNothingThatWasNotMeasured) {
    EXPECT_EQ(failed(measured_card()), "");
    gpu::Measurement card = measured_card();
    card.mismatches = wire::Decimal{1};
    EXPECT_EQ(failed(card), "gpu.vram_write_read ");
    card = measured_card();
    card.pattern_bytes = wire::Decimal{20'000'000'000};
    EXPECT_EQ(failed(card), "gpu.vram_write_read ");
    card = measured_card();
    card.results_right = false;
    EXPECT_EQ(failed(card), "gpu.compute ");
    card = {};
    card.error = wire::Text<1, 500>{"no CUDA"};
    EXPECT_EQ(failed(card),
              "gpu.memory gpu.vram_write_read gpu.compute gpu.mem_bandwidth gpu.pcie ");
    EXPECT_EQ(judge_wipes({}).status, CheckStatus::fail);
}

TEST(AgentMachineTest, SaysWhatToDoAboutADesktopAndNamesWhatIsLeftOut) {
    const auto find = [](const TestResult& said, const std::string& id) {
        for (const Check& check : said.checks.value)
            if (check.id.value == id) return check;
        return Check{};
    };
    gpu::Inventory inventory = one_card();
    inventory.left_out = {{.pci_address = "0000:05:00.0",
                           .uuid = "",
                           .model = "Radeon",
                           .why = "its memory cannot be wiped"}};
    TestResult said;
    judge_cards(
        inventory,
        {{.pci_address = "0000:01:00.0", .process = 7},
         {.pci_address = "0000:01:00.0", .process = 8, .is_screen = true, .program = "Xorg"}},
        {measured_card()}, 8'000'000'000, said);
    const Check idle = find(said, "gpu.idle");
    EXPECT_EQ(idle.status, CheckStatus::fail);
    EXPECT_EQ(agent_protocol::given(idle.summary).value().value,
              "A desktop runs on a GPU: Xorg, process 8, draws a desktop on 0000:01:00.0.");
    EXPECT_NE(agent_protocol::given(idle.remediation).value().value.find("multi-user.target"),
              std::string::npos);
    const Check uniform = find(said, "gpu.uniform");
    EXPECT_EQ(uniform.status, CheckStatus::pass) << "what is left out does not count";
    EXPECT_EQ(agent_protocol::given(uniform.summary).value().value,
              "1 of one model. Radeon (0000:05:00.0) is left out: its memory cannot be wiped.");
}

TEST(AgentMachineTest, OfASimulatedCardIsSkippedAndSaysSo) {
    gpu::Measurement card;
    card.vram_bytes = wire::Decimal{24'000'000'000};
    card.simulated = true;
    TestResult said;
    judge_cards(one_card(), {}, {card}, 8'000'000'000, said);
    for (const Check& check : said.checks.value) {
        if (!check.id.value.starts_with("gpu.")) continue;
        EXPECT_EQ(check.status, CheckStatus::skipped) << check.id.value;
        EXPECT_NE(agent_protocol::given(check.summary).value().value.find("simulated"),
                  std::string::npos);
    }
}

}  // namespace
}  // namespace berth::host_agent
