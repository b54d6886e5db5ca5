// What the owner of a host allows, whatever its server says: the rules by themselves, and a real
// agent whose server asks for more.
#include "host_agent/core/policy.hpp"

#include <stdlib.h>
#include <sys/stat.h>

#include "agent_protocol/counters.hpp"
#include "host_agent/job/deadlines.hpp"
#include "host_agent/lying_server.hpp"
#include "host_agent/program/power_limit.hpp"

namespace berth::test {
namespace {

using host_agent::hours_left;
using host_agent::Policy;
using host_agent::read_policy;
using host_agent::refusal_by;

constexpr int noon = 12 * 60;

Policy policy_of(const std::string& text) { return read_policy(text, "file"); }

StartPayload order_of(const std::string& image) {
    StartPayload order = start_of_model(JobId{});
    order.image_digest = image + "@sha256:0";
    return order;
}

TEST(OwnersPolicy, WithoutRulesAllowsEverything) {
    EXPECT_EQ(refusal_by({}, order_of("docker.io/a/b"), noon), std::nullopt);
    StartPayload own = order_of("docker.io/a/b");
    own.template_ = std::nullopt;
    EXPECT_EQ(refusal_by(policy_of("{}"), own, noon), std::nullopt);
}

TEST(OwnersPolicy, NamesRegistriesOrPartsOfThem) {
    const Policy policy =
        policy_of(R"({"registries":["ghcr.io/ggml-org","docker.io","host:5000/"]})");
    for (const char* good : {"ghcr.io/ggml-org/llama.cpp", "docker.io/vllm/vllm-openai",
                             "vllm/vllm-openai", "busybox", "host:5000/x"})
        EXPECT_EQ(refusal_by(policy, order_of(good), noon), std::nullopt) << good;
    for (const char* bad : {"ghcr.io/ggml-organisation/x", "ghcr.io/other/x", "quay.io/x/y",
                            "docker.io.evil.example/x", "localhost/x", "host:5001/x"})
        EXPECT_NE(refusal_by(policy, order_of(bad), noon), std::nullopt) << bad;
    EXPECT_EQ(refusal_by(policy, order_of("quay.io/x/y"), noon),
              "The host's owner takes no images from quay.io.");
}

TEST(OwnersPolicy, BoundsImagesDiskAndPrice) {
    StartPayload order = order_of("docker.io/a/b");
    order.included_disk_gib = {200};
    order.rate_micro_per_hour = Micro{500'000};
    EXPECT_EQ(refusal_by(policy_of(R"({"disk_gib_max":200})"), order, noon), std::nullopt);
    EXPECT_NE(refusal_by(policy_of(R"({"disk_gib_max":199})"), order, noon), std::nullopt);
    const auto at_least = [&](const std::string& rate) {
        return refusal_by(policy_of(R"({"least_rate_micro_per_hour":")" + rate + "\"}"), order,
                          noon);
    };
    EXPECT_EQ(at_least("500000"), std::nullopt);
    EXPECT_EQ(at_least("500001"), "The host's owner takes no job at this price.");
    const Policy no_images = policy_of(R"({"custom_images":false})");
    EXPECT_EQ(refusal_by(no_images, order, noon), std::nullopt);
    order.template_ = std::nullopt;
    EXPECT_NE(refusal_by(no_images, order, noon), std::nullopt);
    EXPECT_EQ(refusal_by(policy_of(R"({"custom_images":true})"), order, noon), std::nullopt);
}

TEST(OwnersPolicy, HoursBeginAndEndAndMayGoThroughTheNight) {
    const Policy night = policy_of(R"({"hours":{"from":"20:00","until":"08:30"}})");
    EXPECT_FALSE(hours_left(night, noon).is_open);
    EXPECT_FALSE(hours_left(night, 8 * 60 + 30).is_open);
    EXPECT_FALSE(hours_left(night, 20 * 60 - 1).is_open);
    EXPECT_EQ(hours_left(night, 20 * 60).until_closing, std::chrono::minutes(750));
    EXPECT_EQ(hours_left(night, 8 * 60 + 29).until_closing, std::chrono::minutes(1));
    const Policy day = policy_of(R"({"hours":{"from":"09:00","until":"17:00"}})");
    EXPECT_TRUE(hours_left(day, noon).is_open);
    EXPECT_FALSE(hours_left(day, 0).is_open);
    const Policy always = policy_of(R"({"hours":{"from":"00:00","until":"00:00"}})");
    EXPECT_TRUE(hours_left(always, 0).is_open);
    EXPECT_EQ(hours_left(always, 0).until_closing, std::nullopt);
    // A job that might last longer is not begun: nobody is thrown out.
    StartPayload order = order_of("docker.io/a/b");
    order.duration_limit_s = {5 * 3600};
    EXPECT_EQ(refusal_by(day, order, noon), std::nullopt);
    order.duration_limit_s = {5 * 3600 + 1};
    EXPECT_NE(refusal_by(day, order, noon), std::nullopt);
    EXPECT_NE(refusal_by(night, order, noon), std::nullopt);
}

TEST(OwnersPolicy, ThatSaysWhatItMayNotIsRefusedByName) {
    const auto complaint = [](const std::string& text) {
        try {
            policy_of(text);
        } catch (const std::invalid_argument& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(complaint(R"({"registry":["docker.io"]})").find("policy.registry"),
              std::string::npos);
    EXPECT_NE(complaint(R"({"custom_images":"no"})").find("policy.custom_images"),
              std::string::npos);
    EXPECT_NE(complaint(R"({"hours":{"from":"9","until":"17:00"}})").find("policy.hours"),
              std::string::npos);
    for (const char* bad : {"", "[]", R"({"hours":{"from":"24:00","until":"08:00"}})",
                            R"({"hours":{"from":"08:00"}})", R"({"power_limit_w":0})",
                            R"({"least_rate_micro_per_hour":500000})"})
        EXPECT_NE(complaint(bad), "") << bad;
}

TEST(OwnersPolicy, InAFileThatOthersCouldChangeIsNone) {
    TemporaryFolder folder;
    const std::string path = folder.path() + "/policy.json";
    const host_agent::OwnersPolicy policy(path);
    EXPECT_THROW(policy.now(), std::invalid_argument) << "one that was named has to be there";
    std::ofstream(path) << R"({"custom_images":false})";
    ::chmod(path.c_str(), 0644);
    EXPECT_EQ(policy.now().custom_images, false);
    for (const mode_t mode : {mode_t{0664}, mode_t{0646}}) {
        ::chmod(path.c_str(), mode);
        EXPECT_THROW(policy.now(), std::invalid_argument);
    }
}

TEST(OwnersPolicy, EndsAJobByTheBootClockWhateverTheServerSays) {
    class Clock final : public host_agent::BootClock {
    public:
        Duration since_boot() const override { return now; }
        std::string boot_id() const override { return boot; }
        Duration now = std::chrono::seconds(100);
        std::string boot = "boot-1";
    };
    Clock clock;
    host_agent::JobRecord record;
    EXPECT_FALSE(host_agent::is_owners_time_over(record, clock));
    record.owners_end = host_agent::OwnersEnd{"boot-1", {200'000'000}};
    clock.now = std::chrono::milliseconds(199'999);
    EXPECT_FALSE(host_agent::is_owners_time_over(record, clock));
    clock.now = std::chrono::seconds(200);
    EXPECT_TRUE(host_agent::is_owners_time_over(record, clock));
    clock.now = std::chrono::seconds(1);
    clock.boot = "boot-2";
    EXPECT_TRUE(host_agent::is_owners_time_over(record, clock));
}

// The driver's program, as its manual has it: --id and --power-limit, 0 when it was set.
TEST(OwnersPolicy, PutsThePowerLimitOnEveryCard) {
    TemporaryFolder folder;
    std::ofstream(folder.path() + "/nvidia-smi")
        << "#!/bin/sh\necho \"$@\" >> " << folder.path() << "/asked\n"
        << "case $* in *GPU-2*) echo 'not supported'; exit 3;; esac\n";
    ::chmod((folder.path() + "/nvidia-smi").c_str(), 0755);
    const std::string before = ::getenv("PATH");
    ::setenv("PATH", (folder.path() + ":" + before).c_str(), 1);
    EXPECT_EQ(host_agent::limit_power({{"0000:01:00.0", "GPU-1"}, {"0000:02:00.0", ""}}, 250),
              std::nullopt);
    const auto trouble = host_agent::limit_power({{"0000:03:00.0", "GPU-2"}}, 250);
    ::setenv("PATH", before.c_str(), 1);
    EXPECT_EQ(read_text(folder.path() + "/asked"),
              "--id=GPU-1 --power-limit=250\n--id=0000:02:00.0 --power-limit=250\n"
              "--id=GPU-2 --power-limit=250\n");
    EXPECT_EQ(trouble,
              "The owner's power limit of 250 W cannot be put on 0000:03:00.0: not supported.");
}

// ---- A real agent

class Policed : public Obedience {
protected:
    Policed() {
        write("{}");
        run_options = {"--policy", path()};
    }
    std::string path() const { return folder.path() + "/policy.json"; }
    void write(const std::string& text) const {
        std::ofstream(path()) << text;
        ::chmod(path().c_str(), 0600);
    }
    StartPayload cheap() {
        StartPayload payload = start_of_model(new_job());
        payload.image_digest = "x/y@sha256:0";
        payload.rate_micro_per_hour = Micro{999'999};
        return payload;
    }
    std::string message_of(const Command& order) {
        server.give(order, server.own);
        return member(answer_to(order), "detail.message");
    }
};

TEST_F(Policed, RefusesWhatItsServerAsksForBeforeAnythingIsBegun) {
    write(R"({"least_rate_micro_per_hour":"1000000"})");
    const StartPayload payload = cheap();
    const Command order = start(payload);
    EXPECT_EQ(message_of(order), "The host's owner takes no job at this price.");
    EXPECT_EQ(member(server.told_of(order.command_id), "detail.by_policy"), "true");
    EXPECT_FALSE(std::filesystem::exists(state() + "/jobs/" + to_string(payload.job_id)));
    EXPECT_EQ(events_of(payload.job_id), "");
    // The file as it is now counts, and no more than what it says.
    write("{}");
    const StartPayload again = cheap();
    server.give(start(again), server.own);
    EXPECT_TRUE(soon([&] { return phase_of(again.job_id) == "RUNNING"; })) << agent_log();
}

TEST_F(Policed, TakesNothingByRulesThatCannotBeReadAndSaysSo) {
    ASSERT_TRUE(soon([&] { return !server.told("/heartbeat").empty(); })) << agent_log();
    write("{");
    const StartPayload payload = cheap();
    EXPECT_EQ(message_of(start(payload)),
              "The rules of the host's owner cannot be read, so that it takes no job.");
    EXPECT_TRUE(soon([&] {
        return server.told("/heartbeat").find("the owner's policy cannot be read") !=
               std::string::npos;
    })) << agent_log();
    EXPECT_NE(server.told("/heartbeat").find(R"("offerable":false)"), std::string::npos);
    kill_agent();
    const Outcome refused = run_agent({"run", "--policy", path()});
    EXPECT_NE(refused.status, 0) << "it does not even start";
    EXPECT_NE(refused.output.find("policy.json"), std::string::npos) << refused.output;
    write("{}");
    start_agent();
}

TEST_F(Obedience, ASentenceSaysWhyAJobWasRefused) {
    StartPayload payload = start_of_model(new_job());
    payload.ssh_public_key = std::string("ssh-ed25519 AAAA me");
    const Command order = start(payload);
    server.give(order, server.own);
    const std::string told = answer_to(order);
    EXPECT_EQ(member(told, "code"), "HOST_REJECTED");
    EXPECT_EQ(member(told, "detail.message"), "This host gives no SSH.");
    EXPECT_EQ(told.find("by_policy"), std::string::npos) << told;
    EXPECT_FALSE(std::filesystem::exists(state() + "/jobs/" + to_string(payload.job_id)));
    EXPECT_EQ(events_of(payload.job_id), "") << "it was never begun";
}

TEST_F(Obedience, AFenceThatRisesTooFarIsRefusedAndMendedWithoutEnrollingAgain) {
    server.fence = 5 + fence_step_max + 1;
    Command far = command(CommandKind::rotate_key, R"({"nonce":"n"})");
    far.fence.value = server.fence;
    server.give(far, server.own);
    EXPECT_EQ(member(answer_to(far), "code"), "CONFLICT");
    EXPECT_EQ(member(read_text(state() + "/counters.json"), "fence"), "5");
    EXPECT_TRUE(soon([&] {
        return run_agent({"status"}).output.find("berth-agent mend-fence") != std::string::npos;
    }));
    EXPECT_NE(run_agent({"mend-fence"}).status, 0) << "the agent runs";
    kill_agent();
    const Outcome mended = run_agent({"mend-fence"});
    EXPECT_EQ(mended.status, 0) << mended.output;
    EXPECT_EQ(member(read_text(state() + "/counters.json"), "fence"),
              std::to_string(server.fence.load()));
    // Also to a lower one, and from a file that is damaged.
    std::ofstream(state() + "/counters.json") << "{";
    server.fence = 4;
    EXPECT_EQ(run_agent({"mend-fence"}).status, 0);
    EXPECT_EQ(member(read_text(state() + "/counters.json"), "fence"), "4");
    EXPECT_EQ(own("machine_id"), to_string(server.machine));
    start_agent();
    Command rotate = command(CommandKind::rotate_key, R"({"nonce":"n"})");
    rotate.fence.value = 4;
    server.give(rotate, server.own);
    EXPECT_EQ(member(answer_to(rotate), "result"), "completed");
}

}  // namespace
}  // namespace berth::test
