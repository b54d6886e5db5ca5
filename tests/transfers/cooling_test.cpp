// New addresses wait, unless an authenticator that is not new itself vouches for them.
#include "transfers/brakes.hpp"
#include "transfers/paying_town.hpp"

namespace berth::test {
namespace {

struct Cooling : PayingTown {
    Cooling() : PayingTown(Harness::Options{.flags = {{"address-cooling-hours", "24"}}}) {}

    // Whether a transfer to the address that was saved would leave now.
    bool leaves(AccountId owner) {
        return town.harness.app->database().read([&](db::Transaction& tx) {
            transfers::TransferRow row;
            row.kind = transfers::TransferKind::withdrawal;
            row.account_id = owner;
            row.amount = Micro{1};
            row.created_at = town.harness.clock.now();
            row.address_id = transfers::list_addresses(tx, owner).at(0).address_id;
            return transfers::Brakes(tx, limits_, town.harness.clock.now()).let_go(row);
        });
    }

    void save_proven(Browser& browser, const std::string& email) {
        const auto asked = post(
            browser, "/api/v1/withdrawal-addresses",
            R"({"address":")" + std::string(somewhere) + "\"" + with_code(browser.code()) + "}");
        ASSERT_EQ(asked.status, 202) << asked.body;
        ASSERT_EQ(confirm(town.link_to(email)).status, 200);
    }

    static transfers::Settings day_long() {
        transfers::Settings limits;
        limits.address_cooling_hours.read("24");
        return limits;
    }
    const transfers::Settings limits_ = day_long();
};

TEST_F(Cooling, IsADayUnlessAnOperatorSaysOtherwise) {
    EXPECT_EQ(*transfers::Settings{}.address_cooling_hours, 24);
}

TEST_F(Cooling, WithoutASecondFactorANewAddressWaitsForADay) {
    Browser ada = person("ada@example.org");
    const AccountId id = account(ada);
    save(ada, "ada@example.org");
    EXPECT_FALSE(leaves(id));
    town.harness.clock.advance(std::chrono::hours(23));
    EXPECT_FALSE(leaves(id));
    town.harness.clock.advance(std::chrono::hours(1));
    EXPECT_TRUE(leaves(id));
}

// A thief of a mailbox enrolls one at once.
TEST_F(Cooling, AnAuthenticatorThatIsNewItselfVouchesForNothing) {
    Browser ada = person("ada@example.org");
    const AccountId id = account(ada);
    ada.enroll();
    town.harness.clock.advance(std::chrono::hours(23));
    ada.sign_in("ada@example.org");
    save_proven(ada, "ada@example.org");
    EXPECT_FALSE(leaves(id));
    town.harness.clock.advance(std::chrono::hours(2));
    EXPECT_FALSE(leaves(id)) << "what counts is how old it was when the address was saved";
}

TEST_F(Cooling, AnAuthenticatorOfADayVouchesForANewAddress) {
    Browser ada = person("ada@example.org");
    const AccountId id = account(ada);
    ada.enroll();
    town.harness.clock.advance(std::chrono::hours(24));
    ada.sign_in("ada@example.org");
    save_proven(ada, "ada@example.org");
    EXPECT_TRUE(leaves(id));
}

TEST_F(Cooling, AnAuthenticatorThatWasExchangedIsANewOne) {
    Browser ada = person("ada@example.org");
    const AccountId id = account(ada);
    ada.enroll();
    town.harness.clock.advance(std::chrono::hours(48));
    ada.sign_in("ada@example.org");
    ASSERT_EQ(ada.step_up("account-sensitive").status, 200);
    ASSERT_EQ(ada.send("DELETE", "/api/v1/account/mfa/totp").status, 204);
    ada.totp.clear();
    ada.enroll();
    save_proven(ada, "ada@example.org");
    EXPECT_FALSE(leaves(id));
}

}  // namespace
}  // namespace berth::test
