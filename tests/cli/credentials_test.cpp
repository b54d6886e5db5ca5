// What commands do to the credentials that are there: another account's stay, or are copied after a
// question. The server is a real one, whose mail is not read: nobody signs in by mail here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/letters.hpp"
#include "cli/reading.hpp"
#include "cli/shell.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

namespace fs = std::filesystem;

class Credentials : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        folder = new TemporaryFolder;
        place = "127.0.0.1:" + std::to_string(free_port());
        server = new Process(
            {program_path("berthd"), "serve", "--listen", place, "--db",
             "sqlite:" + folder->path() + "/berth.db", "--secrets", folder->path() + "/secrets",
             "--mail", "file:" + folder->path() + "/mail", "--rate-challenge-per-hour", "1000"},
            folder->path() + "/log");
        ASSERT_TRUE(wait_until_ready(*server, "http://" + place + "/readyz"))
            << read_text(folder->path() + "/log");
    }
    static void TearDownTestSuite() {
        delete server;
        delete folder;
    }

    // By a bare key, of which the profile keeps nothing.
    std::vector<std::string> register_with(char digit) const {
        return {"agents",     "register",
                "--name",     "Scout",
                "--vendor",   "Example",
                "--key-file", shell.file(std::string("bare") + digit, std::string(64, digit))};
    }
    std::string account() const {
        return cli::Reading(shell.run({"whoami"}).out).text("account_id");
    }
    std::string profile_text() const { return read_text(shell.home() + "/profiles/default.json"); }
    std::string api_key() const { return cli::Reading(profile_text()).text("api_key"); }
    std::vector<std::string> copies() const {
        std::vector<std::string> all;
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(shell.home() + "/replaced", none))
            all.push_back(entry.path());
        return all;
    }
    // The words do nothing without an answer, and the profile stays to the letter.
    void expect_refused(const std::vector<std::string>& words) const {
        const std::string before = profile_text();
        const Printed piped = shell.run(words);
        EXPECT_EQ(piped.status, 5) << piped.err;
        EXPECT_TRUE(piped.err.starts_with(R"({"error":{"code":"CONFLICT",)")) << piped.err;
        EXPECT_EQ(std::count(piped.err.begin(), piped.err.end(), '\n'), 1) << piped.err;
        EXPECT_NE(piped.err.find("--yes"), std::string::npos) << piped.err;
        EXPECT_EQ(profile_text(), before);
        const Printed asked = shell.run_on_terminal(words, {{"[y/N]: ", [] { return "n"; }}});
        EXPECT_EQ(asked.status, 5) << asked.out;
        EXPECT_EQ(profile_text(), before);
        EXPECT_TRUE(copies().empty());
    }
    // The one copy is the profile that was there, and works when it is put back.
    void expect_copied(const Printed& done, const std::string& before) const {
        EXPECT_EQ(done.status, 0) << done.out << done.err;
        ASSERT_EQ(copies().size(), 1U) << done.out << done.err;
        const std::string copy = copies()[0];
        EXPECT_NE((done.out + done.err).find(copy), std::string::npos) << done.out << done.err;
        EXPECT_EQ(fs::status(copy).permissions(), fs::perms::owner_read | fs::perms::owner_write);
        EXPECT_EQ(read_text(copy), before);
        fs::create_directories(shell.home() + "/profiles");
        fs::copy_file(copy, shell.home() + "/profiles/again.json");
        EXPECT_EQ(shell.run({"--profile", "again", "whoami"}).status, 0);
    }

    inline static TemporaryFolder* folder = nullptr;
    inline static std::string place;
    inline static Process* server = nullptr;
    Shell shell{"http://" + place};
};

