// A computer that is sold in slots: how it is shared out, what a slot's bounds are, and two slots
// with real processes, rented at once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "host_agent/core/slot_group.hpp"
#include "host_agent/program/slots.hpp"
#include "host_agent/two_slots.hpp"

namespace berth::test {
namespace {

using host_agent::Computer;
using host_agent::read_slots;

constexpr std::int64_t gib = std::int64_t{1} << 30;
constexpr Computer computer{
    .cpus = 8, .memory_bytes = 64 * gib, .disk_bytes = 500 * gib, .processes = 20'000};

std::string refusal(const std::string& text) {
    try {
        read_slots(text, "slots.json", computer);
        return "taken";
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}
const std::string left_slot = slot_text("left", "GPU-1", "40000-40049");
const std::string right_slot = slot_text("right", "GPU-2", "40050-40099");

TEST(SharingOut, TakesWhatIsDisjointAndNoMoreThanThereIs) {
    const auto slots = read_slots(both_slots(left_slot, right_slot), "slots.json", computer);
    ASSERT_EQ(slots.slots.value.size(), 2U);
    EXPECT_EQ(slots.slots.value[1].name.value, "right");
}

TEST(SharingOut, NoCardIsInTwoSlotsHoweverItIsWritten) {
    EXPECT_EQ(refusal(both_slots(left_slot, slot_text("right", "GPU-1", "40050-40099"))),
              "slots.json: file.slots[1].gpus: GPU-1 is the slot left's");
    EXPECT_EQ(refusal(both_slots(slot_text("left", "GPU-aB", "40000-40049"),
                                 slot_text("right", "gpu-Ab", "40050-40099"))),
              "slots.json: file.slots[1].gpus: gpu-Ab is the slot left's");
    // Two in one word, and what is cut off when it is read, are no uuid.
    for (const char* name : {"GPU-2,GPU-1", "GPU-1 ", " GPU-1", "GPU-1,", "GPU-", "all"})
        EXPECT_NE(refusal(both_slots(left_slot, slot_text("right", name, "40050-40099")))
                      .find("is no uuid of a card"),
                  std::string::npos)
            << name;
    // By its place on the bus it would be another card once one beside it is taken out.
    EXPECT_EQ(
        refusal(both_slots(left_slot, slot_text("right", "0000:01:00.0", "40050-40099"))),
        "slots.json: file.slots[1].gpus: 0000:01:00.0 is no uuid of a card, as nvidia-smi -L tells "
        "it");
}

TEST(SharingOut, NoPortIsInTwoSlots) {
    EXPECT_EQ(refusal(both_slots(left_slot, slot_text("right", "GPU-2", "40049-40099"))),
              "slots.json: file.slots[1].ports: 40000-40049 are the slot left's");
    EXPECT_EQ(refusal(both_slots(left_slot, slot_text("right", "GPU-2", "80-90"))),
              "slots.json: file.slots[1].ports: must be FIRST-LAST, within 1024-65535");
}

TEST(SharingOut, TogetherTheyAreNoMoreThanTheComputer) {
    const auto right_with = [](const char* more) {
        return refusal(both_slots(left_slot, slot_text("right", "GPU-2", "40050-40099", more)));
    };
    EXPECT_EQ(
        right_with(R"("cpus":5,"memory_gib":28,"disk_gib":200)"),
        "slots.json: file.slots[1].cpus: with the slots before it are 9, and the computer has 8");
    EXPECT_EQ(
        right_with(R"("cpus":4,"memory_gib":30,"disk_gib":200)"),
        "slots.json: file.slots[1].memory_gib: with the slots before it are 58, and the computer "
        "has 57 for slots");
    EXPECT_EQ(
        right_with(R"("cpus":4,"memory_gib":28,"disk_gib":301)"),
        "slots.json: file.slots[1].disk_gib: with the slots before it are 501, and the disk has "
        "500 for slots");
}

// A kernel has numbers for so many, and none is left for who is to stop a rental.
TEST(SharingOut, TogetherTheyHaveNoMoreProcessesThanThereAre) {
    const auto with = [](const std::string& pids) {
        const std::string more = R"("cpus":4,"memory_gib":28,"disk_gib":200)" + pids;
        return both_slots(slot_text("left", "GPU-1", "40000-40049", more),
                          slot_text("right", "GPU-2", "40050-40099", more));
    };
    EXPECT_EQ(refusal(with(R"(,"pids":10001)")),
              "slots.json: file.slots[1].pids: with the slots before it are 20002, and the "
              "computer has 20000 for slots");
    EXPECT_EQ(refusal(with(R"(,"pids":10000)")), "taken");
    // Who says nothing has an even part.
    const auto shared = read_slots(with(""), "slots.json", computer);
    EXPECT_EQ(host_agent::usual_pids(shared, computer), 10'000);
    Computer large = computer;
    large.processes = 1'000'000;
    EXPECT_EQ(host_agent::usual_pids(shared, large), 16'384);
}

TEST(SharingOut, NamesAreFoldersAndOneSlotsAlone) {
    EXPECT_EQ(refusal(both_slots(left_slot, slot_text("left", "GPU-2", "40050-40099"))),
              "slots.json: file.slots[1].name: is another slot's");
    for (const char* name : {"../right", "Right", "-r", "a b"})
        EXPECT_EQ(refusal(both_slots(left_slot, slot_text(name, "GPU-2", "40050-40099"))),
                  "slots.json: file.slots[1].name: must be of a-z, 0-9 and -")
            << name;
    const std::string bare = refusal(both_slots(left_slot, R"({"name":"right"})"));
    EXPECT_TRUE(bare.starts_with("slots.json: file.slots[1].")) << bare;
}

host_agent::Share share() {
    host_agent::Share share;
    share.slot = "left";
    share.cpus.value = 3;
    share.memory_gib.value = 2;
    share.pids.value = 500;
    return share;
}

// Folders and files as the kernel would show them.
class GroupTree : public TemporaryFolder {
public:
    void add(const std::string& place, const std::vector<std::string>& names) const {
        std::filesystem::create_directories(path() + place + "/beside");
        for (const std::string& name : names) std::ofstream(path() + place + "/" + name).flush();
    }
    std::string text(const std::string& place) const { return read_text(path() + place); }
};

TEST(SlotGroups, OfVersionTwoAreBoundByOneGroup) {
    const GroupTree tree;
    const host_agent::SlotGroup group("/state", tree.path());
    const std::string at = group.parent();
    tree.add("", {"cgroup.controllers", "cgroup.subtree_control"});
    tree.add(at, {"cgroup.subtree_control", "cpu.max", "memory.max", "memory.swap.max", "pids.max",
                  "beside/cgroup.procs"});
    group.make(share());
    EXPECT_EQ(tree.text("/cgroup.subtree_control"), "+cpu +memory +pids");
    EXPECT_EQ(tree.text(at + "/cgroup.subtree_control"), "+cpu +memory +pids");
    EXPECT_EQ(tree.text(at + "/cpu.max"), "300000 100000");
    EXPECT_EQ(tree.text(at + "/memory.max"), std::to_string(2 * gib));
    EXPECT_EQ(tree.text(at + "/memory.swap.max"), "0");
    EXPECT_EQ(tree.text(at + "/pids.max"), "500");
    group.take_in(4711);
    EXPECT_EQ(tree.text(at + "/beside/cgroup.procs"), "4711");
    std::ofstream(tree.path() + at + "/cpu.stat") << "usage_usec 1234\nuser_usec 1\n";
    std::ofstream(tree.path() + at + "/memory.current") << "77\n";
    EXPECT_EQ(group.cpu_us(), 1234);
    EXPECT_EQ(group.memory_bytes(), 77);
}

TEST(SlotGroups, OfVersionOneAreBoundInEachTree) {
    const GroupTree tree;
    const host_agent::SlotGroup group("/state", tree.path());
    const std::string at = group.parent();
    tree.add("/cpu" + at, {"cpu.cfs_period_us", "cpu.cfs_quota_us", "beside/cgroup.procs"});
    tree.add("/memory" + at, {"memory.limit_in_bytes", "beside/cgroup.procs"});
    tree.add("/pids" + at, {"pids.max", "beside/cgroup.procs"});
    group.make(share());
    EXPECT_EQ(tree.text("/cpu" + at + "/cpu.cfs_quota_us"), "300000");
    EXPECT_EQ(tree.text("/memory" + at + "/memory.limit_in_bytes"), std::to_string(2 * gib));
    EXPECT_EQ(tree.text("/pids" + at + "/pids.max"), "500");
    group.take_in(4711);
    for (const char* each : {"/cpu", "/memory", "/pids"})
        EXPECT_EQ(tree.text(each + at + "/beside/cgroup.procs"), "4711") << each;
}

TEST(SlotGroups, WithoutBoundsNothingRuns) {
    const GroupTree tree;
    const host_agent::SlotGroup group("/state", tree.path());
    EXPECT_THROW(group.make(share()), std::runtime_error);
    EXPECT_THROW(group.take_in(4711), std::runtime_error);
}

TEST_F(TwoSlots, AreTwoMachinesAndFailRentAndLeaveApart) {
    open_slots();
    EXPECT_NE(machines["left"], machines["right"]);
    for (const char* name : names) {
        choose(name);
        EXPECT_EQ(member(get(ada, machine_place()), "slot"), name);
        // Of the line, too, it has its share and no more.
        const std::string test = get(ada, machine_place() + "/qualification");
        for (const char* way : {"measurements.download_mbps", "measurements.upload_mbps"})
            EXPECT_EQ(std::stod("0" + member(test, way)), slot_mbit) << way << test;
    }
    const std::string left_job = rent("left");
    const std::string right_job = rent("right");
    const Door right_door = door_of(right_job);
    EXPECT_TRUE(answers(right_door)) << logs();

    // The agent of one is killed: it is started again, and the other was not touched.
    const pid_t left = process_of("left");
    const pid_t right = process_of("right");
    ASSERT_GT(left, 1);
    ASSERT_EQ(::kill(left, SIGKILL), 0);
    EXPECT_TRUE(eventually([&] { return process_of("left") != left; })) << logs();
    EXPECT_EQ(process_of("right"), right);
    EXPECT_TRUE(answers(right_door)) << logs();
    EXPECT_NE(read_text(folder.path() + "/agent.log").find(R"("slot":"left")"), std::string::npos);

    const Outcome all = tell_agent({"status"});
    EXPECT_EQ(all.status, 0) << all.output;
    for (const std::string& words :
         {"slot left\nrunning\nmachine " + machines["left"],
          "slot right\nrunning\nmachine " + machines["right"], "job " + right_job})
        EXPECT_NE(all.output.find(words), std::string::npos) << words << "\n" << all.output;
    const Outcome unnamed = tell_agent({"drain"});
    EXPECT_EQ(unnamed.status, 2) << unnamed.output;
    EXPECT_NE(unnamed.output.find("left, right"), std::string::npos) << unnamed.output;

    // One is over, is wiped and leaves; the other's rental goes on.
    post(ben, "/api/v1/jobs/" + left_job + "/stop", R"({"reason":"done"})", 202);
    await_state(left_job, "CLOSED");
    choose("left");
    await_machine("AVAILABLE");
    EXPECT_EQ(tell_slot({"drain"}).status, 0);
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(state() + "/jobs/" + left_job); }))
        << logs();
    const Outcome left_it = tell_slot({"leave"});
    EXPECT_EQ(left_it.status, 0) << left_it.output << logs();
    EXPECT_FALSE(std::filesystem::exists(state()));
    EXPECT_EQ(send(ada.key, "GET", machine_place()).status, 404);
    EXPECT_EQ(process_of("right"), right);
    EXPECT_TRUE(answers(right_door)) << logs();

    // The whole is told to end: the rental goes on without it, and is taken up again.
    agent->signal(SIGTERM);
    EXPECT_EQ(agent->wait(), 0);
    EXPECT_NE(::kill(right, 0), 0);
    start_computer();
    choose("right");
    EXPECT_TRUE(eventually([&] { return process_of("right") != right; })) << logs();
    EXPECT_TRUE(eventually([&] { return answers(right_door); })) << logs();
    EXPECT_EQ(member(show(right_job), "state"), "RUNNING");
    const Outcome refused = tell_agent({"leave"});
    EXPECT_NE(refused.status, 0) << "another agent has the folder";
    post(ben, "/api/v1/jobs/" + right_job + "/stop", R"({"reason":"done"})", 202);
    await_state(right_job, "CLOSED");
}

TEST_F(TwoSlots, ASupervisorThatIsKilledTakesItsAgentsAndNoRentalAlong) {
    open_slots();
    const std::string job = rent("left");
    const Door door = door_of(job);
    const pid_t left = process_of("left");
    kill_agent();
    EXPECT_TRUE(eventually([&] { return ::kill(left, 0) != 0; }));
    start_computer();
    EXPECT_TRUE(eventually([&] { return process_of("left") != left && answers(door); })) << logs();
    EXPECT_EQ(member(show(job), "state"), "RUNNING");
    post(ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done"})", 202);
    await_state(job, "CLOSED");
}

// Its end wipes the cards that it had, and no other's; nobody else is given them before.
TEST_F(TwoSlots, ARentalKeepsWhatItBeganWithWhateverTheFileSays) {
    open_slots();
    const std::string job = rent("left");
    const Door door = door_of(job);
    const auto cards_of = [&](const char* name) {
        return member(read_text(computer_folder() + "/slots/" + name + "/identity.json"),
                      "settings.gpus");
    };
    EXPECT_EQ(cards_of("left"), "ffff:00:00.0");
    const std::string ports = member(read_text(state() + "/identity.json"), "settings.port_first");
    kill_agent();
    const int first = std::stoi(ports);
    const auto swapped = [&](int number) {
        return slot_text(
            names[number], fmt::format("ffff:0{}:00.0", 1 - number),
            fmt::format("{}-{}", first + (1 - number) * 10, first + (1 - number) * 10 + 9),
            slot_share, slot_mbit);
    };
    write_slots(both_slots(swapped(0), swapped(1)));
    start_computer();
    EXPECT_TRUE(eventually([&] { return answers(door); })) << logs();
    EXPECT_TRUE(eventually([&] {
        return read_text(folder.path() + "/agent.log")
                   .find("right.gpus: ffff:00:00.0 is the slot left's still") != std::string::npos;
    })) << logs();
    EXPECT_EQ(cards_of("right"), "ffff:01:00.0") << "it was not started with it";
    EXPECT_EQ(cards_of("left"), "ffff:00:00.0");
    EXPECT_EQ(member(read_text(state() + "/identity.json"), "settings.port_first"), ports);
    post(ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done"})", 202);
    await_state(job, "CLOSED");
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(state() + "/jobs/" + job); }));
    kill_agent();
    start_computer();
    EXPECT_TRUE(eventually([&] {
        return cards_of("left") == "ffff:01:00.0" && cards_of("right") == "ffff:00:00.0";
    })) << logs();
}

