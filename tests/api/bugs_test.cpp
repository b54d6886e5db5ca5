// A slip of ours in one route costs that request and nothing else.
#include <gtest/gtest.h>

#include "support/harness.hpp"

namespace berth::test {
namespace {

struct Slip {
    std::string name;
    std::function<void(api::Call&)> make;
    bool has_place = false;  // a Bug knows where it was found
};

const std::vector<Slip> slips{
    {"broken_promise", [](api::Call&) { require(false, "this is never so"); }, true},
    {"wrong_type",
     [](api::Call& call) {
         call.tx().fetch_value<std::string>("SELECT COUNT(*) FROM bank_entries");
     },
     true},
    {"wrong_sql", [](api::Call& call) { call.tx().run("SELECT no_such_column"); }},
    {"any_exception", [](api::Call&) { throw std::runtime_error("out of luck"); }},
    {"no_step_up", [](api::Call&) {}, true},  // the route declares one, and nobody asks for it
};

// A deposit into the bank, and then the slip.
void add_slips(api::Router& router) {
    for (const Slip& slip : slips) {
        const bool forgets = slip.name == "no_step_up";
        router.add({.method = "POST",
                    .path = "/slips/" + slip.name,
                    .name = "slip_" + slip.name,
                    .group = "test",
                    .summary = "Fails.",
                    .access = api::Access::participant,
                    .work = api::Work::write,
                    .step_up = forgets ? api::StepUp::wallet : api::StepUp::none,
                    .idempotent = true,
                    .status = 204},
                   [&slip](api::Call& call) {
                       call.tx().run(
                           "INSERT INTO bank_accounts (account_id, balance) VALUES ($1, 5)",
                           call.caller.account);
                       slip.make(call);
                   });
    }
}

struct Bugs : ::testing::Test {
    Bugs() : harness(options()) {}
    static Harness::Options options() {
        Harness::Options options;
        options.overrides.routes = add_slips;
        return options;
    }
    std::int64_t accounts() {
        return harness.app->database().read([](db::Transaction& tx) {
            return tx.fetch_value<std::int64_t>("SELECT COUNT(*) FROM bank_accounts").value();
        });
    }
    Harness harness;
};

TEST_F(Bugs, ASlipIsAnswered500RolledBackAndLoggedWithItsPlace) {
    const std::string as = "renter " + harness.new_id();
    for (const Slip& slip : slips) {
        const std::string key = harness.new_id();
        for (int attempt = 0; attempt < 2; ++attempt) {
            ::testing::internal::CaptureStderr();
            // Not by ask(): no route declares that it has a slip.
            const auto answer = harness.app->service().answer(make_request(
                {.method = "POST", .target = "/slips/" + slip.name, .as = as, .key = key}));
            const std::string log = ::testing::internal::GetCapturedStderr();
            EXPECT_EQ(answer.status, 500) << slip.name;
            EXPECT_EQ(error_code(answer), "INTERNAL") << answer.body;
            EXPECT_EQ(accounts(), 0) << slip.name;
            EXPECT_NE(log.find("request_failed"), std::string::npos) << log;
            EXPECT_EQ(log.find("pp:") != std::string::npos, slip.has_place) << log;
        }
    }
    EXPECT_EQ(harness.ask({.target = "/healthz"}).status, 200) << "the others go on";
}

}  // namespace
}  // namespace berth::test
