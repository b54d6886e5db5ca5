#include "hardware/gpus.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/letters.hpp"

namespace berth::hardware {
namespace {

// Published by the makers: memory in GB, bandwidth in GB/s.
constexpr GpuModel models[] = {
    // GeForce
    {"rtx-5090", "RTX 5090", 32, 1792},
    {"rtx-5080", "RTX 5080", 16, 960},
    {"rtx-5070-ti", "RTX 5070 Ti", 16, 896},
    {"rtx-5070", "RTX 5070", 12, 672},
    {"rtx-5060-ti", "RTX 5060 Ti", 16, 448},
    {"rtx-4090", "RTX 4090", 24, 1008},
    {"rtx-4090-d", "RTX 4090 D", 24, 1008},
    {"rtx-4080-super", "RTX 4080 SUPER", 16, 736},
    {"rtx-4080", "RTX 4080", 16, 717},
    {"rtx-4070-ti-super", "RTX 4070 Ti SUPER", 16, 672},
    {"rtx-4070-ti", "RTX 4070 Ti", 12, 504},
    {"rtx-4070-super", "RTX 4070 SUPER", 12, 504},
    {"rtx-4070", "RTX 4070", 12, 504},
    {"rtx-4060-ti", "RTX 4060 Ti", 16, 288},
    {"rtx-4060", "RTX 4060", 8, 272},
    {"rtx-3090-ti", "RTX 3090 Ti", 24, 1008},
    {"rtx-3090", "RTX 3090", 24, 936},
    {"rtx-3080-ti", "RTX 3080 Ti", 12, 912},
    {"rtx-3080", "RTX 3080", 10, 760},
    {"rtx-3070-ti", "RTX 3070 Ti", 8, 608},
    {"rtx-3070", "RTX 3070", 8, 448},
    {"rtx-3060-ti", "RTX 3060 Ti", 8, 448},
    {"rtx-3060", "RTX 3060", 12, 360},
    {"rtx-2080-ti", "RTX 2080 Ti", 11, 616},
    // Workstations
    {"rtx-pro-6000-server", "RTX PRO 6000 Server", 96, 1597},
    {"rtx-pro-6000-workstation", "RTX PRO 6000 Workstation", 96, 1792},
    {"rtx-pro-5000", "RTX PRO 5000", 48, 1344},
    {"rtx-pro-4500", "RTX PRO 4500", 32, 896},
    {"rtx-pro-4000", "RTX PRO 4000", 24, 672},
    {"rtx-6000-ada", "RTX 6000 Ada", 48, 960},
    {"rtx-5000-ada", "RTX 5000 Ada", 32, 576},
    {"rtx-4500-ada", "RTX 4500 Ada", 24, 432},
    {"rtx-4000-ada", "RTX 4000 Ada", 20, 360},
    {"rtx-a6000", "RTX A6000", 48, 768},
    {"rtx-a5500", "RTX A5500", 24, 768},
    {"rtx-a5000", "RTX A5000", 24, 768},
    {"rtx-a4500", "RTX A4500", 20, 640},
    {"rtx-a4000", "RTX A4000", 16, 448},
    {"rtx-8000", "Quadro RTX 8000", 48, 672},
    {"rtx-6000", "Quadro RTX 6000", 24, 672},
    // Data centres
    {"b300", "B300", 288, 8000},
    {"b200", "B200", 180, 8000},
    {"gh200-96gb", "GH200 96GB", 96, 4000},
    {"h200-sxm-141gb", "H200 SXM 141GB", 141, 4800},
    {"h200-nvl-141gb", "H200 NVL 141GB", 141, 4800},
    {"h100-sxm-80gb", "H100 SXM 80GB", 80, 3350},
    {"h100-pcie-80gb", "H100 PCIe 80GB", 80, 2039},
    {"h100-nvl-94gb", "H100 NVL 94GB", 94, 3938},
    {"a100-sxm-80gb", "A100 SXM 80GB", 80, 2039},
    {"a100-sxm-40gb", "A100 SXM 40GB", 40, 1555},
    {"a100-pcie-80gb", "A100 PCIe 80GB", 80, 1935},
    {"a100-pcie-40gb", "A100 PCIe 40GB", 40, 1555},
    {"l40s", "L40S", 48, 864},
    {"l40", "L40", 48, 864},
    {"l4", "L4", 24, 300},
    {"a40", "A40", 48, 696},
    {"a30", "A30", 24, 933},
    {"a10", "A10", 24, 600},
    {"a10g", "A10G", 24, 600},
    {"a2", "A2", 16, 200},
    {"t4", "T4", 16, 320},
    {"v100-sxm-32gb", "V100 SXM 32GB", 32, 900},
    {"v100-sxm-16gb", "V100 SXM 16GB", 16, 900},
    {"v100-pcie-32gb", "V100 PCIe 32GB", 32, 900},
    {"v100-pcie-16gb", "V100 PCIe 16GB", 16, 900},
    {"p100-pcie-16gb", "P100 PCIe 16GB", 16, 732},
    {"p40", "P40", 24, 347},
    // AMD
    {"mi355x", "MI355X", 288, 8000},
    {"mi325x", "MI325X", 256, 6000},
    {"mi300x", "MI300X", 192, 5300},
    {"mi210", "MI210", 64, 1638},
    {"mi100", "MI100", 32, 1229},
    {"pro-w7900", "PRO W7900", 48, 864},
    {"rx-7900-xtx", "RX 7900 XTX", 24, 960},
    {"rx-7900-xt", "RX 7900 XT", 20, 800},
    {"rx-9070-xt", "RX 9070 XT", 16, 640},
    // Intel
    {"arc-b580", "Arc B580", 12, 456},
    {"arc-a770", "Arc A770", 16, 560},
};

// Spellings that are not simply the words of a key.
struct Alias {
    std::string_view words;
    std::string_view key;
};
constexpr Alias aliases[] = {
    {"rtx 4090d", "rtx-4090-d"},
    {"rtx pro 6000 blackwell server edition", "rtx-pro-6000-server"},
    {"rtx pro 6000 server edition", "rtx-pro-6000-server"},
    {"rtx pro 6000 blackwell workstation edition", "rtx-pro-6000-workstation"},
    {"rtx pro 6000 workstation edition", "rtx-pro-6000-workstation"},
    {"rtx pro 6000 blackwell max q workstation edition", "rtx-pro-6000-workstation"},
    {"rtx pro 5000 blackwell", "rtx-pro-5000"},
    {"rtx pro 4500 blackwell", "rtx-pro-4500"},
    {"rtx pro 4000 blackwell", "rtx-pro-4000"},
    {"a6000", "rtx-a6000"},
    {"a5500", "rtx-a5500"},
    {"a5000", "rtx-a5000"},
    {"a4500", "rtx-a4500"},
    {"a4000", "rtx-a4000"},
    {"b300 sxm6 ac", "b300"},
    {"b200 180gb hbm3e", "b200"},
    {"gh200 480gb", "gh200-96gb"},  // the driver counts the processor's memory
    {"h200", "h200-sxm-141gb"},
    {"h200 sxm", "h200-sxm-141gb"},
    {"h200 nvl", "h200-nvl-141gb"},
    {"h100 80gb hbm3", "h100-sxm-80gb"},  // what the driver calls the SXM module
    {"h100 sxm", "h100-sxm-80gb"},
    {"h100 pcie", "h100-pcie-80gb"},
    {"h100 80gb pcie", "h100-pcie-80gb"},
    {"h100 nvl", "h100-nvl-94gb"},
    {"a100 80gb sxm", "a100-sxm-80gb"},
    {"a100 40gb sxm", "a100-sxm-40gb"},
    {"a100 80gb pcie", "a100-pcie-80gb"},
    {"a100 40gb pcie", "a100-pcie-40gb"},
    {"instinct mi300x oam", "mi300x"},
    {"mi300x oam", "mi300x"},
    {"mi325x oam", "mi325x"},
    {"mi355x oam", "mi355x"},
};

constexpr std::string_view vendor_words[] = {
    "nvidia", "amd",    "intel",    "corporation", "inc",      "geforce", "tesla",
    "quadro", "radeon", "instinct", "generation",  "graphics", "gpu",
};

// The generations of one module: SXM2, SXM4 and SXM5 name the same thing of different models.
std::string module_of(std::string word) {
    if (word.size() == 4 && word.starts_with("sxm")) word.pop_back();
    return word;
}

// Lower-case words; what stands in parentheses, such as (R) and (TM), is nothing.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    bool in_parentheses = false;
    const auto end_word = [&] {
        if (!word.empty() && std::ranges::find(vendor_words, word) == std::end(vendor_words))
            words.push_back(module_of(std::move(word)));
        word.clear();
    };
    for (const char raw : text) {
        const char letter = to_lower(raw);
        if (letter == '(') in_parentheses = true;
        if (!in_parentheses && is_alphanumeric(letter)) {
            word.push_back(letter);
        } else {
            end_word();
        }
        if (letter == ')') in_parentheses = false;
    }
    end_word();
    return words;
}

std::string joined(const std::vector<std::string>& words, char between) {
    std::string text;
    for (const std::string& word : words) {
        if (!text.empty()) text.push_back(between);
        text += word;
    }
    return text;
}

const GpuModel* find_words(const std::vector<std::string>& words) {
    const std::string spoken = joined(words, ' ');
    const auto alias = std::ranges::find(aliases, spoken, &Alias::words);
    if (alias != std::end(aliases)) return find_gpu(alias->key);
    return find_gpu(joined(words, '-'));
}

}  // namespace

std::span<const GpuModel> gpu_models() { return models; }

const GpuModel* find_gpu(std::string_view key) {
    const auto found = std::ranges::find(models, key, &GpuModel::key);
    return found == std::end(models) ? nullptr : &*found;
}

const GpuModel* canonical(std::string_view text) {
    constexpr std::size_t text_bytes_max = 256;
    if (text.size() > text_bytes_max) return nullptr;
    std::vector<std::string> words = words_of(text);
    if (const GpuModel* model = find_words(words)) return model;
    // "RTX 4090 24GB": the suffix only repeats what the model has anyway.
    if (words.size() < 2) return nullptr;
    const std::string memory = std::move(words.back());
    words.pop_back();
    const GpuModel* model = find_words(words);
    return model && memory == std::to_string(model->memory_gb) + "gb" ? model : nullptr;
}

}  // namespace berth::hardware
