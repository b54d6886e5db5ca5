// What is believed of a gate's report, and what it is told.
#include <limits>

#include "gates/yard.hpp"

namespace berth::test {
namespace {

TEST_F(Yard, AReportIsTakenFromTheGateThatSignedItAndFromNobodyElse) {
    const Gate gate = add_gate('a');
    const Gate other = add_gate('b');
    const std::string body = body_of(gate, {});
    const auto lives = [&] {
        return harness.app->database().read(
            [&](db::Transaction& tx) { return gates::is_any_live(tx, harness.clock.now()); });
    };
    EXPECT_EQ(harness.ask({.method = "POST", .target = "/api/v1/gate/report", .body = body}).status,
              401)
        << "unsigned";
    Gate forged = gate;
    forged.seed = 'b';
    EXPECT_EQ(send(forged, {.body = body}).status, 401) << "by another gate's key";
    forged = gate;
    forged.id = GateId{*parse_uuid(harness.new_id())};
    EXPECT_EQ(send(forged, {.body = body}).status, 401) << "of a gate that nobody added";
    EXPECT_EQ(send(gate, {.body = body, .tag = "berth-agent"}).status, 401) << "as a machine";
    EXPECT_EQ(send(gate, {.body = body, .late = std::chrono::seconds(62)}).status, 401) << "late";
    EXPECT_FALSE(lives());
    EXPECT_EQ(send(gate, {.body = body, .nonce = "once"}).status, 200);
    EXPECT_TRUE(lives());
    EXPECT_EQ(send(gate, {.body = body, .nonce = "once"}).status, 401) << "again";
    EXPECT_EQ(send(other, {.body = body, .nonce = "once"}).status, 200) << "another's nonce";
    write([&](const db::Context& context) {
        gates::remove_gate(context, audit::Actor::local_operator(), gate.id, false);
    });
    EXPECT_EQ(send(gate, {.body = body}).status, 401) << "removed";
}

TEST_F(Yard, AMachineCannotReportAndAGateCannotAskForDoors) {
    const Gate gate = live_gate('a');
    const auto agent = host();
    EXPECT_EQ(agent->send({.target = "/api/v1/gate/report", .body = body_of(gate, {})}).status,
              401);
    Gate machine = gate;
    machine.id = GateId{agent->machine.uuid};
    EXPECT_EQ(send(machine, {.body = body_of(gate, {})}).status, 401)
        << "a machine is no gate, whatever the tag";
}

TEST_F(Yard, AReportThatIsNotOneIsRefusedWhole) {
    const Gate gate = add_gate('a');
    const std::string door =
        R"({"door_id":"01920000-0000-7000-8000-000000000001","linked":true,"bytes_in":BYTES,)"
        R"("bytes_out":0,"streams":0})";
    const auto with = [&](const std::string& bytes) {
        std::string text = door;
        text.replace(text.find("BYTES"), 5, bytes);
        return fmt::format(R"({{"boot_id":"b","started_at":"2026-01-01T00:00:00Z",)"
                           R"("draining":false,"doors":[{}]}})",
                           text);
    };
    EXPECT_EQ(send(gate, {.body = with("0")}).status, 200);
    for (const std::string& bad :
         {std::string("{}"), std::string("[]"), std::string("{"), with("-1"), with("1.5"),
          with("9007199254740992"), with("\"7\""),
          std::string(R"({"boot_id":"","started_at":"2026-01-01T00:00:00Z","draining":false,)"
                      R"("doors":[]})"),
          std::string(R"({"boot_id":"b","started_at":"soon","draining":false,"doors":[]})")})
        EXPECT_EQ(send(gate, {.body = bad}).status, 422) << bad;
}

TEST_F(Yard, BytesAreCountedOnceAndCountersThatFallAreNotBelieved) {
    Gate gate = live_gate('a');
    const auto agent = host();
    const JobId job = job_of(*agent);
    const DoorId door = give(*agent, {"openai"}).doors.at(0).door_id;
    const auto says = [&](std::int64_t in, std::int64_t out) {
        report(gate, {{.door = door, .bytes_in = in, .bytes_out = out}});
        return carried(job);
    };
    EXPECT_EQ(says(100, 1'000), 1'100);
    EXPECT_EQ(says(100, 1'000), 1'100) << "the same again";
    EXPECT_EQ(says(150, 2'000), 2'150);
    EXPECT_EQ(says(100, 9'000), 2'150) << "one of them fell";
    EXPECT_EQ(says(150, 9'007'199'254'740'991), 2'150) << "more than anybody can carry";
    EXPECT_EQ(says(151, 2'001), 2'152);
    gate.boot = "boot-2";
    EXPECT_EQ(says(10, 20), 2'182) << "a new process begins anew";
    gate.boot = "boot-1";
    EXPECT_EQ(says(151, 2'002), 2'183) << "the older one still carries";
}

TEST_F(Yard, WhatALiarAddsUpForDaysStaysANumber) {
    const Gate gate = live_gate('a');
    const auto agent = host();
    const JobId job = job_of(*agent);
    const DoorId door = give(*agent, {"openai"}).doors.at(0).door_id;
    report(gate, {{.door = door, .bytes_in = 1, .bytes_out = 1}});
    constexpr std::int64_t almost_all = std::numeric_limits<std::int64_t>::max() - 1'000;
    write([&](const db::Context& context) {
        context.tx.run("UPDATE gates SET bytes_in = $1, bytes_out = $1", almost_all);
        context.tx.run("UPDATE gate_days SET bytes_in = $1, bytes_out = $1", almost_all);
    });
    report(gate, {{.door = door, .bytes_in = 1'000'000, .bytes_out = 1'000'000}});
    EXPECT_LE(carried(job), std::int64_t{1} << 51) << "no more than a line carries in a day";
    EXPECT_EQ(give(*agent, {"openai"}).doors.size(), 1U);
}

TEST_F(Yard, AnotherGateCannotSpeakForADoor) {
    const Gate gate = live_gate('a');
    const auto agent = host();
    const JobId job = job_of(*agent);
    const DoorsGiven given = give(*agent, {"openai"});
    const Gate other = live_gate('b');
    const GateOrders orders =
        report(other, {{.door = given.doors[0].door_id, .linked = true, .bytes_in = 5'000}});
    ASSERT_EQ(orders.cut.size(), 1U);
    EXPECT_EQ(carried(job), 0);
    EXPECT_TRUE(carriage(job).uncarried_since) << "it does not become carried by that";
    report(gate, all_of(given));
    EXPECT_FALSE(carriage(job).uncarried_since);
    report(other, all_of(given, false));
    EXPECT_FALSE(carriage(job).uncarried_since) << "nor uncarried";
}

TEST_F(Yard, DoorsThatAreNobodysAnyMoreAreCut) {
    const Gate gate = live_gate('a');
    const auto agent = host();
    const DoorsGiven given = give(*agent, {"ssh", "openai"});
    EXPECT_TRUE(report(gate, all_of(given)).cut.empty());
    give(*agent, {"ssh"});
    const GateOrders orders = report(gate, all_of(given));
    ASSERT_EQ(orders.cut.size(), 1U);
    EXPECT_EQ(orders.cut[0], given.doors[1].door_id);
    const DoorId stranger{*parse_uuid(harness.new_id())};
    EXPECT_EQ(report(gate, {{.door = stranger}}).cut, std::vector<DoorId>{stranger});
}

TEST_F(Yard, BytesOfADoorThatWasJustTakenBackStillCount) {
    const Gate gate = live_gate('a');
    const auto agent = host();
    const JobId job = job_of(*agent);
    const DoorId door = give(*agent, {"openai"}).doors.at(0).door_id;
    report(gate, {{.door = door, .bytes_in = 10}});
    ask_for(*agent, "");
    EXPECT_EQ(report(gate, {{.door = door, .bytes_in = 25}}).cut.size(), 1U);
    EXPECT_EQ(carried(job), 25);
}

TEST_F(Yard, ADoorEndsWithItsJobAlsoWhenTheAgentNeverSaysSo) {
    const Gate gate = live_gate('a');
    const auto agent = host();
    const DoorsGiven given = give(*agent, {"openai"});
    EXPECT_TRUE(report(gate, all_of(given)).cut.empty());
    change(*agent, [&](machines::Machine& row) { row.job_id.reset(); });
    EXPECT_EQ(report(gate, all_of(given)).cut.size(), 1U);
    EXPECT_TRUE(
        harness.app->database()
            .read([&](db::Transaction& tx) { return gates::find_door(tx, given.doors[0].door_id); })
            .has_value() == false);
}

TEST_F(Yard, AnOlderProcessDrainsWhileANewerOneLives) {
    Gate older = live_gate('a');
    wait(10);
    Gate newer = older;
    newer.boot = "boot-2";
    newer.started = 5;
    EXPECT_FALSE(report(newer).drain);
    EXPECT_TRUE(report(older).drain);
    EXPECT_FALSE(report(newer).drain);
    older.draining = true;
    report(older);
    EXPECT_EQ(give(*host(), {"a"}).doors.size(), 1U) << "the gate lives by the newer one";
    wait(16);
    older.draining = false;
    EXPECT_FALSE(report(older).drain) << "the newer one is not heard any more";
}

TEST_F(Yard, AProcessThatSaysItStartsInTheFutureDrainsNobodyForEver) {
    Gate liar = live_gate('a');
    liar.boot = "boot-liar";
    liar.started = 1'000'000;
    report(liar);
    wait(5);
    Gate next = liar;
    next.boot = "boot-next";
    next.started = 4;
    EXPECT_FALSE(report(next).drain);
}

TEST_F(Yard, ReportsTellKeysAndRelays) {
    harness.set("operations.gate_relays", "203.0.113.9,2001:db8::1");
    const Gate gate = add_gate('a');
    const GateOrders orders = report(gate);
    EXPECT_EQ(orders.keys.size(), 1U);
    EXPECT_EQ(orders.relays, (std::vector<std::string>{"203.0.113.9", "2001:db8::1"}));
}

std::int64_t rate_of(const DoorsGiven& given) {
    const auto from = given.ticket.find(R"("rate_bps":)") + 11;
    return std::stoll(given.ticket.substr(from));
}

TEST_F(Yard, AJobOverItsBytesOfTheDayIsSlowedAndNotCut) {
    harness.set("operations.gate_gib_per_job_day", "1");
    const Gate gate = live_gate('a');
    const auto agent = host();
    const DoorsGiven given = give(*agent, {"openai"});
    constexpr std::int64_t gib = 1 << 30;
    const auto says = [&](std::int64_t bytes) {
        report(gate, {{.door = given.doors[0].door_id,
                       .bytes_in = bytes / 2,
                       .bytes_out = bytes - bytes / 2}});
        return give(*agent, {"openai"});
    };
    EXPECT_EQ(rate_of(says(gib - 1)), 0);
    const DoorsGiven slowed = says(gib);
    EXPECT_EQ(rate_of(slowed), 10'000'000);
    EXPECT_EQ(slowed.doors.size(), 1U);
    harness.set("operations.gate_slow_mbps", "25");
    EXPECT_EQ(rate_of(give(*agent, {"openai"})), 25'000'000);
    harness.set("operations.gate_gib_per_job_day", "0");
    EXPECT_EQ(rate_of(give(*agent, {"openai"})), 0) << "no limit";
    harness.set("operations.gate_gib_per_job_day", "1");
    wait(86'400);
    report(gate);
    EXPECT_EQ(rate_of(give(*agent, {"openai"})), 0) << "another day";
}

}  // namespace
}  // namespace berth::test
