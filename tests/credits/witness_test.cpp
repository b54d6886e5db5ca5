// The proof of the books finds every alteration of campaigns, credits and their uses.
#include "credits/campaigns.hpp"

namespace berth::test {
namespace {

// Two people redeemed; one of them has 50 left, after jobs of 300 and of 50.
struct CreditProof : Campaigns {
    CreditProof() {
        put_in(1000);
        EXPECT_EQ(begin("LAUNCH-1", 1000, 400).status, 201);
        for (Browser* const one : {&ada, &bob}) {
            pay_in(*one, 1);
            EXPECT_EQ(redeem(*one, "LAUNCH-1").status, 201);
        }
        job_on_credit(account(ada), account(bob), 400, 300);
        job_on_credit(account(ada), account(bob), 100, 50);
    }
    // What the proof says of books in which this was done to them; it is undone.
    std::string faults_after(const std::string& sql) {
        return town.harness.app->database().write([&](db::Transaction& tx) {
            return tx.rehearse([&] {
                EXPECT_GT(tx.run(sql).affected, 0) << sql;
                const auto report = proof(tx);
                return report.sound() ? std::string() : ledger::to_text(report);
            });
        });
    }

    Browser bob = town.person("bob@example.org");
};

TEST_F(CreditProof, FindsWhatIsLeftOfCreditsAlteredInAnyPlace) {
    struct Case {
        std::string sql;
        std::string fault;
    };
    for (const Case& one : {
             Case{"UPDATE credits SET remaining = amount", "its credits are not what was redeemed"},
             Case{"UPDATE credits SET amount = amount + 1",
                  "its credits are not what was redeemed"},
             Case{"UPDATE campaigns SET redeemed = redeemed + 1",
                  "its credits are not what was redeemed"},
             Case{"UPDATE credits SET remaining = CASE WHEN remaining = 50 THEN 100 ELSE 350 END",
                  "more is left than its uses leave"},
             Case{"UPDATE credits SET asset = 'USDT' WHERE remaining = 50",
                  "more is left than its uses leave"},
             Case{"UPDATE credit_uses SET taken = CASE WHEN taken = 400 THEN 399 ELSE 101 END",
                  "its credits are not what the ledger holds for it"},
             Case{"UPDATE credit_uses SET given_back = CASE WHEN taken = 400 THEN 99 ELSE 51 END",
                  "its credits are not what the ledger holds for it"},
         }) {
        const std::string faults = faults_after(one.sql);
        EXPECT_NE(faults.find(one.fault), std::string::npos) << one.sql << "\n" << faults;
    }
}

// The jobs have no delay of their own: only the credit keeps what was earned.
TEST_F(CreditProof, FindsEarningsByACreditThatMatureTooSoon) {
    for (const std::string sql :
         {"DELETE FROM ledger_maturing", "UPDATE ledger_maturing SET matures_at = matures_at - 1",
          "UPDATE ledger_maturing SET amount = amount - 1"}) {
        const std::string faults = faults_after(sql);
        EXPECT_NE(faults.find("by a credit does not mature for 30 days"), std::string::npos)
            << sql << "\n"
            << faults;
    }
    EXPECT_NE(faults_after("UPDATE ledger_maturing SET amount = amount + 1")
                  .find("its earning does not mature as its job says"),
              std::string::npos);
}

}  // namespace
}  // namespace berth::test
