#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/problem.hpp"
#include "db/name_list.hpp"
#include "machines/gpus.hpp"
#include "machines/qualification_runs.hpp"
#include "machines/told.hpp"
#include "support/machines.hpp"

namespace berth::test {
namespace {

using namespace machines;

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// The state that follows, "gone", or "-" for a refusal.
std::string after(MachineState state, MachineEvent event, const Details& details = {},
                  const std::function<void(Machine&)>& adjust = {}) {
    Machine machine;
    machine.state = state;
    machine.offer_version = 1;
    machine.offer_state = OfferState::unlisted;
    machine.job_id = JobId{};
    machine.qualify_state = QualifyState::passed;
    if (adjust) adjust(machine);
    const Transition* row = find_transition(machine, event, details);
    if (row == nullptr) return "-";
    return row->to ? std::string(enum_name(*row->to)) : "gone";
}

// Written apart from the table in the code, from the rules of supply. One line for each state; the
// columns are the events in order, for a machine with an unlisted offer and no blocker.
constexpr std::string_view expected =
    "             test_passed list unlist drain expire reserve job_over cleaned "
    "stray manifest_changed quarantine release retire leave\n"
    "UNQUALIFIED  UNLISTED UNQUALIFIED UNQUALIFIED UNQUALIFIED UNQUALIFIED - - - "
    "CLEANING UNQUALIFIED QUARANTINED - gone gone\n"
    "AVAILABLE    - AVAILABLE UNLISTED UNLISTED UNLISTED ALLOCATED - - "
    "CLEANING UNQUALIFIED QUARANTINED - - gone\n"
    "ALLOCATED    - ALLOCATED ALLOCATED DRAINING ALLOCATED - CLEANING - "
    "- ALLOCATED QUARANTINED - - -\n"
    "CLEANING     - CLEANING CLEANING CLEANING CLEANING - - UNLISTED "
    "CLEANING CLEANING QUARANTINED - - -\n"
    "DRAINING     - ALLOCATED DRAINING DRAINING DRAINING - CLEANING - "
    "- DRAINING QUARANTINED - - -\n"
    "UNLISTED     UNLISTED AVAILABLE UNLISTED UNLISTED UNLISTED - - - "
    "CLEANING UNQUALIFIED QUARANTINED - gone gone\n"
    "QUARANTINED  - - QUARANTINED QUARANTINED QUARANTINED - QUARANTINED UNQUALIFIED "
    "QUARANTINED QUARANTINED QUARANTINED QUARANTINED gone gone\n";

// A statement that spells such a condition otherwise reads the whole table.
TEST(MachineEvents, EveryLineOfTheTableTellsSomethingOrIsListedAsSilent) {
    for (const Transition& line : machine_table())
        EXPECT_TRUE(tells(line) || is_silent(line))
            << enum_name(line.from) << " " << enum_name(line.event);
}

TEST(ListsOfStates, AreSpelledAsTheIndexesThatTheyAreFor) {
    std::string schema;
    for (const db::Migration& migration : migrations) schema += migration.sql;
    EXPECT_NE(schema.find("WHERE state IN " + db::name_list(open_run_states)), std::string::npos);
    EXPECT_NE(schema.find("WHERE offer_state IN " + db::name_list(offered_states)),
              std::string::npos);
}

TEST(MachineStates, EveryPairOfStateAndEventDoesWhatTheRulesSay) {
    std::istringstream lines{std::string(expected)};
    std::string line;
    std::getline(lines, line);
    std::istringstream header(line);
    std::vector<MachineEvent> events;
    for (std::string name; header >> name;)
        events.push_back(parse_enum<MachineEvent>(name).value());
    ASSERT_EQ(events.size(), EnumTable<MachineEvent>::names.size());
    std::size_t states = 0;
    while (std::getline(lines, line)) {
        std::istringstream cells(line);
        std::string name, cell;
        cells >> name;
        const MachineState state = parse_enum<MachineState>(name).value();
        ++states;
        for (const MachineEvent event : events) {
            cells >> cell;
            EXPECT_EQ(after(state, event, {.admitted = true}), cell)
                << name << " " << enum_name(event);
        }
    }
    EXPECT_EQ(states, EnumTable<MachineState>::names.size());
}

TEST(MachineStates, GuardsChooseBetweenTheRowsOfAPair) {
    const auto listed = [](Machine& machine) { machine.offer_state = OfferState::listed; };
    EXPECT_EQ(
        after(MachineState::UNQUALIFIED, MachineEvent::test_passed, {.admitted = true}, listed),
        "AVAILABLE");
    EXPECT_EQ(
        after(MachineState::UNQUALIFIED, MachineEvent::test_passed, {.admitted = false}, listed),
        "UNLISTED");
    EXPECT_EQ(after(MachineState::UNLISTED, MachineEvent::test_passed, {.admitted = true}, listed),
              "AVAILABLE");
    EXPECT_EQ(after(MachineState::UNLISTED, MachineEvent::list, {.admitted = false}), "UNLISTED");
    EXPECT_EQ(after(MachineState::CLEANING, MachineEvent::cleaned, {}, listed), "AVAILABLE");
    EXPECT_EQ(after(MachineState::CLEANING, MachineEvent::cleaned, {},
                    [](Machine& machine) {
                        machine.offer_state = OfferState::listed;
                        machine.manifest_pending = true;
                    }),
              "UNQUALIFIED");
    EXPECT_EQ(after(MachineState::QUARANTINED, MachineEvent::cleaned, {},
                    [](Machine& machine) { machine.quarantine_held = true; }),
              "QUARANTINED");
    EXPECT_EQ(after(MachineState::QUARANTINED, MachineEvent::release, {},
                    [](Machine& machine) { machine.job_id.reset(); }),
              "UNQUALIFIED");
}

TEST(MachineStates, OffersMoveAsTheirTableSays) {
    struct Row {
        std::optional<OfferState> from;
        OfferEvent event;
        MachineState machine;
        std::optional<OfferState> to;  // none: refused
    };
    using enum OfferState;
    const Row rows[] = {
        {std::nullopt, OfferEvent::publish, MachineState::UNLISTED, unlisted},
        {std::nullopt, OfferEvent::list, MachineState::UNLISTED, std::nullopt},
        {std::nullopt, OfferEvent::unlist, MachineState::UNLISTED, std::nullopt},
        {std::nullopt, OfferEvent::drain, MachineState::UNLISTED, std::nullopt},
        {std::nullopt, OfferEvent::expire, MachineState::UNLISTED, std::nullopt},
        {std::nullopt, OfferEvent::rest, MachineState::UNLISTED, std::nullopt},
        {listed, OfferEvent::publish, MachineState::AVAILABLE, listed},
        {unlisted, OfferEvent::publish, MachineState::UNLISTED, unlisted},
        {draining, OfferEvent::publish, MachineState::DRAINING, draining},
        {unlisted, OfferEvent::list, MachineState::UNLISTED, listed},
        {draining, OfferEvent::list, MachineState::DRAINING, listed},
        {listed, OfferEvent::unlist, MachineState::ALLOCATED, unlisted},
        {draining, OfferEvent::unlist, MachineState::DRAINING, unlisted},
        {listed, OfferEvent::drain, MachineState::ALLOCATED, draining},
        {listed, OfferEvent::drain, MachineState::CLEANING, draining},
        {listed, OfferEvent::drain, MachineState::AVAILABLE, unlisted},
        {unlisted, OfferEvent::drain, MachineState::QUARANTINED, unlisted},
        {listed, OfferEvent::expire, MachineState::AVAILABLE, unlisted},
        {draining, OfferEvent::expire, MachineState::DRAINING, unlisted},
        {draining, OfferEvent::rest, MachineState::CLEANING, unlisted},
        {listed, OfferEvent::rest, MachineState::CLEANING, listed},
    };
    for (const Row& row : rows) {
        Machine machine;
        machine.state = row.machine;
        machine.offer_state = row.from;
        const OfferTransition* found = find_transition(machine, row.event);
        EXPECT_EQ(found == nullptr ? std::nullopt : std::optional(found->to), row.to)
            << enum_name(row.event) << " while " << enum_name(row.machine);
    }
}

TEST(MachineStates, TheReadmeShowsTheTables) {
    const std::string readme =
        text_of(std::string(BERTH_SOURCE_DIR) + "/src/market/machines/README.md");
    const auto shown = [&](const std::string& picture) {
        return readme.find("```mermaid\n" + picture + "```\n") != std::string::npos;
    };
    EXPECT_TRUE(shown(picture_of_machines())) << picture_of_machines();
    EXPECT_TRUE(shown(picture_of_offers())) << picture_of_offers();
}

// The same through the database.
struct MachineRow : ::testing::Test {
    Harness harness;
    AccountId owner{make_uuid(harness.clock.now(), harness.random)};

