// A change in the database reaches every process, is audited, and is refused where it must be.
#include <gtest/gtest.h>

#include "base/problem.hpp"
#include "server/schema.hpp"
#include "settings/sample.hpp"
#include "support/database.hpp"
#include "support/fakes.hpp"

namespace berth::test {
namespace {

struct Office {
    Office() { db::migrate(*database, server::schema()); }

    settings::Stored change(const std::string& key, std::optional<std::string> value,
                            std::optional<std::int64_t> expected = {}) {
        return database->write([&](db::Transaction& tx) {
            return settings::change(shop_registry(), {tx, random, clock.now()},
                                    {.key = key,
                                     .value = std::move(value),
                                     .expected_version = expected,
                                     .actor = audit::Actor::local_operator(),
                                     .reason = "because"});
        });
    }
    std::optional<Code> refusal(const std::string& key, std::optional<std::string> value,
                                std::optional<std::int64_t> expected = {}) {
        try {
            change(key, std::move(value), expected);
        } catch (const Problem& problem) {
            return problem.code;
        }
        return std::nullopt;
    }
    std::int64_t audited() {
        const auto report =
            database->read([](db::Transaction& tx) { return audit::check_events(tx); });
        EXPECT_TRUE(report.sound()) << audit::to_text(report);
        return report.events;
    }

    TestDatabase file;
    std::unique_ptr<db::Database> database = file.open();
    ManualClock clock;
    SeededRandom random;
};

TEST(SettingsLive, AChangeShowsInTheNextSnapshotAndNotInOneThatWasTaken) {
    Office office;
    settings::Live live(shop_registry(), {});
    const auto before = live.now();
    office.change("money.discount_bps", "9");
    live.refresh(*office.database);
    EXPECT_EQ(*before->get<Shop>().discount_bps, 500);
    EXPECT_EQ(*live.now()->get<Shop>().discount_bps, 9);

    office.change("money.discount_bps", std::nullopt);
    live.refresh(*office.database);
    EXPECT_EQ(*live.now()->get<Shop>().discount_bps, 500);
    const settings::Entry& entry = *shop_registry().find("money.discount_bps");
    EXPECT_EQ(live.now()->source(entry), settings::Source::default_);
    EXPECT_EQ(live.now()->stored(entry)->version, 2);
}

TEST(SettingsLive, NothingNewMakesNoNewSnapshot) {
    Office office;
    settings::Live live(shop_registry(), {});
    office.change("money.closed", "true");
    live.refresh(*office.database);
    const auto first = live.now();
    live.refresh(*office.database);
    EXPECT_EQ(live.now(), first);
}

TEST(SettingsLive, AWatchedProcessTakesAChangeUpByItself) {
    Office office;
    settings::Live live(shop_registry(), {});
    live.watch(*office.database);
    office.change("branding.name", "Kiosk");
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (*live.now()->get<Sign>().name != "Kiosk" && std::chrono::steady_clock::now() < patience)
        std::this_thread::yield();
    EXPECT_EQ(*live.now()->get<Sign>().name, "Kiosk");
    live.stop();
}

TEST(SettingsStore, AChangeIsAuditedWithWhatItWasBefore) {
    Office office;
    office.change("money.discount_bps", "9");
    office.change("money.discount_bps", "10");
    EXPECT_EQ(office.audited(), 2);
    const std::string rows = dump(*office.database);
    EXPECT_NE(rows.find("change_setting"), std::string::npos);
    EXPECT_NE(rows.find("money.discount_bps"), std::string::npos);
}

TEST(SettingsStore, WhatMayNotBeIsRefusedAndLeavesNothing) {
    Office office;
    EXPECT_EQ(office.refusal("money.rebate", "1"), Code::not_found);
    EXPECT_EQ(office.refusal("money.vault", "0x1"), Code::forbidden);
    EXPECT_EQ(office.refusal("money.vault", std::nullopt), Code::forbidden);
    EXPECT_EQ(office.refusal("branding.password", "x"), Code::forbidden);
    EXPECT_EQ(office.refusal("money.discount_bps", "10001"), Code::invalid_input);
    EXPECT_EQ(office.refusal("money.discount_bps", "1", 3), Code::stale_version);
    EXPECT_EQ(office.audited(), 0);
    EXPECT_TRUE(office.database->read(settings::read_stored).empty());
}

TEST(SettingsStore, OfTwoThatChangeTheSameVersionOneIsTold) {
    Office office;
    EXPECT_EQ(office.change("money.closed", "true", 0).version, 1);
    EXPECT_EQ(office.refusal("money.closed", "false", 0), Code::stale_version);
    EXPECT_EQ(office.change("money.closed", "false", 1).version, 2);
    EXPECT_EQ(office.change("money.closed", std::nullopt).version, 3);
}

}  // namespace
}  // namespace berth::test
