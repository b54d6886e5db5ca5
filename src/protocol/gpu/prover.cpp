#include "gpu/prover.hpp"

#include <algorithm>
#include <array>

#include "card_proof/lanes.hpp"
#include "gpu/proof_kernels.hpp"

namespace berth::gpu {
namespace {

using agent_protocol::Shown;
using card_proof::block_bytes;
using card_proof::block_words;
using card_proof::hash_bytes;

constexpr std::uint64_t all_bits = ~std::uint64_t{0};
constexpr std::uint64_t band_rows_max = 16384;
constexpr std::uint64_t lanes_at_once = 64;       // that are hashed
constexpr std::uint64_t steps_at_once = 1 << 17;  // so that no display waits for us
constexpr std::uint64_t chunk_bytes = 64;         // of SHA-256

Shown shown(const Bytes& bytes, const Bytes& path) {
    return {{to_base64url(bytes)}, {to_base64url(path)}};
}

std::string bytes_of_words(const std::vector<std::uint64_t>& words) {
    return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint64_t)};
}

unsigned blocks_for(std::uint64_t count, unsigned threads) {
    return static_cast<unsigned>((count + threads - 1) / threads);
}

}  // namespace

Prover::Prover(Cuda& cuda, std::uint64_t number)
    : cuda_(cuda),
      number_(number),
      make_lanes_(cuda.load(lane_kernels(), "make_lanes")),
      sha256_(cuda.load(sha256_kernels(), "sha256")),
      multiply_(
          cuda.load(cuda.has_tensor_cores() ? tensor_multiply_kernels() : plain_multiply_kernels(),
                    "multiply")) {}

void Prover::hash(DevicePointer from, DevicePointer to, std::uint64_t count, std::uint64_t bytes) {
    auto chunks = static_cast<unsigned>(bytes / chunk_bytes);
    std::array<void*, 4> parameters{&from, &to, &count, &chunks};
    cuda_.launch(sha256_, parameters, blocks_for(count, sha256_threads), sha256_threads);
}

std::string Prover::make_levels(const Hashes& hashes, std::uint64_t roots) {
    DevicePointer level = hashes.memory;
    std::uint64_t count = hashes.leaves;
    while (count > roots) {
        const DevicePointer above = level + count * hash_bytes;
        count /= 2;
        hash(level, above, count, 2 * hash_bytes);
        level = above;
    }
    cuda_.finish("hashing");
    return cuda_.read(level, count * hash_bytes);
}

Bytes Prover::path_in(const Hashes& hashes, std::uint64_t leaf) {
    Bytes path;
    DevicePointer level = hashes.memory;
    for (std::uint64_t count = hashes.leaves; count > 1; count /= 2, leaf /= 2) {
        path += cuda_.read(level + (leaf ^ 1) * hash_bytes, hash_bytes);
        level += count * hash_bytes;
    }
    return path;
}

// ---- The product

void Prover::make_band(std::uint64_t first_row) {
    const Stretch left{left_, band_rows_ * size_.depth,
                       first_row * size_.depth / card_proof::word_bytes};
    cuda_.fill({&left, 1}, {.seed = seeds_.left, .mask = all_bits});
    auto columns = static_cast<unsigned>(size_.columns);
    auto depth = static_cast<unsigned>(size_.depth);
    std::array<void*, 5> parameters{&left_, &right_, &band_, &columns, &depth};
    cuda_.launch(
        multiply_, parameters,
        static_cast<unsigned>(band_rows_ / multiply_tile * (size_.columns / multiply_tile)),
        multiply_threads);
}

Bytes Prover::multiply(const std::string& seed, const card_proof::ProductSize& size) {
    const auto in_tiles = [](std::uint64_t number, std::uint64_t tile) {
        return number >= tile && number % tile == 0 && (number & (number - 1)) == 0;
    };
    if (!in_tiles(size.rows, multiply_tile) || !in_tiles(size.columns, multiply_tile) ||
        !in_tiles(size.depth, multiply_depth))
        throw CudaError("the product that is asked for has no size that cards compute");
    forget_product();
    size_ = size;
    seeds_ = card_proof::product_seeds(seed, number_);
    band_rows_ = std::min(size.rows, band_rows_max);
    left_ = cuda_.take(band_rows_ * size.depth);
    right_ = cuda_.take(size.columns * size.depth);
    band_ = cuda_.take(band_rows_ * size.row_bytes());
    rows_ = {cuda_.take(2 * size.rows * hash_bytes), size.rows};
    const Stretch right{right_, size.columns * size.depth, 0};
    cuda_.fill({&right, 1}, {.seed = seeds_.right, .mask = all_bits});
    for (std::uint64_t first = 0; first < size.rows; first += band_rows_) {
        make_band(first);
        hash(band_, rows_.memory + first * hash_bytes, band_rows_, size.row_bytes());
    }
    return make_levels(rows_, 1);
}

