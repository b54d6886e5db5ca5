// A command reaches an agent that waits in the same process because it is woken, and not because
// somebody looks at the database now and then: here the look hangs.
#include <gtest/gtest.h>

#include <condition_variable>
#include <thread>

#include "http/pool.hpp"
#include "support/machine_agent.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

constexpr std::chrono::seconds patience{60};

// A look for commands that does not end before it is let go.
class HangingLook {
public:
    api::Topic topic() {
        return {"commands", [this](db::Transaction&) {
                    std::unique_lock lock(mutex_);
                    hangs_ = true;
                    changed_.notify_all();
                    changed_.wait_for(lock, patience, [this] { return over_; });
                    return std::vector<std::string>{};
                }};
    }
    bool hangs() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [this] { return hangs_; });
    }
    void let_go() {
        const std::lock_guard lock(mutex_);
        over_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool hangs_ = false;
    bool over_ = false;
};

class OneAnswer {
public:
    http::Reply keep() {
        return [this](http::Response response) {
            const std::lock_guard lock(mutex_);
            response_ = std::move(response);
            changed_.notify_all();
        };
    }
    std::optional<http::Response> get() {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, patience, [this] { return response_.has_value(); });
        return response_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<http::Response> response_;
};

TEST(WaitingAgent, IsWokenByACommandOfItsOwnProcessWithoutALookAtTheDatabase) {
    HangingLook look;
    Harness::Options options;
    options.overrides.topics = {look.topic()};
    Town town(std::move(options));
    const auto made = town.enlist(crypto::SigningKey::make(town.harness.random), R"(["host"])");
    const AccountId owner{parse_uuid(member(made.body, "account_id")).value()};
    MachineAgent agent(town.harness);
    ASSERT_EQ(agent.enroll(MachineAgent::token_for(town.harness, owner)).status, 201);

    api::Service& service = town.harness.app->service();
    http::Pool pool(2, 16);
    service.set_pool(&pool);
    const std::shared_ptr<const void> client = std::make_shared<char>();
    http::Request request =
        agent.request({.method = "GET", .target = "/api/v1/host-agent/commands?wait_s=30"});
    request.client = client;
    OneAnswer answer;
    service.handle(std::move(request), answer.keep());
    EXPECT_TRUE(look.hangs());
    const auto queued = town.harness.ask(
        {.method = "POST",
         .target = "/api/v1/hosts/machines/" + to_string(agent.machine) + "/rotate-key",
         .as = member(made.body, "api_key.secret"),
         .key = town.harness.new_id()});
    EXPECT_EQ(queued.status, 202) << queued.body;
    const auto told = answer.get();
    look.let_go();
    ASSERT_TRUE(told);
    EXPECT_EQ(member(told->body, "commands.0.kind"), "ROTATE_KEY") << told->body;
    service.end_waiting();
    service.set_pool(nullptr);
}

}  // namespace
}  // namespace berth::test
