// What a list of jobs can be asked for, and what it tells of the machine that was rented.
#include "accounts/accounts.hpp"
#include "catalog/catalog.hpp"
#include "rentals/market.hpp"
#include "rentals/store.hpp"
#include "support/explained.hpp"

namespace berth::test {
namespace {

class ListOfJobs : public MarketTest {
protected:
    std::vector<JobId> listed(const Person& who, const std::string& query) {
        return ids_in(send(who, "GET", "/api/v1/jobs" + query));
    }
    std::vector<JobId> ids_in(const http::Response& response) {
        EXPECT_EQ(response.status, 200) << response.body;
        std::vector<JobId> ids;
        for (const Job& job : wire::decode<api::Page<Job>>(response.body, "response").items)
            ids.push_back(job.job_id);
        return ids;
    }
    Browser make_operator() {
        database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, town.harness.random, now()}, "root@example.org");
        });
        Browser browser = town.person("root@example.org");
        browser.enroll();
        return browser;
    }
    // One that runs, one that is reserved and one that is closed, oldest first.
    std::vector<JobId> three_jobs() {
        std::vector<JobId> jobs;
        const auto next = [&] {
            town.harness.clock.advance(seconds(1));
            return jobs.emplace_back(rent(ben, put_up()));
        };
        get_ready(next());
        next();
        const JobId over = next();
        get_ready(over);
        stop(ben, over, R"(,"skip_retrieval":true)");
        end(over, 0);
        clean(over);
        EXPECT_EQ(state_of(over), JobState::CLOSED);
        return jobs;
    }
};

TEST_F(ListOfJobs, TellsWhatWasRentedOnceTheOfferIsGone) {
    const machines::Machine machine = put_up();
    const JobId job = rent(ben, machine);
    const auto expect_rented = [&](const std::string& shown, const std::string& at) {
        EXPECT_EQ(member(shown, at + "machine.gpu_model"), *machine.gpu_model) << shown;
        EXPECT_EQ(member(shown, at + "machine.gpu_count"), std::to_string(*machine.gpu_count));
        EXPECT_EQ(member(shown, at + "machine.vram_bytes"), "25757220864");
    };
    expect_rented(show(ben, job), "");
    get_ready(job);
    stop(ben, job, R"(,"skip_retrieval":true)");
    end(job, 0);
    clean(job);
    // The machine becomes another, and then leaves.
    database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, machine.machine_id).value();
        row.gpu_model = "Something else";
        row.gpu_count = 7;
        row.retired_at = now();
        machines::save({tx, town.harness.random, now()}, row);
    });
    town.harness.app->catalog().refresh(database(), now());
    EXPECT_EQ(send(ben, "GET", "/api/v1/offers/" + to_string(machine.offer_id)).status, 404);
    expect_rented(show(ben, job), "");
    expect_rented(send(ben, "GET", "/api/v1/jobs").body, "items.0.");
    Browser root = make_operator();
    expect_rented(root.send("GET", "/api/v1/admin/jobs").body, "items.0.");
}

TEST_F(ListOfJobs, OlderJobsSayNothingOfTheirMachine) {
    const JobId job = rent(ben, put_up());
    database().write([&](db::Transaction& tx) {
        tx.run(
            "UPDATE jobs SET gpu_model = NULL, gpu_count = NULL, vram_bytes = NULL, "
            "continent = NULL WHERE job_id = $1",
            job);
    });
    EXPECT_EQ(show(ben, job).find(R"("machine":)"), std::string::npos);
}

TEST_F(ListOfJobs, HasJobsOfTheStatesThatAreAsked) {
    const auto jobs = three_jobs();
    using Ids = std::vector<JobId>;
    const std::pair<const char*, Ids> rows[] = {
        {"", {jobs[2], jobs[1], jobs[0]}},
        {"?state=open", {jobs[1], jobs[0]}},
        {"?state=closed", {jobs[2]}},
        {"?state=RUNNING", {jobs[0]}},
        {"?state=RUNNING,RESERVED", {jobs[1], jobs[0]}},
        {"?state=RUNNING,RUNNING,open", {jobs[1], jobs[0]}},
        {"?state=CLOSED,RUNNING", {jobs[2], jobs[0]}},
        {"?state=open,closed", {jobs[2], jobs[1], jobs[0]}},
        {"?state=FAILED", {}},
    };
    Browser root = make_operator();
    const Person eve = join(R"(["renter"])");
    for (const auto& [query, wanted] : rows) {
        EXPECT_EQ(listed(ben, query), wanted) << query;
        EXPECT_EQ(ids_in(root.send("GET", std::string("/api/v1/jobs") + query)), wanted) << query;
        EXPECT_EQ(listed(eve, query), Ids{}) << query;
    }
}

TEST_F(ListOfJobs, APageGoesOnInTheSameStatesAlone) {
    const auto jobs = three_jobs();
    const auto first = send(ben, "GET", "/api/v1/jobs?state=open&limit=1").body;
    const std::string cursor = "&cursor=" + member(first, "next_cursor");
    EXPECT_EQ(listed(ben, "?state=open" + cursor), std::vector{jobs[0]});
    for (const std::string other : {"?state=closed", "?state=RUNNING", "?limit=1"}) {
        const auto refused = send(ben, "GET", "/api/v1/jobs" + other + cursor);
        EXPECT_EQ(refused.status, 422) << other;
        EXPECT_NE(error_message(refused).find("query.cursor"), std::string::npos);
    }
}

TEST_F(ListOfJobs, ABadStateIsRefusedByName) {
    for (const std::string bad : {"", "running", "RUNNING,", ",RUNNING", "OPEN", "RUNNING%20",
                                  "open;closed", "RUNNING,NOWHERE", "RUNNING%2C%2C"}) {
        const auto refused = send(ben, "GET", "/api/v1/jobs?state=" + bad);
        EXPECT_EQ(refused.status, 422) << bad;
        EXPECT_NE(error_message(refused).find("query.state"), std::string::npos)
            << error_message(refused);
    }
    EXPECT_EQ(send(ben, "GET", "/api/v1/jobs?state=" + std::string(201, 'x')).status, 422);
}

TEST_F(ListOfJobs, OpenOnesAreFoundByAnIndex) {
    database().read([&](db::Transaction& tx) {
        if (database().engine() == db::Engine::postgres)
            tx.run("SET LOCAL enable_seqscan = off");  // of a small table it is the cheapest
        ExplainedTransaction explained(tx, database().engine());
        list_jobs_in(explained, open_states, ben.account, {}, 10);
        // Of an empty table PostgreSQL finds any index of the renter's as cheap.
        const bool is_sqlite = database().engine() == db::Engine::sqlite;
        EXPECT_NE(explained.plan.find(is_sqlite ? "jobs_open" : "jobs_"), std::string::npos)
            << explained.plan;
        explained.plan.clear();
        list_jobs_in(explained, closed_states, std::nullopt, {}, 10);
        EXPECT_NE(explained.plan.find("jobs_by_state"), std::string::npos) << explained.plan;
    });
}

}  // namespace
}  // namespace berth::test
