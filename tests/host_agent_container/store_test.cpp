// The images that stay on a host: as many as there is room for, the least recently used goes first.
#include "host_agent/runtimes/image_store.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "host_agent/runtimes/container_image.hpp"
#include "host_agent_container/host.hpp"
#include "host_agent_container/in_front.hpp"
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
        EXPECT_TRUE(store.too_many({"b"}).empty());
        store.note({"c", {40}, at(3)});
        EXPECT_EQ(store.too_many({"c"}), std::vector<std::string>{"a"});
        EXPECT_EQ(store.too_many({"a"}), std::vector<std::string>{"b"});
        store.touch("a", at(4));
        EXPECT_EQ(store.too_many({"c"}), std::vector<std::string>{"b"});
    }
    // As the next agent finds it.
    ImageStore store(file, 10);
    ASSERT_EQ(store.all().size(), 3u);
    EXPECT_EQ(store.all().front().image, "b");
    EXPECT_EQ(store.too_many({"a"}), (std::vector<std::string>{"b", "c"}))
        << "one that is larger than all stays while it is needed";
    EXPECT_EQ(store.too_many({"a", "b"}), std::vector<std::string>{"c"});
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

    // Of bytes that nothing makes smaller.
    host_agent::Workload of_large(std::size_t bytes) {
        const std::string root = folder + "/large";
        std::filesystem::create_directories(root);
        std::ofstream(root + "/noise") << random.bytes(bytes);
        auto workload = make_workload({"/bin/busybox", "sleep", "100"});
        workload.image = Registry::get().add("berth/large", root, {"ENV PATH=/bin"});
        std::filesystem::remove_all(root);
        return workload;
    }
    std::optional<host_agent::KeptImage> noted(const std::string& image) const {
        for (const auto& each : ImageStore(folder + "/images.json", 0).all())
            if (each.image == image) return each;
        return std::nullopt;
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

TEST_F(StoreTest, AnImageThatIsLargerThanAllMayBeTakesNoOthersPlace) {
    store_bytes = 8 * mebibyte;
    runtime = make_runtime();
    pull(of_second());
    ASSERT_TRUE(is_here(second));
    const auto large = of_large(16 * mebibyte);
    try {
        pull(large);
        FAIL();
    } catch (const host_agent::RuntimeError& error) {
        EXPECT_EQ(error.code(), "DISK_FULL");
        EXPECT_EQ(error.what(), std::string(host_agent::ImageTooLarge().what()));
    }
    EXPECT_FALSE(is_here(large.image));
    EXPECT_TRUE(is_here(second));
}

// What it would take, unpacked, nobody can tell; a start that fails is free.
TEST_F(StoreTest, AnImageOfARentersOwnThatFindsTheDiskFullTakesNoOthersPlace) {
    pull(of_second());
    auto own = of_large(1000);
    own.kind = host_agent::JobKind::custom;
    const ProgramInFront podman(
        folder, "podman",
        podman_without("pull", "Error: writing blob: no space left on device", 125));
    const auto code = [&](const host_agent::Workload& workload) {
        try {
            pull(workload);
        } catch (const host_agent::RuntimeError& error) {
            return error.code();
        }
        return std::string();
    };
    EXPECT_EQ(code(own), "DISK_FULL");
    EXPECT_TRUE(is_here(second));
    auto of_template = own;
    of_template.kind = host_agent::JobKind::model;
    EXPECT_EQ(code(of_template), "DISK_FULL");
    EXPECT_FALSE(is_here(second)) << "for those of templates others go";
}

// As images for several kinds of processors are: what came has a digest of its own.
TEST_F(StoreTest, AnImageByTheDigestOfAnIndexIsKnownToTheNextAgent) {
    auto of_index = of_second();
    of_index.image = Registry::get().add_index("berth/second");
    ASSERT_NE(of_index.image, second);
    pull(of_index);
    const auto before = noted(of_index.image);
    ASSERT_TRUE(before);
    runtime = make_runtime();
    pull(make_workload({"/bin/berth-inside", "wait"}));
    EXPECT_TRUE(is_here(of_index.image));
    const auto after = noted(of_index.image);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->used_at, before->used_at);
    EXPECT_EQ(after->bytes.value, before->bytes.value);
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
