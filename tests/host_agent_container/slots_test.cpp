// Two slots of one computer with a rental in each, one of them hostile: what it takes beyond its
// share of processors, memory, processes, disk and network, and whether its neighbour notices.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/descriptor.hpp"
#include "host_agent/access/handover.hpp"
#include "host_agent/access/ssh_entrance.hpp"
#include "host_agent/core/host.hpp"
#include "host_agent/program/slot_disk.hpp"
#include "host_agent_container/host.hpp"
#include "http/client.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using host_agent::SlotGroup;

constexpr std::int64_t gibibyte = 1024 * mebibyte;

class SlotsTest : public ContainerTest {
protected:
    // The neighbour's slot has all that an agent of its own would have.
    struct Neighbour {
        std::string folder;
        std::unique_ptr<host_agent::PodmanRuntime> runtime;
        host_agent::Workload workload;
        host_agent::Started started;
    };

    void TearDown() override {
        if (neighbour.runtime) {
            EXPECT_NO_THROW(neighbour.runtime->clean(neighbour.workload));
            expect_nothing_left(neighbour.workload);
            host_agent::run_tool(
                {.arguments = {"umount", neighbour.folder + "/containers/overlay"}});
            neighbour.runtime.reset();
        }
        ContainerTest::TearDown();
        for (const SlotGroup& each : groups) {
            // Whoever watched a container ends a moment after it.
            EXPECT_TRUE(support::eventually([&] {
                each.remove();
                return !std::filesystem::exists(place_of(each));
            }));
        }
    }

    static host_agent::Share share() {
        host_agent::Share share;
        share.cpus.value = 1;
        share.memory_gib.value = 1;
        share.pids.value = 256;
        share.network_mbit.value = 50;
        return share;
    }
    SlotGroup bounded(const std::string& state) {
        const SlotGroup group(state);
        group.make(share());
        groups.push_back(group);
        return group;
    }
    static std::string place_of(const SlotGroup& group) {
        const std::string unified = "/sys/fs/cgroup" + group.parent();
        return std::filesystem::exists("/sys/fs/cgroup/cgroup.controllers")
                   ? unified
                   : "/sys/fs/cgroup/cpu" + group.parent();
    }
    host_agent::PodmanOptions options_of(const std::string& state, const std::string& pool) {
        host_agent::PodmanOptions options;
        options.state = state;
        options.run = state + "/run";
        options.pool = pool;
        options.program = program_path("berth-agent");
        options.inside_program = program_path("berth-inside");
        options.ssh_address = "127.0.0.1";
        options.registries = host_agent::parse_registries(registries);
        options.group = bounded(state);
        options.network_mbit = share().network_mbit.value;
        return options;
    }
    void be_in_slot() {
        runtime = std::make_unique<host_agent::PodmanRuntime>(options_of(folder, "10.217"));
    }
    // A rental that answers, in the slot beside ours.
    void rent_neighbour() {
        neighbour.folder = folder + "/n";  // podman takes short paths only
        std::filesystem::create_directory(neighbour.folder);
        neighbour.runtime =
            std::make_unique<host_agent::PodmanRuntime>(options_of(neighbour.folder, "10.218"));
        host_agent::Workload& workload = neighbour.workload;
        workload = make_workload({"/bin/berth-inside", "serve", "9000"});
        made.pop_back();
        workload.serves = {{.name = "api", .port = 9000, .local_port = free_port()}};
        const std::atomic<bool> cancelled = false;
        neighbour.runtime->prepare(
            workload, {std::chrono::steady_clock::now() + std::chrono::minutes(3), cancelled}, {});
        neighbour.started = neighbour.runtime->start(workload);
        ASSERT_TRUE(support::eventually([&] { return neighbour_answers(); }));
    }
    bool neighbour_answers() const {
        http::Outbound request;
        request.url = fmt::format("http://127.0.0.1:{}/", neighbour.workload.serves[0].local_port);
        try {
            return http::CurlClient().send(request).status == 200;
        } catch (const http::TransportError&) {
            return false;
        }
    }
    // As a job that was promised more than its slot has.
    host_agent::Workload greedy(std::vector<std::string> arguments) {
        host_agent::Workload workload = make_workload(std::move(arguments));
        workload.limits.memory_bytes = 4 * gibibyte;
        workload.limits.pids = 4096;
        return workload;
    }

    bool log_has_now(const host_agent::Workload& workload, const std::string& text) const {
        return runtime->log_tail(workload, 8192).find(text) != std::string::npos;
    }
    bool is_throttled() const {
        const std::string text = read_text(place_of(groups.front()) + "/cpu.stat");
        const std::size_t at = text.find("nr_throttled ");
        return at != std::string::npos && std::stoll(text.substr(at + 13)) > 0;
    }

