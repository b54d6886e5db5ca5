// Who holds a webhook while it is served, and what is left of a round whose owner, key or process
// changed under way.
#include <atomic>
#include <future>
#include <thread>

#include "delivery/receiver.hpp"
#include "delivery/webhook_store.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

class WebhookHolding : public WebhooksTest {
protected:
    std::int64_t carry_at(SteadyClock::time_point now) {
        return town.harness.app->delivery().couriers().pass(now);
    }
    // Whoever had it was killed: its lease stays, and is not renewed.
    void leave_a_lease(Time until) {
        database().write([&](db::Transaction& tx) {
            tx.run("UPDATE webhooks SET lease_id = $1, lease_until = $2", somebody, until);
        });
    }
    std::int64_t attempts_kept() {
        return database().read([](db::Transaction& tx) {
            return tx.fetch_value<std::int64_t>("SELECT COUNT(*) FROM webhook_deliveries").value();
        });
    }

    const Uuid somebody = make_uuid(town.harness.clock.now(), town.harness.random);
    Person ada = join();
    Receiver receiver;
};

TEST_F(WebhookHolding, IsLeftToWhoeverHasItHoweverFarItsClockIsBehind) {
    hook(ada, receiver.url());
    tell(ada);
    std::int64_t taken = -1;
    receiver.on_received([&](const Received&) {
        advance(1h);  // to the clock of another process
        taken = carry();
        receiver.on_received({});
    });
    carry();
    EXPECT_EQ(taken, 0) << "one request is in flight at most";
    EXPECT_EQ(receiver.sequences(), "1 ");
}

TEST_F(WebhookHolding, IsTakenFromTheDeadHoweverFarTheirClockWasAhead) {
    hook(ada, receiver.url());
    tell(ada);
    leave_a_lease(town.harness.clock.now() + 1h);
    const auto began = SteadyClock::now();
    EXPECT_EQ(carry_at(began), 0) << "somebody may be at it";
    EXPECT_EQ(carry_at(began + 9s), 0);
    EXPECT_EQ(carry_at(began + 10s), 1) << "nothing was heard of whoever has it";
    EXPECT_EQ(receiver.sequences(), "1 ");
}

TEST_F(WebhookHolding, IsNotTakenFromTheLiving) {
    hook(ada, receiver.url());
    tell(ada);
    const auto began = SteadyClock::now();
    for (int second = 0; second < 60; second += 5) {
        leave_a_lease(town.harness.clock.now() - 1h);  // renewed, by a clock that is behind
        EXPECT_EQ(carry_at(began + std::chrono::seconds(second)), 0) << second;
        advance(1s);
    }
    EXPECT_EQ(receiver.sequences(), "");
}

TEST_F(WebhookHolding, WaitsAtItsNewAddressForNoFaultOfTheOld) {
    Receiver elsewhere;
    const Hook made = hook(ada, receiver.url());
    receiver.answer(503);
    tell(ada);
    receiver.on_received([&](const Received&) {
        EXPECT_EQ(change(ada, made, R"({"url":")" + elsewhere.url() + "\"}").status, 200);
    });
    carry();
    EXPECT_EQ(receiver.sequences(), "1 ");
    EXPECT_EQ(elsewhere.sequences(), "1 ");
    EXPECT_EQ(shown(ada, made, "failing_since"), "null");
}

TEST_F(WebhookHolding, IsNotEndedByAnAddressThatItHasNoMore) {
    Receiver elsewhere;
    const Hook made = hook(ada, receiver.url());
    receiver.answer(410);
    tell(ada);
    receiver.on_received([&](const Received&) {
        EXPECT_EQ(change(ada, made, R"({"url":")" + elsewhere.url() + "\"}").status, 200);
    });
    carry();
    EXPECT_EQ(shown(ada, made, "enabled"), "true");
    EXPECT_EQ(elsewhere.sequences(), "1 ");
    EXPECT_FALSE(was_told(ada, "webhook.disabled"));
}