TEST_F(Credentials, OfAnAccountAreNotReplacedByRegisteringAnother) {
    ASSERT_EQ(shell.run(register_with('1')).status, 0);
    const std::string first = account();
    expect_refused(register_with('2'));
    std::vector<std::string> fresh = register_with('2');
    fresh.resize(6);
    fresh.insert(fresh.end(), {"--passphrase-file", shell.file("passphrase", "correct horse")});
    expect_refused(fresh);
    EXPECT_FALSE(fs::exists(shell.home() + "/wallets")) << "no wallet was made, either";
    EXPECT_EQ(account(), first);

    std::vector<std::string> beside = register_with('2');
    beside.insert(beside.begin(), {"--profile", "other"});
    EXPECT_EQ(shell.run(beside).status, 0) << "another profile takes another account";
    EXPECT_EQ(account(), first);
    EXPECT_EQ(cli::Reading(shell.run(register_with('1')).out).text("created"), "false")
        << "the same account gets another key";

    const std::string before = profile_text();
    std::vector<std::string> agreed = register_with('3');
    agreed.push_back("--yes");
    const Printed done = shell.run(agreed);
    expect_copied(done, before);
    EXPECT_EQ(cli::Reading(done.out).text("copy"), copies()[0]);
    EXPECT_NE(account(), first);
}

TEST_F(Credentials, AreReplacedAfterTheQuestionOfATerminal) {
    ASSERT_EQ(shell.run(register_with('1')).status, 0);
    const std::string before = profile_text();
    expect_copied(
        shell.run_on_terminal(register_with('4'), {{"replace it? [y/N]: ", [] { return "y"; }}}),
        before);
}

TEST_F(Credentials, OfAnAccountAreNotReplacedByAPersonsLogin) {
    ASSERT_EQ(shell.run(register_with('1')).status, 0);
    expect_refused({"login", "--email", "eva@example.org"});
    EXPECT_TRUE(fs::is_empty(folder->path() + "/mail") || !fs::exists(folder->path() + "/mail"))
        << "no code was mailed";
}

TEST_F(Credentials, ThatNothingElseBringsBackAreNotForgottenByLoggingOut) {
    ASSERT_EQ(shell.run(register_with('1')).status, 0);
    expect_refused({"logout"});
    const std::string before = profile_text();
    expect_copied(shell.run({"logout", "--yes"}), before);
    EXPECT_EQ(shell.run({"whoami"}).status, 3);
}

TEST_F(Credentials, AreNotLostWhenAProfileIsAddedAgain) {
    ASSERT_EQ(shell.run(register_with('1')).status, 0);
    const std::string url = "http://" + place;
    const std::string other = shell.file("key", "ark_another");
    expect_refused({"profiles", "add", "default", "--server", url, "--api-key-file", other});
    expect_refused({"profiles", "add", "default", "--server", "https://berth.example"});
    const std::string own = shell.file("own", api_key());
    EXPECT_EQ(shell.run({"profiles", "add", "default", "--server", url}).status, 0);
    EXPECT_EQ(
        shell.run({"profiles", "add", "default", "--server", url, "--api-key-file", own}).status, 0)
        << "the same again";
    EXPECT_EQ(shell.run({"profiles", "add", "default", "--server", url, "--wallet", "w"}).status,
              0);
    expect_refused({"profiles", "add", "default", "--server", url, "--wallet", "x"});
    const std::string before = profile_text();
    expect_copied(shell.run({"profiles", "add", "default", "--server", url, "--api-key-file", other,
                             "--yes"}),
                  before);
    EXPECT_EQ(api_key(), "ark_another");
    EXPECT_EQ(profile_text().find("\"w\""), std::string::npos) << "another account's wallet";
}

TEST_F(Credentials, AreNotLostWithTheirProfile) {
    ASSERT_EQ(shell.run(register_with('1')).status, 0);
    expect_refused({"profiles", "remove", "default"});
    const std::string before = profile_text();
    expect_copied(shell.run({"profiles", "remove", "default", "--yes"}), before);
    EXPECT_FALSE(fs::exists(shell.home() + "/profiles/default.json"));
}