// A slip in the file, found at the next boot, costs no renter his rental.
TEST_F(TwoSlots, ARentalHasItsAgentThoughTheFileCannotBeRead) {
    open_slots();
    const std::string job = rent("left");
    const Door door = door_of(job);
    const std::string both = read_text(computer_folder() + "/slots.json");
    const auto end_all = [&] {
        kill_agent();
        for (const char* name : names)
            EXPECT_TRUE(eventually([&] { return ::kill(process_of(name), 0) != 0; }));
    };
    const auto is_taken_up = [&] {
        const pid_t before = process_of("left");
        start_computer();
        return eventually([&] { return process_of("left") != before && answers(door); });
    };
    end_all();
    write_slots(both.substr(0, both.size() / 2));
    const pid_t right = process_of("right");
    EXPECT_TRUE(is_taken_up()) << logs();
    EXPECT_NE(read_text(folder.path() + "/agent.log").find("slots_file"), std::string::npos);
    EXPECT_EQ(process_of("right"), right) << "nobody knows what it is to have";
    // Once it is mended the other is started as well.
    write_slots(both);
    EXPECT_TRUE(eventually([&] { return process_of("right") != right; })) << logs();
    end_all();
    std::filesystem::remove(computer_folder() + "/slots.json");
    EXPECT_TRUE(is_taken_up()) << logs();
    const Outcome status = tell_slot({"status"});
    EXPECT_EQ(status.status, 0) << status.output;
    post(ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done"})", 202);
    await_state(job, "CLOSED");
}

