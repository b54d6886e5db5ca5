// What is sent to webhooks: in order and once, signed, again when it did not get through, and never
// for longer or to more than its owner may hear.
#include <atomic>
#include <thread>

#include "delivery/attempts.hpp"
#include "delivery/receiver.hpp"
#include "rentals/told.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

class WebhookCouriers : public WebhooksTest {
protected:
    Person ada = join();
    Receiver receiver;

    // As long as there is something to send, at the times when it is due.
    void carry_for(Duration span, Duration step) {
        for (Duration passed{}; passed < span; passed += step) {
            advance(step);
            carry();
        }
    }
};

TEST_F(WebhookCouriers, SendEachEventInItsOrderSignedAndWithTheBytesOfThePage) {
    const Hook made = hook(ada, receiver.url());
    tell(ada, 3);
    EXPECT_EQ(carry(), 1);
    EXPECT_EQ(receiver.sequences(), "1 2 3 ");
    const std::string listed = page(ada).body;
    for (const Received& each : receiver.received()) {
        EXPECT_TRUE(is_signed_by(each, made.secret)) << each.signature;
        EXPECT_EQ(each.id, member(each.body, "event_id"));
        EXPECT_EQ(each.content_type, "application/json");
        EXPECT_EQ(each.timestamp, std::to_string(town.harness.clock.now().micros / 1'000'000));
        EXPECT_NE(listed.find(each.body), std::string::npos) << "the same bytes everywhere";
    }
    EXPECT_EQ(receiver.at_once_max(), 1u);
    EXPECT_EQ(shown(ada, made, "sent_through"), "3");
    EXPECT_EQ(carry(), 0) << "nothing is left";
    EXPECT_EQ(last_delivery(ada, made, "state"), "delivered");
    EXPECT_EQ(last_delivery(ada, made, "status"), "204");
}

TEST_F(WebhookCouriers, BeginWhereTheyAreTold) {
    tell(ada, 3);
    const Hook from_now = hook(ada, receiver.url());
    EXPECT_EQ(carry(), 0);
    hook(ada, receiver.url(), R"(,"from":"1")");
    carry();
    EXPECT_EQ(receiver.sequences(), "2 3 ");
    EXPECT_EQ(change(ada, from_now, R"({"from":"2"})").status, 200);
    carry();
    EXPECT_EQ(receiver.sequences(), "2 3 3 ");
}

TEST_F(WebhookCouriers, LeaveOutWhatWasNotAskedForAndMoveOn) {
    const Hook made = hook(ada, receiver.url(), R"(,"types":["rental.*"])");
    tell(ada, 120);
    EXPECT_EQ(carry(), 1);
    EXPECT_EQ(receiver.sequences(), "");
    EXPECT_EQ(shown(ada, made, "sent_through"), "120");
}

TEST_F(WebhookCouriers, TryAgainWithTheSameIdAndLetNothingPass) {
    const Hook made = hook(ada, receiver.url());
    receiver.answer(503);
    tell(ada, 3);
    carry();
    EXPECT_EQ(receiver.sequences(), "1 ");
    EXPECT_EQ(last_delivery(ada, made, "state"), "retrying");
    EXPECT_EQ(carry(), 0) << "not before its time";
    advance(5s);
    EXPECT_EQ(carry(), 1);
    EXPECT_EQ(receiver.sequences(), "1 1 ");
    EXPECT_EQ(receiver.received()[0].id, receiver.received()[1].id);
    EXPECT_NE(receiver.received()[0].timestamp, receiver.received()[1].timestamp);
    EXPECT_TRUE(is_signed_by(receiver.received()[1], made.secret)) << "of the attempt's own time";
    receiver.answer(200);
    advance(10s);
    carry();
    EXPECT_EQ(receiver.sequences(), "1 1 1 2 3 ");
    EXPECT_EQ(shown(ada, made, "failing_since"), "null");
}

