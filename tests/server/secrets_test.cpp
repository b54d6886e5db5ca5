// Keys of the service are exchanged while it runs, and nothing that they sealed is lost.
#include <gtest/gtest.h>

#include <filesystem>

#include "accounts/code_keys.hpp"
#include "server/secret_commands.hpp"
#include "server/secrets.hpp"
#include "support/town.hpp"

namespace berth::server {
namespace {

// Three servers, each with a copy of the folder as it was at its start, in every order that the
// steps allow: none is refused, and each opens what the others seal.
TEST(Secrets, KeysAreExchangedWithAnOverlap) {
    const test::TestDatabase file;
    const auto database = file.open();
    db::migrate(*database, secrets_migrations);
    const test::TemporaryFolder folder;
    test::SeededRandom random;
    const auto start = [&] {
        Secrets secrets = load_secrets(folder.path(), random);
        check_fingerprints(*database, secrets, folder.path());
        return secrets;
    };
    const auto opens = [&](const Secrets& theirs, const Secrets& ours) {
        const Bytes sealed = sealer_of(theirs).seal({"text", "place"}, random);
        return sealer_of(ours).open({sealed, "place"}) == "text";
    };
    const Secrets before = start();
    EXPECT_EQ(rotation_in(folder.path()), Rotation::none);
    prepare_rotation(folder.path(), random);
    EXPECT_EQ(rotation_in(folder.path()), Rotation::prepared);
    const Secrets prepared = start();
    EXPECT_EQ(prepared.seal, before.seal);
    switch_keys(folder.path());
    EXPECT_EQ(rotation_in(folder.path()), Rotation::switched);
    const Secrets switched = start();
    EXPECT_NE(switched.seal, before.seal);
    EXPECT_NE(switched.cursor, before.cursor);
    EXPECT_NE(switched.code, before.code);
    EXPECT_TRUE(opens(prepared, switched));
    EXPECT_TRUE(opens(switched, prepared));
    EXPECT_FALSE(opens(switched, before)) << "one that skipped a step";
    const api::Cursors::Scope scope{"list", "all"};
    EXPECT_EQ(api::Cursors(switched.cursor, switched.other_cursors)
                  .open(scope, api::Cursors(before.cursor).seal(scope, "7")),
              "7");
    EXPECT_EQ(api::Cursors(prepared.cursor, prepared.other_cursors)
                  .open(scope, api::Cursors(switched.cursor).seal(scope, "8")),
              "8");
    const auto knows = [](const Secrets& ours, const Secrets& theirs) {
        return accounts::CodeKeys(ours.code, ours.other_codes)
            .matches(accounts::CodeKeys(theirs.code).hash("text"), "text");
    };
    EXPECT_TRUE(knows(switched, before));
    EXPECT_TRUE(knows(prepared, switched));
    EXPECT_FALSE(knows(before, switched));
    EXPECT_THROW(check_fingerprints(*database, before, folder.path()), BadSettings)
        << "the database knows the new keys by now";
    end_rotation(folder.path());
    const Secrets ended = start();
    EXPECT_EQ(ended.seal, switched.seal);
    EXPECT_TRUE(ended.other_seals.empty());
    EXPECT_FALSE(opens(before, ended));
    EXPECT_FALSE(knows(ended, before));
}

TEST(Secrets, ALostSealIsNotMadeAnew) {
    const test::TemporaryFolder folder;
    test::SeededRandom random;
    load_secrets(folder.path(), random);
    const std::string seal = folder.path() + "/seal.key";
    std::filesystem::rename(seal, seal + ".away");
    try {
        load_secrets(folder.path(), random);
        ADD_FAILURE() << "it went on";
    } catch (const BadSettings& refusal) {
        const std::string why = refusal.what();
        EXPECT_NE(why.find("seal.key: is missing"), std::string::npos) << why;
    }
    EXPECT_FALSE(std::filesystem::exists(seal)) << "nothing stands where it is put back";
    std::filesystem::rename(seal + ".away", seal);
    load_secrets(folder.path(), random);
}

TEST(Secrets, ASwitchThatWasBrokenOffIsTakenUpAgain) {
    const test::TemporaryFolder folder;
    test::SeededRandom random;
    const Secrets before = load_secrets(folder.path(), random);
    prepare_rotation(folder.path(), random);
    // Broken off between its two halves.
    std::filesystem::create_hard_link(folder.path() + "/cursor.key",
                                      folder.path() + "/cursor.key.old");
    switch_keys(folder.path());
    const Secrets after = load_secrets(folder.path(), random);
    EXPECT_EQ(after.other_cursors, std::vector{before.cursor});
    EXPECT_EQ(after.other_seals, std::vector{before.seal});
}

// A server with accounts that is started again on its database.
struct Rotating : ::testing::Test {
    void restart() {
        Overrides overrides;
        auto transport = std::make_unique<test::FakeTransport>();
        town.transport = transport.get();
        overrides.transport = std::move(transport);
        town.harness.app.reset();
        town.harness.app = std::make_unique<App>(town.harness.given, town.harness.clock,
                                                 town.harness.random, std::move(overrides));
    }
    std::string sealed_anew() {
        return reseal(folder(), town.harness.app->database(), town.harness.clock,
                      town.harness.random);
    }
    std::string folder() const { return town.harness.folder.path() + "/secrets"; }

