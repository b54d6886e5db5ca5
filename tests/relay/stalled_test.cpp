// A database that does not answer: whoever waits for the relay gets an answer without it.
#include <future>

#include "rental.hpp"

namespace berth::relay {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Told final : Stoppable {
    void stop(Stop why) override { told.set_value(why); }
    std::promise<Stop> told;
};

// Open requests whose looks hang until the test is over.
struct HangingLooks {
    HangingLooks() {
        requests.start([this](const OpenRequests::Grounds&) {
            ++looks;
            until.wait();
            return OpenRequests::Grounds{};
        });
    }
    ~HangingLooks() {
        over.set_value();
        requests.stop();
    }
    std::unique_ptr<OpenRequests::Place> open(const std::shared_ptr<Told>& told) {
        auto place = requests.enter(JobId{}, {}, 10);
        EXPECT_TRUE(place->attach(loop, told));
        return place;
    }

    std::promise<void> over;
    std::shared_future<void> until = over.get_future().share();
    std::atomic<int> looks{0};
    std::shared_ptr<http::Loop> loop =
        std::make_shared<http::Loop>([](const http::Loop::Work& work) { work(); });
    OpenRequests requests;
};

TEST(RelayOpenRequests, AreToldThatTheEngineFailedThoughNobodyCanSayWhy) {
    HangingLooks hanging;
    const auto first = std::make_shared<Told>();
    const auto second = std::make_shared<Told>();
    const auto silent = std::make_shared<Told>();
    const auto first_place = hanging.open(first);
    const auto second_place = hanging.open(second);
    const auto silent_place = hanging.open(silent);
    first_place->ask_why();
    EXPECT_TRUE(http::eventually([&] { return hanging.looks > 0; }));
    second_place->ask_why();  // behind a look that does not come back
    for (const auto& each : {first, second}) {
        std::future<Stop> told = each->told.get_future();
        ASSERT_EQ(told.wait_for(20s), std::future_status::ready);
        EXPECT_EQ(told.get(), Stop::engine_failed);
    }
    EXPECT_EQ(silent->told.get_future().wait_for(0s), std::future_status::timeout);
}

TEST(RelayOpenRequests, EndWithTheServerThoughALookHangs) {
    HangingLooks hanging;
    const auto told = std::make_shared<Told>();
    const auto place = hanging.open(told);
    EXPECT_TRUE(http::eventually([&] { return hanging.looks > 0; }));
    hanging.requests.end_in(10ms);
    std::future<Stop> stop = told->told.get_future();
    ASSERT_EQ(stop.wait_for(20s), std::future_status::ready);
    EXPECT_EQ(stop.get(), Stop::server_stops);
}

}  // namespace
}  // namespace berth::relay

namespace berth::test {
namespace {

using RelayStalled = RentalTest;

// Whoever has the writer for as long as the test wants. On PostgreSQL it keeps the job's row of
// usage to itself instead.
class Hold {
public:
    Hold(db::Database& database, JobId job) {
        thread_ = std::thread([this, &database, job] {
            database.write([&](db::Transaction& tx) {
                tx.run("UPDATE relay_usage SET requests = requests WHERE job_id = $1", job);
                if (!std::exchange(held_, true)) has_.set_value();
                until_.wait();
            });
        });
        has_.get_future().wait();
    }
    ~Hold() {
        over_.set_value();
        thread_.join();
    }

private:
    bool held_ = false;
    std::promise<void> has_;
    std::promise<void> over_;
    std::shared_future<void> until_ = over_.get_future().share();
    std::thread thread_;
};

TEST_F(RelayStalled, IsToldWholeWhileNothingCanBeWritten) {
    const JobId job = serve_model();
    engine.set(json_answer(R"({"usage":{"prompt_tokens":2,"completion_tokens":3}})"));
    const auto requests_told = [&] { return member(usage(job), "requests"); };
    EXPECT_EQ(ask(job, "models").status, 200);
    EXPECT_EQ(requests_told(), "1");
    EXPECT_TRUE(http::eventually([&] {
        return database().read([&](db::Transaction& tx) {
            return !tx.run("SELECT job_id FROM relay_usage WHERE job_id = $1", job).empty();
        });
    }));
    {
        const Hold hold(database(), job);
        EXPECT_EQ(ask(job, "models").status, 200);
        EXPECT_EQ(requests_told(), "2");
        // Also while the write of that one waits, which has begun by then.
        std::this_thread::sleep_for(relay::Counters::write_every + std::chrono::milliseconds(200));
        EXPECT_EQ(ask(job, "models").status, 200);
        EXPECT_EQ(requests_told(), "3");
        EXPECT_EQ(member(usage(job), "completion_tokens"), "9");
    }
    for (int i = 0; i < 30; ++i) EXPECT_EQ(requests_told(), "3");
    EXPECT_TRUE(http::eventually([&] { return requests_told() == "3"; }));
}

}  // namespace
}  // namespace berth::test