TEST_F(WebhookCouriers, CatchUpInOrderAfterAWeekend) {
    const Hook made = hook(ada, receiver.url());
    receiver.answer(502);
    tell(ada);
    carry();
    for (int hour = 0; hour < 60; ++hour) {
        tell(ada);
        carry_for(1h, 30min);
    }
    EXPECT_EQ(shown(ada, made, "enabled"), "true");
    const std::size_t attempts = receiver.received().size();
    EXPECT_LT(attempts, 90u) << "with pauses of up to an hour";
    receiver.answer(200);
    carry_for(1h, 30min);
    const auto all = receiver.received();
    // The first one at last, and then all that happened since.
    std::string expected;
    for (int i = 1; i <= 62; ++i) expected += std::to_string(i) + " ";
    std::string caught_up;
    for (std::size_t i = attempts; i < all.size(); ++i) caught_up += all[i].sequence() + " ";
    EXPECT_EQ(caught_up, expected) << "61 events, and that it was failing";
    EXPECT_TRUE(was_told(ada, "webhook.failing"));
    EXPECT_FALSE(was_told(ada, "webhook.disabled"));
}

TEST_F(WebhookCouriers, EndAfterThreeDaysAndGoOnWhereTheyWere) {
    const Hook made = hook(ada, receiver.url());
    receiver.answer(500);
    tell(ada, 2);
    carry();
    carry_for(75h, 30min);
    EXPECT_EQ(shown(ada, made, "enabled"), "false");
    EXPECT_EQ(shown(ada, made, "disabled_cause"), "unreachable");
    EXPECT_TRUE(was_told(ada, "webhook.disabled"));
    const std::size_t before = receiver.received().size();
    carry_for(10h, 1h);
    EXPECT_EQ(receiver.received().size(), before);
    receiver.answer(200);
    EXPECT_EQ(change(ada, made, R"({"enabled":true})").status, 200);
    EXPECT_EQ(shown(ada, made, "disabled_cause"), "null");
    carry();
    const auto all = receiver.received();
    ASSERT_GE(all.size(), before + 2);
    EXPECT_EQ(all[before].sequence(), "1");
    EXPECT_EQ(all[before + 1].sequence(), "2");
}

TEST_F(WebhookCouriers, EndAtOnceWhereNobodyIsAnyMore) {
    const Hook made = hook(ada, receiver.url());
    receiver.answer(410);
    tell(ada, 2);
    carry();
    EXPECT_EQ(receiver.sequences(), "1 ");
    EXPECT_EQ(shown(ada, made, "disabled_cause"), "gone");
    EXPECT_TRUE(was_told(ada, "webhook.disabled"));
}

TEST_F(WebhookCouriers, GiveUpOneThatIsRefusedAndGoOnBehindIt) {
    const Hook made = hook(ada, receiver.url());
    receiver.answer(400, {}, "what is this?");
    tell(ada, 2);
    carry();
    EXPECT_EQ(last_delivery(ada, made, "answer"), "what is this?");
    const Time began = town.harness.clock.now();
    while (shown(ada, made, "sent_through") == "0") {
        advance(15s);
        carry();
        ASSERT_LT(town.harness.clock.now() - began, 1h);
    }
    EXPECT_GE(town.harness.clock.now() - began, 10min);
    EXPECT_LE(town.harness.clock.now() - began, 20min);
    EXPECT_EQ(receiver.sequences(), "1 1 1 1 1 2 ");
    EXPECT_EQ(shown(ada, made, "enabled"), "true");
}

TEST_F(WebhookCouriers, HaveAllTriesOfARefusalAfterAWeekendOfSilence) {
    const Hook made = hook(ada, receiver.url());
    receiver.answer(502);
    tell(ada);
    carry();
    carry_for(48h, 30min);
    EXPECT_EQ(shown(ada, made, "sent_through"), "0");
    // It is back, and somebody has yet to put the route in its place.
    receiver.answer(404);
    carry_for(1h, 1h);
    EXPECT_EQ(shown(ada, made, "sent_through"), "0") << "one refusal gives nothing up";
    receiver.answer(204);
    carry_for(10min, 1min);
    EXPECT_EQ(receiver.taken().front().sequence(), "1");
}

