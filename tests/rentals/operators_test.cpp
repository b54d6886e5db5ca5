// What operators do with jobs.
#include "accounts/accounts.hpp"
#include "audit/audit.hpp"
#include "rentals/market.hpp"

namespace berth::test {
namespace {

class OperatorsOfJobs : public MarketTest {
protected:
    Browser make_operator() {
        database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, town.harness.random, now()}, "root@example.org");
        });
        Browser browser = town.person("root@example.org");
        browser.enroll();
        EXPECT_EQ(browser.step_up("admin-sensitive").status, 200);
        return browser;
    }
    http::Response stop_by_hand(JobId job) {
        return root.send("POST", "/api/v1/admin/jobs/" + to_string(job) + "/stop",
                         R"({"reason":"smoke in the rack"})", new_key());
    }
    std::int64_t audited() {
        return database().read([&](db::Transaction& tx) {
            return tx
                .fetch_value<std::int64_t>(
                    "SELECT COUNT(*) FROM audit_events WHERE action = 'stop_job'")
                .value();
        });
    }
    Browser root = make_operator();
};

TEST_F(OperatorsOfJobs, StopAJobOnceAndItIsSettledOnce) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    town.harness.clock.advance(seconds(40));
    beat(job, 40'000);
    EXPECT_EQ(member(stop_by_hand(job).body, "state"), "STOPPING");
    town.harness.clock.advance(seconds(20));
    const auto again = stop_by_hand(job);
    EXPECT_EQ(again.status, 202);
    EXPECT_EQ(member(again.body, "state"), "STOPPING");
    EXPECT_EQ(audited(), 1);
    EXPECT_EQ(member(show(ben, job), "end_reason"), "operator_stop");
    EXPECT_EQ(stop(ben, job).status, 202);
    EXPECT_EQ(end(job, 60'000), "STOPPED");
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 40'000});
    EXPECT_EQ(balances(ben).held, Micro{});
    EXPECT_EQ(member(stop_by_hand(job).body, "state"), "STOPPED");
    EXPECT_EQ(audited(), 1);
    database().read([&](db::Transaction& tx) {
        const auto report = audit::check_events(tx);
        EXPECT_TRUE(report.sound()) << audit::to_text(report);
    });
}

TEST_F(OperatorsOfJobs, AndRentersSayNoSecretInTheEvidence) {
    for (const bool by_hand : {false, true}) {
        const JobId job = rent(ben, put_up());
        get_ready(job);
        const std::string body = R"({"reason":"my key ghp_abcdefghijklmnopqrst12 is in it"})";
        const std::string place = "jobs/" + to_string(job) + "/stop";
        const auto stopped = by_hand ? root.send("POST", "/api/v1/admin/" + place, body, new_key())
                                     : send(ben, "POST", "/api/v1/" + place, body);
        ASSERT_EQ(stopped.status, 202) << stopped.body;
        const std::string told =
            send(ada, "GET", "/api/v1/jobs/" + to_string(job) + "/evidence?limit=100").body;
        EXPECT_NE(told.find("my key [redacted] is in it"), std::string::npos) << told;
        EXPECT_EQ(told.find("abcdefghijklmnopqrst12"), std::string::npos);
    }
}

TEST_F(OperatorsOfJobs, ReadLogsWithoutWhatLetsOneIn) {
    const JobId job = rent(ben, put_up(), {.what = fmt::format(R"("template_id":"{}")", model)});
    get_ready(job);
    const std::string place = "/api/v1/jobs/" + to_string(job);
    const std::string key = member(send(ben, "GET", place + "/access").body, "endpoint_api_key");
    ASSERT_GT(key.size(), 8u) << key;
    tell(job, agent_protocol::JobEventKind::usage,
         R"({"runtime_ms":"1","container_id":"c1","boot_id":"boot-1","log_tail":)"
         R"("started with )" +
             key + R"(, serving"})");
    const auto read = root.send("GET", place + "/logs");
    ASSERT_EQ(read.status, 200) << read.body;
    EXPECT_EQ(read.body.find(key), std::string::npos) << read.body;
    EXPECT_NE(read.body.find("serving"), std::string::npos) << read.body;
}

TEST_F(OperatorsOfJobs, NeedAFreshProofAndAReason) {
    const JobId job = rent(ben, put_up());
    const std::string path = "/api/v1/admin/jobs/" + to_string(job) + "/stop";
    EXPECT_EQ(error_code(root.send("POST", path, R"({"reason":""})", new_key())), "INVALID_INPUT");
    town.harness.clock.advance(seconds(301));
    EXPECT_EQ(error_code(stop_by_hand(job)), "FORBIDDEN");
    EXPECT_EQ(state_of(job), JobState::RESERVED);
    EXPECT_EQ(error_code(send(ben, "POST", path, R"({"reason":"mine"})")), "FORBIDDEN");
}

TEST_F(OperatorsOfJobs, FindJobsByStateRenterHostAndMachine) {
    const auto machine = put_up();
    const JobId stopped = rent(ben, machine);
    stop(ben, stopped);
    EXPECT_EQ(clean(stopped), "CLOSED");
    town.harness.clock.advance(seconds(1));
    town.harness.clock.advance(seconds(1));  // ids of one moment come in any order
    const JobId open = rent(ben, machine);
    const auto found = [&](const std::string& query) {
        const auto page = root.send("GET", "/api/v1/admin/jobs?" + query);
        EXPECT_EQ(page.status, 200) << page.body;
        std::vector<std::string> ids;
        for (const Job& job : wire::decode<api::Page<Job>>(page.body, "page").items) {
            EXPECT_EQ(job.renter_id, ben.account);
            EXPECT_EQ(job.host_id, ada.account);
            ids.push_back(to_string(job.job_id));
        }
        return ids;
    };
    using Ids = std::vector<std::string>;
    EXPECT_EQ(found(""), (Ids{to_string(open), to_string(stopped)}));
    EXPECT_EQ(found("state=CLOSED"), Ids{to_string(stopped)});
    EXPECT_EQ(found("state=RESERVED&renter=" + to_string(ben.account)), Ids{to_string(open)});
    EXPECT_EQ(found("renter=" + to_string(ada.account)), Ids{});
    EXPECT_EQ(found("host=" + to_string(ada.account)).size(), 2u);
    EXPECT_EQ(found("machine=" + to_string(machine.machine_id) + "&limit=1"), Ids{to_string(open)});
    EXPECT_EQ(root.send("GET", "/api/v1/admin/jobs?state=GONE").status, 422);
    // The renter's own list and record are open to operators too, and to nobody else.
    EXPECT_EQ(member(root.send("GET", "/api/v1/jobs").body, "items.0.job_id"), to_string(open));
    EXPECT_EQ(member(root.send("GET", "/api/v1/jobs").body, "items.1.job_id"), to_string(stopped));
    EXPECT_EQ(root.send("GET", "/api/v1/jobs/" + to_string(open)).status, 200);
    const auto cid = join(R"(["renter"])");
    EXPECT_EQ(send(cid, "GET", "/api/v1/jobs").body, R"({"items":[],"next_cursor":null})");
    EXPECT_EQ(send(cid, "GET", "/api/v1/jobs/" + to_string(open)).status, 404);
    EXPECT_EQ(member(show(ben, open), "renter_id"), "");
}

}  // namespace
}  // namespace berth::test