TEST_F(WebhookHolding, ThatIsTurnedOffUnderWayFailsNoMore) {
    const Hook made = hook(ada, receiver.url());
    receiver.answer(503);
    tell(ada, 2);
    receiver.on_received(
        [&](const Received&) { EXPECT_EQ(change(ada, made, R"({"enabled":false})").status, 200); });
    carry();
    EXPECT_EQ(receiver.sequences(), "1 ");
    EXPECT_EQ(shown(ada, made, "next_attempt_at"), "null");
    receiver.on_received({});
    receiver.answer(204);
    EXPECT_EQ(change(ada, made, R"({"enabled":true})").status, 200);
    carry();
    EXPECT_EQ(receiver.sequences(), "1 1 2 ");
}

TEST_F(WebhookHolding, KeepsThePlaceOfWhatWasTakenWhileItsOwnerChangedIt) {
    const Hook made = hook(ada, receiver.url());
    tell(ada, 2);
    receiver.on_received([&](const Received& one) {
        if (one.sequence() != "1") return;
        EXPECT_EQ(change(ada, made, R"({"types":["ticket.*"]})").status, 200);
    });
    carry();
    EXPECT_EQ(receiver.sequences(), "1 2 ");
    EXPECT_EQ(shown(ada, made, "sent_through"), "2");
}

TEST_F(WebhookHolding, ThatIsDeletedUnderWayLeavesNothing) {
    const Hook made = hook(ada, receiver.url());
    tell(ada);
    receiver.on_received([&](const Received&) {
        EXPECT_EQ(town.with_key(ada.key, "DELETE", "/api/v1/webhooks/" + made.id).status, 204);
    });
    carry();
    EXPECT_EQ(receiver.sequences(), "1 ");
    EXPECT_EQ(attempts_kept(), 0);
}

// A key of somebody who has a browser, too, and its webhook.
class WebhookOfAKey : public WebhookHolding {
protected:
    void revoke() {
        const std::string path =
            "/api/v1/account/api-keys/" +
            member(bob.send("GET", "/api/v1/webhooks/" + made.id).body, "key_id");
        EXPECT_EQ(bob.send("DELETE", path, "", town.harness.new_id()).status, 204);
    }

    Browser bob = town.person("bob@example.org");
    const std::string key = town.key_of(bob);
    const Person owner{key, member(bob.send("GET", "/api/v1/auth/session").body, "account_id")};
    Hook made;
};

// What is looked up slowly is sent late.
TEST_F(WebhookOfAKey, HearsNothingASecondAfterItsEndAlsoByAnAttemptThatBeganBefore) {
    auto& delivery = town.harness.app->delivery();
    delivery.resolve_by(
        [](const std::string&, http::Reach reach) { return http::resolve("127.0.0.1", reach); });
    made = hook(owner, receiver.url("hooks.example.org"));
    tell(owner, 2);
    ASSERT_EQ(bob.step_up("account-sensitive").status, 200);
    delivery.resolve_by([&](const std::string&, http::Reach reach) {
        revoke();
        std::this_thread::sleep_for(1s);
        http::Resolved both = http::resolve("127.0.0.1", reach);
        both.addresses.push_back(both.addresses.front());
        return both;
    });
    carry();
    EXPECT_EQ(receiver.received().size(), 0u);
    carry();
    const auto shown = bob.send("GET", "/api/v1/webhooks/" + made.id);
    EXPECT_EQ(member(shown.body, "disabled_cause"), "key_ended");
    EXPECT_EQ(member(shown.body, "failing_since"), "null");
}

TEST_F(WebhookOfAKey, HearsNothingASecondAfterItsEndOfWhatWasAskedFor) {
    made = hook(owner, receiver.url());
    for (int i = 0; i < 3; ++i) ASSERT_EQ(ask(owner, made, "test").status, 202);
    ASSERT_EQ(bob.step_up("account-sensitive").status, 200);
    receiver.on_received([&](const Received&) {
        if (receiver.received().size() > 1) return;
        revoke();
        std::this_thread::sleep_for(1s);
    });
    carry();
    EXPECT_EQ(receiver.received().size(), 1u);
}

class WebhookCrowd : public WebhooksTest {
protected:
    WebhookCrowd()
        : WebhooksTest(std::map<std::string, std::string>{{"allow-private-webhooks", "true"},
                                                          {"webhooks-per-account", "40"}}) {}
};

