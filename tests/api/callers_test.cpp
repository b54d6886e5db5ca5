// Who finds out who calls: chosen by the route's Access, without a transaction where memory can
// tell.
#include <gtest/gtest.h>

#include "support/harness.hpp"

namespace berth::test {
namespace {

// Knows one machine by heart; any other takes the database.
class MachineCallers final : public api::Authenticator {
public:
    std::optional<api::Caller> recognise(const http::Request& request, Time) override {
        const auto name = request.headers.find("Machine");
        if (!name) throw Problem(Code::unauthenticated, "a machine signs its requests");
        if (*name == "forged") throw api::InvalidCredential("the signature is wrong");
        return *name == "known" ? std::optional(machine()) : std::nullopt;
    }
    api::Caller identify(const http::Request&, db::Transaction& tx, Time) override {
        tx.run("SELECT 1");
        ++looked_up;
        return machine();
    }
    void note_use(const api::Caller&, db::Transaction&, Time) override {}

    int looked_up = 0;

private:
    static api::Caller machine() {
        api::Caller caller;
        caller.credential = api::Credential::machine;
        return caller;
    }
};

class Callers : public ::testing::Test {
protected:
    http::Response beat(const std::string& machine) {
        return harness.ask(
            {.method = "POST", .target = "/test/heartbeat", .headers = {{"Machine", machine}}});
    }

    static Harness::Options options(MachineCallers& machines) {
        Harness::Options options;
        options.flags = {{"rate-invalid-credentials-per-minute", "2"}};
        options.overrides.authenticators.machines = &machines;
        return options;
    }

    MachineCallers machines;
    Harness harness{options(machines)};
};

TEST_F(Callers, AreFoundByTheAuthenticatorOfTheRoutesAccess) {
    EXPECT_EQ(beat("known").status, 204);
    const std::string me = "renter " + harness.new_id();
    EXPECT_EQ(harness.ask({.method = "POST", .target = "/test/heartbeat", .as = me}).status, 401)
        << "an account's key says nothing to machines' authenticator";
    EXPECT_EQ(harness.ask({.target = "/test/entries", .as = me}).status, 200);
    EXPECT_EQ(harness.ask({.target = "/test/entries", .headers = {{"Machine", "known"}}}).status,
              401);
}

TEST_F(Callers, ThatMemoryKnowsCostNoLookup) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(beat("known").status, 204);
    EXPECT_EQ(machines.looked_up, 0);
    EXPECT_EQ(beat("new here").status, 204);
    EXPECT_EQ(machines.looked_up, 1);
}

TEST_F(Callers, AForgedSignatureIsCountedAgainstItsAddress) {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(beat("forged").status, 401);
    EXPECT_EQ(beat("new here").status, 429);
    EXPECT_EQ(machines.looked_up, 0);
    EXPECT_EQ(beat("known").status, 204) << "who is known is not taken for a guess";
}

}  // namespace
}  // namespace berth::test
