// Asking for codes and guessing at them: what a stranger can reach, and that none of it shuts the
// owner of a mailbox out.
#include <gtest/gtest.h>

#include <deque>
#include <latch>

#include "accounts/allowances.hpp"
#include "accounts/paths.hpp"
#include "accounts/store.hpp"
#include "crypto/totp.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

const std::string email = "ada@example.org";

class Guessing : public ::testing::Test {
protected:
    Browser visitor(const std::string& address) {
        Browser browser(town);
        browser.origin = "http://127.0.0.1:8080";
        browser.address = address;
        return browser;
    }
    Browser stranger(int number) { return visitor("198.51.100." + std::to_string(number)); }
    Browser owner() { return visitor("192.0.2.1"); }

    static http::Response ask(Browser browser) {
        return browser.send("POST", start, R"({"email":")" + email + "\"}");
    }
    static int give(Browser browser, const std::string& code) {
        return browser
            .send("POST", verify, R"({"email":")" + email + R"(","code":")" + code + "\"}")
            .status;
    }
    static int open_link(Browser browser, const std::string& token) {
        return browser.send("POST", verify, R"({"token":")" + token + "\"}").status;
    }
    std::string ask_code(Browser browser) {
        EXPECT_EQ(ask(std::move(browser)).status, 202);
        return town.code_to(email);
    }
    static std::string other_than(const std::string& code) {
        return code == "000000" ? "000001" : "000000";
    }
    // So many wrong guesses from all over the world that no more are looked at today.
    void guess_all_day(const std::string& code) {
        for (int i = 0; i < accounts::guesses_per_day; ++i)
            EXPECT_EQ(give(stranger(1 + i / 5), other_than(code)), 403);
    }

    Town town;
};

TEST_F(Guessing, EarlierCodesLiveTheirTime) {
    const std::string first = ask_code(owner());
    const std::string token = town.token_to(email);
    town.harness.clock.advance(5min);
    const std::string second = ask_code(stranger(1));
    ASSERT_NE(first, second) << "the seed gives two different codes";
    const std::string third = ask_code(owner());
    EXPECT_EQ(give(owner(), third), 200);
    EXPECT_EQ(give(owner(), first), 200);
    EXPECT_EQ(open_link(owner(), token), 403) << "a code takes its own link with it";
    town.harness.clock.advance(10min);
    EXPECT_EQ(give(owner(), second), 403);
}

TEST_F(Guessing, FiveWrongOnesFromOneAddressStopThatAddressAlone) {
    const std::string code = ask_code(owner());
    for (int i = 0; i < 5; ++i) EXPECT_EQ(give(stranger(1), other_than(code)), 403);
    EXPECT_EQ(give(stranger(1), code), 403);
    EXPECT_EQ(give(owner(), code), 200);
}

TEST_F(Guessing, WhoeverMistypedFiveTimesOpensTheLink) {
    const std::string code = ask_code(owner());
    for (int i = 0; i < 5; ++i) EXPECT_EQ(give(owner(), other_than(code)), 403);
    Browser browser = owner();
    const auto refused =
        browser.send("POST", verify, R"({"email":")" + email + R"(","code":")" + code + "\"}");
    EXPECT_EQ(refused.status, 403);
    EXPECT_NE(error_message(refused).find("link"), std::string::npos) << error_message(refused);
    EXPECT_EQ(open_link(owner(), town.token_to(email)), 200);
}

TEST_F(Guessing, FiveCodesAnHourForAMailboxFromOneAddress) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(stranger(1)).status, 202);
    EXPECT_EQ(ask(stranger(1)).status, 429);
    EXPECT_EQ(ask(owner()).status, 202) << "strangers do not count against the owner";
    Browser other = stranger(1);
    EXPECT_EQ(other.send("POST", start, R"({"email":"bob@example.org"})").status, 202);
}

TEST_F(Guessing, TheHourSlides) {
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(ask(owner()).status, 202);
        town.harness.clock.advance(10min);
    }
    town.harness.clock.advance(10min);
    EXPECT_EQ(ask(owner()).status, 202) << "the first of them is an hour old";
    EXPECT_EQ(ask(owner()).status, 429) << "the second is not";
    town.harness.clock.advance(10min);
    EXPECT_EQ(ask(owner()).status, 202);
}

TEST_F(Guessing, AMailboxGetsTwentyMailsAnHourAndEverybodyTheSameAnswer) {
    const std::string first = ask_code(stranger(1));
    for (int i = 1; i < 20; ++i) EXPECT_EQ(ask(stranger(1 + i / 5)).status, 202);
    const std::string token = town.token_to(email);
    ASSERT_EQ(town.mails_to(email).size(), 20U);
    const auto quiet = ask(owner());
    Browser other = owner();
    const auto sent = other.send("POST", start, R"({"email":"bob@example.org"})");
    EXPECT_EQ(quiet.status, 202);
    EXPECT_EQ(quiet.body, sent.body);
    EXPECT_EQ(town.mails_to(email).size(), 20U) << "no further mail goes out";
    EXPECT_EQ(give(owner(), first), 200) << "earlier codes stay good";
    EXPECT_EQ(open_link(owner(), token), 200) << "and so do links";
    town.harness.clock.advance(1h);
    EXPECT_EQ(ask(owner()).status, 202);
    EXPECT_EQ(town.mails_to(email).size(), 21U);
}

