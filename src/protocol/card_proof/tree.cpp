#include "card_proof/tree.hpp"

#include "crypto/hash.hpp"

namespace berth::card_proof {

std::size_t levels_over(std::uint64_t leaves) {
    std::size_t levels = 0;
    while (levels < 63 && (std::uint64_t{1} << levels) < leaves) ++levels;
    return levels;
}

Tree::Tree(std::vector<Bytes> leaf_hashes) {
    leaf_hashes.resize(std::size_t{1} << levels_over(leaf_hashes.size()), Bytes(hash_bytes, '\0'));
    levels_.push_back(std::move(leaf_hashes));
    while (levels_.back().size() > 1) {
        const std::vector<Bytes>& below = levels_.back();
        std::vector<Bytes> level;
        for (std::size_t i = 0; i < below.size(); i += 2)
            level.push_back(crypto::sha256(below[i] + below[i + 1]));
        levels_.push_back(std::move(level));
    }
}

Bytes Tree::path(std::uint64_t leaf) const {
    Bytes path;
    for (std::size_t level = 0; level + 1 < levels_.size(); ++level, leaf /= 2)
        path += levels_[level][leaf ^ 1];
    return path;
}

Bytes root_over(std::string_view leaf_bytes, std::uint64_t leaf, std::string_view path) {
    Bytes hash = crypto::sha256(leaf_bytes);
    for (; path.size() >= hash_bytes; path.remove_prefix(hash_bytes), leaf /= 2) {
        const Bytes neighbour(path.substr(0, hash_bytes));
        hash = crypto::sha256(leaf % 2 == 0 ? hash + neighbour : neighbour + hash);
    }
    return hash;
}

}  // namespace berth::card_proof
