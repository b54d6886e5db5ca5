// A workload's life in a container: pulling, running, ending, being found again, being removed.
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "host_agent/runtimes/volume.hpp"
#include "host_agent_container/host.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using LifeTest = ContainerTest;
using host_agent::Look;

TEST_F(LifeTest, RunsToItsEndWithExitCodeAndLog) {
    auto workload = make_workload({"/bin/sh", "-c", "echo first; echo last >&2; exit 125"});
    const host_agent::Started started = start(workload);
    const Look look = wait_for_exit(workload);
    EXPECT_EQ(look.status, Look::Status::exited);
    EXPECT_EQ(look.exit_code, 125);
    EXPECT_FALSE(look.out_of_memory);
    EXPECT_EQ(look.container_id, started.container_id);
    EXPECT_EQ(runtime->log_tail(workload, 8192), "first\nlast\n");
    EXPECT_EQ(runtime->log_tail(workload, 6), "last\n");
    EXPECT_EQ(runtime->present(), std::vector<JobId>{workload.job});
}

TEST_F(LifeTest, TellsThatMemoryRanOut) {
    auto workload = make_workload({"/bin/berth-inside", "eat", std::to_string(256 * mebibyte)});
    start(workload);
    const Look look = wait_for_exit(workload);
    EXPECT_EQ(look.exit_code, 137);
    EXPECT_TRUE(look.out_of_memory);
}

TEST_F(LifeTest, AModelOfATemplateReachesItsEngine) {
    auto workload = make_workload({});
    workload.engine = "vllm";
    workload.environment = {{"MODEL_ID", "acme/model"}, {"MAX_MODEL_LEN", "4096"}};
    workload.serves = {{"openai", 8000, free_port()}};
    start(workload);
    EXPECT_EQ(wait_for_exit(workload).exit_code, 0);
    EXPECT_EQ(runtime->log_tail(workload, 8192),
              "serve acme/model --host 0.0.0.0 --port 8000 --max-model-len 4096\n");
}

TEST_F(LifeTest, StopAsksFirstAndEndsThen) {
    auto polite = make_workload({"/bin/berth-inside", "wait"});
    start(polite);
    ASSERT_TRUE(log_has(polite, "waiting"));
    runtime->stop(polite, std::chrono::seconds(30));
    EXPECT_EQ(runtime->look(polite).exit_code, 7);
    EXPECT_TRUE(log_has(polite, "told to end"));

    auto deaf = make_workload({"/bin/sh", "-c", "trap '' TERM; echo deaf; sleep 1000"});
    start(deaf);
    ASSERT_TRUE(log_has(deaf, "deaf"));
    runtime->stop(deaf, std::chrono::milliseconds(50));
    EXPECT_EQ(runtime->look(deaf).exit_code, 137);
    runtime->stop(deaf, std::chrono::seconds(30));
}

// A podman that does not answer, in front of the one that does.
class SilentPodman {
public:
    explicit SilentPodman(const std::string& folder) : path_(folder + "/silent") {
        std::filesystem::create_directory(path_);
        std::ofstream(path_ + "/podman") << "#!/bin/sh\nkill -9 $$\n";
        ::chmod((path_ + "/podman").c_str(), 0755);
        ::setenv("PATH", (path_ + ":" + before_).c_str(), 1);
    }
    ~SilentPodman() {
        ::setenv("PATH", before_.c_str(), 1);
        std::filesystem::remove_all(path_);
    }
    SilentPodman(const SilentPodman&) = delete;
    SilentPodman& operator=(const SilentPodman&) = delete;

private:
    const std::string path_;
    const std::string before_ = ::getenv("PATH");
};

TEST_F(LifeTest, ThatPodmanDoesNotAnswerIsNoEnd) {
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    const auto version = runtime->version();
    ASSERT_TRUE(version);
    {
        const SilentPodman silent(folder);
        EXPECT_EQ(runtime->version(), version);
        runtime = make_runtime();
        EXPECT_THROW(runtime->rejoin(workload), host_agent::NotKnown);
        EXPECT_THROW(runtime->look(workload), host_agent::NotKnown);
        EXPECT_THROW(runtime->stop(workload, std::chrono::seconds(1)), host_agent::NotKnown);
    }
    const auto again = runtime->rejoin(workload);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->container_id, started.container_id);
}

TEST_F(LifeTest, ItsEndIsKnownHoweverLateItIsSeen) {
    auto workload = make_workload({"/bin/sh", "-c", "exit 3"});
    start(workload);
    EXPECT_EQ(wait_for_exit(workload).exit_code, 3);
    const auto since = std::chrono::steady_clock::now();
    std::optional<Duration> ended_ago;
    EXPECT_TRUE(support::eventually([&] {
        ended_ago = make_runtime()->look(workload).ended_ago;
        return ended_ago && *ended_ago > std::chrono::milliseconds(300);
    }));
    EXPECT_LT(ended_ago.value_or(Duration{}),
              std::chrono::steady_clock::now() - since + std::chrono::minutes(2));
}

TEST_F(LifeTest, AnotherAgentFindsItRunning) {
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    runtime.reset();
    runtime = make_runtime();
    const auto again = runtime->rejoin(workload);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->container_id, started.container_id);
    EXPECT_EQ(runtime->look(workload).status, Look::Status::running);
    runtime->stop(workload, std::chrono::seconds(30));
    EXPECT_EQ(runtime->look(workload).exit_code, 7);
    EXPECT_FALSE(runtime->rejoin(workload));
}

