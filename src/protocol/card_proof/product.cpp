#include "card_proof/product.hpp"

#include <fmt/format.h>

#include "crypto/hash.hpp"

namespace berth::card_proof {
namespace {

// The bytes of a row of the left matrix, or of a column of the right one.
std::vector<std::int8_t> line(std::uint64_t seed, std::uint64_t number, std::uint64_t depth) {
    std::vector<std::int8_t> bytes;
    bytes.reserve(depth);
    for (std::uint64_t i = 0; i < depth / 8; ++i) {
        std::uint64_t word = pattern_word(seed, number * (depth / 8) + i);
        for (int byte = 0; byte < 8; ++byte, word >>= 8)
            bytes.push_back(static_cast<std::int8_t>(word & 0xff));
    }
    return bytes;
}

std::uint64_t widened(std::int64_t number) { return static_cast<std::uint64_t>(number); }

std::int32_t value_at(std::string_view bytes, std::size_t index) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;)
        value = value << 8 | static_cast<unsigned char>(bytes[4 * index + i]);
    return static_cast<std::int32_t>(value);
}

// The right matrix times the vector, modulo 2^64.
std::vector<std::uint64_t> right_times(const ProductSize& size, std::uint64_t seed,
                                       std::span<const std::uint64_t> vector) {
    std::vector<std::uint64_t> sums(size.depth);
    for (std::uint64_t column = 0; column < size.columns; ++column) {
        const std::vector<std::int8_t> bytes = line(seed, column, size.depth);
        for (std::uint64_t k = 0; k < size.depth; ++k)
            sums[k] += widened(bytes[k]) * vector[column];
    }
    return sums;
}

}  // namespace

ProductSeeds product_seeds(std::string_view test_seed, std::uint64_t card) {
    const Bytes hash = crypto::sha256(fmt::format("{}:{}:product", test_seed, card));
    return {load_big_endian(hash.data()), load_big_endian(hash.data() + 8)};
}

std::vector<std::int32_t> product_row(const ProductSize& size, const ProductSeeds& seeds,
                                      std::uint64_t row) {
    const std::vector<std::int8_t> left = line(seeds.left, row, size.depth);
    std::vector<std::int32_t> sums;
    for (std::uint64_t column = 0; column < size.columns; ++column) {
        const std::vector<std::int8_t> right = line(seeds.right, column, size.depth);
        std::int32_t sum = 0;
        for (std::uint64_t k = 0; k < size.depth; ++k) sum += left[k] * right[k];
        sums.push_back(sum);
    }
    return sums;
}

Bytes bytes_of_row(std::span<const std::int32_t> row) {
    Bytes bytes;
    for (const std::int32_t value : row) {
        auto rest = static_cast<std::uint32_t>(value);
        for (int i = 0; i < 4; ++i, rest >>= 8) bytes.push_back(static_cast<char>(rest & 0xff));
    }
    return bytes;
}

bool are_rows_right(const ProductSize& size, const ProductSeeds& seeds,
                    std::span<const ClaimedRow> rows, std::span<const std::uint64_t> vector) {
    if (vector.size() != size.columns) return false;
    const std::vector<std::uint64_t> right = right_times(size, seeds.right, vector);
    for (const ClaimedRow& claimed : rows) {
        if (claimed.bytes.size() != size.row_bytes()) return false;
        const std::vector<std::int8_t> left = line(seeds.left, claimed.row, size.depth);
        std::uint64_t expected = 0;
        for (std::uint64_t k = 0; k < size.depth; ++k) expected += widened(left[k]) * right[k];
        std::uint64_t found = 0;
        for (std::uint64_t column = 0; column < size.columns; ++column)
            found += widened(value_at(claimed.bytes, column)) * vector[column];
        if (found != expected) return false;
    }
    return true;
}

}  // namespace berth::card_proof
