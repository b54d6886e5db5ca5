// Events by mail: what comes by default, what an owner chooses, and that many come as one.
#include <algorithm>

#include "delivery/readers.hpp"
#include "machines/told.hpp"
#include "rentals/told.hpp"

namespace berth::test {
namespace {

class EventMails : public ReadersTest {
protected:
    static constexpr const char* email = "ada@example.org";

    void fail_rental(const std::string& rental, int count = 1) {
        for (int i = 0; i < count; ++i)
            database().write([&](db::Transaction& tx) {
                events::tell({tx, town.harness.random, town.harness.clock.now()},
                             rentals::rental_failed, ada.id(), rental, rentals::RentalFacts{});
            });
    }
    void begin_rental(const std::string& rental) {
        database().write([&](db::Transaction& tx) {
            events::tell({tx, town.harness.random, town.harness.clock.now()},
                         rentals::rental_running, ada.id(), rental, rentals::RentalFacts{});
        });
    }
    // Mails with these words in them, once the tasks of the next ten seconds have run.
    std::int64_t mails(const std::string& words) {
        town.harness.clock.advance(10s);
        const auto all = town.mails_to(email);
        return std::count_if(all.begin(), all.end(), [&](const std::string& mail) {
            return mail.find(words) != std::string::npos;
        });
    }
    http::Response choose(const std::string& types) {
        return browser.send("PUT", "/api/v1/account/notices", R"({"types":)" + types + "}",
                            town.harness.new_id());
    }
    std::string choice(const std::string& type) {
        // The names have dots of their own.
        const std::string body = browser.send("GET", "/api/v1/account/notices").body;
        const std::size_t at = body.find("\"" + type + "\":\"");
        if (at == body.npos) return "";
        const std::size_t from = at + type.size() + 4;
        return body.substr(from, body.find('"', from) - from);
    }