TEST_F(WebhookCouriers, FollowNoRedirectionAndKeepALittleOfALongAnswer) {
    const Hook made = hook(ada, receiver.url());
    Receiver elsewhere;
    http::Headers location;
    location.add("Location", elsewhere.url());
    receiver.answer(302, location);
    tell(ada);
    carry();
    EXPECT_EQ(elsewhere.received().size(), 0u);
    EXPECT_EQ(last_delivery(ada, made, "status"), "302");
    receiver.answer(200, {}, std::string(100'000, 'x'));
    advance(1h);
    carry();
    EXPECT_EQ(last_delivery(ada, made, "state"), "delivered");
    EXPECT_EQ(last_delivery(ada, made, "answer"), std::string(1024, 'x'));
}

TEST_F(WebhookCouriers, WaitAsLongAsTheOtherSideAsks) {
    const Hook made = hook(ada, receiver.url());
    http::Headers later;
    later.add("Retry-After", "120");
    receiver.answer(429, later);
    tell(ada);
    carry();
    advance(119s);
    EXPECT_EQ(carry(), 0);
    advance(1s);
    EXPECT_EQ(carry(), 1);
    EXPECT_EQ(receiver.received().size(), 2u);
    later = {};
    later.add("Retry-After", "999999999");
    receiver.answer(503, later);
    advance(120s);
    carry();
    advance(1h);
    EXPECT_EQ(carry(), 1) << "an hour at most";
}

TEST_F(WebhookCouriers, SignWithBothSecretsForADay) {
    const Hook made = hook(ada, receiver.url());
    const auto rotated = ask(ada, made, "rotate-secret");
    ASSERT_EQ(rotated.status, 200) << rotated.body;
    const std::string fresh = member(rotated.body, "secret");
    EXPECT_NE(fresh, made.secret);
    tell(ada);
    carry();
    EXPECT_TRUE(is_signed_by(receiver.received().back(), made.secret));
    EXPECT_TRUE(is_signed_by(receiver.received().back(), fresh));
    advance(24h);
    tell(ada);
    carry();
    EXPECT_FALSE(is_signed_by(receiver.received().back(), made.secret));
    EXPECT_TRUE(is_signed_by(receiver.received().back(), fresh));
}

TEST_F(WebhookCouriers, AreNotRotatedPastTheSecretThatReceiversHave) {
    const Hook made = hook(ada, receiver.url());
    ASSERT_EQ(ask(ada, made, "rotate-secret").status, 200);
    const auto again = ask(ada, made, "rotate-secret");
    EXPECT_EQ(again.status, 409) << again.body;
    tell(ada);
    carry();
    EXPECT_TRUE(is_signed_by(receiver.received().back(), made.secret));
    advance(24h);
    EXPECT_EQ(ask(ada, made, "rotate-secret").status, 200);
}

TEST_F(WebhookCouriers, SendTestsAndEventsOnceMoreBesideTheLine) {
    const Hook made = hook(ada, receiver.url());
    tell(ada, 2);
    carry();
    EXPECT_EQ(ask(ada, made, "redeliver", R"({"sequence":"3"})").status, 404);
    const auto again = ask(ada, made, "redeliver", R"({"sequence":"1"})");
    ASSERT_EQ(again.status, 202) << again.body;
    EXPECT_EQ(member(again.body, "state"), "waiting");
    advance(1s);
    ASSERT_EQ(ask(ada, made, "test").status, 202);
    carry();
    const auto all = receiver.received();
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[2].body, all[0].body);
    EXPECT_EQ(all[2].id, all[0].id);
    EXPECT_EQ(member(all[3].body, "type"), "webhook.test");
    EXPECT_EQ(all[3].sequence(), "0");
    EXPECT_TRUE(is_signed_by(all[3], made.secret));
    EXPECT_EQ(shown(ada, made, "sent_through"), "2");
    EXPECT_EQ(carry(), 0);
    // A line that fails does not keep a test from being sent, and a good answer lets it go on.
    receiver.answer(500);
    tell(ada);
    carry();
    ASSERT_EQ(ask(ada, made, "redeliver", R"({"sequence":"3"})").status, 409)
        << "its turn comes by itself";
    receiver.answer(200);
    ASSERT_EQ(ask(ada, made, "test").status, 202);
    carry();
    carry();
    EXPECT_EQ(shown(ada, made, "sent_through"), "3");
    for (int i = 0; i < 20; ++i) ASSERT_EQ(ask(ada, made, "test").status, 202);
    EXPECT_EQ(ask(ada, made, "test").status, 409);
}

TEST_F(WebhookCouriers, OfAKeyHearWhatItHearsAndEndWithIt) {
    Browser bob = town.person("bob@example.org");
    const std::string key = town.key_of(bob, R"(["host"])");
    const std::string account = member(bob.send("GET", "/api/v1/auth/session").body, "account_id");
    const Person as_host{key, account};
    const auto made = hook(as_host, receiver.url());
    database().write([&](db::Transaction& tx) {
        rentals::RentalFacts facts;
        events::tell({tx, town.harness.random, town.harness.clock.now()}, rentals::rental_running,
                     as_host.id(), "r1", facts);
    });
    carry();
    EXPECT_EQ(receiver.received().size(), 0u) << "what renters hear is not for a host's key";
    tell(as_host);
    carry();
    EXPECT_EQ(receiver.received().size(), 1u);
    const std::string key_id = shown(as_host, made, "key_id");
    ASSERT_EQ(bob.step_up("account-sensitive").status, 200);
    ASSERT_EQ(
        bob.send("DELETE", "/api/v1/account/api-keys/" + key_id, "", town.harness.new_id()).status,
        204);
    tell(as_host);
    carry();
    EXPECT_EQ(receiver.received().size(), 1u);
    const std::string place = "/api/v1/webhooks/" + made.id;
    EXPECT_EQ(member(bob.send("GET", place).body, "disabled_cause"), "key_ended");
    EXPECT_EQ(bob.send("PATCH", place, R"({"enabled":true})", town.harness.new_id()).status, 409);
    EXPECT_TRUE(was_told(as_host, "webhook.disabled"));
}

TEST_F(WebhookCouriers, SendNothingOfASuspendedAccount) {
    hook(ada, receiver.url());
    town.suspend(ada.account);
    tell(ada);
    carry();
    EXPECT_EQ(receiver.received().size(), 0u);
    town.suspend(ada.account, false);
    advance(1min);
    carry();
    EXPECT_EQ(receiver.sequences(), "1 ");
}

// Kept for fewer days than nobody listened.
TEST_F(WebhookCouriers, SayThatNumbersAreMissingAndPassOverNone) {
    const Hook made = hook(ada, receiver.url());
    tell(ada, 2);
    carry();
    tell(ada, 2);
    town.suspend(ada.account);
    advance(31 * 24h);
    town.run_tasks();
    town.suspend(ada.account, false);
    for (const bool has_news : {false, true}) {
        if (has_news) tell(ada);
        carry();
        EXPECT_EQ(receiver.sequences(), "1 2 ");
        EXPECT_EQ(shown(ada, made, "disabled_cause"), "events_expired");
        EXPECT_EQ(shown(ada, made, "sent_through"), "2");
        const auto refused = change(ada, made, R"({"enabled":true})");
        EXPECT_EQ(refused.status, 409) << refused.body;
        EXPECT_EQ(error_code(refused), "EVENTS_EXPIRED");
        EXPECT_EQ(member(refused.body, "current.oldest"), "5");
    }
    EXPECT_TRUE(was_told(ada, "webhook.disabled"));
    EXPECT_EQ(change(ada, made, R"({"enabled":true,"from":"4"})").status, 200);
    carry();
    EXPECT_EQ(receiver.sequences(), "1 2 5 6 ");
}

TEST_F(WebhookCouriers, HearOfAChangeWhileTheySend) {
    const Hook made = hook(ada, receiver.url());
    tell(ada, 60);
    // Its owner turns it off while the first ones are on their way: what is under way ends.
    std::atomic<int> count{0};
    receiver.on_received([&](const Received&) {
        if (++count == 5)
            database().write([&](db::Transaction& tx) {
                tx.run("UPDATE webhooks SET enabled = 0, revision = revision + 1");
            });
    });
    carry();
    EXPECT_LT(receiver.received().size(), 40u);
    receiver.on_received({});
    EXPECT_EQ(change(ada, made, R"({"enabled":true})").status, 200);
    carry();
    std::string expected;
    for (int i = 1; i <= 60; ++i) expected += std::to_string(i) + " ";
    EXPECT_EQ(receiver.sequences(), expected);
}

TEST_F(WebhookCouriers, AreOneAtATimeForAWebhookHoweverManyThereAre) {
    hook(ada, receiver.url());
    tell(ada, 200);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { carry(); });
    for (std::thread& thread : threads) thread.join();
    carry();
    EXPECT_EQ(receiver.at_once_max(), 1u);
    std::string expected;
    for (int i = 1; i <= 200; ++i) expected += std::to_string(i) + " ";
    EXPECT_EQ(receiver.sequences(), expected);
}

