// What operators set while the service runs is what the next request sees.
#include <gtest/gtest.h>

#include "support/harness.hpp"

namespace berth::test {
namespace {

TEST(LiveSettings, ThePublicStatusSaysWhetherAdmissionIsPaused) {
    Harness harness;
    const Ask status{.target = "/api/v1/status"};
    EXPECT_NE(harness.ask(status).body.find("\"admission_paused\":false"), std::string::npos);
    harness.set("operations.admission_paused", "true");
    EXPECT_NE(harness.ask(status).body.find("\"admission_paused\":true"), std::string::npos);
}

TEST(LiveSettings, TheTermsNameTheFeeThatIsInForce) {
    Harness harness;
    const Ask terms{.target = "/terms"};
    EXPECT_NE(harness.ask(terms).body.find("commission is 10% and"), std::string::npos);
    for (const auto& [bps, percent] : {std::pair("250", "2.5"),
                                       {"1", "0.01"},
                                       {"0", "0"},
                                       {"10000", "100"},
                                       {"1005", "10.05"}}) {
        harness.set("money.platform_fee_bps", bps);
        EXPECT_NE(harness.ask(terms).body.find(std::string("commission is ") + percent + "% and"),
                  std::string::npos)
            << bps;
    }
}

TEST(LiveSettings, TheTermsTellHowPricesSettleAndWhoBearsTheRisk) {
    Harness harness;
    const std::string terms = harness.ask({.target = "/terms"}).body;
    for (const char* told : {"settle one to one", "USDC", "lose its peg", "you bear that risk",
                             "comes out of your listed price", "never\nask for a private key"})
        EXPECT_NE(terms.find(told), std::string::npos) << told;
}

TEST(LiveSettings, ARateLimitHoldsFromTheNextRequestOn) {
    Harness harness;
    const Ask terms{.target = "/terms"};
    EXPECT_EQ(harness.ask(terms).status, 200);
    EXPECT_EQ(harness.ask(terms).status, 200);
    harness.set("operations.rate_public_per_minute", "2");
    EXPECT_EQ(harness.ask(terms).status, 429);
}

}  // namespace
}  // namespace berth::test
