// A simulated server as a process: what it refuses to be mixed with, its faucet and its clock.
#include "server/simulation.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "server/schema.hpp"
#include "support/database.hpp"
#include "support/folder.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using Flags = std::vector<std::string>;

class SimulatedServer : public ::testing::Test {
protected:
    Flags command(const Flags& flags, const std::string& listen = "") const {
        Flags all{program_path("berthd"),
                  "serve",
                  "--listen",
                  listen.empty() ? place : listen,
                  "--secrets",
                  folder.path() + "/secrets",
                  "--mail",
                  "file:" + folder.path() + "/mail",
                  "--chain-poll-ms",
                  "50"};
        all.insert(all.end(), flags.begin(), flags.end());
        return all;
    }
    std::unique_ptr<Process> start(const Flags& flags) {
        auto process = std::make_unique<Process>(command(flags), folder.path() + "/log");
        EXPECT_TRUE(wait_until_ready(*process, "http://" + place + "/readyz"))
            << read_text(folder.path() + "/log");
        return process;
    }
    static void end(Process& process) {
        process.signal(SIGTERM);
        EXPECT_EQ(process.wait(), 0) << read_text(process.log_path());
    }
    // What a server says that ends at once.
    static std::string refusal(const Flags& all) {
        const Outcome outcome = run_program(all);
        EXPECT_EQ(outcome.status, 2) << outcome.output;
        return outcome.output;
    }
    std::string ask(const std::string& line) const {
        try {
            return ask_line(folder.path() + "/simulated.sock", line);
        } catch (const std::runtime_error& error) {
            return std::string("refused: ") + error.what();
        }
    }

    TemporaryFolder folder;
    std::string place = "127.0.0.1:" + std::to_string(free_port());
    std::string file = "sqlite:" + folder.path() + "/play.db";
    const Flags simulated{"--db", file, "--simulated"};
};

#define EXPECT_SAYS(text, words) EXPECT_NE((text).find(words), std::string::npos) << (text)

TEST_F(SimulatedServer, RefusesWhatWouldMixPlayMoneyWithRealMoney) {
    const std::string rpc = "http://127.0.0.1:1";
    EXPECT_SAYS(refusal(command({"--simulated", "--db", "postgres://nobody@127.0.0.1:1/none"})),
                "--db: must be a SQLite file");
    EXPECT_SAYS(refusal(command({"--db", file, "--simulated", "--chain-rpc", rpc})),
                "--chain-rpc: must not be given");
    EXPECT_SAYS(refusal(command({"--db", file, "--simulated", "--base-url", "https://b.example"},
                                "0.0.0.0:0")),
                "must be loopback addresses");
    EXPECT_SAYS(refusal(command({"--db", file, "--simulated", "--metrics-listen", "0.0.0.0:0"})),
                "must be loopback addresses");

    end(*start(simulated));
    EXPECT_SAYS(refusal(command({"--db", file, "--chain-rpc", rpc})),
                "is stamped simulated: --chain-rpc: must not be given");
    EXPECT_SAYS(refusal(command({"--db", file, "--base-url", "https://b.example"}, "0.0.0.0:0")),
                "is stamped simulated: --listen");
    EXPECT_SAYS(refusal(command({"--db", file})),
                "is stamped simulated: --simulated: must be given");
    EXPECT_SAYS(refusal({program_path("berthd"), "check", "ledger", "--chain", "--db", file,
                         "--chain-rpc", rpc}),
                "is stamped simulated");
    end(*start(simulated));
}

TEST_F(SimulatedServer, IsNotMadeOfADatabaseThatServedBefore) {
    end(*start({"--db", file}));
    EXPECT_SAYS(refusal(command(simulated)), "was not made as a simulated database");
    end(*start({"--db", file}));
    EXPECT_EQ(ask("clock"), "refused: " + folder.path() + "/simulated.sock: nobody listens there")
        << "only a simulated server has it";
}

