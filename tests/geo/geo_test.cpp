#include "geo/geo.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "support/folder.hpp"

namespace berth::geo {
namespace {

const Table& installed() {
    static const Table table(BERTH_SOURCE_DIR "/data/country.mmdb");
    return table;
}

TEST(GeoCountries, HaveTheirContinent) {
    const std::pair<std::string_view, Continent> cases[] = {
        {"ZA", Continent::AF}, {"AQ", Continent::AN}, {"JP", Continent::AS}, {"AF", Continent::AS},
        {"DE", Continent::EU}, {"XK", Continent::EU}, {"US", Continent::NA}, {"PA", Continent::NA},
        {"AU", Continent::OC}, {"NA", Continent::AF}, {"BR", Continent::SA}, {"SA", Continent::AS}};
    for (const auto& [country, continent] : cases)
        EXPECT_EQ(continent_of_country(country), continent) << country;
}

TEST(GeoCountries, WhatIsNoCountryHasNone) {
    for (const std::string_view text : {"", "D", "de", "DEU", "ZZ", "F ", " F", "E ", "A\0"})
        EXPECT_EQ(continent_of_country(text), std::nullopt) << text;
}

TEST(GeoTable, KnowsAddressesOfBothKinds) {
    ASSERT_TRUE(installed().loaded()) << installed().why();
    EXPECT_EQ(installed().continent_of("193.99.144.80"), Continent::EU);
    EXPECT_EQ(installed().continent_of("::ffff:193.99.144.80"), Continent::EU);
    EXPECT_EQ(installed().continent_of("2a02:2e0:3fe:1001::1"), Continent::EU);
    EXPECT_EQ(installed().continent_of("133.11.0.1"), Continent::AS);
    EXPECT_EQ(installed().continent_of("18.0.0.1"), Continent::NA);
    EXPECT_EQ(installed().continent_of("200.160.2.3"), Continent::SA);
}

TEST(GeoTable, PrivateAddressesAndOtherTextAreNowhere) {
    for (const std::string_view text :
         {"127.0.0.1", "10.1.2.3", "100.64.0.1", "192.168.0.1", "::1", "fd00::1", "", "localhost",
          "1.2.3", "1.2.3.4.5", "193.99.144.80:80"})
        EXPECT_EQ(installed().continent_of(text), std::nullopt) << text;
}

TEST(GeoTable, EveryCountryInItHasAContinent) {
    std::set<std::string> without;
    for (int high = 1; high < 224; ++high)
        for (int low = 0; low < 256; ++low) {
            const auto address = std::to_string(high) + "." + std::to_string(low) + ".0.1";
            const auto country = installed().country_of(address);
            if (country && !continent_of_country(*country)) without.insert(*country);
        }
    EXPECT_EQ(without, std::set<std::string>{});
}

TEST(GeoTable, WithoutAFileEveryAddressIsUnknownAndTheReasonIsTold) {
    const test::TemporaryFolder folder;
    const Table missing(folder.path() + "/none.mmdb");
    EXPECT_FALSE(missing.loaded());
    EXPECT_NE(missing.why(), "");
    EXPECT_EQ(missing.continent_of("193.99.144.80"), std::nullopt);

    std::ofstream(folder.path() + "/text.mmdb") << std::string(100'000, 'x');
    const Table broken(folder.path() + "/text.mmdb");
    EXPECT_FALSE(broken.loaded());
    EXPECT_EQ(broken.continent_of("193.99.144.80"), std::nullopt);
}

}  // namespace
}  // namespace berth::geo
