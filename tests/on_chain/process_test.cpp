// The real server, killed again and again while it settles.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include "on_chain/money_town.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

constexpr int transfers = 12;
constexpr int kills = 12;
constexpr int rounds_max = 600;

// Lets the processes go on for a while.
void pass(int milliseconds) { poll(nullptr, 0, milliseconds); }

// The next process need not wait until the dead one's leases have run out.
void end_leases(const TestDatabase& database) {
    database.open()->write(
        [](db::Transaction& tx) { tx.run("UPDATE tasks SET lease_until = 0, run_at = 0"); });
}

TEST(SettlementProcess, KilledAgainAndAgainItPaysEverybodyOnce) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.fund(ada, 1'000'000);
    const auto wallet = EvmNode::account(1).address();
    const Micro before = town.node.balance(town.node.usdc(), wallet);
    std::int64_t sum = 0;
    for (int i = 1; i <= transfers; ++i) {
        const auto answer =
            town.post(ada, "/api/v1/withdrawals",
                      R"({"address":")" + crypto::checksummed(wallet) + R"(","amount_micro":")" +
                          std::to_string(i * 100) + "\"}");
        ASSERT_EQ(answer.status, 202) << answer.body;
        sum += i * 100;
    }

    // From here on the database is the processes' own.
    auto& harness = town.town.harness;
    harness.app.reset();
    const std::vector<std::string> settings{"--db", harness.database.url(), "--secrets",
                                            harness.folder.path() + "/secrets"};
    const auto command = [&](std::vector<std::string> words) {
        words.insert(words.begin(), program_path("berthd"));
        words.insert(words.end(), settings.begin(), settings.end());
        return words;
    };
    const auto worker = command(
        {"worker", "--chain-rpc", town.node.url(), "--allow-unsafe", "undurable-db", "--token-usdc",
         crypto::to_string(town.node.usdc()), "--token-usdt", crypto::to_string(town.node.usdt()),
         "--chain-poll-ms", "10", "--mail", "file:" + harness.folder.path() + "/mail"});
    const std::string log = harness.folder.path() + "/log";
    for (int i = 0; i < kills; ++i) {
        Process process(worker, log);
        pass(60 + static_cast<int>(harness.random.below(250)));
        process.signal(SIGKILL);
        process.wait();
        end_leases(harness.database);
        if (i % 3 == 0) town.node.mine();
    }
    Process process(worker, log);
    const Micro paid = before + Micro{sum};
    bool settled = false;
    for (int i = 0; i < rounds_max && !settled; ++i) {
        town.node.mine();
        pass(50);
        settled = read_text(log).find("transfer_settled") != std::string::npos &&
                  town.node.balance(town.node.usdc(), wallet) == paid;
    }
    // Until every settlement is booked as well as paid.
    Outcome check{1, ""};
    for (int i = 0; i < rounds_max; ++i) {
        check = run_program(command({"check", "ledger"}));
        ASSERT_NE(check.output.find(": sound"), std::string::npos) << check.output;
        if (check.output.find("reserved") != std::string::npos &&
            check.output.find(fmt::format("{:>22}{:>22}{:>22}\n", sum, sum, 0)) !=
                std::string::npos)
            break;
        town.node.mine();
        pass(50);
    }
    EXPECT_EQ(check.status, 0);
    EXPECT_NE(check.output.find(fmt::format("{:>22}{:>22}{:>22}\n", sum, sum, 0)),
              std::string::npos)
        << check.output << read_text(log);
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait(), 0);
    EXPECT_EQ(town.node.balance(town.node.usdc(), wallet), paid);
}

TEST(SettlementProcess, TheLedgerCanBeProvedBesideARunningServer) {
    MoneyTown town;
    const Client ada = town.client(1);
    town.fund(ada, 1234);
    const auto& harness = town.town.harness;
    const auto check =
        run_program({program_path("berthd"), "check", "ledger", "--db", harness.database.url()});
    EXPECT_EQ(check.status, 0) << check.output;
    EXPECT_NE(check.output.find("treasury"), std::string::npos) << check.output;
    EXPECT_NE(
        check.output.find("1 accounts, 1 transactions (1 looked at), 2 entries, 0 faults: sound"),
        std::string::npos)
        << check.output;
    harness.app->database().write([](db::Transaction& tx) {
        tx.run("UPDATE ledger_accounts SET available = available + 1");
    });
    const auto wrong =
        run_program({program_path("berthd"), "check", "ledger", "--db", harness.database.url()});
    EXPECT_EQ(wrong.status, 1);
    EXPECT_NE(wrong.output.find("NOT SOUND"), std::string::npos) << wrong.output;
}

}  // namespace
}  // namespace berth::test
