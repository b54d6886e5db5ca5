// What listed offers of each GPU model ask for a GPU and an hour.
#pragma once

#include <mutex>

#include "catalog/shard.hpp"

namespace berth::catalog {

// Spellings of a known model are one; a model that is not known is its name in any case.
struct ModelPrice {
    GpuModel model;
    std::optional<Micro> median;  // none where there are too few offers to tell
};

class Prices {
public:
    Prices() = default;
    explicit Prices(const Shards& shards);

    std::span<const ModelPrice> models() const { return models_; }
    // Where models() has a model of that shard's index; none of offers without a GPU.
    std::optional<std::uint32_t> number(std::size_t shard, std::uint32_t model) const {
        return numbers_[shard][model];
    }

private:
    std::vector<ModelPrice> models_;
    std::array<std::vector<std::optional<std::uint32_t>>, std::tuple_size_v<Shards>> numbers_;
};

// Made when somebody first asks, once for a snapshot.
class LatePrices {
public:
    const Prices& of(const Shards& shards) const {
        std::call_once(once_, [&] { prices_ = Prices(shards); });
        return prices_;
    }

private:
    mutable std::once_flag once_;
    mutable Prices prices_;
};

}  // namespace berth::catalog
