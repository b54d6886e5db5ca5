// The names of GPUs: what drivers and people call them, and what must not be taken for another.
#include "hardware/gpus.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace berth::hardware {
namespace {

struct Spelling {
    std::string_view text;
    std::string_view key;
};

TEST(GpuNames, SpellingsOfDriversAndPeopleMeanOneModel) {
    constexpr Spelling spellings[] = {
        {"NVIDIA GeForce RTX 4090", "rtx-4090"},
        {"GeForce RTX 4090", "rtx-4090"},
        {"rtx 4090", "rtx-4090"},
        {"RTX-4090", "rtx-4090"},
        {"NVIDIA RTX 4090 24GB", "rtx-4090"},
        {"NVIDIA GeForce RTX 4090 D", "rtx-4090-d"},
        {"NVIDIA GeForce RTX 3090 Ti", "rtx-3090-ti"},
        {"NVIDIA GeForce RTX 4070 Ti SUPER", "rtx-4070-ti-super"},
        {"NVIDIA H100 80GB HBM3", "h100-sxm-80gb"},
        {"H100 SXM5 80GB", "h100-sxm-80gb"},
        {"NVIDIA H100 PCIe", "h100-pcie-80gb"},
        {"NVIDIA H100 NVL", "h100-nvl-94gb"},
        {"NVIDIA H200", "h200-sxm-141gb"},
        {"NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"},
        {"NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"},
        {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
        {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"},
        {"Tesla V100-SXM2-16GB", "v100-sxm-16gb"},
        {"Tesla T4", "t4"},
        {"NVIDIA RTX A6000", "rtx-a6000"},
        {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
        {"Quadro RTX 6000", "rtx-6000"},
        {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"},
        {"AMD Instinct MI300X OAM", "mi300x"},
        {"AMD Radeon RX 7900 XTX", "rx-7900-xtx"},
        {"Intel(R) Arc(TM) A770 Graphics", "arc-a770"},
    };
    for (const Spelling& spelling : spellings) {
        const GpuModel* model = canonical(spelling.text);
        ASSERT_NE(model, nullptr) << spelling.text;
        EXPECT_EQ(model->key, spelling.key) << spelling.text;
    }
}

TEST(GpuNames, WhatIsNotCertainlyInTheTableIsUnknown) {
    for (const std::string_view text :
         {"", " ", "NVIDIA", "RTX", "4090", "NVIDIA GeForce RTX 4090 Laptop GPU", "RTX 40900",
          "RTX 4090 48GB", "H100 80GB", "A100", "A100-SXM4", "RTX 4090; DROP TABLE machines",
          "((((", ")", "RTX (4090)", "Ampere 1"})
        EXPECT_EQ(canonical(text), nullptr) << text;
    EXPECT_EQ(canonical(std::string(100'000, '4')), nullptr);
}

TEST(GpuNames, EveryModelIsFoundByItsOwnKeyAndName) {
    std::set<std::string_view> keys;
    for (const GpuModel& model : gpu_models()) {
        EXPECT_TRUE(keys.insert(model.key).second) << model.key;
        EXPECT_EQ(canonical(model.key), &model) << model.key;
        EXPECT_EQ(canonical(model.name), &model) << model.name;
        EXPECT_GT(model.memory_gb, 0) << model.key;
        EXPECT_GT(model.bandwidth_gbps, 0) << model.key;
    }
}

}  // namespace
}  // namespace berth::hardware
