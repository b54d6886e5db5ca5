// A market with campaigns, and jobs that their credits pay for, posted as rentals post them.
#pragma once

#include "admin/office.hpp"
#include "credits/credits.hpp"
#include "ledger/check.hpp"

namespace berth::test {

struct Campaigns : Office {
    explicit Campaigns(Harness::Options options = {}) : Office(std::move(options)) {}

    // The operator's own money.
    void put_in(std::int64_t amount) {
        const std::string reference = town.harness.new_id();
        book([&](ledger::Context context) {
            ledger::park(context, {{}, ledger::Asset::usdc, Micro{amount}, reference});
            ledger::move_own(
                context, {ledger::Movement::top_up, ledger::Asset::usdc, Micro{amount}, reference});
        });
    }
    // Whoever redeems a code has paid something in.
    void pay_in(Browser& who, std::int64_t amount) {
        const AccountId owner = account(who);
        const std::string reference = town.harness.new_id();
        book([&](ledger::Context context) {
            ledger::deposit(context, {owner, ledger::Asset::usdc, Micro{amount}, reference});
        });
    }
    http::Response begin(const std::string& code, int total, int per_account) {
        return post(root, "campaigns",
                    R"({"code":")" + code + R"(","name":"Launch","total_micro":")" +
                        std::to_string(total) + R"(","per_account_micro":")" +
                        std::to_string(per_account) + R"(","credit_days":10,"redeem_until":")" +
                        to_rfc3339(town.harness.clock.now() + std::chrono::hours(48)) +
                        R"(","reason":"the launch"})");
    }
    http::Response redeem(Browser& who, const std::string& code) {
        return who.send("POST", "/api/v1/billing/credits", R"({"code":")" + code + "\"}",
                        town.harness.new_id());
    }
    // A job that is over; credits pay first, and the fee is ten per cent.
    JobId job_on_credit(AccountId renter, AccountId host, std::int64_t budget,
                        std::int64_t charge) {
        const auto id = JobId::make(town.harness.clock.now(), town.harness.random);
        book([&](ledger::Context context) {
            const Micro credit =
                credits::take(context, {renter, ledger::Asset::usdc, id, Micro{budget}});
            ledger::hold(context, {id, renter, host, MachineId{id.uuid}, ledger::Asset::usdc,
                                   Micro{budget}, Micro{3'600'000}, 1000, 0, credit});
            ledger::capture(context, id, {Micro{charge}, charge});
            credits::give_back(context.tx, id, ledger::release(context, id));
        });
        return id;
    }
    Micro capital() {
        return town.harness.app->database().read(
            [&](db::Transaction& tx) { return ledger::means(tx, ledger::Asset::usdc).capital; });
    }
    static ledger::Report proof(db::Transaction& tx) {
        const credits::CreditWitness witness;
        ledger::CheckOptions options;
        options.witnesses = {&witness};
        return ledger::check_ledger(tx, options);
    }
    void TearDown() override {
        town.harness.app->database().read([&](db::Transaction& tx) {
            const auto report = proof(tx);
            EXPECT_TRUE(report.sound()) << ledger::to_text(report);
        });
    }
};

}  // namespace berth::test
