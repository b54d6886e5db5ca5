// The GPUs the program knows by name: one canonical key and name for the many spellings that
// drivers and people use, with what the makers publish about their memory. It measures nothing:
// what a machine really has comes from its test.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace berth::hardware {

struct GpuModel {
    std::string_view key;   // "rtx-4090", "h100-sxm-80gb"; stands in the database and on the wire
    std::string_view name;  // "RTX 4090", "H100 SXM 80GB"
    std::int64_t memory_gb = 0;       // nominal, decimal
    std::int64_t bandwidth_gbps = 0;  // GB/s of memory, as published
};

std::span<const GpuModel> gpu_models();

// The model that a driver's or a person's text means ("NVIDIA GeForce RTX 4090"); null when the
// text is not certainly one of the table. Words of vendors are stripped and a memory suffix is
// kept, so an A100 of 40 GB and one of 80 GB stay two models.
const GpuModel* canonical(std::string_view text);

const GpuModel* find_gpu(std::string_view key);

}  // namespace berth::hardware
