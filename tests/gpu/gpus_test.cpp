#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "fake_drivers/nvml.hpp"
#include "gpu/gpu.hpp"
#include "gpu/library.hpp"
#include "gpu/offered.hpp"
#include "support/folder.hpp"
#include "wire/wire.hpp"

namespace berth::gpu {
namespace {

void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
}

// A host with one card of each vendor, whose worker is a shell script.
class HostGpusTest : public testing::Test {
protected:
    HostGpusTest() : nvml_(FAKE_NVML), library_(nvml_.c_str()) {
        auto& driver = *library_.find<test::FakeNvml*()>("fake_nvml")();
        driver = {};
        driver.cards = {{.bus_id = "00000000:41:00.0",
                         .name = "NVIDIA H200",
                         .uuid = "GPU-1",
                         .memory_total = {0, 1000},
                         .memory_used = {0, 10},
                         .utilization = {},
                         .temperature = {},
                         .power = {},
                         .fan = {},
                         .throttle = {},
                         .users = {}}};
        const auto amd = folder_.path() + "/bus/pci/drivers/amdgpu/0000:03:00.0/";
        write(amd + "vendor", "0x1002\n");
        write(amd + "product_name", "Radeon RX 7900 XTX\n");
        write(amd + "mem_info_vram_total", "25753026560\n");
        write(amd + "hwmon/hwmon3/temp1_input", "51000\n");
        write(amd + "hwmon/hwmon3/power1_average", "not a number\n");
        write(folder_.path() + "/bus/pci/drivers/amdgpu/module", "");
    }

    std::unique_ptr<Gpus> gpus(const std::string& worker, std::vector<std::string> names = {}) {
        return host_gpus(
            {"sh", "-c", worker},
            {.nvml = nvml_.c_str(), .sysfs = folder_.path(), .offered = std::move(names)});
    }

    test::TemporaryFolder folder_;
    std::string nvml_;
    Library library_;
};

TEST_F(HostGpusTest, OffersWhatCanBeRentedOutAndNamesTheRestAsLeftOut) {
    const auto host = gpus("false");
    const auto found = host->inventory();
    ASSERT_EQ(found.gpus.size(), 1u);
    EXPECT_EQ(found.gpus[0].uuid.value->value, "GPU-1");
    ASSERT_EQ(found.left_out.size(), 1u);
    EXPECT_EQ(found.left_out[0].pci_address, "0000:03:00.0");
    EXPECT_EQ(found.left_out[0].model, "Radeon RX 7900 XTX");
    EXPECT_EQ(found.left_out[0].why, "the memory of this vendor's cards cannot be wiped yet");
    ASSERT_EQ(host->telemetry().size(), 1u);
    EXPECT_EQ(host->telemetry()[0].pci_address->value, "0000:41:00.0");
}

TEST_F(HostGpusTest, DoesNothingWithACardThatIsNotNamed) {
    auto& cards = library_.find<test::FakeNvml*()>("fake_nvml")()->cards;
    cards.push_back(cards[0]);
    cards[1].bus_id = "00000000:42:00.0";
    cards[1].uuid = "GPU-2";
    cards[1].users = {4711};
    for (const std::string name : {"0000:41:00.0", "41:00.0", "gpu-1"}) {
        const auto host = gpus("echo \"$1\" >&2; exit 1", {name});
        const auto found = host->inventory();
        ASSERT_EQ(found.gpus.size(), 1u) << name;
        EXPECT_EQ(found.gpus[0].uuid.value->value, "GPU-1");
        EXPECT_EQ(found.left_out.size(), 2u);
        EXPECT_EQ(found.left_out[1].why, "it is not named in --gpus");
        EXPECT_TRUE(host->users().empty()) << "its owner may use the other one";
        ASSERT_EQ(host->wipe(7).size(), 1u);
        EXPECT_EQ(host->wipe(7)[0].error->value, "0000:41:00.0");
        EXPECT_TRUE(wrong_names(found, {name}).empty());
    }
    const auto host = gpus("false", {"GPU-9", "03:00.0"});
    EXPECT_TRUE(host->inventory().gpus.empty());
    EXPECT_EQ(wrong_names(host->inventory(), {"GPU-9", "03:00.0"}),
              (std::vector<std::string>{"there is no card GPU-9",
                                        "03:00.0 cannot be offered: "
                                        "the memory of this vendor's cards cannot be wiped yet"}));
}

TEST_F(HostGpusTest, ACardThatIsNamedByItsIdentityIsToldAsLost) {
    auto& card = library_.find<test::FakeNvml*()>("fake_nvml")()->cards[0];
    const auto host = gpus("false", {"GPU-1"});
    ASSERT_EQ(host->inventory().gpus.size(), 1u);
    // Nothing but its address is known of it any more.
    card.uuid = "";
    card.memory_total.result = test::nvml_lost;
    const auto told = host->health();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].kind, agent_protocol::HealthKind::gpu_lost);
    EXPECT_EQ(told[0].pci_address, "0000:41:00.0");
    EXPECT_EQ(host->inventory().gpus.size(), 1u);
    EXPECT_EQ(host->telemetry().size(), 1u);
}

