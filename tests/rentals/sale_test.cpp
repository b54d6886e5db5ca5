// One rule for sale: what the catalog shows as ready can be quoted and reserved at that moment, and
// what it does not show cannot; and nobody takes another's machine off it.
#include <gtest/gtest.h>

#include <random>

#include "catalog/catalog.hpp"
#include "machines/gpus.hpp"
#include "rentals/market.hpp"

namespace berth::test {
namespace {

using machines::Machine;
using machines::MachineState;

class Sale : public MarketTest {
protected:
    Sale()
        : MarketTest({.flags = {{"rate-quotes-per-minute", "1000000"},
                                {"rate-public-per-minute", "1000000"}}}) {}

    bool is_shown(const Machine& machine) {
        town.harness.app->catalog().refresh(database(), now());
        const auto answer =
            town.harness.ask({.target = "/api/v1/offers/" + to_string(machine.offer_id)});
        const std::string& text = answer.shared_body ? *answer.shared_body : answer.body;
        return answer.status == 200 && member(text, "readiness") == "ready";
    }
    // Without a heartbeat that would make things better.
    bool is_rented(const Machine& machine) {
        const auto quoted = send(ben, "POST", "/api/v1/quotes", quote_body(machine, {}));
        why = quoted.body;
        if (quoted.status != 201) return false;
        const auto reserved = reserve(ben, member(quoted.body, "quote_id"));
        why = reserved.body;
        return reserved.status == 202;
    }
    void change(const Machine& machine, const std::function<void(Machine&)>& how) {
        database().write([&](db::Transaction& tx) {
            Machine row = machines::hold(tx, machine.machine_id).value();
            how(row);
            machines::save({tx, town.harness.random, now()}, row);
        });
    }
    template <class... Values>
    void sql(const std::string& text, const Values&... values) {
        database().write([&](db::Transaction& tx) { tx.run(text, values...); });
    }
    void name(const Machine& machine, const std::string& uuid, bool passed = true) {
        town.harness.clock.advance(milliseconds(1));
        database().write([&](db::Transaction& tx) {
            machines::name_gpus(tx, machine.machine_id, {uuid});
            if (passed)
                machines::note_gpus_passed({tx, town.harness.random, now()}, machine.machine_id);
        });
    }

