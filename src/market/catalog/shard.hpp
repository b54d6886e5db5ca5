// An index with what holds at a moment: which of its offers are current and were heard lately.
#pragma once

#include <memory>

#include "catalog/bitmap.hpp"
#include "catalog/index.hpp"

namespace berth::catalog {

struct Shard {
    std::shared_ptr<const Index> index = std::make_shared<const Index>();
    Bitmap listed;  // current, within their time, and heard from
};
using Shards = std::array<Shard, 2>;

}  // namespace berth::catalog