    Browser browser = town.person(email);
    Person ada{"", member(browser.send("GET", "/api/v1/auth/session").body, "account_id")};
};

TEST_F(EventMails, ComeOnceForWhatIsWrongAndNotForWhatIsUsual) {
    begin_rental("rental-one");
    fail_rental("rental-two");
    EXPECT_EQ(mails("rental-two"), 1);
    EXPECT_EQ(mails("rental-one"), 0);
    EXPECT_EQ(mails("It never came up"), 1) << "later looks tell nothing again";
}

TEST_F(EventMails, AreForHostsWhoseMachinesAreInTrouble) {
    database().write([&](db::Transaction& tx) {
        const db::Context context{tx, town.harness.random, town.harness.clock.now()};
        events::tell(context, machines::machine_silent, ada.id(), "machine-one",
                     machines::SilenceFacts{});
        events::tell(context, machines::machine_test_failed, ada.id(), "machine-two",
                     machines::MachineTestFacts{});
        events::tell(context, machines::machine_quarantined, ada.id(), "machine-three",
                     machines::MachineStateFacts{});
    });
    EXPECT_EQ(mails("machine-one"), 1);
    EXPECT_EQ(mails("machine-two"), 1);
    EXPECT_EQ(mails("machine-three"), 1);
}

TEST_F(EventMails, AreChosenByType) {
    EXPECT_EQ(choice("rental.failed"), "now");
    EXPECT_EQ(choice("rental.running"), "off");
    const auto chosen = choose(R"({"rental.failed":"off","rental.running":"now"})");
    ASSERT_EQ(chosen.status, 200) << chosen.body;
    EXPECT_EQ(choice("rental.failed"), "off");
    begin_rental("rental-one");
    fail_rental("rental-two");
    EXPECT_EQ(mails("rental-one"), 1);
    EXPECT_EQ(mails("rental-two"), 0);
    // What is left out is as it is by default.
    ASSERT_EQ(choose("{}").status, 200);
    EXPECT_EQ(choice("rental.failed"), "now");
    EXPECT_EQ(choice("rental.running"), "off");
}

TEST_F(EventMails, OfSecurityAreNobodysToTurnOff) {
    for (const char* types :
         {R"({"account.make_api_key":"off"})", R"({"ticket.answered":"off"})",
          R"({"no.such":"now"})", R"({"operations.paused":"now"})", R"({"rental.*":"off"})",
          R"({"rental.failed":"sometimes"})", R"({"rental.failed":null})"}) {
        const auto refused = choose(types);
        EXPECT_EQ(refused.status, 422) << types << refused.body;
        EXPECT_NE(error_message(refused).find("body.types"), std::string::npos) << refused.body;
    }
    EXPECT_EQ(choice("account.make_api_key"), "");
    EXPECT_EQ(choice("ticket.answered"), "");
}

// Whoever holds a stolen session is not to take money out unheard.
TEST_F(EventMails, OfMoneyThatLeavesTakeAFreshProofToTurnDown) {
    town.harness.clock.advance(10min);
    for (const char* types : {R"({"withdrawal.settled":"off"})", R"({"payout.failed":"digest"})",
                              R"({"rental.failed":"off","payout.cancelled":"off"})"}) {
        const auto refused = choose(types);
        EXPECT_EQ(refused.status, 403) << types << refused.body;
        EXPECT_EQ(refused.headers.find("Berth-Step-Up"), "account-sensitive");
    }
    EXPECT_EQ(choice("withdrawal.settled"), "now");
    EXPECT_EQ(choice("rental.failed"), "now") << "nothing of what was refused is done";
    // More mails, and fewer of anything else, take none.
    ASSERT_EQ(choose(R"({"withdrawal.submitted":"now","rental.failed":"off"})").status, 200);
    ASSERT_EQ(choose("{}").status, 403) << "what was mailed at once would be so no more";
    ASSERT_EQ(browser.step_up("account-sensitive").status, 200);
    ASSERT_EQ(choose(R"({"withdrawal.settled":"off"})").status, 200);
    EXPECT_EQ(choice("withdrawal.settled"), "off");
    town.harness.clock.advance(10min);
    ASSERT_EQ(choose("{}").status, 200) << "back to what is usual";
    EXPECT_EQ(choice("withdrawal.settled"), "now");
}

TEST_F(EventMails, BecomeOneWhenThereAreMany) {
    fail_rental("rental-one", 5);
    EXPECT_EQ(mails("rental-one"), 5);
    fail_rental("rental-two", 7);
    EXPECT_EQ(mails("rental-two"), 0) << "they gather until ten minutes are over";
    town.harness.clock.advance(10min);
    EXPECT_EQ(mails("rental-two"), 1);
    EXPECT_EQ(mails("7 things happened"), 1);
    // So do many that come at once.
    town.harness.clock.advance(20min);
    fail_rental("rental-three", 6);
    EXPECT_EQ(mails("rental-three"), 1);
}

TEST_F(EventMails, AsADigestComeOnceADay) {
    ASSERT_EQ(choose(R"({"rental.running":"digest"})").status, 200);
    for (int i = 0; i < 8; ++i) begin_rental("rental-one");
    fail_rental("rental-two");
    EXPECT_EQ(mails("rental-one"), 0);
    EXPECT_EQ(mails("rental-two"), 1);
    town.harness.clock.advance(23h);
    EXPECT_EQ(mails("rental-one"), 0);
    town.harness.clock.advance(1h);
    EXPECT_EQ(mails("8 things happened"), 1);
    EXPECT_EQ(mails("rental-one"), 1);
    town.harness.clock.advance(24h);
    EXPECT_EQ(mails("rental-one"), 1) << "what was in one is in no other";
}

TEST_F(EventMails, AreNoneForAgentsAndStopNobody) {
    const Person agent = join();
    const std::size_t before = town.transport->sent().size();
    database().write([&](db::Transaction& tx) {
        events::tell({tx, town.harness.random, town.harness.clock.now()}, rentals::rental_failed,
                     agent.id(), "rental-one", rentals::RentalFacts{});
    });
    EXPECT_EQ(mails("rental-one"), 0);
    EXPECT_EQ(town.transport->sent().size(), before);
}

}  // namespace
}  // namespace berth::test
