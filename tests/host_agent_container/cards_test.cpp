// Cards in containers: the specification that the agent writes, what of it a job sees, and whose
// programs are not run for it.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "crypto/hash.hpp"
#include "host_agent/runtimes/card_specification.hpp"
#include "host_agent_container/elsewhere.hpp"
#include "host_agent_container/fake_driver.hpp"
#include "host_agent_container/host.hpp"
#include "host_agent_container/in_front.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using host_agent::GpuName;

// A file that is gone with its owner.
class FileOfHost {
public:
    FileOfHost(std::string path, const std::string& text) : path_(std::move(path)) {
        std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
        std::ofstream(path_) << text;
    }
    ~FileOfHost() { std::filesystem::remove(path_); }
    FileOfHost(const FileOfHost&) = delete;
    FileOfHost& operator=(const FileOfHost&) = delete;

private:
    const std::string path_;
};

class CardsTest : public ContainerTest {
protected:
    void SetUp() override {
        ContainerTest::SetUp();
        if (IsSkipped()) return;
        driver.emplace(folder + "/driver", FAKE_NVML);
        driver_root = driver->root();
        runtime = make_runtime();
    }
    void TearDown() override {
        ContainerTest::TearDown();
        if (!driver) return;
        std::filesystem::remove_all(driver->root());
        std::filesystem::remove("/var/run/cdi/" + vendor() + ".json");
    }
    static std::string vendor() { return "berth-" + to_hex(crypto::sha256(folder)).substr(0, 8); }
    static GpuName card() { return {FakeDriver::address, FakeDriver::uuid}; }

    std::optional<FakeDriver> driver;
};

TEST_F(CardsTest, AJobHasItsOwnCardAndTheDriversLibrariesByTheirNames) {
    auto workload =
        make_workload({"/bin/sh", "-c",
                       "ls /dev; ls /usr/lib64 /usr/local/nvidia/lib64; echo $TRITON_LIBCUDA_PATH; "
                       "touch /usr/lib64/x; echo x > /dev/nvidia0"});
    workload.gpus = {card()};
    start(workload);
    wait_for_exit(workload);
    const std::string said = runtime->log_tail(workload, 8192);
    for (const char* there : {"nvidia0\n", "nvidiactl\n", "nvidia-uvm\n", "libcuda.so.1\n",
                              "libnvidia-ml.so.1\n", "/usr/local/nvidia/lib64\n"})
        EXPECT_NE(said.find(there), std::string::npos) << there << said;
    EXPECT_EQ(said.find("nvidia1\n"), std::string::npos) << said;
    EXPECT_NE(said.find("Read-only file system"), std::string::npos) << said;
    EXPECT_NE(said.find("No space left on device"), std::string::npos) << "/dev/full: " << said;
}

TEST_F(CardsTest, TheMachineTestReadsThemInsideAndComparesThem) {
    const Elsewhere elsewhere("198.51.100");
    ASSERT_TRUE(support::eventually([&] {
        return host_agent::run_tool({.arguments = {program_path("berth-inside"), "connect",
                                                   elsewhere.address(), "8000"}})
                   .output == "connect allowed\n";
    }));
    const auto held = runtime->assert_profile({.gpus = {card()},
                                               .driver_version = FakeDriver::version,
                                               .address = elsewhere.address(),
                                               .port = 8000});
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->holds) << held->summary;
    EXPECT_NE(held->summary.find("1 of the host's cards"), std::string::npos) << held->summary;

    const auto says = [&](const host_agent::Runtime::ProfileQuestion& question,
                          const std::string& words) {
        const auto asserted = runtime->assert_profile(question);
        EXPECT_FALSE(asserted->holds);
        EXPECT_NE(asserted->summary.find(words), std::string::npos) << asserted->summary;
        EXPECT_FALSE(asserted->remedy.empty());
    };
    says({.gpus = {card()}, .driver_version = "570.9"},
         "the driver in a container is 580.1, and the host's is 570.9");
    says({.gpus = {card(), {FakeDriver::other_address, "GPU-another"}},
          .driver_version = FakeDriver::version},
         "a container has other cards than the host offers");
    says({.name = "no-such-name.berth.invalid"}, "a job cannot look up names");
    says({.address = elsewhere.address(), .port = 9},
         "a job cannot connect to " + elsewhere.address() + ":9");
    EXPECT_EQ(runtime->present(), std::vector<JobId>{});
}

TEST_F(CardsTest, ADriverThatIsNotWholeIsSaidInWords) {
    std::filesystem::remove(driver->root() + "/dev/nvidia-uvm");
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    workload.gpus = {card()};
    try {
        start(workload);
        FAIL();
    } catch (const host_agent::RuntimeError& error) {
        EXPECT_EQ(error.code(), "INTERNAL");
        EXPECT_NE(std::string(error.what()).find("/dev/nvidia-uvm is missing"), std::string::npos)
            << error.what();
    }
}