    // Whether a program of that name works beside the containers of our slot.
    bool has_beside(const std::string& program) const {
        std::istringstream processes(read_text(place_of(groups.front()) + "/beside/cgroup.procs"));
        for (std::string process; processes >> process;)
            if (read_text("/proc/" + process + "/comm") == program + "\n") return true;
        return false;
    }

    Neighbour neighbour;
    std::vector<SlotGroup> groups;
};

// As sshd's program asks for the renter, with input that does not end for as long as it is there.
class Entering {
public:
    Entering(const std::string& path, const std::string& command) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        const Descriptor input(ends[0]);
        typing_ = Descriptor(ends[1]);
        const Descriptor output(::open("/dev/null", O_RDWR | O_CLOEXEC));
        const std::array<int, 3> files{input.number(), output.number(), output.number()};
        const host_agent::EntryRequest request{
            .terminal = false, .terminal_kind = {}, .command = command};
        if (::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address),
                      sizeof address) != 0 ||
            !host_agent::hand_over(socket_.number(), host_agent::write_entry(request), files))
            throw std::runtime_error("no entrance");
    }

private:
    const Descriptor socket_{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    Descriptor typing_;
};

const std::vector<std::string> eater{"/bin/berth-inside", "eat", std::to_string(3 * gibibyte / 2)};
const std::vector<std::string> forker{"/bin/berth-inside", "fork", "1000"};

// That the next sees the slot's bounds and not the job's own.
TEST_F(SlotsTest, WithoutASlotAJobMayTakeWhatItWasPromised) {
    const host_agent::Workload eating = greedy(eater);
    start(eating);
    EXPECT_EQ(wait_for_exit(eating).exit_code, 0);
    const host_agent::Workload forking = greedy(forker);
    start(forking);
    EXPECT_EQ(wait_for_exit(forking).exit_code, 0);
    EXPECT_TRUE(log_has(forking, "forked 1000"));
}

TEST_F(SlotsTest, AHostileRentalStopsAtItsSlotsShareAndTheOtherGoesOn) {
    be_in_slot();
    rent_neighbour();
    const host_agent::Workload eating = greedy(eater);
    start(eating);
    const host_agent::Look eaten = wait_for_exit(eating);
    EXPECT_EQ(eaten.exit_code, 137) << runtime->log_tail(eating, 8192);
    EXPECT_TRUE(neighbour_answers());

    const host_agent::Workload forking = greedy(forker);
    start(forking);
    wait_for_exit(forking);
    EXPECT_FALSE(log_has_now(forking, "forked 1000")) << runtime->log_tail(forking, 8192);
    EXPECT_TRUE(neighbour_answers());

    // Each alone has no more than the slot.
    for (int count = 0; count < 2; ++count)
        start(greedy({"/bin/sh", "-c", "while :; do :; done & while :; do :; done"}));
    EXPECT_TRUE(support::eventually([&] { return is_throttled(); }));
    EXPECT_TRUE(neighbour_answers());
    EXPECT_EQ(neighbour.runtime->look(neighbour.workload).status,
              host_agent::Look::Status::running);
}

// To the kernel both are processes of one user of the host.
TEST_F(SlotsTest, AHostileRentalWithThousandsOfProcessesLeavesTheOtherItsOwn) {
    be_in_slot();
    rent_neighbour();
    host_agent::Share roomy = share();
    roomy.pids.value = 4096;
    groups.front().make(roomy);
    const std::string script =
        "i=0; while [ $i -lt 2000 ]; do sleep 1000 & i=$((i+1)); done; echo held; wait";
    const host_agent::Workload holding = greedy({"/bin/sh", "-c", script});
    start(holding);
    ASSERT_TRUE(log_has(holding, "held")) << runtime->log_tail(holding, 8192);
    EXPECT_EQ(runtime->look(holding).status, host_agent::Look::Status::running);
    EXPECT_EQ(inside(neighbour.started, {"fork", "20"}), "forked 20\n");
    EXPECT_TRUE(neighbour_answers());
    // Its own bound is what it was.
    const std::string most = inside(neighbour.started, {"fork", "100"});
    EXPECT_TRUE(most.starts_with("forked ")) << most;
    EXPECT_NE(most, "forked 100\n");
}

