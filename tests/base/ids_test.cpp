#include "base/ids.hpp"

#include <gtest/gtest.h>

#include <random>
#include <unordered_set>

namespace berth {
namespace {

class FixedRandom final : public Random {
public:
    void fill(std::span<char> out) override {
        for (char& c : out) c = static_cast<char>(generator_() & 0xFF);
    }

private:
    std::mt19937_64 generator_{1};
};

TEST(Uuid, HasOneTextForm) {
    const std::string text = "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57";
    const auto uuid = parse_uuid(text);
    ASSERT_TRUE(uuid.has_value());
    EXPECT_EQ(to_string(*uuid), text);
    EXPECT_EQ(parse_uuid("01941F29-7C00-7A3E-9B1D-2F4C6A8E0B57"), uuid);
    EXPECT_EQ(uuid_from_bytes(uuid->view()), uuid);
}

TEST(Uuid, RefusesWhatIsNone) {
    for (const std::string text :
         {"", "01941f29", "01941f297c007a3e9b1d2f4c6a8e0b57", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b5",
          "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b577", "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b5g",
          "01941f297-c00-7a3e-9b1d-2f4c6a8e0b57", "{1941f29-7c00-7a3e-9b1d-2f4c6a8e0b5}",
          "01941f29-7c00-7a3e-9b1d 2f4c6a8e0b57", "------------------------------------"})
        EXPECT_EQ(parse_uuid(text), std::nullopt) << text;
    EXPECT_EQ(uuid_from_bytes("short"), std::nullopt);
    EXPECT_EQ(uuid_from_bytes(std::string(17, 'x')), std::nullopt);
}

TEST(Uuid, IsVersionSevenWithTheTimeInFront) {
    FixedRandom random;
    const Uuid uuid = make_uuid({1'736'942'400'000'000}, random);
    const std::string text = to_string(uuid);
    EXPECT_EQ(text.substr(0, 13), "019469d5-b200") << text;
    EXPECT_EQ(text[14], '7');
    EXPECT_NE(std::string("89ab").find(text[19]), std::string::npos);
}

TEST(Uuid, SortsByTimeToTheMicrosecond) {
    FixedRandom random;
    Uuid before = make_uuid({1'736'942'399'999'000}, random);
    for (std::int64_t i = 1; i < 3'000; ++i) {
        const Uuid next = make_uuid({1'736'942'399'999'000 + i}, random);
        ASSERT_LT(before, next) << i;
        before = next;
    }
}

TEST(Id, IsDifferentEveryTimeAndHashable) {
    FixedRandom random;
    std::unordered_set<AccountId> seen;
    for (int i = 0; i < 1'000; ++i) seen.insert(AccountId::make({5}, random));
    EXPECT_EQ(seen.size(), 1'000U);
    static_assert(!std::is_convertible_v<AccountId, TaskId>);
}

}  // namespace
}  // namespace berth
