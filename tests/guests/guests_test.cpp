// A closed market makes accounts for who is on its list and for nobody else, and says so only to
// those who have proved their mailbox or wallet.
#include "admin/office.hpp"

namespace berth::test {
namespace {

struct ClosedMarket : Office {
    ClosedMarket() { town.harness.set("operations.market_closed", "true"); }

    http::Response let_in(const std::string& who) {
        return post(root, "allow-list", "{" + who + R"(,"reason":"a good guest"})");
    }
    // Begins to sign in, and gives what the code in the mail gets.
    http::Response enter(const std::string& email) {
        Browser browser(town);
        browser.origin = "http://127.0.0.1:8080";
        return browser.sign_in(email);
    }
};

TEST_F(ClosedMarket, KeepsStrangersOutAndLetsThoseInWhoWereThere) {
    const auto asked = town.harness.ask({.method = "POST",
                                         .target = "/api/v1/auth/email/start",
                                         .body = R"({"email":"eve@example.net"})"});
    EXPECT_EQ(asked.status, 202) << "asking tells nothing";
    EXPECT_EQ(error_code(enter("eve@example.net")), "FORBIDDEN");
    EXPECT_EQ(enter("ada@example.org").status, 200) << "she has an account";
    const auto wallet = crypto::SigningKey::make(town.harness.random);
    EXPECT_EQ(error_code(town.enlist(wallet)), "FORBIDDEN");
    EXPECT_EQ(error_code(town.enlist(wallet)), "FORBIDDEN") << "and nothing was left behind";
    EXPECT_EQ(member(get(root, "users?q=eve"), "items"), "[]");
    town.harness.set("operations.market_closed", "false");
    EXPECT_EQ(enter("eve@example.net").status, 200);
    EXPECT_EQ(town.enlist(wallet).status, 201);
}

TEST_F(ClosedMarket, LetsInWhoIsOnTheListOnceByAddressAndAlwaysByDomain) {
    ASSERT_EQ(let_in(R"("email":"Eve@Example.NET","invite":true)").status, 201);
    EXPECT_NE(town.mail_to("eve@example.net").find("lets you in"), std::string::npos);
    EXPECT_EQ(enter("eve@example.net").status, 200);
    EXPECT_EQ(enter("eve@example.net").status, 200);
    EXPECT_EQ(error_code(enter("bob@example.net")), "FORBIDDEN");
    ASSERT_EQ(let_in(R"("domain":"Friends.example")").status, 201);
    EXPECT_EQ(enter("bob@friends.example").status, 200);
    EXPECT_EQ(enter("carl@friends.example").status, 200);
    EXPECT_EQ(error_code(enter("carl@sub.friends.example")), "FORBIDDEN");
    EXPECT_EQ(events("allow_entrance"), 2);
    const auto wallet = crypto::SigningKey::make(town.harness.random);
    ASSERT_EQ(let_in(R"("wallet":")" + crypto::checksummed(wallet.address()) + "\"").status, 201);
    EXPECT_EQ(town.enlist(wallet).status, 201);
    EXPECT_EQ(town.enlist(wallet).status, 201) << "its account is there now";
}

TEST_F(ClosedMarket, ForgetsWhoWasTakenOffOrCameTooLate) {
    const auto added = let_in(R"("email":"eve@example.net")");
    ASSERT_EQ(added.status, 201) << added.body;
    EXPECT_EQ(error_code(let_in(R"("email":"EVE@example.net")")), "CONFLICT");
    EXPECT_EQ(post(root, "allow-list/" + member(added.body, "guest_id") + "/remove",
                   R"({"reason":"a mistake"})")
                  .status,
              204);
    EXPECT_EQ(error_code(enter("eve@example.net")), "FORBIDDEN");
    const std::string soon = to_rfc3339(town.harness.clock.now() + std::chrono::minutes(1));
    ASSERT_EQ(let_in(R"("domain":"late.example","expires_at":")" + soon + "\"").status, 201);
    town.harness.clock.advance(std::chrono::minutes(2));
    EXPECT_EQ(error_code(enter("eve@late.example")), "FORBIDDEN");
}

TEST_F(ClosedMarket, RecordsAnAddressByItsEndsAlone) {
    const auto added = let_in(R"("email":"eve@example.net")");
    ASSERT_EQ(added.status, 201) << added.body;
    ASSERT_EQ(post(root, "allow-list/" + member(added.body, "guest_id") + "/remove",
                   R"({"reason":"a mistake"})")
                  .status,
              204);
    const std::string record = get(root, "audit");
    EXPECT_NE(record.find("e…@example.net"), std::string::npos) << record;
    EXPECT_EQ(record.find("eve@example.net"), std::string::npos) << record;
}

TEST_F(ClosedMarket, RefusesWhatIsNoGuest) {
    for (const std::string& who :
         {std::string(R"("invite":true)"),
          std::string(R"("email":"a@b.example","domain":"b.example")"),
          std::string(R"("domain":"no domain")"),
          std::string(R"("domain":"b.example","invite":true)"),
          std::string(R"("wallet":"0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed")"),
          std::string(R"("email":"a@b.example","expires_at":"2020-01-01T00:00:00Z")")})
        EXPECT_EQ(let_in(who).status, 422) << who;
    EXPECT_EQ(post(ada, "allow-list", R"({"domain":"b.example","reason":"I like them"})").status,
              403);
    EXPECT_EQ(member(get(root, "allow-list"), "items"), "[]");
}

}  // namespace
}  // namespace berth::test