TEST_F(SimulatedServer, SignsNothingWithARealTreasury) {
    end(*start(simulated));
    write_secret(folder.path() + "/secrets", "treasury.key", to_hex(Bytes(32, '\x11')));
    EXPECT_SAYS(refusal(command(simulated)), "has a treasury.key");
}

// On PostgreSQL nobody can start one; a stamp that came there by a copy is refused all the same.
TEST(PostgresOnlySimulatedStamp, IsRefused) {
    const TestDatabase database;
    const auto opened = db::open(database.url());
    db::migrate(*opened, server::schema());
    opened->write(
        [](db::Transaction& tx) { tx.run("INSERT INTO simulation_stamps (stamp) VALUES (1)"); });
    const TemporaryFolder folder;
    const Outcome outcome =
        run_program({program_path("berthd"), "serve", "--listen", "127.0.0.1:0", "--db",
                     database.url(), "--secrets", folder.path() + "/secrets"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_SAYS(outcome.output, "is stamped simulated: --db: must be a SQLite file");
}

TEST_F(SimulatedServer, HasAFaucetThatTheBooksAndTheChainAgreeWith) {
    auto process = start(simulated);
    struct stat facts {};
    ASSERT_EQ(::stat((folder.path() + "/simulated.sock").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U);

    const Outcome made = run_program({program_path("berthd"), "admin", "create", "--email",
                                      "ada@example.org", "--db", file, "--simulated"});
    EXPECT_EQ(made.status, 0) << made.output;
    const std::size_t at = made.output.find("(account ") + 9;
    const std::string account = made.output.substr(at, 36);
    EXPECT_SAYS(ask("faucet " + account + " 25000000"), "has 25000000 micro-USDC more");
    EXPECT_SAYS(ask("faucet " + account + " 7 USDT"), "has 7 micro-USDT more");
    EXPECT_EQ(ask("faucet 0198a000-0000-7000-8000-000000000000 1"),
              "refused: ACCOUNT_ID: there is no such account");
    EXPECT_EQ(ask("faucet " + account + " -1"), "refused: MICRO: must be a whole number");
    EXPECT_EQ(ask("faucet " + account), "refused: MICRO: is missing");
    EXPECT_EQ(ask("transfer 0x" + std::string(40, '1') + " 0x" + std::string(40, '2') + " 5"),
              "refused: 0x1111111111111111111111111111111111111111 has less than that");
    EXPECT_EQ(ask("dance"), "refused: VERB: must be clock, advance, mint, transfer or faucet");

    const Flags proof{program_path("berthd"), "check", "ledger", "--chain", "--db", file,
                      "--simulated"};
    const Outcome beside = run_program(proof);
    EXPECT_EQ(beside.status, 0) << beside.output;
    EXPECT_SAYS(beside.output, "the treasury holds 25000000, the books say 25000000");
    process->signal(SIGKILL);
    process->wait();
    process = start(simulated);
    const Outcome after = run_program(proof);
    EXPECT_EQ(after.status, 0) << after.output;
    EXPECT_SAYS(after.output, "the treasury holds 25000000, the books say 25000000");
}

TEST_F(SimulatedServer, HasAClockThatGoesOnFromWhereItWas) {
    auto process = start(simulated);
    EXPECT_EQ(ask("clock"), "0");
    EXPECT_EQ(ask("advance 60"), "60");
    EXPECT_EQ(ask("advance 61"), "refused: SECONDS: must be at most 60");
    EXPECT_EQ(ask("advance 0"), "refused: SECONDS: must be a whole number");
    end(*process);
    process = start(simulated);
    EXPECT_EQ(ask("advance 1"), "61");
    http::CurlClient client;
    http::Outbound request;
    request.url = "http://" + place + "/api/v1/status";
    const auto said = parse_rfc3339(member(client.send(request).body, "updated_at"));
    ASSERT_TRUE(said);
    EXPECT_GE(*said - SystemClock().now(), std::chrono::seconds(50));
}

}  // namespace
}  // namespace berth::test