Shown Prover::row(std::uint64_t row) {
    if (rows_.leaves == 0 || row >= size_.rows) throw CudaError("there is no such row");
    make_band(row / band_rows_ * band_rows_);
    cuda_.finish("multiplying");
    return shown(cuda_.read(band_ + row % band_rows_ * size_.row_bytes(), size_.row_bytes()),
                 path_in(rows_, row));
}

void Prover::forget_product() {
    if (rows_.leaves == 0) return;
    for (const DevicePointer memory : {left_, right_, band_, rows_.memory}) cuda_.give_back(memory);
    rows_ = {};
}

// ---- The lanes

void Prover::make_lanes() {
    std::vector<std::uint64_t> seeds;
    for (std::uint64_t lane = 0; lane < lanes_.size(); ++lane)
        seeds.push_back(card_proof::lane_seed(seed_, number_, lane));
    DevicePointer lane_list = cuda_.take(lanes_.size() * sizeof(DevicePointer));
    DevicePointer seed_list = cuda_.take(lanes_.size() * sizeof(std::uint64_t));
    cuda_.write(lane_list, bytes_of_words({lanes_.begin(), lanes_.end()}));
    cuda_.write(seed_list, bytes_of_words(seeds));
    std::uint64_t count = lanes_.size();
    for (std::uint64_t from = 0; from < lane_words_; from += steps_at_once) {
        std::uint64_t to = std::min(lane_words_, from + steps_at_once);
        std::array<void*, 5> parameters{&lane_list, &seed_list, &count, &from, &to};
        cuda_.launch(make_lanes_, parameters, static_cast<unsigned>(count), 1);
        cuda_.finish("making lanes");
    }
}

// Lanes that lie one behind the other, into blocks_.
void Prover::hash_lanes(DevicePointer first, std::uint64_t count) {
    blocks_.leaves = count * (lane_words_ / block_words);
    hash(first, blocks_.memory, blocks_.leaves, block_bytes);
}

Prover::Filled Prover::fill(const std::string& seed, std::uint64_t lane_words) {
    if (lane_words < block_words || (lane_words & (lane_words - 1)) != 0)
        throw CudaError("the lanes that are asked for have no size that cards make");
    if (!lanes_.empty()) throw CudaError("the memory is filled already");
    forget_product();
    seed_ = seed;
    lane_words_ = lane_words;
    const std::uint64_t lane_bytes = lane_words * card_proof::word_bytes;
    blocks_.memory = cuda_.take(2 * lanes_at_once * (lane_words / block_words) * hash_bytes);
    // What the lists of the lanes need is left.
    const std::uint64_t spare = cuda_.free_bytes() / lane_bytes * 2 * sizeof(DevicePointer);
    const auto memory = cuda_.take_memory(cuda_.free_bytes() - std::min(cuda_.free_bytes(), spare));
    for (const Stretch& piece : memory)
        for (std::uint64_t at = 0; at + lane_bytes <= piece.bytes; at += lane_bytes)
            lanes_.push_back(piece.memory + at);
    if (lanes_.empty()) throw CudaError("there is no free memory");
    make_lanes();
    std::vector<Bytes> roots;
    for (const Stretch& piece : memory) {
        const std::uint64_t in_piece = piece.bytes / lane_bytes;
        for (std::uint64_t lane = 0; lane < in_piece; lane += lanes_at_once) {
            const std::uint64_t count = std::min(lanes_at_once, in_piece - lane);
            hash_lanes(piece.memory + lane * lane_bytes, count);
            const std::string all = make_levels(blocks_, count);
            for (std::uint64_t i = 0; i < count; ++i)
                roots.push_back(all.substr(i * hash_bytes, hash_bytes));
        }
    }
    lane_tree_.emplace(std::move(roots));
    return {lanes_.size(), lane_tree_->root()};
}

Shown Prover::block(std::uint64_t lane, std::uint64_t block) {
    if (lane >= lanes_.size() || block >= lane_words_ / block_words)
        throw CudaError("there is no such block");
    hash_lanes(lanes_[lane], 1);
    make_levels(blocks_, 1);
    return shown(cuda_.read(lanes_[lane] + block * block_bytes, block_bytes),
                 path_in(blocks_, block) + lane_tree_->path(lane));
}

}  // namespace berth::gpu
