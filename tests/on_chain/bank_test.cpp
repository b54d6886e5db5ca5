// Many people at the bank, with the chain as its vault: whatever order things come in, what the
// treasury holds is what the books say, to the micro-unit.
#include <gtest/gtest.h>

#include "accounts/accounts.hpp"
#include "on_chain/settlement.hpp"

namespace berth::test {
namespace {

struct ChainBank : Settlement {
    static constexpr int people = 3;
    static constexpr int steps = 60;

    ChainBank() {
        town.look();
        for (int i = 1; i <= people; ++i) clients.push_back(town.client(i));
        auto& harness = town.town.harness;
        harness.set("money.transfer_min_micro", "1");
        harness.app->database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, harness.random, harness.clock.now()}, "root@example.org");
        });
        root = std::make_unique<Browser>(town.town.person("root@example.org"));
        root->enroll();
    }
    std::int64_t below(std::uint64_t end) {
        return static_cast<std::int64_t>(town.town.harness.random.below(end));
    }
    Client& anybody() { return clients.at(static_cast<std::size_t>(below(people))); }
    void send_back_something() {
        const std::string page = root->send("GET", "/api/v1/admin/suspense?state=SUSPENSE").body;
        const std::string deposit = member(page, "items.0.deposit_id");
        if (deposit.empty()) return;
        EXPECT_EQ(root->step_up("admin-sensitive").status, 200);
        const auto answer =
            root->send("POST", "/api/v1/admin/suspense/" + deposit + "/return",
                       R"({"reason":"sent by mistake"})", town.town.harness.new_id());
        EXPECT_EQ(answer.status, 200) << answer.body;
        ++returned;
    }
    void cancel_something(const Client& who) {
        const std::string id = newest(town, who, "id");
        if (id.empty()) return;
        const int status = town.post(who, "/api/v1/withdrawals/" + id + "/cancel", "").status;
        EXPECT_TRUE(status == 200 || status == 409) << status;
    }
    void withdraw_some(const Client& who) {
        const std::int64_t has = std::stoll(town.balance(who, "withdrawable_micro"));
        if (has > 0) withdraw(town, who, 1 + below(static_cast<std::uint64_t>(has)));
    }
    void step() {
        const Client& who = anybody();
        switch (below(8)) {
            case 0:
            case 1: town.fund(who, 1 + below(100'000)); break;
            case 2: town.pay(who, 1 + below(5000)); break;  // and nobody claims it
            case 3:
            case 4: withdraw_some(who); break;
            case 5: cancel_something(who); break;
            case 6: send_back_something(); break;
            default: town.look(); break;
        }
        if (below(3) == 0) town.node.mine();
    }
    void settle() {
        for (int i = 0; i < 3; ++i) {
            town.node.mine();
            town.node.finalize();
            town.look();
        }
    }

    MoneyTown town;
    std::vector<Client> clients;
    std::unique_ptr<Browser> root;
    int returned = 0;
};

TEST_F(ChainBank, TheTreasuryHoldsWhatTheBooksSay) {
    for (int i = 0; i < steps; ++i) {
        step();
        if (i % 20 == 19) {
            EXPECT_EQ(town.audit(), "sound") << i;
        }
    }
    settle();
    send_back_something();
    settle();
    EXPECT_GT(returned, 0);
    const auto check =
        run_program({program_path("berthd"), "check", "ledger", "--chain", "--db",
                     town.town.harness.database.url(), "--chain-rpc", town.node.url()});
    EXPECT_EQ(check.status, 0) << check.output;
    EXPECT_NE(check.output.find("(difference 0, on its way out 0)"), std::string::npos)
        << check.output;
    EXPECT_NE(check.output.find(": covered"), std::string::npos) << check.output;
}

}  // namespace
}  // namespace berth::test
