// One declaration behind flags, variables, the file, the database and the pages that show them.
#include <gtest/gtest.h>

#include <fstream>

#include "settings/sample.hpp"
#include "support/folder.hpp"

namespace berth::test {
namespace {

using settings::Sources;

using Map = std::map<std::string, std::string>;

Sources sources(const Map& flags, const Map& variables = {}, const std::string& file = "") {
    return {flags, file, [variables](const char* name) -> const char* {
                const auto found = variables.find(name);
                return found == variables.end() ? nullptr : found->second.c_str();
            }};
}

std::shared_ptr<const settings::Snapshot> load(const Map& flags, const Map& variables = {},
                                               const std::string& file = "",
                                               const settings::StoredValues& stored = {}) {
    const auto& registry = shop_registry();
    return registry.snapshot(registry.read(sources(flags, variables, file)), stored);
}

std::string complaint(const Map& flags, const Map& variables = {}, const std::string& file = "") {
    try {
        load(flags, variables, file);
        return "";
    } catch (const settings::BadSettings& bad) {
        return bad.what();
    }
}

settings::StoredValues stored(const std::string& key, const std::string& value) {
    return {{key, {value, 1, Time{}, "operator"}}};
}

class SettingsFile : public ::testing::Test {
protected:
    std::string write(const std::string& text) {
        const std::string path = folder.path() + "/shop.toml";
        std::ofstream(path) << text;
        return path;
    }
    TemporaryFolder folder;
};

TEST(SettingsRegistry, NamesComeFromTheMember) {
    const settings::Entry* entry = shop_registry().find("money.discount_bps");
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->flag, "discount-bps");
    EXPECT_EQ(entry->variable, "BERTH_DISCOUNT_BPS");
    EXPECT_EQ(entry->file_key, "discount_bps");
    EXPECT_EQ(shop_registry().find("branding.name")->variable, "BERTH_SHOP_NAME");
    EXPECT_EQ(shop_registry().find("money.discount"), nullptr);
}

TEST_F(SettingsFile, TheDatabaseBeatsAFlagBeatsAVariableBeatsTheFileBeatsTheDefault) {
    const std::string file = write("discount_bps = 1\nclosed = true\ndoors = ['a', 'b']\n");
    const Map variables{{"BERTH_DISCOUNT_BPS", "2"}};
    const Map flags{{"discount-bps", "3"}};
    const auto discount = [](const auto& snapshot) {
        return *snapshot->template get<Shop>().discount_bps;
    };
    EXPECT_EQ(discount(load({})), 500);
    EXPECT_EQ(discount(load({}, {}, file)), 1);
    EXPECT_EQ(discount(load({}, variables, file)), 2);
    EXPECT_EQ(discount(load(flags, variables, file)), 3);
    EXPECT_EQ(discount(load(flags, variables, file, stored("money.discount_bps", "4"))), 4);
    const auto snapshot = load(flags, variables, file, stored("money.discount_bps", "4"));
    EXPECT_TRUE(*snapshot->get<Shop>().closed);
    EXPECT_EQ(*snapshot->get<Sign>().doors, (std::vector<std::string>{"a", "b"}));
    const auto source = [&](const char* key) {
        return snapshot->source(*shop_registry().find(key));
    };
    EXPECT_EQ(source("money.discount_bps"), settings::Source::database);
    EXPECT_EQ(source("money.closed"), settings::Source::environment);
    EXPECT_EQ(source("branding.name"), settings::Source::default_);
}

TEST(SettingsRegistry, EveryWrongValueNamesItsSettingAndWhatItMustBe) {
    for (const auto& [flag, value] :
         std::vector<std::pair<std::string, std::string>>{{"discount-bps", "10001"},
                                                          {"discount-bps", "-1"},
                                                          {"discount-bps", "1e3"},
                                                          {"discount-bps", ""},
                                                          {"closed", "yes"},
                                                          {"smallest-micro", "0"},
                                                          {"shop-name", ""},
                                                          {"paint", "green"}})
        EXPECT_TRUE(complaint({{flag, value}}).starts_with("--" + flag + ": must ")) << flag;
    EXPECT_TRUE(complaint({}, {{"BERTH_CLOSED", "1"}}).starts_with("BERTH_CLOSED: must "));
}

TEST_F(SettingsFile, FaultsOfTheFileAreToldWithTheirPlace) {
    const auto said = [&](const std::string& text) { return complaint({}, {}, write(text)); };
    EXPECT_NE(said("dicsount = 1").find("dicsount: is not a setting"), std::string::npos);
    EXPECT_NE(said("discount_bps = 'x'").find("discount_bps: must be"), std::string::npos);
    EXPECT_NE(said("discount_bps = 1.5").find("discount_bps: must be"), std::string::npos);
    EXPECT_NE(said("doors = [1, 2]").find("list of texts"), std::string::npos);
    EXPECT_NE(said("a = \nb = 2").find("line 1"), std::string::npos);
    EXPECT_NE(complaint({}, {}, folder.path() + "/missing.toml"), "");
}

TEST(SettingsRegistry, AStoredValueThatIsNotGoodIsNotUsed) {
    const auto discount = [](const char* text) {
        return *load({{"discount-bps", "7"}}, {}, "", stored("money.discount_bps", text))
                    ->get<Shop>()
                    .discount_bps;
    };
    EXPECT_EQ(discount("8"), 8);
    EXPECT_EQ(discount("10001"), 7);
    EXPECT_EQ(*load({}, {}, "", stored("money.vault", "0x666"))->get<Shop>().vault, "0x0");
}

TEST(SettingsShow, SecretsAndTheRootOfTrustDoNotLeave) {
    const auto snapshot = load({{"password", "hunter2"}, {"vault", "0xabc"}});
    EXPECT_EQ(settings::to_table(*snapshot).find("hunter2"), std::string::npos);
    const std::string json = settings::to_json(*snapshot);
    EXPECT_EQ(json.find("hunter2"), std::string::npos);
    EXPECT_EQ(json.find("0xabc"), std::string::npos);
    EXPECT_NE(json.find(R"("value":{"set":true})"), std::string::npos);
}

TEST(SettingsShow, ARowHasWhatOperatorsProgramsRead) {
    const std::string json = settings::to_json(*load({}));
    EXPECT_NE(json.find(R"({"key":"money.discount_bps","category":"money","label":"Discount",)"
                        R"("help":"What regulars are let off.","secret":false,"editable":true,)"
                        R"("pinned_reason":null,"value":500,"source":"default","version":0,)"
                        R"("updated_at":null,"updated_by":null,"env":"BERTH_DISCOUNT_BPS"})"),
              std::string::npos)
        << json;
    const std::string page = settings::to_markdown(shop_registry());
    EXPECT_NE(page.find("| `money.discount_bps` | `--discount-bps` `BERTH_DISCOUNT_BPS` "
                        "`discount_bps` | `500` (0 to 10000) basis points | any time | Discount: "
                        "What regulars are let off. |"),
              std::string::npos)
        << page;
}

struct Twice {
    static constexpr auto category = settings::Category::money;
    settings::Flag closed{false, {.label = "Closed", .help = "Again."}};
};
BOOST_DESCRIBE_STRUCT(Twice, (), (closed))

TEST(SettingsRegistryDeathTest, ASettingIsDeclaredOnce) {
    EXPECT_DEATH(settings::Registry().add<Shop>().add<Twice>(), "declared once");
}

}  // namespace
}  // namespace berth::test