TEST_F(SlotsTest, WhatServesARenterBySshCountsWithTheSlot) {
    be_in_slot();
    const auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    const host_agent::EntrancePlace place{.socket = folder + "/entrance",
                                          .user = ::getuid(),
                                          .work = workload.folder + "/work",
                                          .group = groups.front().name()};
    const host_agent::SshEntrance entrance(place,
                                           [&] { return std::optional(started.container_id); });
    const Entering files(place.socket, host_agent::sftp_request);
    EXPECT_TRUE(support::eventually([&] { return has_beside("sftp-server"); }));
    EXPECT_TRUE(has_beside("bwrap"));
    const Entering shell(place.socket, "sleep 1000");
    EXPECT_TRUE(support::eventually([&] { return has_beside("runc"); }));
}

TEST_F(SlotsTest, NeitherReachesTheOthersPortsNorCleansTheOthersJobs) {
    be_in_slot();
    rent_neighbour();
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    const host_agent::Started started = start(workload);
    const auto own =
        host_agent::ContainerNetworks(folder + "/networks", "10.217").find(workload.job);
    const auto other = host_agent::ContainerNetworks(neighbour.folder + "/networks", "10.218")
                           .find(neighbour.workload.job);
    ASSERT_TRUE(own && other);
    const std::string published = std::to_string(neighbour.workload.serves[0].local_port);
    for (const auto& [address, port] :
         {std::pair{other->address, std::string("9000")}, std::pair{other->gateway, published},
          std::pair{own->gateway, published}})
        EXPECT_EQ(inside(started, {"connect", address, port}), "connect ECONNREFUSED\n") << address;
    EXPECT_EQ(runtime->present(), std::vector<JobId>{workload.job});
    EXPECT_EQ(neighbour.runtime->present(), std::vector<JobId>{neighbour.workload.job});
    runtime->clean(workload);
    EXPECT_TRUE(neighbour_answers());
}

TEST_F(SlotsTest, HasItsShareOfTheLineEachWay) {
    be_in_slot();
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    start(workload);
    const auto network =
        host_agent::ContainerNetworks(folder + "/networks", "10.217").find(workload.job);
    ASSERT_TRUE(network);
    const std::string pid = read_text(run + "/jobs/" + to_string(workload.job) + "/pid");
    const auto said = [](std::vector<std::string> words) {
        return host_agent::run_tool({.arguments = std::move(words)}).output;
    };
    std::string table = "berth_" + to_string(workload.job);
    std::replace(table.begin(), table.end(), '-', '_');
    const auto expect_rate = [&](const std::string& mbit, const std::string& bytes) {
        const std::string comes = said({"tc", "qdisc", "show", "dev", network->bridge});
        EXPECT_NE(comes.find("tbf"), std::string::npos) << comes;
        EXPECT_NE(comes.find("rate " + mbit), std::string::npos) << comes;
        const std::string leaves = said(
            {"nsenter", "--net=/proc/" + pid + "/ns/net", "tc", "qdisc", "show", "dev", "eth0"});
        EXPECT_NE(leaves.find("rate " + mbit), std::string::npos) << leaves;
        for (const char* chain : {"entering", "leaving"}) {
            const std::string by_port = said({"nft", "list", "chain", "inet", table, chain});
            EXPECT_NE(by_port.find("limit rate over " + bytes + " bytes/second"), std::string::npos)
                << by_port;
        }
    };
    expect_rate("50Mbit", "6250000");
    // Of an agent that has another share now.
    host_agent::PodmanOptions edited = options_of(folder, "10.217");
    edited.network_mbit = 20;
    runtime = std::make_unique<host_agent::PodmanRuntime>(edited);
    ASSERT_TRUE(runtime->rejoin(workload));
    expect_rate("20Mbit", "2500000");
}

std::int64_t free_bytes_of(const std::string& place) {
    return host_agent::disk_space(place).value().free_bytes;
}

void fill_up(const std::string& place) {
    std::ofstream file(place + "/filled", std::ios::binary);
    const std::string piece(std::size_t{16} * mebibyte, 'x');
    for (int pieces = 0; file && pieces < 16; ++pieces) file << piece << std::flush;
}

