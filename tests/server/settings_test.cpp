// One table behind flags, variables and the file; every wrong value is told in one sentence.
#include <gtest/gtest.h>

#include <fstream>

#include "chain/settings.hpp"
#include "ledger/settings.hpp"
#include "mail/settings.hpp"
#include "server/chain_setup.hpp"
#include "server/secrets.hpp"
#include "server/settings.hpp"
#include "settings/show.hpp"
#include "support/database.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace berth::server {
namespace {

using Map = std::map<std::string, std::string>;

std::shared_ptr<const settings::Snapshot> load(const Map& flags, const Map& variables = {},
                                               const std::string& file = "") {
    return registry().snapshot(load_settings({flags, file, [&](const char* name) -> const char* {
                                                  const auto found = variables.find(name);
                                                  return found == variables.end()
                                                             ? nullptr
                                                             : found->second.c_str();
                                              }}));
}

std::string complaint(const Map& flags, const Map& variables = {}, const std::string& file = "") {
    try {
        load(flags, variables, file);
        return "";
    } catch (const BadSettings& bad) {
        return bad.what();
    }
}

class SettingsFile : public ::testing::Test {
protected:
    std::string write(const std::string& text) {
        const std::string path = folder.path() + "/berth.toml";
        std::ofstream(path) << text;
        return path;
    }
    test::TemporaryFolder folder;
};

TEST(Settings, HaveDefaultsThatWork) {
    const auto snapshot = load({});
    const auto& settings = snapshot->get<Settings>();
    EXPECT_EQ(settings.listen->address, "127.0.0.1");
    EXPECT_EQ(settings.listen->port, 8080);
    EXPECT_EQ(base_url_of(settings), "http://127.0.0.1:8080");
    EXPECT_EQ(*settings.db, "sqlite:data/berth.db");
    EXPECT_FALSE(*settings.allow_private_endpoints);
    EXPECT_FALSE(*settings.allow_plain_engines);
}

TEST(Settings, MoneyHasItsOwn) {
    const auto snapshot = load({});
    EXPECT_EQ(*snapshot->get<ledger::Settings>().platform_fee_bps, 1000);
    const auto& chain = snapshot->get<chain::Settings>();
    EXPECT_EQ(crypto::checksummed(*chain.token_usdc), "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
    EXPECT_FALSE(*chain.treasury);
    for (const auto& [name, value] :
         Map{{"treasury", "0x12"},
             {"cold-addresses", "0x8ba1f109551bD432803012645Ac136ddd64DBA72,0x12"},
             {"fee-address", "0x12"},
             {"token-usdc", ""},
             {"token-usdt", "0xFDE4C96c8593536E31F229EA8f37b2ADa2699bb2"},
             {"platform-fee-bps", "10001"},
             {"deposit-max-micro", "0"},
             {"transfer-min-micro", "-1"},
             {"chain-poll-ms", "1"},
             {"chain-confirmations", "x"},
             {"explorer-url", "basescan.org"},
             {"support-email", "nobody"}})
        EXPECT_TRUE(complaint({{name, value}}).starts_with("--" + name)) << name;
}

TEST(Settings, AnAddressOnTheChainIsOneThing) {
    const std::string one = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";
    const std::string other = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    const auto treasury = [](const Map& flags) {
        const auto snapshot = load(flags);
        const auto& chain = snapshot->get<chain::Settings>();
        return treasury_of(chain, *chain.treasury, false);
    };
    EXPECT_EQ(treasury({{"treasury", one}, {"cold-addresses", other}}).cold.size(), 1U);
    EXPECT_THROW(treasury({{"treasury", one}, {"cold-addresses", other + "," + one}}), BadSettings);
    EXPECT_THROW(treasury({{"cold-addresses", one}, {"fee-address", one}}), BadSettings);
    EXPECT_THROW(treasury({{"treasury", one}, {"fee-address", one}}), BadSettings);
}

TEST_F(SettingsFile, AFlagBeatsAVariableAndAVariableBeatsTheFile) {
    const std::string file = write(
        "listen = '127.0.0.1:1'\nmail = 'file:a'\nthreads = 7\nallow_private_endpoints = true\n"
        "chain_rpc = ['http://a', 'http://b']\n");
    const auto snapshot = load({{"listen", "127.0.0.1:3"}},
                               {{"BERTH_LISTEN", "127.0.0.1:2"}, {"BERTH_MAIL", "file:b"}}, file);
    const auto& settings = snapshot->get<Settings>();
    EXPECT_EQ(settings.listen->port, 3);
    EXPECT_EQ(*snapshot->get<mail::Settings>().transport, "file:b");
    EXPECT_EQ(*settings.threads, 7);
    EXPECT_TRUE(*settings.allow_private_endpoints);
    EXPECT_EQ(*snapshot->get<chain::Settings>().chain_rpc,
              (std::vector<std::string>{"http://a", "http://b"}));
}

TEST(Settings, EveryWrongValueNamesItsSetting) {
    const std::vector<std::pair<std::string, std::string>> rows{{"listen", "8080"},
                                                                {"listen", ":8080"},
                                                                {"listen", "127.0.0.1:65536"},
                                                                {"listen", "127.0.0.1:x"},
                                                                {"base-url", "berth.test"},
                                                                {"base-url", "https://a/"},
                                                                {"db", "mysql://x"},
                                                                {"db", "sqlite:"},
                                                                {"mail", "a@b"},
                                                                {"chain-rpc", "ws://a"},
                                                                {"secrets", ""},
                                                                {"allow-private-endpoints", "yes"},
                                                                {"log-level", "loud"},
                                                                {"threads", "0"},
                                                                {"threads", "-1"},
                                                                {"db-connections", "1e3"},
                                                                {"worker-threads", "257"},
                                                                {"rate-public-per-minute", "0"},
                                                                {"metrics-listen", "nowhere"}};
    for (const auto& [name, value] : rows) {
        const std::string said = complaint({{name, value}});
        EXPECT_TRUE(said.starts_with("--" + name + ": must "))
            << name << "=" << value << ": " << said;
    }
    EXPECT_TRUE(complaint({}, {{"BERTH_THREADS", "0"}}).starts_with("BERTH_THREADS: must "));
}

TEST(Settings, TheBaseUrlIsOneThatBrowsersAndWalletsCanUse) {
    for (const char* bad :
         {"http://berth.example",
          "https://b\xC3\xBC"
          "cher.example",
          "https://a b", "https://u:p@berth.example", "ftp://berth.example", "https://"})
        EXPECT_NE(complaint({{"base-url", bad}}), "") << bad;
    EXPECT_EQ(complaint({{"base-url", "http://localhost:8080"}}), "");
    EXPECT_NE(complaint({{"listen", "0.0.0.0:8080"}}).find("--base-url"), std::string::npos);
    EXPECT_EQ(complaint({{"listen", "0.0.0.0:8080"}, {"base-url", "https://berth.example"}}), "");
}

TEST(Settings, ACertificateNeedsItsKey) {
    EXPECT_NE(complaint({{"tls-certificate", "a.pem"}}), "");
}

// Names that people have in their scripts stay what they are.
TEST(Settings, KeepTheNamesTheyAreKnownBy) {
    for (const char* key : {"money.platform_fee_bps", "operations.admission_paused",
                            "branding.name", "contact.support_email", "chain-access.treasury",
                            "mail.from", "operations.rate_public_per_minute"})
        EXPECT_NE(registry().find(key), nullptr) << key;
    for (const char* flag : {"mail", "mail-from", "mail-ca-file", "platform-fee-bps",
                             "deposit-max-micro", "transfer-min-micro", "gas-fee-max-gwei",
                             "rate-sign-in-codes-per-hour", "rate-challenge-per-hour"})
        EXPECT_TRUE(std::any_of(registry().entries().begin(), registry().entries().end(),
                                [&](const auto& entry) { return entry.flag == flag; }))
            << flag;
}

TEST(Settings, TheRootOfTrustIsPinned) {
    for (const char* key :
         {"chain-access.treasury", "chain-access.token_usdc", "chain-access.token_usdt",
          "chain-access.chain_rpc", "operations.base_url", "operations.secrets",
          "operations.allow_private_endpoints", "operations.allow_plain_engines"})
        EXPECT_EQ(registry().initial(*registry().find(key)).about().pinned, settings::root_of_trust)
            << key;
}

TEST(Settings, TheirPageIsTheOneThatIsCheckedIn) {
    EXPECT_EQ(settings::to_markdown(registry()),
              test::read_text(BERTH_SOURCE_DIR "/docs/settings.md"))
        << "renew it: build/dev/bin/berthd settings docs > docs/settings.md";
}

TEST(Secrets, AreMadeOnceAndKeptToTheirOwner) {
    const test::TemporaryFolder folder;
    test::SeededRandom random;
    const Bytes made = load_secret(folder.path() + "/secrets", "a.key", random);
    EXPECT_EQ(made.size(), secret_bytes);
    EXPECT_EQ(load_secret(folder.path() + "/secrets", "a.key", random), made);
    EXPECT_NE(load_secret(folder.path() + "/secrets", "b.key", random), made);
    const auto path = std::filesystem::path(folder.path()) / "secrets" / "a.key";
    EXPECT_EQ(std::filesystem::status(path).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::filesystem::permissions(path, std::filesystem::perms::group_read,
                                 std::filesystem::perm_options::add);
    EXPECT_THROW(load_secret(folder.path() + "/secrets", "a.key", random), BadSettings);
}

TEST(Secrets, APrivateKeyMayBeginWith0x) {
    const test::TemporaryFolder folder;
    test::write_secret(folder.path(), "treasury.key", "0x" + std::string(64, 'a'));
    EXPECT_EQ(find_secret(folder.path(), "treasury.key"), Bytes(32, '\xaa'));
}

TEST(Secrets, AServerWithOtherKeysThanTheDatabaseKnowsDoesNotStart) {
    const test::TestDatabase file;
    const auto database = file.open();
    db::migrate(*database, secrets_migrations);
    const Secrets ours{Bytes(32, 'a'), Bytes(32, 'b'), Bytes(32, 'c'), Bytes(32, 'e')};
    check_fingerprints(*database, ours, "here");
    EXPECT_NO_THROW(check_fingerprints(*database, ours, "there")) << "another server with the same";
    for (Bytes Secrets::*key :
         {&Secrets::cursor, &Secrets::code, &Secrets::seal, &Secrets::command}) {
        Secrets others = ours;
        others.*key = Bytes(32, 'd');
        EXPECT_THROW(check_fingerprints(*database, others, "here"), BadSettings);
    }
    EXPECT_EQ(test::dump(*database).find(std::string(32, 'a')), std::string::npos);
}

TEST(Secrets, ABrokenFileIsRefusedNotReplaced) {
    const test::TemporaryFolder folder;
    test::SeededRandom random;
    load_secret(folder.path(), "a.key", random);
    std::ofstream(folder.path() + "/a.key") << "12";
    EXPECT_THROW(load_secret(folder.path(), "a.key", random), BadSettings);
    EXPECT_EQ(test::read_text(folder.path() + "/a.key"), "12");
}

}  // namespace
}  // namespace berth::server
