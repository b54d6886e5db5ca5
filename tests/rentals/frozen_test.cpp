// Who is frozen starts nothing: money leaves by a rental of one's own machine, too.
#include "accounts/operators.hpp"
#include "rentals/market.hpp"

namespace berth::test {
namespace {

class FrozenRenters : public MarketTest {
protected:
    void freeze(const Person& person, bool frozen) {
        database().write([&](db::Transaction& tx) {
            const auto record = accounts::find_record(tx, person.account);
            ASSERT_TRUE(accounts::put_freeze(tx, {person.account, record.value().version}, frozen));
        });
    }
};

TEST_F(FrozenRenters, GetNoQuoteNoMachineAndNoHigherBudget) {
    const auto machine = put_up();
    const auto other = put_up();
    const JobId running = rent(ben, machine);
    get_ready(running);
    const auto quoted = quote(ben, other, {});
    ASSERT_EQ(quoted.status, 201) << quoted.body;
    freeze(ben, true);
    const auto refused = quote(ben, other, {});
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(error_code(refused), "CONFLICT");
    EXPECT_EQ(reserve(ben, member(quoted.body, "quote_id")).status, 409);
    EXPECT_EQ(send(ben, "POST", "/api/v1/jobs/" + to_string(running) + "/budget",
                   R"({"add_micro":"5","expected_budget_version":"1"})")
                  .status,
              409);
    EXPECT_EQ(member(show(ben, running), "state"), "RUNNING") << "what runs goes on";
    EXPECT_EQ(stop(ben, running).status, 202) << "and can be stopped";
    freeze(ben, false);
    EXPECT_EQ(quote(ben, other, {}).status, 201);
}

}  // namespace
}  // namespace berth::test