// In the place of an agent: a process that starts a workload and is killed with it running.
TEST_F(LifeTest, ItOutlivesAnAgentThatIsKilled) {
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    pull(workload);
    const pid_t agent = ::fork();
    if (agent == 0) {
        make_runtime()->start(workload);
        ::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(agent, &status, 0), agent);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_TRUE(runtime->rejoin(workload));
    EXPECT_EQ(runtime->look(workload).status, Look::Status::running);
}

TEST_F(LifeTest, AnEndIsSeenEvenWithoutItsWatcher) {
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    const auto watcher =
        host_agent::run_tool({.arguments = {"pgrep", "-f", "conmon.*" + started.container_id}});
    ASSERT_TRUE(watcher.good());
    ::kill(std::stoi(watcher.output), SIGKILL);
    runtime->stop(workload, std::chrono::milliseconds(10));
    EXPECT_NE(runtime->look(workload).status, Look::Status::running);
}

TEST_F(LifeTest, CleanLeavesNothingWhateverWasThere) {
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    start(workload);
    EXPECT_NE(leftovers(workload), "");
    runtime->clean(workload);
    expect_nothing_left(workload);
    runtime->clean(workload);
    EXPECT_EQ(runtime->look(workload).status, Look::Status::gone);
    EXPECT_EQ(runtime->present(), std::vector<JobId>{});
    start(workload);
    EXPECT_EQ(runtime->look(workload).status, Look::Status::running);
}

TEST_F(LifeTest, TheNoticeIsReadableAndNotWritable) {
    auto workload = make_workload(
        {"/bin/sh", "-c", "cat /work/.berth/notice.json; touch /work/.berth/x; echo end"});
    std::ofstream(workload.folder + "/notice/notice.json") << "{\"kind\":\"stop\"}\n";
    ::chmod((workload.folder + "/notice/notice.json").c_str(), 0644);
    start(workload);
    ASSERT_TRUE(log_has(workload, "end"));
    const std::string said = runtime->log_tail(workload, 8192);
    EXPECT_NE(said.find("{\"kind\":\"stop\"}"), std::string::npos) << said;
    EXPECT_NE(said.find("Read-only file system"), std::string::npos) << said;
}

class VolumeTest : public ContainerTest {};

TEST_F(VolumeTest, HasItsSizeAndLeavesNothing) {
    auto workload = make_workload({});
    host_agent::Volume volume(workload.folder);
    volume.make(16 * mebibyte);
    EXPECT_TRUE(volume.is_mounted());
    EXPECT_EQ(std::filesystem::file_size(workload.folder + "/volume"), 16U * mebibyte);
    std::ofstream(volume.path() + "/secret") << "planted";
    // As after a reboot: the file is there and nothing is mounted.
    ASSERT_TRUE(host_agent::run_tool({.arguments = {"umount", volume.path()}}).good());
    volume.mount();
    EXPECT_EQ(read_text(volume.path() + "/secret"), "planted");
    EXPECT_EQ(volume.clean(), 16 * mebibyte);
    EXPECT_EQ(volume.clean(), 0);
    volume.make(16 * mebibyte);
    EXPECT_FALSE(std::filesystem::exists(volume.path() + "/secret"));
    EXPECT_EQ(
        host_agent::run_tool({.arguments = {"grep", "-c", "planted", workload.folder + "/volume"}})
            .output,
        "0\n");
}

TEST_F(VolumeTest, IsReservedWhole) {
    auto workload = make_workload({});
    try {
        host_agent::Volume(workload.folder).make(std::int64_t{1} << 50);
        FAIL();
    } catch (const host_agent::RuntimeError& error) {
        EXPECT_EQ(error.code(), "DISK_FULL");
    }
    host_agent::Volume(workload.folder).clean();
}

// What the last who has it writes when it goes would be written over the zeros.
TEST_F(VolumeTest, IsOverwrittenWhenNobodyHasItMountedAnyMore) {
    auto workload = make_workload({});
    host_agent::Volume volume(workload.folder);
    volume.make(8 * mebibyte);
    std::ofstream(volume.path() + "/secret") << "planted";
    const std::string log = folder + "/holder.log";
    Process holder({"/usr/bin/unshare", "--mount", "/bin/sleep", "1000"}, log);
    const std::string line = fmt::format("/proc/{}/cmdline", holder.pid());
    ASSERT_TRUE(support::eventually([&] { return read_text(line).starts_with("/bin/sleep"); }))
        << read_text(log);
    auto cleaning = std::async(std::launch::async, [&] { return volume.clean(); });
    ASSERT_TRUE(support::eventually([&] { return !volume.is_mounted(); }));
    EXPECT_EQ(cleaning.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
    EXPECT_TRUE(volume.exists());
    holder.signal(SIGKILL);
    EXPECT_EQ(cleaning.get(), 8 * mebibyte);
    EXPECT_FALSE(volume.exists());
}

// Whatever the moment at which an agent dies, the next one cleans up.
TEST_F(VolumeTest, AKillInTheMiddleLeavesNothingBehindAClean) {
    auto workload = make_workload({});
    for (const int delay_us : {0, 2'000, 5'000, 10'000, 20'000, 40'000}) {
        const pid_t agent = ::fork();
        if (agent == 0) {
            host_agent::Volume(workload.folder).make(8 * mebibyte);
            ::_exit(0);
        }
        ::usleep(static_cast<useconds_t>(delay_us));
        ::kill(agent, SIGKILL);
        ::waitpid(agent, nullptr, 0);
        ASSERT_TRUE(support::eventually([&] {
            return !host_agent::run_tool(
                        {.arguments = {"pgrep", "-f", "mkfs.ext4.*" + workload.folder}})
                        .good();
        }));
        host_agent::Volume(workload.folder).clean();
        SCOPED_TRACE(delay_us);
        expect_nothing_left(workload);
    }
}

}  // namespace
}  // namespace berth::test
