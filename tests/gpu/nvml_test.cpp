#include "gpu/nvml.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "fake_drivers/nvml.hpp"
#include "wire/wire.hpp"

namespace berth::gpu {
namespace {

using agent_protocol::HealthKind;
using test::FakeNvml;

constexpr unsigned long long all_ones = ~0ull;

class NvmlTest : public testing::Test {
protected:
    NvmlTest() : library_path_(FAKE_NVML), library_(library_path_.c_str()) {
        driver() = {};
        driver().cards = {{.bus_id = "00000000:41:00.0",
                           .name = "NVIDIA GeForce RTX 4090",
                           .uuid = "GPU-2",
                           .memory_total = {0, 25'757'220'864},
                           .memory_used = {0, 1'000},
                           .utilization = {0, 97},
                           .temperature = {0, 63},
                           .power = {0, 287'500},
                           .fan = {0, 55},
                           .throttle = {0, 0x4 | 0x40},
                           .users = {4711}},
                          {.bus_id = "00000000:01:00.0",
                           .name = "NVIDIA H200",
                           .uuid = {},
                           .memory_total = {test::nvml_not_supported, 0},
                           .memory_used = {test::nvml_not_supported, 0},
                           .utilization = {test::nvml_not_supported, 0},
                           .temperature = {0, all_ones},
                           .power = {test::nvml_not_supported, 0},
                           .fan = {test::nvml_not_supported, 0},
                           .throttle = {0, all_ones},
                           .users = {}}};
    }

    FakeNvml& driver() { return *library_.find<FakeNvml*()>("fake_nvml")(); }

    std::string library_path_;
    Library library_;
};

TEST_F(NvmlTest, CardsAreToldInTheOrderOfTheirAddresses) {
    const auto found = Nvml(library_path_.c_str()).inventory();
    EXPECT_EQ(found.driver_version, "580.1");
    EXPECT_EQ(found.cuda_max, "12.8");
    ASSERT_EQ(found.gpus.size(), 2u);
    EXPECT_EQ(wire::encode(found.gpus[0]),
              R"({"pci_address":"0000:01:00.0","vendor":"NVIDIA","model":"NVIDIA H200",)"
              R"("memory_bytes":null,"memory_class":"unknown","backends":["cuda"],"uuid":null})");
    EXPECT_EQ(wire::encode(found.gpus[1]),
              R"({"pci_address":"0000:41:00.0","vendor":"NVIDIA",)"
              R"("model":"NVIDIA GeForce RTX 4090","memory_bytes":"25757220864",)"
              R"("memory_class":"dedicated","backends":["cuda"],"uuid":"GPU-2"})");
}

TEST_F(NvmlTest, WhatIsNotSupportedIsAbsentAndNever0) {
    const auto all = Nvml(library_path_.c_str()).telemetry();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(wire::encode(all[0]), R"({"pci_address":"0000:01:00.0"})");
    EXPECT_EQ(wire::encode(all[1]),
              R"({"pci_address":"0000:41:00.0","util_pct":97,"memory_util_pct":97,)"
              R"("memory_used_bytes":"1000","memory_total_bytes":"25757220864",)"
              R"("temperature_c":63,"power_w":287.5,"fan_pct":55,)"
              R"("throttle":["sw_power_cap","hw_thermal"]})");
}

TEST_F(NvmlTest, HealthEventsAreToldOnce) {
    Nvml nvml(library_path_.c_str());
    driver().events = {{.card = 0, .type = 8, .data = 79}, {.card = 1, .type = 2, .data = 0}};
    driver().cards[1].memory_total.result = test::nvml_lost;
    const auto told = nvml.health();
    ASSERT_EQ(told.size(), 3u);
    EXPECT_EQ(told[0].kind, HealthKind::gpu_xid);
    EXPECT_EQ(told[0].code, 79);
    EXPECT_EQ(told[0].pci_address, "0000:41:00.0");
    EXPECT_EQ(told[1].kind, HealthKind::gpu_ecc);
    EXPECT_EQ(told[2].kind, HealthKind::gpu_lost);
    EXPECT_EQ(told[2].pci_address, "0000:01:00.0");
    EXPECT_TRUE(nvml.health().empty());
    driver().cards[1].memory_total.result = 0;
    const auto back = nvml.health();
    ASSERT_EQ(back.size(), 1u);
    EXPECT_EQ(back[0].kind, HealthKind::gpu_back);
    EXPECT_EQ(back[0].pci_address, "0000:01:00.0");
    EXPECT_TRUE(nvml.health().empty());
}

TEST_F(NvmlTest, TellsWhoUsesACard) {
    const auto users = Nvml(library_path_.c_str()).users();
    ASSERT_EQ(users.size(), 1u);
    EXPECT_EQ(users[0].process, 4711);
    EXPECT_EQ(users[0].pci_address, "0000:41:00.0");
    EXPECT_FALSE(users[0].is_screen);
}

TEST_F(NvmlTest, ADesktopOnACardIsToldAsOne) {
    driver().cards[0].users = {static_cast<unsigned>(::getpid())};
    driver().cards[0].screens = {static_cast<unsigned>(::getpid())};
    const auto users = Nvml(library_path_.c_str()).users();
    ASSERT_EQ(users.size(), 1u) << "it computes and draws";
    EXPECT_TRUE(users[0].is_screen);
    EXPECT_TRUE(users[0].program.starts_with("test_gpu")) << users[0].program;
    EXPECT_EQ(
        in_words(
            {.pci_address = "0000:01:00.0", .process = 812, .is_screen = true, .program = "Xorg"}),
        "Xorg, process 812, draws a desktop on 0000:01:00.0");
    EXPECT_EQ(in_words({.pci_address = "0000:01:00.0", .process = 9}),
              "process 9 uses 0000:01:00.0");
}

TEST_F(NvmlTest, ADriverThatDoesNotStartHasNoCards) {
    driver().init = 9;
    EXPECT_TRUE(Nvml(library_path_.c_str()).inventory().gpus.empty());
}

TEST_F(NvmlTest, ADriverThatComesUpLaterIsFound) {
    driver().init = 9;
    Nvml nvml(library_path_.c_str());
    EXPECT_TRUE(nvml.inventory().gpus.empty());
    driver().init = 0;
    const auto cards = std::exchange(driver().cards, {});
    EXPECT_TRUE(nvml.inventory().gpus.empty());
    driver().cards = cards;
    EXPECT_EQ(nvml.inventory().gpus.size(), 2u);
    EXPECT_EQ(nvml.telemetry().size(), 2u);
    driver().events = {{.card = 0, .type = 8, .data = 79}};
    EXPECT_EQ(nvml.health().size(), 1u);
}

TEST(NvmlWithoutADriver, HasNoCards) {
    Nvml nvml("libberth-no-such-driver.so.1");
    EXPECT_TRUE(nvml.inventory().gpus.empty());
    EXPECT_FALSE(nvml.inventory().driver_version);
    EXPECT_TRUE(nvml.telemetry().empty());
    EXPECT_TRUE(nvml.health().empty());
}

}  // namespace
}  // namespace berth::gpu
