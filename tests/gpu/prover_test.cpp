// A card that proves itself, driven as the agent drives it, on a fake driver whose kernels do what
// ours say.
#include "gpu/prover.hpp"

#include <gtest/gtest.h>

#include "card_proof/lanes.hpp"
#include "fake_drivers/cuda.hpp"
#include "gpu/library.hpp"
#include "gpu/proof_kernels.hpp"

namespace berth::gpu {
namespace {

constexpr auto address = "0000:01:00.0";
constexpr card_proof::ProductSize tiny{.rows = 256, .columns = 128, .depth = 64};
constexpr std::uint64_t lane_words = 1 << 14;
constexpr std::uint64_t blocks_in_lane = lane_words / card_proof::block_words;

class ProverTest : public testing::Test {
protected:
    ProverTest() : library_(FAKE_CUDA) {
        driver() = {};
        driver().total_bytes = std::uint64_t{30} << 20;
    }
    test::FakeCuda& driver() { return *library_.find<test::FakeCuda*()>("fake_cuda")(); }

    Library library_;
};

TEST_F(ProverTest, MultipliesAndShowsRowsUnderItsRoot) {
    Cuda cuda(address, FAKE_CUDA);
    Prover prover(cuda, 3);
    const Bytes root = prover.multiply("seed", tiny);
    for (const std::uint64_t row : {0U, 1U, 128U, 255U}) {
        const auto shown = prover.row(row);
        const Bytes bytes = from_base64url(shown.bytes.value).value();
        EXPECT_EQ(bytes, card_proof::bytes_of_row(card_proof::product_row(
                             tiny, card_proof::product_seeds("seed", 3), row)));
        EXPECT_EQ(card_proof::root_over(bytes, row, from_base64url(shown.path.value).value()),
                  root);
    }
    EXPECT_THROW(prover.row(256), CudaError);
    EXPECT_THROW(prover.multiply("seed", {.rows = 100, .columns = 128, .depth = 64}), CudaError);
}

TEST_F(ProverTest, FillsItsMemoryAndShowsBlocksUnderItsRoot) {
    Cuda cuda(address, FAKE_CUDA);
    Prover prover(cuda, 1);
    prover.multiply("seed", tiny);
    const auto filled = prover.fill("seed", lane_words);
    EXPECT_GE(filled.lanes * lane_words * 8, driver().total_bytes / 100 * 90);
    EXPECT_LE(filled.lanes * lane_words * 8, driver().total_bytes);
    std::vector<std::uint64_t> words(lane_words);
    for (const std::uint64_t lane : {std::uint64_t{0}, filled.lanes / 2, filled.lanes - 1}) {
        card_proof::make_lane(card_proof::lane_seed("seed", 1, lane), words);
        for (const std::uint64_t block : {std::uint64_t{0}, blocks_in_lane - 1}) {
            const auto shown = prover.block(lane, block);
            const Bytes bytes = from_base64url(shown.bytes.value).value();
            const Bytes path = from_base64url(shown.path.value).value();
            EXPECT_EQ(bytes, card_proof::bytes_of(std::span(words).subspan(
                                 block * card_proof::block_words, card_proof::block_words)));
            EXPECT_EQ(path.size(),
                      card_proof::hash_bytes * (card_proof::levels_over(blocks_in_lane) +
                                                card_proof::levels_over(filled.lanes)));
            EXPECT_EQ(card_proof::root_over(bytes, lane * blocks_in_lane + block, path),
                      filled.root);
        }
    }
    EXPECT_THROW(prover.block(filled.lanes, 0), CudaError);
    EXPECT_THROW(prover.fill("seed", 1000), CudaError);
}

TEST_F(ProverTest, TheKernelsAreText) {
    for (const std::string& text :
         {lane_kernels(), sha256_kernels(), tensor_multiply_kernels(), plain_multiply_kernels()}) {
        EXPECT_TRUE(text.starts_with("\n.version"));
        EXPECT_EQ(text.find("{{"), std::string::npos);
        EXPECT_EQ(text.find("}}"), std::string::npos);
    }
}

}  // namespace
}  // namespace berth::gpu