    test::Town town;
};

TEST_F(Rotating, AuthenticatorsMailAndCursorsWorkAtEveryStep) {
    test::Browser ada = town.person("ada@example.org");
    ada.enroll();
    ada.send("PUT", "/api/v1/account/integrations/huggingface", R"({"token":"hf_abcdefghijk"})",
             town.harness.new_id());
    for (int i = 0; i < 3; ++i) town.key_of(ada);
    const auto first = ada.send("GET", "/api/v1/account/api-keys?limit=1");
    ASSERT_EQ(first.status, 200) << first.body;
    const std::string cursor = test::member(first.body, "next_cursor");
    const auto works = [&](const std::string& when) {
        town.harness.clock.advance(std::chrono::seconds(31));
        const auto stepped = ada.step_up("account-sensitive");
        EXPECT_EQ(stepped.status, 200) << when << ": " << stepped.body;
        EXPECT_EQ(ada.send("GET", "/api/v1/account/api-keys?limit=1&cursor=" + cursor).status, 200)
            << when;
    };
    works("before");
    prepare_rotation(folder(), town.harness.random);
    restart();
    works("prepared");
    EXPECT_THROW(sealed_anew(), std::runtime_error) << "not before the switch";
    switch_keys(folder());
    restart();
    works("switched");
    // Asked for under the new key, and sent after the old one is gone; and one of before.
    test::Browser bob = town.person("bob@example.org");
    const std::string told = sealed_anew();
    // Her authenticator, its ten recovery codes and her token.
    EXPECT_EQ(told.find("12 values"), 0U) << told;
    EXPECT_EQ(rotation_in(folder()), Rotation::none);
    restart();
    town.harness.clock.advance(std::chrono::seconds(31));
    EXPECT_EQ(ada.step_up("account-sensitive").status, 200);
    EXPECT_EQ(ada.send("GET", "/api/v1/account/api-keys?limit=1&cursor=" + cursor).status, 422)
        << "the old key is gone";
    const auto audited = town.harness.app->database().read([](db::Transaction& tx) {
        return tx.fetch_value<std::int64_t>(
            "SELECT COUNT(*) FROM audit_events WHERE action = 'rotate_secrets'");
    });
    EXPECT_EQ(audited, 1);
}

// A code that was mailed, the token of an open page and a recovery code are older than the keys.
TEST_F(Rotating, CodesAndSessionsOfBeforeTheSwitchAreGoodAfterIt) {
    test::Browser ada = town.person("ada@example.org");
    ada.enroll();
    test::Browser bob = town.person("bob@example.org");
    const auto asked = town.harness.ask({.method = "POST",
                                         .target = "/api/v1/auth/email/start",
                                         .body = R"({"email":"eve@example.org"})"});
    ASSERT_EQ(asked.status, 202) << asked.body;
    town.run_tasks();
    const std::string code = town.code_to("eve@example.org");
    prepare_rotation(folder(), town.harness.random);
    switch_keys(folder());
    restart();
    const auto signed_in =
        town.harness.ask({.method = "POST",
                          .target = "/api/v1/auth/email/verify",
                          .body = R"({"email":"eve@example.org","code":")" + code + "\"}"});
    EXPECT_EQ(signed_in.status, 200) << signed_in.body;
    const auto revoked = bob.send("POST", "/api/v1/account/sessions/revoke");
    EXPECT_LT(revoked.status, 300) << revoked.body;

    sealed_anew();
    restart();
    const std::string recovery = ada.recovery_codes.at(0);
    test::Browser again = town.person("ada@example.org");
    const std::string body = R"({"code":")" + recovery + "\"}";
    const auto factor = again.send("POST", "/api/v1/auth/mfa", body);
    EXPECT_EQ(factor.status, 200) << factor.body;
    const auto spent = again.send("POST", "/api/v1/auth/mfa", body);
    EXPECT_NE(spent.status, 200) << "a recovery code works once";
}

TEST_F(Rotating, ValuesThatOpenWithNoKeyKeepTheOldOnes) {
    test::Browser ada = town.person("ada@example.org");
    ada.enroll();
    prepare_rotation(folder(), town.harness.random);
    switch_keys(folder());
    restart();
    town.harness.app->database().write([](db::Transaction& tx) {
        const Bytes nonsense(60, 'x');
        tx.run("UPDATE accounts SET totp_secret = $1 WHERE totp_secret IS NOT NULL",
               db::Blob{nonsense});
    });
    EXPECT_THROW(sealed_anew(), std::runtime_error);
    EXPECT_EQ(rotation_in(folder()), Rotation::switched) << "the old keys are still there";
}

}  // namespace
}  // namespace berth::server