// The older one may have lost its programs.
TEST_F(TwoSlots, AnAgentThatIsStartedAgainAfterAnUpgradeIsTheNewOne) {
    const std::string program = folder.path() + "/berth-agent";
    const auto install = [&] {
        std::filesystem::copy_file(program_path("berth-agent"), program + ".new");
        std::filesystem::rename(program + ".new", program);
    };
    install();
    chosen = "left";
    ASSERT_EQ(enroll_slot().status, 0);
    agent = std::make_unique<Process>(
        std::vector<std::string>{program, "run", "--state", computer_folder()},
        folder.path() + "/agent.log");
    const auto program_of = [&](pid_t process) {
        std::error_code gone;
        return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), gone).string();
    };
    ASSERT_TRUE(eventually([&] { return program_of(process_of("left")) == program; })) << logs();
    install();
    const pid_t before = process_of("left");
    EXPECT_NE(program_of(before), program) << "it is the older one";
    ASSERT_EQ(::kill(before, SIGKILL), 0);
    EXPECT_TRUE(eventually([&] {
        return process_of("left") != before && program_of(process_of("left")) == program;
    })) << logs();
}

TEST_F(TwoSlots, OneThatIsAddedIsStartedAndOneThatIsNamedNoMoreIsNobodyElses) {
    const std::string both = read_text(computer_folder() + "/slots.json");
    const std::size_t second = both.find(R"({"name":"right")");
    const std::string left_alone = both.substr(0, second - 1) + "]}";
    const std::string right_alone = R"({"slots":[)" + both.substr(second);
    write_slots(left_alone);
    chosen = "left";
    ASSERT_EQ(enroll_slot().status, 0);
    start_computer();
    write_slots(both);
    chosen = "right";
    const Outcome later = enroll_slot();
    ASSERT_EQ(later.status, 0) << later.output;
    EXPECT_TRUE(eventually([&] { return process_of("right") > 1; })) << logs();

    write_slots(right_alone);
    const std::string told = "file.slots: left is a slot still: put it back, and leave it first";
    for (const Outcome& refused : {tell_slot({"test"}), tell_slot({"doctor"})}) {
        EXPECT_EQ(refused.status, 2) << refused.output;
        EXPECT_NE(refused.output.find(told), std::string::npos) << refused.output;
    }
    EXPECT_TRUE(eventually([&] {
        return read_text(folder.path() + "/agent.log").find("slots_file") != std::string::npos;
    })) << logs();
    EXPECT_TRUE(eventually([&] { return tell_slot({"status"}).status == 0; }))
        << "the other goes on";
    write_slots(both);
}

