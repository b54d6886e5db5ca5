// The images that stay on a host: as many as there is room for, the least recently used goes first.
#include "host_agent/runtimes/image_store.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "host_agent_container/host.hpp"
#include "support/folder.hpp"

namespace berth::test {
namespace {

using host_agent::ImageStore;

constexpr std::int64_t no_bound = std::int64_t{1} << 48;

Time at(std::int64_t seconds) { return Time{} + std::chrono::seconds(seconds); }

TEST(ImageStoreTest, TheLeastRecentlyUsedGoesFirstAndNeverTheOneThatIsNeeded) {
    const TemporaryFolder folder;
    const std::string file = folder.path() + "/images.json";
    {
        ImageStore store(file, 100);
        store.note({"a", {40}, at(1)});
        store.note({"b", {40}, at(2)});
        EXPECT_TRUE(store.too_many("b").empty());
        store.note({"c", {40}, at(3)});
        EXPECT_EQ(store.too_many("c"), std::vector<std::string>{"a"});
        EXPECT_EQ(store.too_many("a"), std::vector<std::string>{"b"});
        store.touch("a", at(4));
        EXPECT_EQ(store.too_many("c"), std::vector<std::string>{"b"});
    }
    // As the next agent finds it.
    ImageStore store(file, 10);
    ASSERT_EQ(store.all().size(), 3u);
    EXPECT_EQ(store.all().front().image, "b");
    EXPECT_EQ(store.too_many("a"), (std::vector<std::string>{"b", "c"}))
        << "one that is larger than all stays while it is needed";
    store.forget("b");
    EXPECT_FALSE(store.has("b"));
    std::ofstream(file) << "not a store";
    EXPECT_TRUE(ImageStore(file, 10).all().empty());
}

class StoreTest : public ContainerTest {
protected:
    void SetUp() override {
        ContainerTest::SetUp();
        if (IsSkipped()) return;
        const std::string root = folder + "/second";
        std::filesystem::create_directories(root + "/bin");
        std::filesystem::copy("/bin/busybox", root + "/bin/busybox",
                              std::filesystem::copy_options::overwrite_existing);
        for (const char* each : {"", "/bin"}) ::chmod((root + each).c_str(), 0755);
        second = Registry::get().add("berth/second", root, {"ENV PATH=/bin"});
    }
    bool is_here(const std::string& image) {
        const auto all = runtime->warm_images();
        return std::find(all.begin(), all.end(), image) != all.end();
    }
    host_agent::Workload of_second() {
        auto workload = make_workload({"/bin/busybox", "sleep", "100"});
        workload.image = second;
        return workload;
    }

    std::string second;
};

TEST_F(StoreTest, AnotherImageTakesThePlaceOfOneThatNobodyUses) {
    auto first = make_workload({"/bin/berth-inside", "wait"});
    auto other = of_second();
    pull(first);
    pull(other);
    // Room for either, and not for both.
    for (const auto& each : ImageStore(folder + "/images.json", 0).all())
        store_bytes = std::max(each.bytes.value, store_bytes == no_bound ? 0 : store_bytes);
    runtime = make_runtime();
    start(first);
    pull(other);
    EXPECT_TRUE(is_here(first.image)) << "a job has it";
    EXPECT_TRUE(is_here(second));
    runtime->clean(first);
    // Another agent, which knows what is there and when it was used.
    runtime = make_runtime();
    pull(other);
    EXPECT_FALSE(is_here(first.image));
    EXPECT_TRUE(is_here(second));
    EXPECT_NO_THROW(start(first)) << "it is fetched again";
}

TEST_F(StoreTest, WhatMustStayFreeEndsAPullAfterAllElseIsGone) {
    auto first = make_workload({"/bin/berth-inside", "wait"});
    pull(first);
    ASSERT_TRUE(is_here(first.image));
    floor_bytes = std::int64_t{1} << 60;
    runtime = make_runtime();
    try {
        pull(of_second());
        FAIL();
    } catch (const host_agent::RuntimeError& error) {
        EXPECT_EQ(error.code(), "DISK_FULL");
    }
    EXPECT_FALSE(is_here(first.image));
    EXPECT_FALSE(is_here(second));
}

TEST_F(StoreTest, AnImageThatIsLargerThanAllMayBeIsNotFetched) {
    store_bytes = 1000;
    runtime = make_runtime();
    try {
        pull(of_second());
        FAIL();
    } catch (const host_agent::RuntimeError& error) {
        EXPECT_EQ(error.code(), "DISK_FULL");
    }
}

TEST_F(StoreTest, AnImageOfARentersOwnIsGoneWithItsJob) {
    auto own = of_second();
    own.kind = host_agent::JobKind::custom;
    start(own);
    EXPECT_TRUE(is_here(second));
    runtime->clean(own);
    EXPECT_FALSE(is_here(second));
}

}  // namespace
}  // namespace berth::test
