// Public list prices of one GPU for one hour, on demand. Each row was read on the seller's page on
// the day it names, in a public record of that page: tgarg01/silybench-data
// (derived/csv/gpu_prices.csv), api-evangelist/akash and api-evangelist/lambda-labs (plans/),
// api-evangelist/openrelay (plans/), and the data set privum/ai-compute-prices. The large clouds
// are left out: their price is that of a whole virtual machine.
#include "hardware/market.hpp"

namespace berth::hardware {
namespace {

constexpr PriceSource runpod_community{"RunPod Community Cloud", "https://www.runpod.io/pricing",
                                       "2026-09-25"};
constexpr PriceSource runpod_secure{"RunPod Secure Cloud", "https://www.runpod.io/pricing",
                                    "2026-09-25"};
constexpr PriceSource runpod_recorded{"RunPod, recorded by privum/ai-compute-prices",
                                      "https://huggingface.co/datasets/privum/ai-compute-prices",
                                      "2026-08-19"};
constexpr PriceSource nebius{"Nebius", "https://nebius.com/prices", "2026-09-25"};
constexpr PriceSource lambda{"Lambda", "https://lambda.ai/instances", "2026-09-20"};
constexpr PriceSource akash{"Akash Network", "https://akash.network/pricing/gpus/", "2026-09-20"};
constexpr PriceSource openrelay{"OpenRelay", "https://openrelay.inc/gpu-pricing-calculator",
                                "2026-09-20"};

constexpr ReferencePrice prices[] = {
    {"b300", {6'000'000}, akash},
    {"b300", {6'940'000}, runpod_recorded},
    {"b300", {7'890'000}, runpod_recorded},
    {"b200", {5'000'000}, akash},
    {"b200", {5'980'000}, runpod_community},
    {"b200", {6'790'000}, runpod_secure},
    {"b200", {6'990'000}, lambda},
    {"b200", {7'150'000}, nebius},
    {"gh200-96gb", {2'290'000}, lambda},
    {"h200-sxm-141gb", {3'590'000}, runpod_community},
    {"h200-sxm-141gb", {4'450'000}, akash},
    {"h200-sxm-141gb", {4'500'000}, nebius},
    {"h200-sxm-141gb", {4'590'000}, runpod_secure},
    {"h100-sxm-80gb", {2'600'000}, openrelay},
    {"h100-sxm-80gb", {2'690'000}, runpod_community},
    {"h100-sxm-80gb", {2'710'000}, akash},
    {"h100-sxm-80gb", {3'490'000}, runpod_secure},
    {"h100-sxm-80gb", {3'850'000}, nebius},
    {"h100-sxm-80gb", {4'290'000}, lambda},
    {"h100-pcie-80gb", {1'990'000}, runpod_community},
    {"h100-pcie-80gb", {2'890'000}, runpod_secure},
    {"h100-pcie-80gb", {3'290'000}, lambda},
    {"h100-nvl-94gb", {2'590'000}, runpod_community},
    {"h100-nvl-94gb", {3'190'000}, runpod_secure},
    {"a100-sxm-80gb", {1'390'000}, runpod_community},
    {"a100-sxm-80gb", {1'590'000}, runpod_secure},
    {"a100-sxm-80gb", {1'710'000}, akash},
    {"a100-sxm-80gb", {2'790'000}, lambda},
    {"a100-sxm-40gb", {1'000'000}, runpod_recorded},
    {"a100-sxm-40gb", {1'990'000}, lambda},
    {"a100-pcie-80gb", {1'190'000}, runpod_community},
    {"a100-pcie-80gb", {1'590'000}, runpod_secure},
    {"l40s", {790'000}, runpod_community},
    {"l40s", {1'090'000}, runpod_secure},
    {"l40s", {1'550'000}, nebius},
    {"a40", {440'000}, runpod_recorded},
    {"a10", {1'290'000}, lambda},
    {"t4", {150'000}, akash},
    {"v100-sxm-16gb", {360'000}, akash},
    {"v100-sxm-16gb", {790'000}, lambda},
    {"v100-pcie-32gb", {170'000}, akash},
    {"p40", {80'000}, akash},
    {"rtx-pro-6000-server", {2'040'000}, akash},
    {"rtx-pro-6000-workstation", {1'450'000}, akash},
    {"rtx-a6000", {1'090'000}, lambda},
    {"rtx-4000-ada", {410'000}, akash},
    {"rtx-8000", {210'000}, akash},
    {"rtx-6000", {170'000}, akash},
    {"rtx-6000", {690'000}, lambda},
    {"rtx-5090", {670'000}, akash},
    {"rtx-4090", {290'000}, openrelay},
    {"rtx-4090", {340'000}, runpod_community},
    {"rtx-4090", {390'000}, akash},
    {"rtx-4090", {740'000}, runpod_secure},
    {"rtx-4080", {150'000}, akash},
    {"rtx-3090-ti", {250'000}, akash},
    {"rtx-3090", {160'000}, akash},
    {"rtx-3090", {180'000}, openrelay},
    {"rtx-3060", {140'000}, akash},
};

}  // namespace

std::span<const ReferencePrice> reference_prices() { return prices; }

}  // namespace berth::hardware