// They take all that a mailbox gets at once. Soon nothing of it is good any more.
TEST_F(Guessing, FourAddressesShutNobodyOut) {
    for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(stranger(1 + i / 5)).status, 202);
    ASSERT_EQ(town.mails_to(email).size(), 20U);
    for (int i = 0; i < 5; ++i) {
        town.harness.clock.advance(11min);
        const std::size_t before = town.mails_to(email).size();
        const std::string code = ask_code(stranger(100 + i));
        EXPECT_EQ(town.mails_to(email).size(), before + 1) << "the share fills up evenly";
        EXPECT_EQ(give(stranger(100 + i), code), 200);
    }
}

TEST_F(Guessing, OneMailInFiveMinutesAlwaysGoesOut) {
    town.harness.set("operations.rate_sign_in_mails_per_hour", "1");
    for (int i = 0; i < 12; ++i) {
        EXPECT_EQ(ask(stranger(1 + i)).status, 202);
        EXPECT_EQ(ask(stranger(50 + i)).status, 202);
        EXPECT_EQ(town.mails_to(email).size(), static_cast<std::size_t>(i + 1));
        EXPECT_EQ(give(owner(), town.code_to(email)), 200) << "whoever asked for it";
        town.harness.clock.advance(5min);
    }
}

// They share an address: an office, a carrier's gateway, a tunnel.
TEST_F(Guessing, AStrangerBehindTheOwnersAddressShutsNobodyOut) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(owner()).status, 202);
    EXPECT_EQ(ask(owner()).status, 429);
    town.harness.clock.advance(11min);  // none of the five is good any more
    const std::size_t before = town.mails_to(email).size();
    const std::string code = ask_code(owner());
    EXPECT_EQ(town.mails_to(email).size(), before + 1);
    EXPECT_EQ(ask(owner()).status, 429) << "one, and not another five";
    EXPECT_EQ(give(owner(), code), 200);
}

TEST_F(Guessing, ANetworkThatSignedInBeforeHasMailOfItsOwn) {
    EXPECT_EQ(give(owner(), ask_code(owner())), 200);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(stranger(1 + i / 5)).status, 202);
    const std::size_t before = town.mails_to(email).size();
    const std::string code = ask_code(owner());
    EXPECT_EQ(town.mails_to(email).size(), before + 1);
    EXPECT_EQ(give(owner(), code), 200);
    EXPECT_EQ(ask(stranger(9)).status, 202);
    EXPECT_EQ(town.mails_to(email).size(), before + 1) << "none of it is a stranger's";
}

// Whoever reads the mail of an account without a second factor signs in from all over the world.
TEST_F(Guessing, AThiefsNetworksDoNotTakeThePlaceOfTheOwnersOwn) {
    const auto enter = [&](const Browser& by) {
        EXPECT_EQ(give(by, ask_code(by)), 200);
        town.harness.clock.advance(6min);
    };
    enter(owner());
    for (int i = 0; i < accounts::networks_max + 4; ++i) enter(stranger(1 + i));
    town.harness.clock.advance(1h);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(stranger(100 + i / 5)).status, 202);
    const std::size_t before = town.mails_to(email).size();
    EXPECT_EQ(ask(owner()).status, 202);
    EXPECT_EQ(town.mails_to(email).size(), before + 1) << "it is known from the beginning";
}

// Whoever only reads the mail has not been in.
TEST_F(Guessing, ANetworkIsKnownOnceTheSecondFactorWasGiven) {
    Browser ada = town.person(email);
    ada.enroll();
    EXPECT_EQ(give(stranger(9), ask_code(stranger(9))), 200);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(stranger(1 + i / 5)).status, 202);
    const std::size_t before = town.mails_to(email).size();
    EXPECT_EQ(ask(stranger(9)).status, 202);
    EXPECT_EQ(town.mails_to(email).size(), before);
    EXPECT_EQ(ask(owner()).status, 202);
    EXPECT_EQ(town.mails_to(email).size(), before + 1);
}

TEST_F(Guessing, AfterADaysWorthOfGuessesOnlyTheLinkSignsIn) {
    const std::string code = ask_code(owner());
    guess_all_day(code);
    EXPECT_EQ(give(owner(), code), 403) << "it could be a guess, too";
    EXPECT_EQ(open_link(owner(), town.token_to(email)), 200);
    town.harness.clock.advance(24h);
    const std::string next = ask_code(owner());
    EXPECT_EQ(give(owner(), next), 200);
}