TEST_F(WebhookCouriers, ForgetWhatIsOld) {
    const Hook made = hook(ada, receiver.url());
    tell(ada);
    carry();
    EXPECT_EQ(last_delivery(ada, made, "state"), "delivered");
    advance(8 * 24h);
    town.run_tasks();
    EXPECT_EQ(last_delivery(ada, made, "state"), "");
}

TEST_F(WebhookCouriers, KeepTheNewestOfALongLog) {
    const Hook made = hook(ada, receiver.url());
    tell(ada);
    carry();
    const std::string oldest = last_delivery(ada, made, "delivery_id");
    const auto webhook = database().read([&](db::Transaction& tx) {
        return delivery::list_webhooks(tx, ada.id(), {}, {}, 1).front().webhook_id;
    });
    const auto kept = [&] {
        return database().read([&](db::Transaction& tx) {
            return delivery::list_deliveries(tx, webhook, {}, 2 * delivery::deliveries_kept_max);
        });
    };
    advance(1s);
    database().write([&](db::Transaction& tx) {
        for (std::int64_t i = 0; i < delivery::deliveries_kept_max; ++i) {
            delivery::DeliveryRow row;
            row.delivery_id =
                delivery::DeliveryId::make(town.harness.clock.now(), town.harness.random);
            row.webhook_id = webhook;
            row.state = delivery::DeliveryState::delivered;
            row.type = "webhook.test";
            row.at = town.harness.clock.now();
            delivery::add_delivery(tx, row);
        }
    });
    advance(1s);
    tell(ada);
    carry();
    ASSERT_EQ(std::ssize(kept()), delivery::deliveries_kept_max);
    EXPECT_NE(to_string(kept().back().delivery_id), oldest);
}

TEST(WebhookPauses, DoubleToAnHourAndHaveJitter) {
    SeededRandom random;
    Duration last{};
    for (int attempts = 1; attempts <= 40; ++attempts) {
        const Duration pause = delivery::pause_after(attempts, std::nullopt, random);
        const Duration whole = std::min<Duration>(1h, 5s * (1LL << std::min(attempts - 1, 20)));
        EXPECT_GE(pause, whole / 2);
        EXPECT_LE(pause, whole);
        if (attempts > 12) {
            EXPECT_NE(pause, last);
        }
        last = pause;
    }
}

}  // namespace
}  // namespace berth::test
