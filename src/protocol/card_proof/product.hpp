// The computation that a card proves: the exact product of two matrices of 8-bit whole numbers,
// both made from a seed, into 32 bits. The left one is tall, so that there is much to do, and a row
// of the product short, so that it is quickly sent and looked at.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "card_proof/pattern.hpp"

namespace berth::card_proof {

// Each a power of two. A row of the left matrix and a column of the right one have `depth` bytes.
struct ProductSize {
    std::uint64_t rows = std::uint64_t{1} << 21;
    std::uint64_t columns = 1024;
    std::uint64_t depth = 16384;

    std::uint64_t row_bytes() const { return columns * sizeof(std::int32_t); }
    double operations() const {
        return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) *
               static_cast<double>(depth);
    }
};

// The left matrix row by row, and the right one column by column, are the words of a pattern.
struct ProductSeeds {
    std::uint64_t left = 0;
    std::uint64_t right = 0;
};
ProductSeeds product_seeds(std::string_view test_seed, std::uint64_t card);

// One row of the product, from the definition.
std::vector<std::int32_t> product_row(const ProductSize& size, const ProductSeeds& seeds,
                                      std::uint64_t row);
Bytes bytes_of_row(std::span<const std::int32_t> row);  // little-endian

// A row that somebody claims.
struct ClaimedRow {
    std::uint64_t row = 0;
    Bytes bytes;
};
// Whether all of them are right, as Freivalds does it: both sides are multiplied by the same
// vector, which nobody knew when the rows were made. A wrong row passes once in thousands of
// millions.
bool are_rows_right(const ProductSize& size, const ProductSeeds& seeds,
                    std::span<const ClaimedRow> rows, std::span<const std::uint64_t> vector);

}  // namespace berth::card_proof
