// One bit for each offer of an index, by its slot.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::catalog {

class Bitmap {
public:
    Bitmap() = default;
    explicit Bitmap(std::size_t bits) : words_((bits + word_bits - 1) / word_bits) {}

    void set(std::size_t at) { words_[at / word_bits] |= bit(at); }
    void clear(std::size_t at) { words_[at / word_bits] &= ~bit(at); }
    bool test(std::size_t at) const { return (words_[at / word_bits] & bit(at)) != 0; }

    // Both have the same number of bits.
    Bitmap& operator&=(const Bitmap& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
        return *this;
    }
    Bitmap& operator|=(const Bitmap& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
        return *this;
    }
    Bitmap& without(const Bitmap& other) {
        for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
        return *this;
    }

    std::size_t count() const {
        std::size_t sum = 0;
        for (const std::uint64_t word : words_)
            sum += static_cast<std::size_t>(std::popcount(word));
        return sum;
    }
    // How many of this are not in the other.
    std::size_t count_without(const Bitmap& other) const {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < words_.size(); ++i)
            sum += static_cast<std::size_t>(std::popcount(words_[i] & ~other.words_[i]));
        return sum;
    }

    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0; i < words_.size(); ++i)
            for (std::uint64_t word = words_[i]; word != 0; word &= word - 1)
                visit(static_cast<std::uint32_t>(i * word_bits +
                                                 static_cast<std::size_t>(std::countr_zero(word))));
    }

    std::size_t bytes() const { return words_.capacity() * sizeof(std::uint64_t); }

private:
    static constexpr std::size_t word_bits = 64;
    static std::uint64_t bit(std::size_t at) { return std::uint64_t{1} << (at % word_bits); }

    std::vector<std::uint64_t> words_;
};

}  // namespace berth::catalog
