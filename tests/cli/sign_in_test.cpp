// Signing in at a terminal, an operator's first session, and fresh proofs in the middle of
// commands.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/qr.hpp"
#include "cli/reading.hpp"
#include "cli/served.hpp"
#include "crypto/totp.hpp"
#include "support/totp.hpp"

namespace berth::test {
namespace {

constexpr std::string_view codes_question = "your authenticator shows now: ";

class SignInAtATerminal : public Served {
protected:
    static Shell::Typed typed(const std::string& after, const std::string& text) {
        return {after, [text] { return text; }};
    }
    // A code that was not mailed.
    static std::string another(const std::string& code) {
        return code == "123456" ? "654321" : "123456";
    }
    static void make_admin(const std::string& email) {
        const Outcome made = run_program({program_path("berthd"), "admin", "create", "--email",
                                          email, "--db", "sqlite:" + folder->path() + "/berth.db",
                                          "--secrets", folder->path() + "/secrets"});
        ASSERT_EQ(made.status, 0) << made.output;
    }
    // The secret that stands in groups of four before the question.
    static Bytes secret_in(const std::string& shown) {
        std::string secret;
        const std::size_t end = shown.find(codes_question);
        const std::size_t begin = shown.rfind("secret", end);
        for (const char c : shown.substr(shown.find("\r\n\r\n", begin), end - begin)) {
            const bool is_letter = (c >= 'A' && c <= 'Z') || (c >= '2' && c <= '7');
            if (is_letter) secret += c;
            if (secret.size() == 32) break;
        }
        return crypto::from_base32(secret).value_or("");
    }
    // Signs in, enrolls, and answers the last question with what `last` gives of the secret.
    Printed begin_as_operator(const std::string& email,
                              const std::function<std::string(const Bytes&)>& last) {
        make_admin(email);
        std::string code;
        const auto first_code = [this, &code, email] { return another(code = mailed_code(email)); };
        return shell.run_on_terminal(
            {"login", "--admin", "--email", email},
            {{"mailed to " + email + ": ", first_code},
             {"4 tries are left at most", [&code] { return code; }},
             mailed("mailed to you: ", email),
             {std::string(codes_question), nullptr,
              [this](const std::string& shown) {
                  secret_ = secret_in(shown);
                  return crypto::totp_code(secret_, fresh_totp_step() - 1);
              }},
             {"next code, or Enter: ", [this, last] { return last(secret_); }}});
    }
    static std::string present_code(const Bytes& secret) {
        return crypto::totp_code(secret, crypto::totp_step(SystemClock().now()));
    }
    static std::vector<std::string> setting(const std::string& value) {
        return {"admin",   "settings", "set",      "money.platform_fee_bps",
                "--value", value,      "--reason", "a cheaper week"};
    }

