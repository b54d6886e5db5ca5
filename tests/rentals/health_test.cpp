// A lost card is not billed; and what machines say about jobs fills no disk.
#include "machines/health_events.hpp"
#include "rentals/evidence.hpp"
#include "rentals/market.hpp"
#include "support/told.hpp"

namespace berth::test {
namespace {

using agent_protocol::HealthKind;
using agent_protocol::JobEventKind;

class LostCards : public MarketTest {
protected:
    void turn(JobId job, HealthKind kind, const std::string& address = "0000:01:00.0") {
        as_agent(find(job).terms.machine_id,
                 [&](const db::Context& context, machines::Machine& machine) {
                     const bool had_lost = machine.has_lost_gpu();
                     EXPECT_TRUE(machines::note_gpu(machine, kind, address));
                     machines::save(context, machine);
                     if (had_lost != machine.has_lost_gpu()) side().gpus_turned(context, machine);
                 });
    }
    void beat_after(JobId job, int span_s) {
        town.harness.clock.advance(seconds(span_s));
        beat(job, runtime += span_s * 1000);
    }
    std::int64_t accepted(JobId job) { return find(job).live.accepted_ms; }
    std::int64_t runtime = 0;
};

TEST_F(LostCards, AreNotBilledUntilTheyAreBack) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    beat_after(job, 20);
    EXPECT_EQ(accepted(job), 20'000);
    turn(job, HealthKind::gpu_lost);
    turn(job, HealthKind::gpu_lost, "0000:41:00.0");
    EXPECT_EQ(member(show(ben, job), "host_status"), "engine_down");
    beat_after(job, 20);
    beat_after(job, 20);
    // Its engine answers, as it may without its card.
    tell(job, JobEventKind::usage,
         R"({"runtime_ms":"70000","container_id":"c1","boot_id":"boot-1","engine":"up"})");
    EXPECT_EQ(accepted(job), 20'000);
    turn(job, HealthKind::gpu_back);
    EXPECT_EQ(member(show(ben, job), "host_status"), "engine_down") << "one is still lost";
    // Nothing is said between here and the first report after it.
    town.harness.clock.advance(seconds(50));
    runtime += 50'000;
    turn(job, HealthKind::gpu_back, "0000:41:00.0");
    EXPECT_EQ(member(show(ben, job), "host_status"), "ok");
    beat_after(job, 20);
    EXPECT_EQ(accepted(job), 40'000);
    EXPECT_EQ(untold(town.harness.app->database(), {"rental.gpu_lost", "rental.gpu_back"}), "");
}

TEST_F(LostCards, EndTheRentalLikeAnEngineThatIsDown) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    turn(job, HealthKind::gpu_lost);
    EXPECT_EQ(find(job).live.gpu_lost_at, now());
    side().note_listening(database(), now());
    for (int i = 0; i < 14; ++i) {
        pass(seconds(20));
        beat(job, runtime += 20'000);
    }
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    pass(seconds(20));
    EXPECT_EQ(state_of(job), JobState::STOPPING);
    EXPECT_EQ(member(show(ben, job), "end_reason"), "engine_failed");
    EXPECT_EQ(member(show(ben, job), "cumulative_charge_micro"), "0");
    EXPECT_NE(member(show(ben, job), "failure.message").find("GPU"), std::string::npos);
}

TEST_F(LostCards, AreNotBilledFromTheStart) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    as_agent(machine.machine_id, [&](const db::Context& context, machines::Machine& row) {
        machines::note_gpu(row, HealthKind::gpu_lost, "0000:01:00.0");
        machines::save(context, row);
        side().gpus_turned(context, row);
    });
    get_ready(job);
    beat_after(job, 20);
    EXPECT_EQ(accepted(job), 0);
    turn(job, HealthKind::gpu_back);
    beat_after(job, 20);
    EXPECT_EQ(accepted(job), 20'000);
}

TEST_F(LostCards, AndTheirErrorsAreShownToTheRenterWhileItsJobRan) {
    const auto machine = put_up();
    const auto trouble = [&](const std::string& text) {
        town.harness.clock.advance(seconds(1));
        database().write([&](db::Transaction& tx) {
            tx.run(
                "INSERT INTO machine_events (event_id, machine_id, kind, at, detail) "
                "VALUES ($1, $2, 'GPU_XID', $3, $4)",
                JobId::make(now(), town.harness.random), machine.machine_id, now(),
                fmt::format(R"({{"at":"x","evidence":{{"code":79,"text":"{}"}}}})", text));
        });
    };
    trouble("before");
    town.harness.clock.advance(seconds(1));
    const JobId job = rent(ben, machine);
    trouble("during");
    const std::string body = show(ben, job);
    EXPECT_EQ(member(body, "health_events.0.kind"), "GPU_XID");
    EXPECT_EQ(member(body, "health_events.0.text"), "during");
    EXPECT_EQ(member(body, "health_events.1.kind"), "") << body;
    const std::string host =
        send(ada, "GET", "/api/v1/hosts/machines/" + to_string(machine.machine_id)).body;
    EXPECT_EQ(member(host, "health_events.0.text"), "during");
    EXPECT_EQ(member(host, "health_events.1.text"), "before");
}

class EvidenceBytes : public LostCards {
protected:
    std::int64_t records(JobId job, const std::string& kind) {
        return database().read([&](db::Transaction& tx) {
            return tx
                .fetch_value<std::int64_t>(
                    "SELECT COUNT(*) FROM job_evidence WHERE job_id = $1 AND kind = $2", job, kind)
                .value();
        });
    }
    std::int64_t bytes_stored(JobId job) {
        return database().read([&](db::Transaction& tx) {
            return tx
                .fetch_value<std::int64_t>(
                    "SELECT CAST(SUM(LENGTH(payload) + COALESCE(LENGTH(body), 0)) AS BIGINT) "
                    "FROM job_evidence WHERE job_id = $1",
                    job)
                .value();
        });
    }
    void usage(JobId job) {
        runtime += 1000;
        tell(job, JobEventKind::usage,
             fmt::format(R"({{"runtime_ms":"{}","container_id":"c1","boot_id":"boot-1"}})",
                         runtime));
    }
};

TEST_F(EvidenceBytes, OfAJobAreCounted) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    usage(job);
    beat_after(job, 70);
    EXPECT_EQ(find(job).live.evidence_bytes, bytes_stored(job));
}

TEST_F(EvidenceBytes, ThatAreSpentThinUsageAndProgressAndNothingElse) {
    const JobId job = rent(ben, put_up(), {.budget = 9'000'000});
    accept(job);
    const auto spend = [&] {
        database().write([&](db::Transaction& tx) {
            tx.run("UPDATE jobs SET evidence_bytes = $2 WHERE job_id = $1", job,
                   evidence_bytes_of_job_max);
        });
    };
    spend();
    for (int i = 0; i < 10; ++i) {
        town.harness.clock.advance(seconds(60));
        tell(job, JobEventKind::progress,
             fmt::format(R"({{"step":"pull","done_bytes":"{}","total_bytes":null}})",
                         std::int64_t{i} * 200'000'000));
    }
    EXPECT_EQ(records(job, "PROGRESS"), 1);
    EXPECT_EQ(tell(job, JobEventKind::ready, ready_evidence(job)), "RUNNING");
    EXPECT_EQ(records(job, "READY"), 1);
    const std::int64_t before = records(job, "USAGE");
    for (int i = 0; i < 120; ++i) {
        town.harness.clock.advance(seconds(30));
        usage(job);
        beat(job, runtime += 40'000);  // and more than elapsed, which is on record otherwise
    }
    EXPECT_LE(records(job, "USAGE") - before, 2) << "one an hour";
    EXPECT_GE(records(job, "USAGE") - before, 1);
    const std::int64_t acks = records(job, "ACK");
    accept(job);
    EXPECT_EQ(records(job, "ACK"), acks + 1);
    tell(job, JobEventKind::exited, R"({"container_id":"c1","exit_code":0})");
    EXPECT_EQ(records(job, "EXITED"), 1);
}

// What a machine signed holds what it was evidence of: that is not kept twice, and read the same.
TEST_F(EvidenceBytes, AreOfTheBodyOrThePayloadAndNotBoth) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    const std::string evidence =
        R"({"runtime_ms":"1000","container_id":"c1","boot_id":"boot-1","more":[1,2.5,"x"]})";
    const JobRow row = find(job);
    agent_protocol::JobEvent event;
    event.lease_seq = {row.live.lease_seq};
    event.kind = JobEventKind::usage;
    event.at = now();
    event.evidence = {evidence};
    machines::SignedMessage message = some_message;
    message.body = R"({"fence":"2","evidence": )" + evidence + "}";
    as_agent(row.terms.machine_id, [&](const db::Context& context, machines::Machine& machine) {
        side().event(context, machine, job, event, {}, message);
    });
    const auto rows =
        database().read([&](db::Transaction& tx) { return list_evidence(tx, job, 0, 100); });
    EXPECT_EQ(rows.back().kind, "USAGE");
    EXPECT_EQ(rows.back().payload, "");
    std::vector<Evidence> chain;
    for (const EvidenceRow& each : rows) chain.push_back(shown(each));
    EXPECT_EQ(chain.back().payload.text, wire::canonical(evidence).value());
    EXPECT_EQ(find_break(chain), std::nullopt);
}

}  // namespace
}  // namespace berth::test
