#include "rentals/evidence.hpp"

#include <gtest/gtest.h>

#include "admin/adjustments.hpp"
#include "crypto/hash.hpp"
#include "ledger/books.hpp"
#include "support/explained.hpp"
#include "support/harness.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

using namespace rentals;

struct Files {
    Books books;
    JobRow job = make();

    JobRow make() {
        JobRow row;
        row.terms.job_id = row.live.job_id = books.make_id<JobId>();
        row.terms.renter_id = books.make_id<AccountId>();
        row.terms.machine_id = books.make_id<MachineId>();
        row.terms.quote_id = books.make_id<QuoteId>();
        row.terms.template_kind = TemplateKind::model;
        row.terms.readiness_path = "/v1/models";
        row.terms.image_digest = "a@sha256:b";
        row.terms.endpoint_key = "sealed";
        row.live.budget = Micro{5'000'000};
        row.live.deadline_at = books.clock.now();
        books.write([&](db::Context context) { add_job(context.tx, row); });
        return row;
    }

    void say(const std::string& kind, const std::string& payload,
             std::optional<SignedEvidence> sealed = {}) {
        books.write([&](db::Context context) {
            auto locked = lock_job(context.tx, job.terms.job_id);
            keep(context.tx, context.now, locked->live,
                 {.kind = kind,
                  .payload = payload,
                  .sealed = sealed,
                  .lease_seq = 2,
                  .content_hash = kind + payload,
                  .answer = "{}"});
            save_job(context.tx, locked->live);
        });
    }

    std::vector<Evidence> chain() {
        return books.database->read([&](db::Transaction& tx) {
            std::vector<Evidence> list;
            for (const EvidenceRow& row : list_evidence(tx, job.terms.job_id, 0, 100))
                list.push_back(shown(row));
            return list;
        });
    }
};

const SignedEvidence some_signature{
    "e30=", "sig1=()", "sig1=:AA==:", "berth.example", "/x", "AA=="};

TEST(Evidence, IsChainedInTheOrderItCame) {
    Files files;
    files.say("READY", R"({"container_id":"c","boot_id":"b"})", some_signature);
    files.say("USAGE", R"({ "runtime_ms" : "20000" })", some_signature);
    files.say("STOP_SENT", "{}");
    const auto chain = files.chain();
    ASSERT_EQ(chain.size(), 3u);
    EXPECT_EQ(chain[0].kind, "READY");
    EXPECT_FALSE(chain[0].previous_hash.value.has_value());
    EXPECT_EQ(chain[1].previous_hash.value->value, chain[0].hash.value);
    EXPECT_EQ(chain[1].payload.text, R"({"runtime_ms":"20000"})");
    EXPECT_EQ(chain[2].source, EvidenceSource::server);
    EXPECT_FALSE(chain[2].signed_.value.has_value());
    EXPECT_EQ(find_break(chain), std::nullopt);
}

TEST(Evidence, ShowsWhatWasChangedTakenOutOrMoved) {
    Files files;
    for (int i = 0; i < 4; ++i)
        files.say("USAGE", fmt::format(R"({{"runtime_ms":"{}"}})", i), some_signature);
    const auto sound = files.chain();

    auto changed = sound;
    changed[1].payload.text = R"({"runtime_ms":"9"})";
    EXPECT_NE(find_break(changed), std::nullopt);
    auto resigned = sound;
    resigned[2].signed_.value->signature = "sig1=:BB==:";
    EXPECT_NE(find_break(resigned), std::nullopt);
    auto missing = sound;
    missing.erase(missing.begin() + 1);
    EXPECT_NE(find_break(missing), std::nullopt);
    auto headless = sound;
    headless.erase(headless.begin());
    EXPECT_NE(find_break(headless), std::nullopt);
    auto moved = sound;
    std::swap(moved[1], moved[2]);
    EXPECT_NE(find_break(moved), std::nullopt);
}