    Bytes secret_;
};

TEST_F(SignInAtATerminal, GoesAllTheWayForAnOperatorsFirstSession) {
    const Printed done = begin_as_operator("first@example.org", present_code);
    ASSERT_EQ(done.status, 0) << done.out;
    EXPECT_NE(done.out.find("▀"), std::string::npos) << "the code to scan: " << done.out;
    EXPECT_NE(done.out.find("shown this once"), std::string::npos) << done.out;
    EXPECT_NE(done.out.find("`berth logout`"), std::string::npos) << done.out;
    const Printed set = shell.run(setting("900"));
    EXPECT_EQ(set.status, 0) << "the proof is fresh: " << set.err;
    const Printed list = shell.run_on_terminal({"admin", "settings", "list"});
    EXPECT_TRUE(std::regex_search(list.out, std::regex("platform_fee_bps +900 +database")))
        << list.out;
}

TEST_F(SignInAtATerminal, AsksForTheCodeInTheMiddleOfACommand) {
    const Printed done =
        begin_as_operator("later@example.org", [](const Bytes&) { return std::string(); });
    ASSERT_EQ(done.status, 0) << done.out;
    const Printed refused = shell.run(setting("800"));
    EXPECT_EQ(refused.status, 3);
    const Printed told = shell.run([&] {
        auto words = setting("800");
        words.insert(words.end(), {"-o", "table"});
        return words;
    }());
    EXPECT_NE(told.err.find("`berth step-up admin-sensitive` at a terminal"), std::string::npos)
        << told.err;
    // Of whatever command, also one that the table knows nothing about.
    const std::string body = R"({"value":true,"reason":"trying it","expected_version":0})";
    const Printed set = shell.run_on_terminal(
        {"api", "PUT", "/api/v1/admin/settings/operations.custom_images_enabled", "--from",
         shell.file("body", body)},
        {{"authenticator: ", [this] { return present_code(secret_); }}});
    EXPECT_EQ(set.status, 0) << set.out;
}

TEST_F(SignInAtATerminal, SaysWhoIsNoOperator) {
    const std::string email = "nobody@example.org";
    const Printed done = shell.run_on_terminal(
        {"login", "--admin", "--email", email},
        {mailed("mailed to " + email + ": ", email),
         mailed("mailed to you: ", email),
         {std::string(codes_question), nullptr, [](const std::string& shown) {
              return crypto::totp_code(secret_in(shown), fresh_totp_step() - 1);
          }}});
    EXPECT_EQ(done.status, 3) << done.out;
    EXPECT_NE(done.out.find("berthd admin create --email nobody@example.org"), std::string::npos)
        << done.out;
}

TEST_F(SignInAtATerminal, GivesAProofForCommandsThatFollow) {
    const std::string email = "ahead@example.org";
    ASSERT_EQ(shell
                  .run_on_terminal({"login", "--session", "--email", email},
                                   {mailed("mailed to " + email + ": ", email)})
                  .status,
              0);
    const std::vector<std::string> words{"keys",   "create",   "--name",
                                         "second", "--scopes", "renter"};
    EXPECT_EQ(shell.run(words).status, 3);
    EXPECT_EQ(shell.run({"step-up"}).status, 2) << "nobody can be asked";
    const Printed proven = shell.run_on_terminal({"step-up"}, {mailed("mailed to you: ", email)});
    EXPECT_EQ(proven.status, 0) << proven.out;
    const Printed made = shell.run(words);
    EXPECT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(shell.run({"step-up", "nonsense"}).status, 2) << "is no purpose";
}

TEST_F(SignInAtATerminal, EndsAfterTheLastTry) {
    const std::string email = "clumsy@example.org";
    const auto wrong = [this, email] { return another(mailed_code(email)); };
    const Printed done = shell.run_on_terminal({"login", "--email", email},
                                               {{"mailed to " + email + ": ", wrong},
                                                typed("4 tries are left at most", "12345"),
                                                typed("it has six digits", "123 45a"),
                                                typed("it has six digits", "111 111"),
                                                typed("3 tries are left at most", "222222"),
                                                typed("2 tries are left at most", "333333"),
                                                typed("1 try is left at most", "444444")});
    EXPECT_EQ(done.status, 3) << done.out;
}

TEST_F(SignInAtATerminal, DrawsNoCodeThatHasNoRoom) {
    const std::string email = "narrow@example.org";
    shell.columns = 40;
    const Printed done = shell.run_on_terminal({"login", "--session", "--email", email},
                                               {mailed("mailed to " + email + ": ", email)});
    ASSERT_EQ(done.status, 0) << done.out;
    const Printed added = shell.run_on_terminal(
        {"authenticator", "add"},
        {mailed("mailed to you: ", email),
         {std::string(codes_question), nullptr, [](const std::string& shown) {
              return crypto::totp_code(secret_in(shown), fresh_totp_step() - 1);
          }}});
    EXPECT_EQ(added.status, 0) << added.out;
    EXPECT_EQ(added.out.find("▀"), std::string::npos) << added.out;
    EXPECT_NE(added.out.find("too narrow"), std::string::npos) << added.out;
}

TEST(QrCode, IsTheSameInColoursAndWithout) {
    const std::string text = "otpauth://totp/Berth:ada%40example.org?secret=JBSWY3DPEHPK3PXP";
    const auto coloured = cli::qr_lines(text, {60, true});
    const auto plain = cli::qr_lines(text, {60, false});
    ASSERT_TRUE(coloured && plain);
    EXPECT_EQ(std::count(coloured->begin(), coloured->end(), '\n'),
              std::count(plain->begin(), plain->end(), '\n'));
    EXPECT_TRUE(plain->starts_with("████")) << "light around it";
    EXPECT_TRUE(coloured->starts_with("\033[38;5;16;48;5;231m    "));
    EXPECT_FALSE(cli::qr_lines(text, {20, true}));
}

}  // namespace
}  // namespace berth::test