TEST_F(CardsTest, WhatHeartbeatsAskLoadsNoModuleOfTheDriver) {
    const std::string loaded = folder + "/module-loaded";
    const ProgramInFront modprobe(folder, "nvidia-modprobe", "echo \"$@\" >> " + loaded + "\n");
    std::filesystem::remove(driver->root() + "/dev/nvidia-uvm");
    EXPECT_NE(runtime->obstacle().find("/dev/nvidia-uvm is missing"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(loaded));
    runtime->troubles();
    EXPECT_EQ(read_text(loaded), "-u -c=0\n");
    std::filesystem::remove(loaded);
}

// As after an upgrade of packages, before the host is restarted: what runs goes on, and what starts
// would not reach the card.
TEST_F(CardsTest, ADriverThatWasChangedUnderItsModuleTakesTheHostOffTheMarket) {
    driver->say_module_version(FakeDriver::version);
    EXPECT_EQ(runtime->obstacle(), "");
    driver->say_module_version("570.9");
    EXPECT_EQ(runtime->obstacle(),
              "the driver was changed to 580.1 and its module is still 570.9: restart the host");
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    workload.gpus = {card()};
    EXPECT_THROW(start(workload), host_agent::RuntimeError);
}

// What podman says when a card is in no specification, as after one was removed under it.
TEST_F(CardsTest, ThatPodmanDoesNotKnowACardIsNamedAsSuch) {
    auto workload = make_workload({"/bin/berth-inside", "wait"});
    workload.gpus = {card()};
    pull(workload);
    const ProgramInFront podman(
        folder, "podman",
        podman_without("run", "Error: setting up CDI devices: unresolvable CDI devices a/gpu=b",
                       126));
    try {
        runtime->start(workload);
        ADD_FAILURE();
    } catch (const host_agent::RuntimeError& error) {
        EXPECT_EQ(error.code(), "INTERNAL");
        EXPECT_NE(std::string(error.what()).find("podman did not find the host's cards"),
                  std::string::npos)
            << error.what();
    }
}

// CVE-2025-23266: what a vendor's specification and the host's own hooks run, they run as root and
// outside of the container, with the environment of the renter's image.
class HostileImage : public CardsTest {
protected:
    void SetUp() override {
        CardsTest::SetUp();
        if (IsSkipped()) return;
        marker = folder + "/was-here";
        std::filesystem::remove(marker);  // of the case before
        std::ofstream(folder + "/hook") << "#!/bin/sh\necho ran >> " << marker << "\n";
        ::chmod((folder + "/hook").c_str(), 0755);
        const std::string root = folder + "/hostile";
        std::filesystem::create_directories(root + "/bin");
        std::filesystem::copy("/bin/busybox", root + "/bin/busybox",
                              std::filesystem::copy_options::overwrite_existing);
        std::error_code there;
        std::filesystem::create_symlink("busybox", root + "/bin/sh", there);
        ::chmod(root.c_str(), 0755);
        ::chmod((root + "/bin").c_str(), 0755);
        image = Registry::get().add(
            "berth/hostile", root,
            {"ENV LD_PRELOAD=/evil.so", "ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib64",
             "ENV NVIDIA_VISIBLE_DEVICES=all", "ENV PATH=/bin"});
    }
    std::string hooked(const std::string& kind) const {
        return fmt::format(
            R"({{"cdiVersion":"0.5.0","kind":"{}","containerEdits":{{"hooks":[{{"hookName":)"
            R"("createContainer","path":"{}","args":["hook"]}}]}},"devices":[{{"name":"{}",)"
            R"("containerEdits":{{"deviceNodes":[{{"path":"/dev/card","type":"c","major":1,)"
            R"("minor":7}}]}}}}]}})",
            kind, folder + "/hook", FakeDriver::uuid);
    }
    host_agent::Workload workload_of_image() {
        auto workload = make_workload({"/bin/sh", "-c", "echo inside $LD_LIBRARY_PATH"});
        workload.image = image;
        workload.gpus = {card()};
        return workload;
    }

    std::string marker;
    std::string image;
};

TEST_F(HostileImage, RunsInsideAndNothingRunsForItOutside) {
    const std::string own = std::to_string(::getpid());
    const FileOfHost vendors("/var/run/cdi/berth-hooked-" + own + ".json",
                             hooked("nvidia.com/gpu"));
    const FileOfHost hosts(folder + "/hooks.d/all.json",
                           fmt::format(R"({{"version":"1.0.0","hook":{{"path":"{}"}},)"
                                       R"("when":{{"always":true}},"stages":["createRuntime"]}})",
                                       folder + "/hook"));
    // As if they were those of the whole host, but for the podman of this test alone.
    const FileOfHost settings(folder + "/containers.conf",
                              fmt::format("[engine]\nhooks_dir = [\"{}/hooks.d\"]\n", folder));
    const Variable of_podman("CONTAINERS_CONF", folder + "/containers.conf");
    auto workload = workload_of_image();
    start(workload);
    EXPECT_EQ(wait_for_exit(workload).exit_code, 0);
    EXPECT_EQ(runtime->log_tail(workload, 8192), "inside /usr/local/nvidia/lib64\n");
    EXPECT_FALSE(std::filesystem::exists(marker)) << read_text(marker);

    // That the marker would tell of it: the vendor's way and the host's run the hook, as root.
    const auto plain =
        host_agent::run_tool({.arguments = {"podman",
                                            "--root",
                                            folder + "/containers",
                                            "--runroot",
                                            run + "/containers",
                                            "--tmpdir",
                                            run + "/podman",
                                            "--runtime",
                                            "runc",
                                            "--cgroup-manager",
                                            "cgroupfs",
                                            "run",
                                            "--rm",
                                            "--pull=never",
                                            "--network=none",
                                            "--ulimit=nofile=1024:1024",
                                            "--ulimit=nproc=512:512",
                                            "--device",
                                            std::string("nvidia.com/gpu=") + FakeDriver::uuid,
                                            image,
                                            "/bin/sh",
                                            "-c",
                                            "true"}});
    EXPECT_EQ(read_text(marker), "ran\nran\n") << plain.why();
}

TEST_F(HostileImage, IsNotStartedWhereAnotherSpecificationSpeaksForOurCards) {
    const std::string own = std::to_string(::getpid());
    for (const char* folder_of_host : {"/var/run/cdi/", "/etc/cdi/"}) {
        const FileOfHost evil(folder_of_host + ("berth-evil-" + own + ".json"),
                              hooked(vendor() + "/gpu"));
        auto workload = workload_of_image();
        try {
            start(workload);
            ADD_FAILURE();
        } catch (const host_agent::RuntimeError& error) {
            EXPECT_EQ(error.code(), "HOST_REJECTED");
            EXPECT_NE(std::string(error.what()).find("programs to be run as root"),
                      std::string::npos)
                << error.what();
        }
        EXPECT_FALSE(std::filesystem::exists(marker));
    }
}

// As /proc/self/maps is after an upgrade of packages under a program that runs.
TEST(CardSpecificationTest, ALibraryThatWasReplacedIsFoundWhereItWas) {
    const std::string maps =
        "7f00-7f01 r-xp 00000000 fe:00 11    /usr/lib/x86_64-linux-gnu/libm.so.6\n"
        "7f02-7f03 r-xp 00000000 fe:00 12    /usr/lib/x86_64-linux-gnu/libc.so.6 (deleted)\n";
    EXPECT_EQ(host_agent::folder_of_loaded(maps, "/libc.so.6"), "/usr/lib/x86_64-linux-gnu");
    EXPECT_EQ(host_agent::folder_of_loaded(maps, "/libm.so.6"), "/usr/lib/x86_64-linux-gnu");
    EXPECT_EQ(host_agent::folder_of_loaded(maps, "/libcuda.so"), "");
}

TEST(CardSpecificationTest, HasNodesAndLibrariesAndNoHooks) {
    const host_agent::Driver driver{.version = "580.1",
                                    .libraries = {{"libcuda.so.1", "/opt/driver/libcuda.so.580.1"}},
                                    .programs = {{"/usr/bin/nvidia-smi", "/opt/driver/nvidia-smi"}},
                                    .nodes = {{"/dev/nvidiactl", 195, 255}}};
    const std::string text = host_agent::card_specification(
        "berth-x/gpu", driver, {{{"0000:01:00.0", "GPU-1"}, {"/dev/nvidia3", 195, 3}}});
    EXPECT_FALSE(host_agent::has_hooks(text));
    for (const char* part :
         {R"("cdiVersion":"0.5.0","kind":"berth-x/gpu")",
          R"({"path":"/dev/nvidiactl","type":"c","major":195,"minor":255,"permissions":"rw"})",
          R"({"name":"GPU-1","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia3","type":"c",)",
          R"({"hostPath":"/opt/driver/libcuda.so.580.1","containerPath":"/usr/lib64/libcuda.so.1")",
          R"("containerPath":"/usr/bin/nvidia-smi","options":["ro","nosuid","nodev","bind"]})"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    EXPECT_TRUE(host_agent::has_hooks(R"({"hooks":[]})"));
    EXPECT_TRUE(host_agent::has_hooks("containerEdits:\n  hooks:\n  - hookName: x\n"));
}

TEST_F(CardsTest, WhatAnOlderDriverLeftBehindIsNotHandedOn) {
    driver->add_library("libnvidia-ptxjitcompiler.so", "570.9", FAKE_NVML);
    const host_agent::Driver found = host_agent::find_driver(driver->root());
    EXPECT_EQ(found.version, FakeDriver::version);
    std::vector<std::string> names;
    for (const auto& library : found.libraries) names.push_back(library.name);
    EXPECT_EQ(names, (std::vector<std::string>{"libcuda.so.1", "libnvidia-ml.so.1"}));
    EXPECT_EQ(host_agent::find_card_node(driver->root(), {FakeDriver::other_address, ""}).path,
              "/dev/nvidia1");
    EXPECT_THROW(host_agent::find_card_node(driver->root(), {"0000:09:00.0", ""}),
                 host_agent::RuntimeError);
}

}  // namespace
}  // namespace berth::test