    Machine made(const NewMachine& wanted = {}) { return enrolled(harness, owner, wanted); }
    Details quarantine(QuarantineCause cause) { return {.cause = cause}; }
};

TEST_F(MachineRow, ComesBackAsItWasStored) {
    const Machine machine = made({.state = MachineState::UNLISTED, .offer = OfferState::listed});
    const Machine found = seen(harness, machine.machine_id);
    EXPECT_EQ(found.owner, owner);
    EXPECT_EQ(found.state, MachineState::UNLISTED);
    EXPECT_EQ(found.gpu_model_key, "rtx-4090");
    EXPECT_EQ(found.mode, HostMode::dedicated);
    EXPECT_EQ(found.offer_id, machine.offer_id);
    EXPECT_EQ(found.continent, std::nullopt);
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_EQ(find_measured(tx, machine.machine_id)->vram_bytes, 25'757'220'864);
        EXPECT_EQ(find_last_healthy(tx, machine.machine_id), machine.enrolled_at);
        EXPECT_EQ(owner_of(tx, machine.machine_id), owner);
    });
}

TEST_F(MachineRow, EveryRefusedEventLeavesTheRowAsItWas) {
    for (const EnumName& state : EnumTable<MachineState>::names) {
        for (const EnumName& name : EnumTable<MachineEvent>::names) {
            const auto event = static_cast<MachineEvent>(name.value);
            const Machine machine = made(
                {.state = static_cast<MachineState>(state.value), .offer = OfferState::unlisted});
            if (find_transition(machine, event, {}) != nullptr) continue;
            try {
                happen(harness, machine.machine_id, event);
                ADD_FAILURE() << state.name << " " << name.name;
            } catch (const Problem& problem) {
                EXPECT_EQ(problem.code, Code::conflict);
            }
            EXPECT_EQ(seen(harness, machine.machine_id).version, machine.version);
        }
    }
}

TEST_F(MachineRow, EveryChangeRaisesTheVersionAndTellsWhen) {
    const Machine before = made({.state = MachineState::AVAILABLE, .offer = OfferState::listed});
    harness.clock.advance(std::chrono::seconds(5));
    happen(harness, before.machine_id, MachineEvent::unlist);
    const Machine after_it = seen(harness, before.machine_id);
    EXPECT_EQ(after_it.version, before.version + 1);
    EXPECT_EQ(after_it.changed_at, harness.clock.now());
    EXPECT_EQ(after_it.state, MachineState::UNLISTED);
    EXPECT_EQ(after_it.offer_state, OfferState::unlisted);
    EXPECT_EQ(after_it.fence, before.fence);
}

TEST_F(MachineRow, ARowThatChangedMeanwhileIsNotOverwritten) {
    Machine old = made({.state = MachineState::UNLISTED, .offer = OfferState::unlisted});
    happen(harness, old.machine_id, MachineEvent::list, {.admitted = true});
    const auto late = [&] {
        harness.app->database().write([&](db::Transaction& tx) {
            apply({tx, harness.random, harness.clock.now()}, old, MachineEvent::retire);
        });
    };
    EXPECT_THROW(late(), Problem);
    EXPECT_EQ(seen(harness, old.machine_id).state, MachineState::AVAILABLE);
}

TEST_F(MachineRow, ReservationAndQuarantineRaiseTheFence) {
    Machine machine = made({.state = MachineState::AVAILABLE, .offer = OfferState::listed});
    const JobId job{make_uuid(harness.clock.now(), harness.random)};
    machine = happen(harness, machine.machine_id, MachineEvent::reserve, {.job_id = job});
    EXPECT_EQ(machine.fence, 2);
    EXPECT_EQ(seen(harness, machine.machine_id).job_id, job);
    machine = happen(harness, machine.machine_id, MachineEvent::quarantine,
                     quarantine(QuarantineCause::host_lost));
    EXPECT_EQ(machine.fence, 3);
    EXPECT_EQ(seen(harness, machine.machine_id).job_id, job);
}

TEST_F(MachineRow, AMachineComesBackByItselfTwiceAndThenOnlyByAnOperator) {
    const Machine machine = made({.state = MachineState::UNLISTED, .offer = OfferState::listed});
    for (int time = 1; time <= 3; ++time) {
        happen(harness, machine.machine_id, MachineEvent::quarantine,
               quarantine(QuarantineCause::wipe_failed));
        const Machine back = happen(harness, machine.machine_id, MachineEvent::cleaned);
        EXPECT_EQ(back.state, time < 3 ? MachineState::UNQUALIFIED : MachineState::QUARANTINED)
            << time;
    }
    const Machine released = happen(harness, machine.machine_id, MachineEvent::release);
    EXPECT_EQ(released.state, MachineState::UNQUALIFIED);
    EXPECT_EQ(released.qualify_state, QualifyState::waiting);
    EXPECT_EQ(released.qualify_next_at, harness.clock.now());
}

TEST_F(MachineRow, ThreeQuarantinesInMoreThanAMonthAreNotTooMany) {
    const Machine machine = made({.state = MachineState::UNLISTED, .offer = OfferState::listed});
    for (int time = 1; time <= 4; ++time) {
        happen(harness, machine.machine_id, MachineEvent::quarantine,
               quarantine(QuarantineCause::host_lost));
        EXPECT_EQ(happen(harness, machine.machine_id, MachineEvent::cleaned).state,
                  MachineState::UNQUALIFIED);
        harness.clock.advance(std::chrono::hours(24 * 16));
    }
}

TEST_F(MachineRow, NoReleaseWaivesCleaning) {
    const Machine machine = made({.state = MachineState::CLEANING, .offer = OfferState::listed});
    happen(harness, machine.machine_id, MachineEvent::quarantine,
           quarantine(QuarantineCause::operator_));
    EXPECT_EQ(happen(harness, machine.machine_id, MachineEvent::release).state,
              MachineState::QUARANTINED);
    EXPECT_EQ(happen(harness, machine.machine_id, MachineEvent::cleaned).state,
              MachineState::UNQUALIFIED);
    EXPECT_EQ(seen(harness, machine.machine_id).job_id, std::nullopt);
}

TEST_F(MachineRow, AChangedManifestIsJudgedWhenTheJobIsOver) {
    const Machine machine = made({.state = MachineState::ALLOCATED, .offer = OfferState::listed});
    EXPECT_EQ(happen(harness, machine.machine_id, MachineEvent::manifest_changed).state,
              MachineState::ALLOCATED);
    happen(harness, machine.machine_id, MachineEvent::job_over);
    const Machine clean = happen(harness, machine.machine_id, MachineEvent::cleaned);
    EXPECT_EQ(clean.state, MachineState::UNQUALIFIED);
    EXPECT_EQ(clean.verification_level, VerificationLevel::unverified);
    harness.app->database().read([&](db::Transaction& tx) {
        EXPECT_EQ(find_measured(tx, machine.machine_id)->vram_bytes, std::nullopt);
    });
}

TEST_F(MachineRow, ADrainedMachineEndsUnlistedWithItsOffer) {
    const Machine machine = made({.state = MachineState::ALLOCATED, .offer = OfferState::listed});
    EXPECT_EQ(happen(harness, machine.machine_id, MachineEvent::drain).offer_state,
              OfferState::draining);
    happen(harness, machine.machine_id, MachineEvent::job_over);
    const Machine idle = happen(harness, machine.machine_id, MachineEvent::cleaned);
    EXPECT_EQ(idle.state, MachineState::UNLISTED);
    EXPECT_EQ(idle.offer_state, OfferState::unlisted);
}

TEST_F(MachineRow, ARetiredMachineIsFoundNoMore) {
    const Machine machine = made({.state = MachineState::UNLISTED, .offer = OfferState::listed});
    happen(harness, machine.machine_id, MachineEvent::retire);
    harness.app->database().write([&](db::Transaction& tx) {
        EXPECT_FALSE(find(tx, machine.machine_id));
        EXPECT_FALSE(hold(tx, machine.machine_id));
        EXPECT_EQ(owner_of(tx, machine.machine_id), owner);
    });
}

TEST_F(MachineRow, PublishingSetsTheOfferAndNoStateIsSkipped) {
    Machine machine = made();
    const Time until = harness.clock.now() + std::chrono::hours(1);
    harness.app->database().write([&](db::Transaction& tx) {
        const db::Context context{tx, harness.random, harness.clock.now()};
        set_offer(
            context, machine,
            {.offer_version = 1, .offer_state = OfferState::unlisted, .available_until = until});
    });
    EXPECT_EQ(seen(harness, machine.machine_id).available_until, until);
    Machine other = made();
    EXPECT_THROW(harness.app->database().write([&](db::Transaction& tx) {
        set_offer({tx, harness.random, harness.clock.now()}, other,
                  {.offer_version = 1, .offer_state = OfferState::listed});
    }),
                 std::exception);
}

class GpuClaims : public MachineRow {
protected:
    bool duplicate(const Machine& machine) {
        return harness.app->database().read([&](db::Transaction& tx) {
            const bool is = is_duplicate(tx, machine.machine_id, harness.clock.now());
            const auto all = find_duplicates(tx, harness.clock.now());
            EXPECT_EQ(std::ranges::count(all, machine.machine_id), is ? 1 : 0);
            return is;
        });
    }
    void name(const Machine& machine, const std::vector<std::string>& uuids) {
        harness.app->database().write(
            [&](db::Transaction& tx) { name_gpus(tx, machine.machine_id, uuids); });
    }
    void pass_test(const Machine& machine) {
        harness.clock.advance(std::chrono::seconds(1));
        harness.app->database().write([&](db::Transaction& tx) {
            note_gpus_passed({tx, harness.random, harness.clock.now()}, machine.machine_id);
        });
    }
    const Machine first = made({.state = MachineState::UNLISTED, .gpu_uuids = {"GPU-1"}});
    const Machine second = made({.state = MachineState::UNLISTED, .gpu_uuids = {"GPU-2", "GPU-1"}});
};

TEST_F(GpuClaims, WhoPassedLaterIsTheDuplicate) {
    EXPECT_FALSE(duplicate(first));
    EXPECT_TRUE(duplicate(second));
    const Machine untested = made({.gpu_uuids = {"GPU-1"}});
    EXPECT_TRUE(duplicate(untested));
    EXPECT_FALSE(duplicate(first)) << "who only names a card takes nobody off the market";
}

TEST_F(GpuClaims, TheFirstPassIsKeptAcrossTestsAndManifests) {
    pass_test(first);
    EXPECT_FALSE(duplicate(first));
    name(first, {"GPU-3"});
    EXPECT_FALSE(duplicate(second)) << "the card is not there any more";
    name(first, {"GPU-3", "GPU-1"});
    pass_test(first);
    EXPECT_FALSE(duplicate(first));
    EXPECT_TRUE(duplicate(second));
}

// Two machines of one computer, as slots are, and the computer whole beside them.
TEST_F(GpuClaims, SlotsOfOneComputerAreNoDuplicatesAndTheWholeBesideThemIs) {
    const auto of_computer = [&](std::vector<std::string> cards) {
        const Machine machine = made({.state = MachineState::UNLISTED,
                                      .gpu_uuids = std::move(cards),
                                      .adjust = [](Machine& row) { row.boot_id = "one-boot"; }});
        pass_test(machine);
        return machine;
    };
    const Machine left = of_computer({"GPU-8", "GPU-9"});
    const Machine right = of_computer({"GPU-10"});
    EXPECT_FALSE(duplicate(left));
    EXPECT_FALSE(duplicate(right));
    const Machine whole = of_computer({"GPU-8", "GPU-9", "GPU-10"});
    EXPECT_TRUE(duplicate(whole));
    EXPECT_FALSE(duplicate(left));
    EXPECT_FALSE(duplicate(right));
    happen(harness, left.machine_id, MachineEvent::retire);
    EXPECT_TRUE(duplicate(whole)) << "a card of it is sold in the other slot still";
    happen(harness, right.machine_id, MachineEvent::retire);
    EXPECT_FALSE(duplicate(whole));
}

TEST_F(GpuClaims, CountOnlyWhileTheFirstIsInService) {
    const auto while_first = [&](const std::function<void(Machine&)>& is) {
        const Machine before = seen(harness, first.machine_id);
        const auto put = [&](const std::function<void(Machine&)>& change) {
            harness.app->database().write([&](db::Transaction& tx) {
                Machine row = *hold(tx, first.machine_id);
                change(row);
                save({tx, harness.random, harness.clock.now()}, row);
            });
        };
        put(is);
        const bool found = duplicate(second);
        put([&](Machine& row) {
            row.state = before.state;
            row.qualify_state = before.qualify_state;
        });
        return found;
    };
    EXPECT_TRUE(while_first([](Machine&) {}));
    EXPECT_FALSE(while_first([](Machine& m) { m.state = MachineState::QUARANTINED; }));
    EXPECT_FALSE(while_first([](Machine& m) { m.qualify_state = QualifyState::retrying; }));
    const auto suspend = [&](std::int64_t is) {
        harness.app->database().write([&](db::Transaction& tx) {
            tx.run(
                "INSERT INTO accounts (account_id, kind, email, role, host_capability, "
                "host_barred, suspended, version, totp_step, created_at) "
                "VALUES ($1, 'agent', NULL, 'host', 1, 0, $2, 1, 0, 0) "
                "ON CONFLICT (account_id) DO UPDATE SET suspended = $2",
                first.owner, is);
        });
    };
    suspend(1);
    EXPECT_FALSE(duplicate(second));
    suspend(0);
    EXPECT_TRUE(duplicate(second));
    harness.clock.advance(heartbeat_fresh + std::chrono::seconds(1));
    EXPECT_FALSE(duplicate(second)) << "the first is silent";
    hear(harness, first.machine_id);
    EXPECT_TRUE(duplicate(second));
    happen(harness, first.machine_id, MachineEvent::retire);
    EXPECT_FALSE(duplicate(second));
}

TEST(MachineEvents, TheCodesOfManyFindingsFitIntoAnEvent) {
    const std::vector<Finding> findings(100, Finding{std::string(500, 'x'), Severity::blocker, ""});
    MachineTestFacts facts;
    facts.findings = codes_of(findings);
    EXPECT_LE(wire::encode(facts).size(), events::data_bytes_max);
    EXPECT_EQ(facts.findings.size(), 20U);
}

}  // namespace
}  // namespace berth::test