// A slot beside it may have named that one.
TEST_F(HostGpusTest, ACardThatComesInThePlaceOfOneIsNotTheOneThatWasNamed) {
    auto& card = library_.find<test::FakeNvml*()>("fake_nvml")()->cards[0];
    const auto host = gpus("false", {"GPU-1"});
    ASSERT_EQ(host->inventory().gpus.size(), 1u);
    card.uuid = "GPU-2";
    EXPECT_TRUE(host->inventory().gpus.empty());
    EXPECT_TRUE(host->telemetry().empty());
    EXPECT_TRUE(host->wipe(7).empty());
    card.uuid = "GPU-1";
    EXPECT_EQ(host->inventory().gpus.size(), 1u) << "it is back";
}

TEST_F(HostGpusTest, ACardInPartsIsLeftOutInWords) {
    library_.find<test::FakeNvml*()>("fake_nvml")()->cards[0].is_divided = 1;
    const auto found = gpus("false")->inventory();
    EXPECT_TRUE(found.gpus.empty());
    ASSERT_EQ(found.left_out.size(), 2u);
    EXPECT_EQ(found.left_out[1].why,
              "MIG is on, and parts of cards are not rented out: nvidia-smi -i 0000:41:00.0 -mig 0 "
              "turns it off");
}

TEST(GpuNames, AreAListWithCommas) {
    EXPECT_TRUE(parse_names("").empty());
    EXPECT_TRUE(parse_names("all").empty());
    EXPECT_EQ(parse_names("01:00.0, GPU-2,"), (std::vector<std::string>{"01:00.0", "GPU-2"}));
}

TEST_F(HostGpusTest, AWipeThatCannotBeShownHasNoBytes) {
    for (const std::string worker : {"echo no card >&2; exit 1", "echo '{'", "kill -9 $$"}) {
        const auto wipes = gpus(worker)->wipe(7);
        ASSERT_EQ(wipes.size(), 1u);
        EXPECT_TRUE(wipes[0].error) << worker;
        EXPECT_EQ(wipes[0].verified_bytes.value, 0) << worker;
    }
    EXPECT_EQ(gpus("echo no card >&2; exit 1")->wipe(7)[0].error->value, "no card");
}

TEST_F(HostGpusTest, TheWorkerIsToldItsTask) {
    const auto host = gpus(
        R"sh(test "$0 $1 $2" = "wipe 0000:41:00.0 18446744073709551615" &&
        echo '{"pci_address":"x","total_bytes":"10","wiped_bytes":"9","verified_bytes":"8",
               "milliseconds":"1"}')sh");
    const auto wipe = host->wipe(~std::uint64_t{0})[0];
    ASSERT_FALSE(wipe.error) << wipe.error->value;
    EXPECT_EQ(wipe.pci_address.value, "0000:41:00.0");
    EXPECT_EQ(wipe.uuid->value, "GPU-1");
    EXPECT_EQ(wipe.verified_bytes.value, 8);
}

TEST(SimulatedGpus, SayThatTheyAreAndWipeTheirBuffer) {
    test::TemporaryFolder folder;
    const auto file = folder.path() + "/memory";
    const auto gpus = simulated_gpus("NVIDIA H200", {0, 1}, file);
    const auto found = gpus->inventory();
    ASSERT_EQ(found.gpus.size(), 2u);
    EXPECT_EQ(found.gpus[0].vendor.value, "simulated");
    EXPECT_GT(found.gpus[0].memory_bytes.value->value, 140'000'000'000);
    write(file, std::string(8 << 20, 'x'));
    for (const auto& wipe : gpus->wipe(7)) {
        EXPECT_EQ(wipe.simulated, true);
        EXPECT_EQ(wipe.verified_bytes.value, wipe.total_bytes.value);
    }
    std::ifstream memory(file, std::ios::binary);
    const std::string left{std::istreambuf_iterator<char>(memory), {}};
    EXPECT_EQ(left, std::string(8 << 20, '\0'));
    const auto measured = gpus->measure(7);
    EXPECT_EQ(measured[1].mismatches->value, 0);
    EXPECT_FALSE(measured[1].fp32_tflops);
}

TEST(SimulatedGpus, AreOfAModelThatIsKnown) {
    EXPECT_THROW(simulated_gpus("Voodoo 2", {0}, "/dev/null"), std::invalid_argument);
}

}  // namespace
}  // namespace berth::gpu