    std::string why;
};

TEST_F(Sale, ACopiedUuidTakesNobodyOffTheMarket) {
    const Person eve = join(R"(["host"])");
    const Machine victim = put_up();
    name(victim, "GPU-wanted");
    // Enrolled, never tested, never heard.
    enrolled(town.harness, eve.account, {.gpu_uuids = {"GPU-wanted"}, .heard = false});
    EXPECT_TRUE(is_shown(victim));
    EXPECT_EQ(quote(ben, victim, {}).status, 201);
    // Tested and heard, but later.
    const Machine copy = enrolled(town.harness, eve.account,
                                  {.state = MachineState::UNLISTED,
                                   .gpu_uuids = {"GPU-wanted"},
                                   .measured = measured_4090()});
    const auto blockers = [&](const Person& who, const Machine& machine) {
        return send(who, "GET", "/api/v1/hosts/machines/" + to_string(machine.machine_id)).body;
    };
    EXPECT_EQ(member(blockers(eve, copy), "listing_blockers.1"), "GPU_DUPLICATE");
    EXPECT_EQ(blockers(ada, victim).find("GPU_DUPLICATE"), std::string::npos);
    EXPECT_TRUE(is_shown(victim));
    EXPECT_TRUE(is_rented(victim)) << why;
}

TEST_F(Sale, OfADuplicateEndsInTheCatalogInTheSameMoment) {
    const Machine first = put_up();
    const Machine second = put_up();
    name(first, "GPU-1");
    name(second, "GPU-1");
    EXPECT_TRUE(is_shown(first));
    EXPECT_FALSE(is_shown(second));
    EXPECT_FALSE(is_rented(second));
    EXPECT_NE(why.find("GPU_DUPLICATE"), std::string::npos) << why;
    // No row of the second changes when the first falls silent and comes back.
    town.harness.clock.advance(machines::heartbeat_fresh + seconds(1));
    hear(town.harness, second.machine_id);
    EXPECT_TRUE(is_shown(second));
    hear(town.harness, first.machine_id);
    EXPECT_FALSE(is_shown(second));
    EXPECT_TRUE(is_shown(first));
}

TEST_F(Sale, EndsWhenHostingIsTurnedOff) {
    const Machine machine = put_up();
    EXPECT_TRUE(is_shown(machine));
    const auto bar = [&](std::int64_t is) {
        sql("UPDATE accounts SET host_capability = 1 - $2, host_barred = $2 WHERE account_id = $1",
            ada.account, is);
    };
    bar(1);
    EXPECT_FALSE(is_shown(machine));
    EXPECT_FALSE(is_rented(machine));
    bar(0);
    EXPECT_TRUE(is_shown(machine));
    EXPECT_TRUE(is_rented(machine)) << why;
}

// Many states, most of them as nothing but a fault would leave them behind: whatever stands in the
// rows, the two agree.
TEST_F(Sale, TheCatalogShowsWhatCanBeReservedAndNothingElse) {
    std::mt19937 dice(20);  // NOLINT: the same states each time
    const auto one_in = [&](int n) { return dice() % static_cast<unsigned>(n) == 0; };
    ben = join(R"(["renter"])", 1'000'000'000);
    int shown = 0;
    constexpr int cases = 240;
    for (int i = 0; i < cases; ++i) {
        ada = join(R"(["host"])");
        const Machine machine = put_up();
        std::string story;
        if (one_in(2)) {
            EXPECT_TRUE(is_shown(machine));  // so that the catalog has to follow what happens
        }
        const auto maybe = [&](const char* what, int n, const auto& how) {
            if (!one_in(n)) return;
            story += std::string(" ") + what;
            how();
        };
        const auto row = [&](const std::function<void(Machine&)>& how) {
            return [&, how] { change(machine, how); };
        };
        using machines::QualifyState;
        using machines::VerificationLevel;
        maybe("state", 12, row([&](Machine& m) {
                  constexpr std::array some{MachineState::UNQUALIFIED, MachineState::UNLISTED,
                                            MachineState::QUARANTINED, MachineState::DRAINING,
                                            MachineState::CLEANING};
                  m.state = some[dice() % some.size()];
                  m.job_id = JobId::make(now(), town.harness.random);
              }));
        maybe("unlisted", 20,
              row([](Machine& m) { m.offer_state = machines::OfferState::unlisted; }));
        maybe("draining", 30,
              row([](Machine& m) { m.offer_state = machines::OfferState::draining; }));
        maybe("unverified", 20,
              row([](Machine& m) { m.verification_level = VerificationLevel::unverified; }));
        maybe("retrying", 20, row([](Machine& m) { m.qualify_state = QualifyState::retrying; }));
        maybe("manifest", 20, row([](Machine& m) { m.tested_manifest_hash = "sha256:other"; }));
        maybe("busy", 20, row([](Machine& m) { m.offerable = false; }));
        maybe("idle", 20, row([](Machine& m) { m.mode = machines::HostMode::idle; }));
        maybe("shared", 20, row([](Machine& m) { m.gpu_memory_shared = true; }));
        maybe("lost", 20, row([](Machine& m) { m.gpus_lost = R"(["0000:01:00.0"])"; }));
        maybe("unwiped", 20, row([](Machine& m) { m.wipe_available = false; }));
        maybe("simulated", 20,
              row([](Machine& m) { m.runtime_kind = machines::RuntimeKind::simulated; }));
        maybe("suspended", 20,
              [&] { sql("UPDATE accounts SET suspended = 1 WHERE account_id = $1", ada.account); });
        maybe("barred", 20, [&] {
            sql("UPDATE accounts SET host_capability = 0, host_barred = 1 WHERE account_id = $1",
                ada.account);
        });
        maybe("twin", 4, [&] {
            const std::string uuid = "GPU-" + town.harness.new_id();
            const Machine twin =
                enrolled(town.harness, ada.account,
                         {.state = one_in(3) ? MachineState::QUARANTINED : MachineState::UNLISTED,
                          .gpu_uuids = {uuid},
                          .measured = measured_4090(),
                          .heard = !one_in(4)});
            name(machine, uuid);
            if (one_in(3)) name(twin, "GPU-" + town.harness.new_id());
        });
        const int silent_s = std::array{0, 30, 89, 90, 91}[one_in(2) ? 0 : dice() % 5];
        town.harness.clock.advance(seconds(silent_s));
        bool ends = false;
        maybe("ends", 6, [&] {
            ends = true;
            const Time until = now() + seconds(std::array{-1, 0, 59, 60, 61}[dice() % 5]);
            sql("UPDATE offer_versions SET available_until = $2 WHERE offer_id = $1",
                machine.offer_id, until);
            change(machine, [&](Machine& m) { m.available_until = until; });
        });
        maybe("not_begun", 20, [&] {
            if (ends) return;
            sql("UPDATE offer_versions SET available_from = $2 WHERE offer_id = $1",
                machine.offer_id, now() + seconds(1));
            change(machine, [](Machine&) {});
        });
        const Time up = one_in(6) ? now() - seconds(10) : now() - hours(1);
        sql("INSERT INTO service_life (one, up_since, alive_at) VALUES (1, $1, $2) "
            "ON CONFLICT (one) DO UPDATE SET up_since = $1, alive_at = $2",
            up, now());
        if (one_in(8)) town.harness.app->catalog().follower().rebuild(database(), now());
        const bool is = is_shown(machine);
        shown += is ? 1 : 0;
        EXPECT_EQ(is_rented(machine), is)
            << i << ":" << story << ", silent for " << silent_s << " s: " << why;
        town.harness.clock.advance(seconds(1));
    }
    EXPECT_GT(shown, cases / 10);
    EXPECT_LT(shown, cases * 9 / 10);
}

}  // namespace
}  // namespace berth::test