TEST_F(Credentials, InUseAreRevokedOnlyAfterAQuestion) {
    ASSERT_EQ(shell
                  .run({"agents", "register", "--name", "Scout", "--vendor", "Example",
                        "--passphrase-file", shell.file("passphrase", "correct horse")})
                  .status,
              0);
    shell.environment["BERTH_WALLET_PASSPHRASE"] = "correct horse";
    const std::string own = cli::Reading(profile_text()).text("key_id");
    expect_refused({"keys", "revoke", own});
    std::string shouted = own;
    std::transform(shouted.begin(), shouted.end(), shouted.begin(), to_upper);
    expect_refused({"keys", "revoke", shouted});
    for (const std::string& tail : {own, shouted, own + "?now"})
        expect_refused({"api", "delete", "/api/v1/account/api-keys/" + tail});
    EXPECT_EQ(shell.run({"keys", "revoke", own, "--explain"}).status, 0);
    EXPECT_EQ(shell.run({"whoami"}).status, 0) << "it still works";
    const Printed second = shell.run({"keys", "create", "--name", "worker", "--scopes", "renter"});
    ASSERT_EQ(second.status, 0) << second.err;
    const cli::Reading made(second.out);
    EXPECT_EQ(shell.run({"keys", "revoke", made.text("key_id")}).status, 0) << "another one";

    // Known by its first letters where the profile does not say which it is.
    shell.environment["BERTH_API_KEY"] = api_key();
    fs::rename(shell.home() + "/profiles/default.json", shell.folder() + "/aside");
    const Printed known = shell.run({"keys", "revoke", own});
    EXPECT_EQ(known.status, 5) << known.err;
    EXPECT_NE(known.err.find("--yes ends it"), std::string::npos) << known.err;
    fs::rename(shell.folder() + "/aside", shell.home() + "/profiles/default.json");
    EXPECT_EQ(shell.run({"keys", "revoke", own, "--yes"}).status, 0);
    EXPECT_EQ(shell.run({"whoami"}).status, 3);
}

TEST_F(Credentials, OfADesktopAreCopiedBeforeTheyAreReplaced) {
    const std::string kept = shell.folder() + "/kept";
    fs::permissions(
        shell.file("secret-tool", "#!/bin/sh\n[ -e " + kept + ".locked ] && exit 1\ncase $1 in\n" +
                                      "store) cat > " + kept + " ;;\nlookup) cat " + kept +
                                      " ;;\nclear) rm -f " + kept + " ;;\nesac\n"),
        fs::perms::owner_all);
    shell.environment["PATH"] = shell.folder() + ":" + shell.environment["PATH"];
    shell.environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nowhere";
    ASSERT_EQ(shell.run(register_with('1')).status, 0);
    const std::string secret = read_text(kept);
    std::vector<std::string> agreed = register_with('2');
    agreed.push_back("--yes");
    shell.file("kept.locked", "");
    EXPECT_NE(shell.run(agreed).status, 0) << "what cannot be copied is not replaced";
    EXPECT_EQ(read_text(kept), secret);
    EXPECT_EQ(shell.run({"profiles", "remove", "default", "--yes"}).status, 0);
    EXPECT_EQ(read_text(kept), secret) << "it stays with the desktop";
    fs::remove(kept + ".locked");
    fs::remove(kept);

    ASSERT_EQ(shell.run(register_with('1')).status, 0);
    const std::string again = read_text(kept);
    EXPECT_EQ(shell.run(agreed).status, 0);
    ASSERT_EQ(copies().size(), 1U);
    EXPECT_EQ(cli::Reading(read_text(copies()[0])).text("api_key"), again);
    EXPECT_NE(read_text(kept), again);
}

TEST_F(Credentials, AreAWordAndNotTheFileOfSomethingElse) {
    const std::string file =
        shell.file("private", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END\n");
    EXPECT_EQ(shell
                  .run({"profiles", "add", "default", "--server", "http://" + place,
                        "--api-key-file", file})
                  .status,
              2);
    EXPECT_FALSE(fs::exists(shell.home() + "/profiles/default.json"));
    shell.environment["BERTH_API_KEY"] = std::string(64, 'a');
    const Printed said = shell.run({"whoami"});
    EXPECT_EQ(said.status, 2) << "the private key of a wallet";
    EXPECT_EQ(said.err.find("aaaa"), std::string::npos) << said.err;
}

}  // namespace
}  // namespace berth::test
