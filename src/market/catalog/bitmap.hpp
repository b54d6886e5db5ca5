// One bit for each offer of an index, by its slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::catalog {

class Bitmap {
public:
    Bitmap() = default;
    explicit Bitmap(std::size_t bits) : words_((bits + word_bits - 1) / word_bits) {}

    void set(std::size_t at) { words_[at / word_bits] |= bit(at); }
    bool test(std::size_t at) const { return (words_[at / word_bits] & bit(at)) != 0; }

    // Both have the same number of bits.
    Bitmap& without(const Bitmap& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
        return *this;
    }

private:
    static constexpr std::size_t word_bits = 64;
    static std::uint64_t bit(std::size_t at) { return std::uint64_t{1} << (at % word_bits); }

    std::vector<std::uint64_t> words_;
};

}  // namespace berth::catalog
