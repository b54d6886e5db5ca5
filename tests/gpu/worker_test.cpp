#include <gtest/gtest.h>

#include "fake_drivers/cuda.hpp"
#include "gpu/gpu.hpp"
#include "gpu/library.hpp"
#include "wire/open.hpp"

namespace berth::gpu {
namespace {

constexpr auto card = "0000:01:00.0";
constexpr std::int64_t mib = 1 << 20;

class WorkerTest : public testing::Test {
protected:
    WorkerTest() : library_path_(FAKE_CUDA), library_(library_path_.c_str()) { driver() = {}; }

    test::FakeCuda& driver() { return *library_.find<test::FakeCuda*()>("fake_cuda")(); }

    struct End {
        int status;
        std::string output;
        std::string errors;
    };
    End run(const std::vector<std::string>& arguments) {
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int status = run_worker(arguments, library_path_.c_str());
        return {status, testing::internal::GetCapturedStdout(),
                testing::internal::GetCapturedStderr()};
    }

    std::string library_path_;
    Library library_;
};

TEST_F(WorkerTest, WipesAllMemoryThatCanBeHad) {
    const auto end = run({"wipe", card, "18446744073709551615"});
    ASSERT_EQ(end.status, 0) << end.errors;
    const auto wipe = wire::decode_known<Wipe>(end.output, "worker");
    EXPECT_EQ(wipe.pci_address.value, card);
    EXPECT_EQ(wipe.total_bytes.value, 30 * mib);
    EXPECT_EQ(wipe.wiped_bytes.value, 30 * mib);
    EXPECT_EQ(wipe.verified_bytes.value, 30 * mib);
}

// What a wipe is for: a word that does not take what is written to it is not called wiped.
TEST_F(WorkerTest, AWordThatKeepsWhatItHadIsNotVerified) {
    driver().dead_word_every = 1 << 20;
    const auto end = run({"wipe", card, "7"});
    ASSERT_EQ(end.status, 0) << end.errors;
    const auto wipe = wire::decode_known<Wipe>(end.output, "worker");
    EXPECT_EQ(wipe.wiped_bytes.value, 30 * mib);
    const std::int64_t dead = 4 * 2 * 8;  // four words, wrong as pattern and as zero
    EXPECT_EQ(wipe.verified_bytes.value, 30 * mib - dead);
}

TEST_F(WorkerTest, MeasuresWithNumbersForEverything) {
    const auto end = run({"measure", card, "7"});
    ASSERT_EQ(end.status, 0) << end.errors;
    const auto measured = wire::decode_known<Measurement>(end.output, "worker");
    EXPECT_EQ(measured.vram_bytes->value, 30 * mib);
    EXPECT_EQ(measured.pattern_bytes->value, 26 * mib);  // of 27: pieces have 2 MiB at least
    EXPECT_EQ(measured.mismatches->value, 0);
    EXPECT_EQ(measured.results_right, true);
    EXPECT_GT(*measured.fp32_tflops, 0);
    EXPECT_GT(*measured.tensor_tflops, 0);
    EXPECT_DOUBLE_EQ(*measured.mem_bw_gbps, 16 * mib / 0.002 / 1e9);
    EXPECT_DOUBLE_EQ(*measured.pcie_gbps, 256 * mib / 0.002 / 1e9);
}

TEST_F(WorkerTest, SeesACardThatComputesWrong) {
    driver().computes_wrong = true;
    driver().dead_word_every = 1 << 20;
    const auto measured = wire::decode_known<Measurement>(run({"measure", card, "7"}).output, "w");
    EXPECT_EQ(measured.results_right, false);
    EXPECT_EQ(measured.mismatches->value, 4);
}

TEST_F(WorkerTest, SaysWhyACardCannotBeUsed) {
    driver().create_result = 2;
    const auto end = run({"wipe", card, "7"});
    EXPECT_EQ(end.status, 1);
    EXPECT_EQ(end.output, "");
    EXPECT_EQ(end.errors, "opening the card failed: broken on purpose (2)\n");
    driver() = {};
    EXPECT_EQ(run({"wipe", "0000:99:00.0", "7"}).status, 1);
    EXPECT_EQ(run({"polish", card, "7"}).status, 1);
    EXPECT_EQ(run({"wipe", card}).status, 2);
    EXPECT_EQ(run({"wipe", card, "x"}).status, 2);
}

TEST_F(WorkerTest, FindsWhatWasPlanted) {
    const auto end = run({"plant", card, "77"});
    EXPECT_EQ(end.output, "{\"bytes\":\"31457280\",\"words_found\":\"3932160\"}\n");
}

TEST(WorkerWithoutADriver, SaysSo) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_worker({"wipe", card, "7"}, "libberth-no-such-driver.so.1"), 1);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("libberth-no-such-driver"),
              std::string::npos);
}

}  // namespace
}  // namespace berth::gpu