// More names than there are couriers, all of one account, and each of them slow.
TEST_F(WebhookCrowd, OfOneAccountHoldsUpNobodyElse) {
    auto& delivery = town.harness.app->delivery();
    std::promise<void> release;
    const auto released = release.get_future().share();
    std::atomic<bool> is_slow = false;
    std::atomic<std::int64_t> waiting = 0;
    delivery.resolve_by([&](const std::string& host, http::Reach reach) {
        if (is_slow && host.ends_with("example.org")) {
            ++waiting;
            released.wait();
        }
        return http::resolve("127.0.0.1", reach);
    });
    const Person ada = join(), ben = join();
    Receiver receiver;
    for (int i = 0; i < 40; ++i) hook(ada, receiver.url(fmt::format("slow{}.example.org", i)));
    hook(ben, receiver.url());
    is_slow = true;
    tell(ada);
    delivery.couriers().start();
    EXPECT_TRUE(eventually([&] { return waiting >= 4; }));
    tell(ben);
    EXPECT_TRUE(eventually([&] { return receiver.received().size() == 1; }));
    EXPECT_EQ(waiting.load(), 4);
    release.set_value();
    EXPECT_TRUE(eventually([&] { return receiver.received().size() == 41; }));
    delivery.couriers().stop();
}

// Four accounts could keep all couriers waiting, and go on to answer well in the end.
TEST_F(WebhookCrowd, OfManySlowAccountsHoldsUpNobodyElse) {
    auto& delivery = town.harness.app->delivery();
    std::promise<void> first, second;
    const auto is_first_over = first.get_future().share();
    const auto is_second_over = second.get_future().share();
    std::atomic<bool> is_slow = false, is_again = false;
    std::atomic<std::int64_t> waiting = 0;
    delivery.resolve_by([&](const std::string& host, http::Reach reach) {
        if (is_slow && host.ends_with("example.org")) {
            ++waiting;
            (is_again ? is_second_over : is_first_over).wait();
        }
        return http::resolve("127.0.0.1", reach);
    });
    const std::vector<Person> slow{join(), join(), join(), join()};
    const Person ben = join();
    Receiver receiver;
    for (const Person& each : slow)
        for (int i = 0; i < 4; ++i)
            hook(each, receiver.url(fmt::format("{}.example.org", waiting++)));
    hook(ben, receiver.url());
    waiting = 0;
    is_slow = true;
    for (const Person& each : slow) tell(each);
    delivery.couriers().start();
    EXPECT_TRUE(eventually([&] { return waiting == 16; }));
    std::this_thread::sleep_for(delivery::Couriers::slow_after);
    is_again = true;
    waiting = 0;
    first.set_value();
    EXPECT_TRUE(eventually([&] { return receiver.received().size() == 16; }));
    for (const Person& each : slow) tell(each);
    EXPECT_TRUE(eventually([&] { return waiting == delivery::Couriers::slow_at_once_max; }));
    tell(ben);
    EXPECT_TRUE(eventually([&] { return receiver.received().size() == 17; }));
    EXPECT_EQ(waiting, delivery::Couriers::slow_at_once_max);
    second.set_value();
    EXPECT_TRUE(eventually([&] { return receiver.received().size() == 33; }));
    delivery.couriers().stop();
}

// As many as one look takes are held by others, who renew nothing and were not seen for long.
TEST_F(WebhookHolding, IsFoundBehindAThousandThatAreAlwaysDue) {
    hook(ada, receiver.url());
    database().write([&](db::Transaction& tx) {
        const auto webhook = delivery::list_webhooks(tx, ada.id(), {}, {}, 1).front();
        for (std::int64_t i = 0; i < delivery::due_rows_max; ++i) {
            delivery::WebhookRow row = webhook;
            row.webhook_id =
                delivery::WebhookId::make(town.harness.clock.now(), town.harness.random);
            delivery::add_webhook(tx, row);
        }
    });
    leave_a_lease(town.harness.clock.now() + 1h);
    const Person ben = join();
    advance(1s);  // ids of the same millisecond have no order
    hook(ben, receiver.url());
    tell(ada);
    tell(ben);
    EXPECT_EQ(carry() + carry(), 1);
    EXPECT_EQ(receiver.received().size(), 1u);
}

}  // namespace
}  // namespace berth::test
