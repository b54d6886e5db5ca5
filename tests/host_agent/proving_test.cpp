// The proof of a card by the real agent's child process, on a driver that is a fake: the line
// between the two, and that the child lives exactly as long as it is needed.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <thread>

#include "card_proof/lanes.hpp"
#include "card_proof/product.hpp"
#include "card_proof/tree.hpp"
#include "gpu/proving_child.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

constexpr card_proof::ProductSize asked{.rows = 128, .columns = 128, .depth = 64};
constexpr std::int64_t lane_words = 1 << 14;

class ProvingChildren : public testing::Test {
protected:
    ProvingChildren() {
        std::filesystem::create_symlink(FAKE_CUDA, folder_.path() + "/libcuda.so.1");
        ::setenv("LD_LIBRARY_PATH", folder_.path().c_str(), 1);
    }
    ~ProvingChildren() override { ::unsetenv("LD_LIBRARY_PATH"); }

    static std::unique_ptr<gpu::ProvingCard> card(std::size_t number,
                                                  const std::string& address = "0000:01:00.0") {
        return gpu::proving_child({program_path("berth-agent"), "gpu-worker"}, address, number);
    }
    static agent_protocol::ProductOrder product_order() {
        return {"seed", {128}, {128}, {64}, {60000}};
    }
    static agent_protocol::LaneOrder lane_order() { return {"seed", {lane_words}, {}, {40000}}; }
    static Bytes shown_bytes(const agent_protocol::Shown& shown) {
        return from_base64url(shown.bytes.value).value();
    }
    static std::string root_over(const agent_protocol::Shown& shown, std::uint64_t leaf) {
        return "sha256:" + to_hex(card_proof::root_over(shown_bytes(shown), leaf,
                                                        from_base64url(shown.path.value).value()));
    }

private:
    TemporaryFolder folder_;
};

// Each step is asked for on a thread of its own, as the agent does; the child outlives all of them.
TEST_F(ProvingChildren, ComputeAndHoldWhatIsAskedFor) {
    const auto first = card(0);
    const auto second = card(1);
    std::vector<std::string> roots(2);
    const auto on_threads = [&](const auto& work) {
        std::thread one([&] { work(*first, roots[0]); });
        std::thread two([&] { work(*second, roots[1]); });
        one.join();
        two.join();
    };
    on_threads([](gpu::ProvingCard& each, std::string&) { each.make_ready(); });
    on_threads(
        [](gpu::ProvingCard& each, std::string& root) { root = each.multiply(product_order()); });
    EXPECT_NE(roots[0], roots[1]);
    const auto rows = second->rows({{0}, {127}});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(root_over(rows[1], 127), roots[1]);
    EXPECT_EQ(shown_bytes(rows[1]), card_proof::bytes_of_row(card_proof::product_row(
                                        asked, card_proof::product_seeds("seed", 1), 127)));
    const auto filled = second->fill(lane_order());
    EXPECT_GT(filled.lanes, 200);
    const auto blocks = second->blocks({{{7}, {3}}});
    ASSERT_EQ(blocks.size(), 1U);
    EXPECT_EQ(root_over(blocks[0], 7 * lane_words / 128 + 3), filled.root);
    std::vector<std::uint64_t> words(lane_words);
    card_proof::make_lane(card_proof::lane_seed("seed", 1, 7), words);
    EXPECT_EQ(shown_bytes(blocks[0]),
              card_proof::bytes_of(std::span(words).subspan(std::size_t{3} * 128, 128)));
}

TEST_F(ProvingChildren, SayWhyTheyCannot) {
    const auto none = card(0, "0000:99:00.0");
    EXPECT_THROW(none->make_ready(), std::runtime_error);
    const auto odd = card(0);
    odd->make_ready();
    EXPECT_THROW(odd->rows({{0}}), std::runtime_error);
    EXPECT_THROW(odd->multiply({"seed", {100}, {128}, {64}, {1}}), std::runtime_error);
    EXPECT_FALSE(odd->multiply(product_order()).empty());  // and goes on
}

}  // namespace
}  // namespace berth::test