TEST_F(Guessing, TheLinkIsNoSecondFactor) {
    Browser ada = town.person(email);
    ada.enroll();
    town.harness.clock.advance(1h);
    guess_all_day(ask_code(owner()));
    Browser browser = owner();
    const auto opened =
        browser.send("POST", verify, R"({"token":")" + town.token_to(email) + "\"}");
    ASSERT_EQ(opened.status, 200);
    EXPECT_EQ(member(opened.body, "mfa_required"), "true");
    EXPECT_EQ(browser.send("POST", "/api/v1/auth/mfa", R"({"code":")" + ada.code() + "\"}").status,
              200)
        << "guesses at mailed codes leave the authenticator alone";
}

TEST_F(Guessing, GuessesAtSeveralCodesAtOnceCountSeveralTimes) {
    for (int i = 0; i < 5; ++i) ask(stranger(1));
    const std::string code = town.code_to(email);
    for (int i = 0; i < 9; ++i) EXPECT_EQ(give(stranger(2 + i / 5), other_than(code)), 403);
    EXPECT_EQ(give(owner(), code), 403)
        << "nine guesses at five codes, and four more than are left";
    EXPECT_EQ(open_link(owner(), town.token_to(email)), 200);
}

TEST_F(Guessing, AnAuthenticatorIsGuessedAtTwentyFourTimesADay) {
    Browser ada = town.person(email);
    ada.enroll();
    const auto with_code = [](const std::string& code) { return R"({"code":")" + code + "\"}"; };
    const auto pending = [&](int number) {
        town.harness.clock.advance(15min);
        Browser browser = stranger(number);
        browser.sign_in(email);
        return browser;
    };
    const auto wrong = [&] {  // of none of the steps around now
        const std::int64_t step = crypto::totp_step(town.harness.clock.now());
        for (int i = 0;; ++i) {
            const std::string guess = "00000" + std::to_string(i);
            if (crypto::totp_code(ada.totp, step) != guess &&
                crypto::totp_code(ada.totp, step - 1) != guess)
                return guess;
        }
    };
    for (int i = 0; i < 5; ++i) {
        Browser browser = pending(1 + i);
        for (int n = 0; n < 4; ++n)
            EXPECT_EQ(browser.send("POST", "/api/v1/auth/mfa", with_code(wrong())).status, 403);
    }
    // In this hour and a quarter two and a half of the twenty have come back.
    Browser last = pending(6);
    for (int n = 0; n < 4; ++n) last.send("POST", "/api/v1/auth/mfa", with_code(wrong()));
    Browser more = pending(7);
    for (int n = 0; n < 4; ++n) more.send("POST", "/api/v1/auth/mfa", with_code(wrong()));
    Browser ending = pending(8);
    const auto refused = ending.send("POST", "/api/v1/auth/mfa", with_code(ada.code()));
    EXPECT_EQ(refused.status, 403) << "right, and not looked at";
    EXPECT_NE(error_message(refused).find("recovery"), std::string::npos) << refused.body;
    EXPECT_EQ(ending.send("POST", "/api/v1/auth/mfa", with_code(ada.recovery_codes.at(0))).status,
              200);
    town.harness.clock.advance(24h);
    Browser next = pending(9);
    EXPECT_EQ(next.send("POST", "/api/v1/auth/mfa", with_code(ada.code())).status, 200);
}

// Takes whatever there is, all the time, for four days: no 24 hours of it have as many as 100.
TEST_F(Guessing, NoDayHasAHundredGuesses) {
    const accounts::Allowance allowance{"test", "x", accounts::guesses_per_day,
                                        accounts::guess_window};
    std::deque<Time> taken;
    std::size_t most = 0;
    town.harness.app->database().write([&](db::Transaction& tx) {
        taken.clear();
        Time now = town.harness.clock.now();
        for (const Time end = now + 96h; now < end; now = now + 7min) {
            while (accounts::take(tx, allowance, 1, now)) taken.push_back(now);
            while (!taken.empty() && taken.front() + 24h <= now) taken.pop_front();
            most = std::max(most, taken.size());
        }
    });
    EXPECT_LT(most, 100U);
    EXPECT_GE(most, 49U);
}

TEST_F(Guessing, ACrowdTakesNoMoreThanThereIs) {
    const accounts::Allowance allowance{"test", "y", 10, accounts::guess_window};
    constexpr int racers = 16;
    std::atomic<int> taken{0};
    std::latch together(racers);
    std::vector<std::thread> threads;
    for (int i = 0; i < racers; ++i)
        threads.emplace_back([&] {
            together.arrive_and_wait();
            for (int n = 0; n < 4; ++n)
                taken += town.harness.app->database().write([&](db::Transaction& tx) {
                    return accounts::take(tx, allowance, 1, town.harness.clock.now());
                });
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken, 10);
}

TEST_F(Guessing, ACrowdAsksForNoMoreCodesThanOneByOne) {
    constexpr int racers = 12;
    std::atomic<int> admitted{0};
    std::latch together(racers);
    std::vector<std::thread> threads;
    for (int i = 0; i < racers; ++i)
        threads.emplace_back([&] {
            together.arrive_and_wait();
            if (ask(owner()).status == 202) ++admitted;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(admitted, 5);
}

}  // namespace
}  // namespace berth::test
