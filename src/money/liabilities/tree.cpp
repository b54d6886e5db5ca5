#include "liabilities/tree.hpp"

#include "base/check.hpp"
#include "crypto/hash.hpp"

namespace berth::liabilities {
namespace {

void append_sum(Bytes& out, Micro sum) {
    append_big_endian(out, static_cast<std::uint64_t>(sum.value));
}

}  // namespace

Node node_of(const Leaf& leaf) {
    require(leaf.salt.size() == salt_bytes, "a salt has its length");
    Bytes input(1, '\0');
    input += leaf.account.uuid.view();
    input += leaf.salt;
    append_sum(input, leaf.balance);
    return {crypto::sha256(input), leaf.balance};
}

Node join(const Node& left, const Node& right) {
    Bytes input(1, '\1');
    input += left.hash;
    append_sum(input, left.sum);
    input += right.hash;
    append_sum(input, right.sum);
    return {crypto::sha256(input), left.sum + right.sum};
}

std::vector<Level> grow(Level leaves) {
    require(!leaves.empty(), "a tree has a leaf");
    std::vector<Level> levels{std::move(leaves)};
    while (levels.back().size() > 1) {
        const Level& below = levels.back();
        Level above;
        above.reserve((below.size() + 1) / 2);
        for (std::size_t i = 0; i + 1 < below.size(); i += 2)
            above.push_back(join(below[i], below[i + 1]));
        if (below.size() % 2 == 1) above.push_back(below.back());
        levels.push_back(std::move(above));
    }
    return levels;
}

std::vector<Place> neighbours(std::size_t index, std::size_t leaves) {
    std::vector<Place> places;
    for (std::size_t level = 0, size = leaves; size > 1; ++level, size = (size + 1) / 2) {
        const std::size_t other = index ^ 1;
        if (other < size)
            places.push_back({level, other, other < index ? Side::left : Side::right});
        index /= 2;
    }
    return places;
}

Node climb(const Node& leaf, const std::vector<Step>& path) {
    Node node = leaf;
    for (const Step& step : path)
        node = step.side == Side::left ? join(step.node, node) : join(node, step.node);
    return node;
}

}  // namespace berth::liabilities