TEST(Evidence, HashIsThatOfTheCanonicalRecordWithoutIt) {
    Files files;
    files.say("READY", R"({"b":1,"a":2})");
    Evidence record = files.chain().front();
    std::string json = wire::encode(record);
    const std::string member = R"("hash":")" + record.hash.value + R"(",)";
    const std::size_t place = json.find(member);
    ASSERT_NE(place, std::string::npos);
    json.erase(place, member.size());
    EXPECT_EQ(record.hash.value, "sha256:" + to_hex(crypto::sha256(wire::canonical(json).value())));
}

TEST(Evidence, IsBoundIntoADisputeByItsNewestHash) {
    Files files;
    const JobId job = files.job.terms.job_id;
    const auto bound = [&](const std::vector<std::string>& said) {
        return files.books.database->read(
            [&](db::Transaction& tx) { return admin::evidence_hash(tx, job, said); });
    };
    const std::string before = bound({"ticket 7"});
    EXPECT_EQ(bound({"ticket 7"}), before);
    EXPECT_NE(bound({"ticket 8"}), before);
    files.say("READY", "{}", some_signature);
    EXPECT_NE(bound({"ticket 7"}), before);
}

TEST(Evidence, KnowsAResendByItsContent) {
    Files files;
    files.say("READY", "{}", some_signature);
    files.books.database->read([&](db::Transaction& tx) {
        EXPECT_TRUE(find_resent(tx, files.job.terms.job_id, "READY{}").has_value());
        EXPECT_FALSE(find_resent(tx, files.job.terms.job_id, "STOPPED{}").has_value());
        EXPECT_TRUE(has_evidence(tx, files.job.terms.job_id, "READY", 2));
        EXPECT_FALSE(has_evidence(tx, files.job.terms.job_id, "READY", 3));
    });
}

TEST(Evidence, IsKeptForFourHundredDaysAfterTheEnd) {
    Files files;
    files.say("READY", "{}");
    const Time end = files.books.clock.now();
    files.books.write([&](db::Context context) {
        auto locked = lock_job(context.tx, files.job.terms.job_id);
        locked->live.ended_at = end;
        save_job(context.tx, locked->live);
        EXPECT_EQ(prune_evidence(context.tx, end, 100), 0);
    });
    EXPECT_EQ(files.chain().size(), 1u);
    files.books.write([&](db::Context context) {
        EXPECT_EQ(prune_evidence(context.tx, end + Duration(1), 100), 1);
    });
    EXPECT_EQ(files.chain().size(), 0u);
}

TEST(Evidence, IsDeletedSomeAtATimeAndNoneIsLeftBehind) {
    Files files;
    for (int i = 0; i < 7; ++i) files.say("USAGE", fmt::format(R"({{"n":{}}})", i));
    const Time end = files.books.clock.now();
    const auto prune = [&] {
        std::int64_t gone = 0;
        files.books.write(
            [&](db::Context context) { gone = prune_evidence(context.tx, end + Duration(1), 3); });
        return gone;
    };
    files.books.write([&](db::Context context) {
        auto locked = lock_job(context.tx, files.job.terms.job_id);
        locked->live.ended_at = end;
        save_job(context.tx, locked->live);
    });
    EXPECT_EQ(prune(), 3);
    EXPECT_EQ(prune(), 3);
    files.books.database->read([&](db::Transaction& tx) {
        EXPECT_EQ(list_evidence(tx, files.job.terms.job_id, 0, 10).size(), 1u);
        EXPECT_GT(find_job(tx, files.job.terms.job_id)->live.evidence_count, 0)
            << "what is left is still looked for";
    });
    EXPECT_EQ(prune(), 1);
    files.books.database->read([&](db::Transaction& tx) {
        EXPECT_EQ(find_job(tx, files.job.terms.job_id)->live.evidence_count, 0);
    });
    EXPECT_EQ(prune(), 0);
}

