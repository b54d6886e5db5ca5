// Two slots with podman, rented at once: what is sold is held to its share, whatever the renter of
// one does by SSH.
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "crypto/hash.hpp"
#include "host_agent/core/slot_group.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent/two_slots.hpp"
#include "host_agent_container/registry.hpp"

namespace berth::test {
namespace {

constexpr std::int64_t room_bytes = std::int64_t{60} << 30;  // for two disks, and what is beside

class TwoSlotsInContainers : public TwoSlots {
protected:
    void SetUp() override {
        if (const std::string why = why_no_containers(); !why.empty()) GTEST_SKIP() << why;
        struct statvfs disk {};
        ::statvfs("/var/lib", &disk);
        if (static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize) < room_bytes)
            GTEST_SKIP() << "slots that pass a machine test need more disk";
        Registry::get();
        umask_before = ::umask(077);  // UMask= of deploy/berth-agent.service
        own = folder_of_root();
        tier = "container";
        machine_options = {"--runtime", "podman",           "--simulate-gpu",
                           "RTX 4090",  "--allow-registry", Registry::get().place()};
        slot_share = R"("cpus":1,"memory_gib":4,"disk_gib":22)";
        slot_mbit = 500;
        template_kind = "classical";
        host_agent::run_tool_or_throw({.arguments = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "",
                                                     "-C", "", "-f", own + "/key"}});
        ssh_key = read_text(own + "/key.pub");
        while (ssh_key.ends_with('\n') || ssh_key.ends_with(' ')) ssh_key.pop_back();
        TwoSlots::SetUp();
    }
    void TearDown() override {
        if (own.empty()) return;
        ::umask(umask_before);
        if (agent) kill_agent();
        for (const char* name : names) {
            chosen = name;
            tell_slot({"leave"});
            host_agent::run_tool({.arguments = {"umount", "-l", state()}});
        }
        std::error_code failed;
        std::filesystem::remove_all(own, failed);
        EXPECT_FALSE(failed) << failed.message();
    }
    // The engine of the image, in place of what the templates name.
    void prepare(db::Transaction& tx) override {
        tx.run("UPDATE templates SET image_digest = $1, exposes = $2 WHERE kind = $3",
               Registry::get().image(),
               std::string(R"([{"name":"openai","port":8000,"protocol":"http"}])"),
               std::string("classical"));
    }
    std::string computer_folder() const override { return own + "/state"; }

    host_agent::ToolOutcome by_ssh(const std::string& job, const std::string& words) {
        const std::string access = get(ben, "/api/v1/jobs/" + job + "/access");
        std::string port;
        for (int i = 0; i < 4; ++i)
            if (member(access, fmt::format("endpoints.{}.kind", i)) == "ssh")
                port = member(access, fmt::format("endpoints.{}.external_port", i));
        std::vector<std::string> all{"ssh", "-F", "none", "-p", port, "-i", own + "/key"};
        for (const std::string& option :
             {std::string("IdentitiesOnly=yes"), std::string("BatchMode=yes"),
              std::string("StrictHostKeyChecking=no"), "UserKnownHostsFile=" + own + "/known"})
            all.insert(all.end(), {"-o", option});
        all.insert(all.end(), {"renter@127.0.0.1", words});
        return host_agent::run_tool({.arguments = all});
    }

    mode_t umask_before = 022;
    std::string own;
};

TEST_F(TwoSlotsInContainers, AreHeldToTheirSharesWhileBothAreRented) {
    open_slots();
    choose("left");
    const std::string test = get(ada, machine_place() + "/qualification");
    EXPECT_EQ(member(test, "outcome"), "passed") << test;
    EXPECT_EQ(member(test, "measurements.cpu_cores"), "1") << test;
    EXPECT_EQ(member(test, "measurements.ram_bytes"), std::to_string(std::int64_t{4} << 30));

    const std::string left_job = rent("left");
    const std::string right_job = rent("right");
    const Door right_door = door_of(right_job);
    choose("left");
    const host_agent::SlotGroup group(state());
    // It forks, eats and fills as much as it can, and looks for its neighbour.
    const auto hostile =
        by_ssh(left_job,
               "/bin/berth-inside fork 20000; /bin/berth-inside eat 6000000000; "
               "/bin/berth-inside fill /work/all; /bin/berth-inside connect 127.0.0.1 " +
                   right_door.port + "; echo over");
    EXPECT_NE(hostile.output.find("over"), std::string::npos) << hostile.error << logs();
    EXPECT_EQ(hostile.output.find("forked 20000"), std::string::npos) << hostile.output;
    EXPECT_EQ(hostile.output.find("eaten"), std::string::npos) << hostile.output;
    EXPECT_EQ(hostile.output.find("connect allowed"), std::string::npos) << hostile.output;
    EXPECT_TRUE(answers(right_door)) << logs();
    EXPECT_EQ(member(show(right_job), "state"), "RUNNING");
    EXPECT_GT(group.memory_bytes().value_or(0), 0);

    post(ben, "/api/v1/jobs/" + left_job + "/stop", R"({"reason":"done","skip_retrieval":true})",
         202);
    await_state(left_job, "CLOSED");
    choose("left");
    await_machine("AVAILABLE");
    EXPECT_TRUE(answers(right_door)) << logs();
    post(ben, "/api/v1/jobs/" + right_job + "/stop", R"({"reason":"done","skip_retrieval":true})",
         202);
    await_state(right_job, "CLOSED");
    choose("right");
    await_machine("AVAILABLE");

    // Nothing is left of a slot that leaves: neither its disk nor its cgroup.
    for (const char* name : names) {
        choose(name);
        EXPECT_EQ(tell_slot({"drain"}).status, 0);
        EXPECT_TRUE(eventually([&] { return tell_slot({"leave"}).status == 0; })) << logs();
        EXPECT_FALSE(std::filesystem::exists(state() + ".disk"));
        const std::string bounds = host_agent::SlotGroup(state()).name();
        for (const char* tree : {"/sys/fs/cgroup/", "/sys/fs/cgroup/memory/"})
            EXPECT_FALSE(std::filesystem::exists(tree + bounds)) << tree;
        EXPECT_FALSE(std::filesystem::exists(state()));
    }
}

}  // namespace
}  // namespace berth::test
