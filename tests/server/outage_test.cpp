// The database goes away and comes back; too much comes at once. The answer is 503 and nothing is
// lost, doubled or left hanging.
#include <gtest/gtest.h>

#include <latch>

#include "support/harness.hpp"
#include "support/postgres_cluster.hpp"

namespace berth::test {
namespace {

Ask deposit(const std::string& me, const std::string& key) {
    return {.method = "POST",
            .target = "/test/deposits",
            .as = "renter " + me,
            .key = key,
            .body = R"({"amount_micro":"1"})"};
}

TEST(PostgresOnlyOutage, RequestsGet503WhileItLastsAndNothingIsLostOrDoubled) {
    constexpr int callers = 8;
    PostgresCluster cluster;
    const auto database = TestDatabase::postgres(cluster.url());
    Harness harness({.db = database->url()});
    const std::string me = harness.new_id();

    std::atomic<bool> ending{false};
    std::atomic<int> succeeded{0};
    std::atomic<int> refused{0};
    std::atomic<std::int64_t> keys{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < callers; ++i)
        threads.emplace_back([&] {
            while (!ending) {
                const std::string key = harness.new_id();
                ++keys;
                // A client that retries with its key until it has an answer.
                for (bool answered = false; !answered;) {
                    const int status = harness.ask(deposit(me, key)).status;
                    answered = status == 201;
                    (answered ? succeeded : refused)++;
                    EXPECT_TRUE(answered || status == 503) << status;
                }
            }
        });
    const auto wait_for = [](const std::atomic<int>& counter, int more) {
        const int until = counter + more;
        while (counter < until) std::this_thread::yield();
    };
    for (const auto how : {PostgresCluster::Stop::fast, PostgresCluster::Stop::immediate}) {
        wait_for(succeeded, 50);
        cluster.stop(how);
        wait_for(refused, 20);
        EXPECT_EQ(harness.ask({.target = "/readyz"}).status, 503);
        const auto status = harness.ask({.target = "/api/v1/status"});
        EXPECT_NE(status.body.find(R"("status":"down")"), std::string::npos);
        cluster.start();
        wait_for(succeeded, 50);
    }
    ending = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(harness.ask({.target = "/readyz"}).status, 200);
    EXPECT_EQ(harness.ask({.target = "/test/accounts/" + me, .as = "renter " + me}).body,
              R"({"account_id":")" + me + R"(","balance_micro":")" + std::to_string(keys) + "\"}");
}

TEST(SqliteOnlyOverload, AFullWriteQueueGives503) {
    constexpr int callers = 32;
    const auto file = TestDatabase::sqlite();
    Harness::Options options;
    options.db = file->url();
    options.overrides.db.write_queue_max = 4;
    Harness harness(std::move(options));
    const std::string me = harness.new_id();
    std::latch blocked(1);
    std::latch release(1);
    std::atomic<bool> first{true};
    harness.controls->before_deposit = [&] {
        if (first.exchange(false)) {
            blocked.count_down();
            release.wait();
        }
    };
    std::atomic<int> done{0};
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    const auto call = [&] {
        const int status = harness.ask(deposit(me, harness.new_id())).status;
        EXPECT_TRUE(status == 201 || status == 503) << status;
        (status == 201 ? done : refused)++;
    };
    threads.emplace_back(call);
    blocked.wait();
    for (int i = 1; i < callers; ++i) threads.emplace_back(call);
    while (refused < callers - 1 - 4) std::this_thread::yield();
    release.count_down();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(done, 5);
    EXPECT_EQ(refused, callers - 5);
}

TEST(Overload, AFullRequestQueueGives503) {
    Harness harness;
    const std::string me = harness.new_id();
    std::latch blocked(1);
    std::latch release(1);
    std::atomic<bool> first{true};
    harness.controls->before_deposit = [&] {
        if (first.exchange(false)) {
            blocked.count_down();
            release.wait();
        }
    };
    api::Metrics metrics;
    BankCallers callers;
    std::mutex mutex;
    std::vector<int> statuses;
    api::Service service({harness.app->router(),
                          harness.app->database(),
                          {.accounts = &callers, .machines = &callers, .gates = &callers},
                          harness.clock,
                          harness.random,
                          "secret",
                          metrics,
                          harness.app->settings()});
    {
        http::Pool pool(1, 2);  // ends first: what it still has queued needs the service
        service.set_pool(&pool);
        const auto post = [&] {
            service.handle(make_request(deposit(me, harness.new_id())),
                           [&](http::Response response) {
                               const std::lock_guard lock(mutex);
                               statuses.push_back(response.status);
                           });
        };
        post();
        blocked.wait();
        for (int i = 0; i < 5; ++i) post();
        {
            const std::lock_guard lock(mutex);
            EXPECT_EQ(statuses, (std::vector<int>{503, 503, 503}));
        }
        EXPECT_EQ(service.refused_for_queue(), 3U);
        EXPECT_NE(metrics.prometheus_text().find(
                      "berth_requests_total{operation=\"deposit\",status=\"503\"} 3"),
                  std::string::npos);
        release.count_down();
    }
    EXPECT_EQ(statuses, (std::vector<int>{503, 503, 503, 201, 201, 201}));
}

}  // namespace
}  // namespace berth::test