TEST(JobStore, FindsWhatOperatorsListByAnIndex) {
    const TestDatabase made(migrated_database());
    const auto database = made.open();
    const auto plan_of = [&](const JobFilter& filter) {
        return database->read([&](db::Transaction& tx) {
            if (database->engine() == db::Engine::postgres)
                tx.run("SET LOCAL enable_seqscan = off");  // of an empty table it is the cheapest
            ExplainedTransaction explained(tx, database->engine());
            list_jobs_like(explained, filter, std::nullopt, 10);
            return explained.plan;
        });
    };
    EXPECT_NE(plan_of({.state = JobState::RUNNING}).find("jobs_by_state"), std::string::npos)
        << plan_of({.state = JobState::RUNNING});
    EXPECT_NE(plan_of({.host = AccountId{}}).find("jobs_by_host"), std::string::npos)
        << plan_of({.host = AccountId{}});
}

TEST(JobStore, ReadsBackWhatItWrote) {
    Files files;
    files.books.write([&](db::Context context) {
        auto locked = lock_job(context.tx, files.job.terms.job_id);
        locked->live.state = JobState::RUNNING;
        locked->live.meter_started_at = context.now;
        locked->live.accepted_ms = 12;
        locked->live.end_reason = EndReason::preempted;
        save_job(context.tx, locked->live);
        JobDetails details = find_details(context.tx, files.job.terms.job_id);
        details.failure_code = FailureCode::DISK_FULL;
        details.progress_done = 7;
        save_details(context.tx, details);
    });
    files.books.database->read([&](db::Transaction& tx) {
        const auto job = find_job(tx, files.job.terms.job_id);
        ASSERT_TRUE(job.has_value());
        EXPECT_EQ(job->terms.template_kind, TemplateKind::model);
        EXPECT_EQ(job->live.state, JobState::RUNNING);
        EXPECT_EQ(job->live.accepted_ms, 12);
        EXPECT_EQ(job->live.end_reason, EndReason::preempted);
        EXPECT_EQ(find_details(tx, job->terms.job_id).failure_code, FailureCode::DISK_FULL);
        EXPECT_EQ(find_due(tx, files.books.clock.now(), 10).size(), 1u);
        EXPECT_EQ(list_jobs(tx, job->terms.renter_id, std::nullopt, 10).size(), 1u);
        EXPECT_EQ(list_jobs_like(tx, {}, job->terms.job_id, 10).size(), 0u);
    });
}

TEST(JobStore, WritesEveryChangeWhetherHeartbeatsMakeItOrNot) {
    Files files;
    const JobId id = files.job.terms.job_id;
    const auto change = [&](const auto& what) {
        JobLive wanted;
        files.books.write([&](db::Context context) {
            JobLive live = lock_job(context.tx, id).value().live;
            const JobLive stored = live;
            what(live, context.now);
            save_changes(context.tx, stored, wanted = live);
        });
        files.books.database->read(
            [&](db::Transaction& tx) { EXPECT_EQ(find_job(tx, id).value().live, wanted); });
    };
    change([](JobLive& live, Time now) { live.meter_started_at = now; });
    change([](JobLive& live, Time now) {
        live.lease_seq = 7;
        live.accepted_ms = live.reported_ms = 12;
        live.lease_until = live.reported_at = live.seen_at = live.usage_kept_at = now;
        live.evidence_count = 3;
        live.evidence_head = "sha256:1";
    });
    change([](JobLive& live, Time now) {
        live.lease_seq = 8;
        live.engine_down_at = now;
        live.budget_version = 5;
    });
}

TEST(JobStore, RefusesRuntimeBeforeReady) {
    Files files;
    EXPECT_THROW(files.books.write([&](db::Context context) {
        auto locked = lock_job(context.tx, files.job.terms.job_id);
        locked->live.accepted_ms = 1;
        save_job(context.tx, locked->live);
    }),
                 db::StatementError);
}

}  // namespace
}  // namespace berth::test
