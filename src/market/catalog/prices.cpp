#include "catalog/prices.hpp"

#include <unordered_map>

#include "hardware/market.hpp"

namespace berth::catalog {

Prices::Prices(const Shards& shards) {
    std::unordered_map<std::string, std::uint32_t> by_name;
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
        const Index& index = *shards[shard].index;
        for (std::size_t model = 0; model < index.models().size(); ++model) {
            const GpuModel& named = index.gpu_models()[model];
            const std::string& lower = index.models()[model];
            if (lower.empty()) {
                numbers_[shard].emplace_back();
                continue;
            }
            const auto [found, added] =
                by_name.emplace(named.key.empty() ? "name " + lower : "key " + named.key,
                                static_cast<std::uint32_t>(models_.size()));
            if (added) models_.push_back({named, {}});
            numbers_[shard].emplace_back(found->second);
        }
    }
    // A price that nobody could have paid says nothing.
    std::vector<std::vector<Micro>> asked(models_.size());
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
        const Index& index = *shards[shard].index;
        for (const Cell& cell : index.cells()) {
            const auto model = number(shard, cell.model);
            if (!model || (cell.kind & kind_admitted) == 0) continue;
            for (std::uint32_t slot = cell.begin; slot < cell.end; ++slot)
                if (shards[shard].listed.test(slot))
                    asked[*model].push_back({index.rate_micro_per_gpu_hour(slot)});
        }
    }
    for (std::size_t model = 0; model < models_.size(); ++model)
        if (asked[model].size() >= hardware::listings_min)
            models_[model].median = hardware::median(std::move(asked[model]));
}

}  // namespace berth::catalog