// First as it would be without disks of their own.
TEST_F(SlotsTest, WhoFillsItsDiskFillsNoOthers) {
    std::vector<std::string> slots;
    for (const char* name : {"/left", "/right"}) slots.push_back(folder + "/slots" + name);
    for (const std::string& slot : slots) std::filesystem::create_directories(slot);
    const std::int64_t before = free_bytes_of(slots[1]);
    fill_up(slots[0]);
    EXPECT_LT(free_bytes_of(slots[1]), before - 200 * mebibyte);
    std::filesystem::remove(slots[0] + "/filled");

    for (const std::string& slot : slots) host_agent::SlotDisk(slot).open(1);
    std::ofstream(slots[0] + "/identity.json") << "{}";
    EXPECT_THROW(host_agent::SlotDisk(slots[0]).open(2), std::invalid_argument);
    host_agent::SlotDisk(slots[0]).open(1);  // again, as after a restart
    const std::int64_t own = free_bytes_of(slots[1]);
    EXPECT_LT(own, gibibyte);
    while (free_bytes_of(slots[0]) > 300 * mebibyte) {
        fill_up(slots[0]);
        std::filesystem::rename(slots[0] + "/filled",
                                fmt::format("{}/{}", slots[0], free_bytes_of(slots[0])));
    }
    fill_up(slots[0]);
    fill_up(slots[0]);
    EXPECT_EQ(free_bytes_of(slots[1]), own);
    for (const std::string& slot : slots) host_agent::SlotDisk(slot).remove();
    EXPECT_FALSE(std::filesystem::exists(slots[0] + ".disk"));
    EXPECT_FALSE(std::filesystem::exists(slots[0]));
}

// As an owner does who sees it busy, or whoever has it in a namespace of his own.
TEST_F(SlotsTest, ADiskThatSomebodyStillHasIsNotMountedByASecondDevice) {
    const std::string slot = folder + "/slots/lazy";
    std::filesystem::create_directories(slot);
    const host_agent::SlotDisk disk(slot);
    disk.open(1);
    const Descriptor inside(::open(slot.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    host_agent::run_tool_or_throw({.arguments = {"umount", "--lazy", slot}});
    disk.mount();
    const Descriptor note(::openat(inside.number(), "note", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_GE(note.number(), 0);
    EXPECT_TRUE(std::filesystem::exists(slot + "/note")) << "it is one filesystem";
    disk.remove();
}

TEST_F(SlotsTest, ADiskIsNotMadeAnewUnderWhoUsesIt) {
    const std::string slot = folder + "/slots/in-use";
    std::filesystem::create_directories(slot);
    const host_agent::SlotDisk disk(slot);
    disk.open(1);
    {
        host_agent::StateFolder state(slot);
        state.lock();
        EXPECT_THROW(disk.open(2), std::invalid_argument);
    }
    EXPECT_EQ(std::filesystem::file_size(slot + ".disk"), gibibyte);
    disk.open(2);
    EXPECT_EQ(std::filesystem::file_size(slot + ".disk"), 2 * gibibyte);
    disk.remove();
}

// What is reserved for slots leaves its owner's system a floor.
TEST_F(SlotsTest, ADiskIsNotTheLastThatTheHostHas) {
    const std::string around = folder + "/slots/small";
    std::filesystem::create_directories(around);
    host_agent::run_tool_or_throw(
        {.arguments = {"mount", "-t", "tmpfs", "-o", "size=3g", "none", around}});
    const host_agent::SlotDisk disk(around + "/slot");
    EXPECT_THROW(disk.open(3), std::invalid_argument);
    EXPECT_FALSE(std::filesystem::exists(around + "/slot.disk"));
    disk.open(1);
    disk.remove();
    EXPECT_TRUE(support::eventually([&] {
        return host_agent::run_tool({.arguments = {"umount", around}}).good();
    }));
    std::filesystem::remove(around);
}

// Two mounts of one file would write over each other.
TEST_F(SlotsTest, ADiskIsMountedOnceHoweverManyLookAtIt) {
    const std::string slot = folder + "/slots/looked-at";
    std::filesystem::create_directories(slot);
    const host_agent::SlotDisk disk(slot);
    std::vector<std::thread> lookers;
    for (int i = 0; i < 8; ++i)
        lookers.emplace_back([&disk, i] { i % 2 == 0 ? disk.open(1) : disk.mount(); });
    for (std::thread& looker : lookers) looker.join();
    std::ifstream mounts("/proc/self/mounts");
    int count = 0;
    for (std::string line; std::getline(mounts, line);)
        count += line.find(" " + slot + " ") != std::string::npos ? 1 : 0;
    EXPECT_EQ(count, 1);
    // Nobody lives there yet: it may have another size.
    disk.open(2);
    EXPECT_EQ(std::filesystem::file_size(slot + ".disk"), 2 * gibibyte);
    disk.remove();
    for (const auto& left : std::filesystem::directory_iterator(folder + "/slots"))
        ADD_FAILURE() << left.path();
}

}  // namespace
}  // namespace berth::test