// Looked at, and not enrolled.
TEST_F(TwoSlots, WhatNoMachineWasMadeOfIsGivenBack) {
    chosen = "right";
    std::filesystem::create_directories(state());
    std::filesystem::permissions(state(), std::filesystem::perms::owner_all);
    const Outcome left = tell_slot({"leave"});
    EXPECT_EQ(left.status, 0) << left.output;
    EXPECT_NE(left.output.find("no machine was made of this slot"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(state()));
}

// What would let one slot have what is another's is refused before anything is enrolled or run.
TEST_F(TwoSlots, ThatNameOneCardAreRefusedByEveryCommand) {
    write_slots(both_slots(
        slot_text("left", "ffff:00:00.0", "40000-40049", R"("cpus":1,"memory_gib":4,"disk_gib":1)"),
        slot_text("right", "FFFF:00:00.0", "40050-40099",
                  R"("cpus":1,"memory_gib":4,"disk_gib":1)")));
    const std::string told = "file.slots[1].gpus: FFFF:00:00.0 is the slot left's";
    for (const Outcome& refused :
         {enroll_slot(), tell_agent({"run"}), tell_agent({"status"}), tell_slot({"doctor"})}) {
        EXPECT_EQ(refused.status, 2) << refused.output;
        EXPECT_NE(refused.output.find(told), std::string::npos) << refused.output;
    }
    EXPECT_FALSE(std::filesystem::exists(computer_folder() + "/slots"));
}

TEST_F(TwoSlots, AreNotSoldBesideTheWholeComputer) {
    std::filesystem::rename(computer_folder() + "/slots.json", folder.path() + "/away");
    chosen = "..";  // the computer itself
    std::filesystem::create_directory(computer_folder() + "/slots");
    const Outcome whole = enroll_agent();
    ASSERT_EQ(whole.status, 0) << whole.output;
    std::filesystem::rename(folder.path() + "/away", computer_folder() + "/slots.json");
    chosen = "left";
    for (const Outcome& refused :
         {enroll_slot(), tell_slot({"run"}), tell_slot({"status"}), tell_agent({"leave"})}) {
        EXPECT_EQ(refused.status, 2) << refused.output;
        EXPECT_NE(refused.output.find("the computer is enrolled whole"), std::string::npos)
            << refused.output;
    }
    // And the whole goes on as it was: somebody may have rented it.
    start_computer();
    machine = whole.output.substr(whole.output.find("enrolled as machine ") + 20, 36);
    await_machine("UNLISTED");
    EXPECT_NE(read_text(folder.path() + "/agent.log").find("enrolled whole"), std::string::npos);
}

}  // namespace
}  // namespace berth::test
