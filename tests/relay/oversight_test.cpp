// Operators look at what is a renter's: it leaves a trace each time, and never shows the secret.
#include "accounts/accounts.hpp"
#include "rental.hpp"

namespace berth::test {
namespace {

class Oversight : public RentalTest {
protected:
    Browser make_operator() {
        database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, town.harness.random, now()}, "root@example.org");
        });
        Browser browser = town.person("root@example.org");
        browser.enroll();
        return browser;
    }
    std::int64_t looks(const std::string& action) {
        return database().read([&](db::Transaction& tx) {
            return tx
                .fetch_value<std::int64_t>("SELECT COUNT(*) FROM audit_events WHERE action = $1",
                                           action)
                .value();
        });
    }
    static std::string of(JobId job, const std::string& what) {
        return "/api/v1/jobs/" + to_string(job) + "/" + what;
    }
    http::Response own(const std::string& target) { return town.with_key(ben.key, "GET", target); }
    void step_up() { ASSERT_EQ(root.step_up("admin-sensitive").status, 200); }

    Browser root = make_operator();
};

TEST_F(Oversight, AnOperatorNeverReadsTheKeyOfARentersEngine) {
    const JobId job = serve_model();
    const auto renters = own(of(job, "access"));
    ASSERT_EQ(renters.status, 200) << renters.body;
    const std::string secret = member(renters.body, "endpoint_api_key");
    ASSERT_GT(secret.size(), 8U);
    EXPECT_EQ(looks("read_job_access"), 0) << "the renter's own look is nobody's business";

    step_up();
    const auto operators = root.send("GET", of(job, "access"));
    ASSERT_EQ(operators.status, 200) << operators.body;
    EXPECT_EQ(member(operators.body, "endpoint_api_key"), "null");
    EXPECT_EQ(operators.body.find(secret), std::string::npos);
    EXPECT_EQ(looks("read_job_access"), 1);
    const auto record = root.send("GET", "/api/v1/admin/audit?action=read_job_access");
    EXPECT_EQ(member(record.body, "items.0.target.id"), to_string(job));
    EXPECT_EQ(member(record.body, "items.0.changes.0.to"), to_string(ben.account));
}

TEST_F(Oversight, AccessAndLogsNeedAFreshProofAndAreAudited) {
    const JobId job = serve_model();
    for (const auto& [what, action] : std::vector<std::pair<std::string, std::string>>{
             {"access", "read_job_access"}, {"logs", "read_job_logs"}}) {
        root.sign_in("root@example.org");  // without the proof
        EXPECT_EQ(root.send("GET", of(job, what)).status, 403) << what;
        EXPECT_EQ(looks(action), 0) << what;
        step_up();
        EXPECT_EQ(root.send("GET", of(job, what)).status, 200) << what;
        EXPECT_EQ(root.send("GET", of(job, what)).status, 200) << what;
        EXPECT_EQ(looks(action), 2) << what;
        EXPECT_EQ(own(of(job, what)).status, 200) << what;
        EXPECT_EQ(looks(action), 2) << what;
    }
}

TEST_F(Oversight, TheRelayAndTheModelsOfSomebodyElseAreAudited) {
    const JobId job = serve_model();
    EXPECT_EQ(root.send("GET", place(job) + "models").status, 200);
    EXPECT_EQ(looks("read_job_models"), 1);
    EXPECT_EQ(root.send("POST", place(job) + "chat/completions", chat_body).status, 200);
    EXPECT_EQ(looks("use_job_relay"), 1);
    EXPECT_EQ(root.send("GET", place(JobId{}) + "models").status, 404);
    EXPECT_EQ(looks("read_job_models"), 1) << "there was nothing to look at";
}

// A look that leaves no trace is none.
TEST_F(Oversight, EntriesOfSomebodyElseAreAuditedAndOnesOwnAreNot) {
    EXPECT_EQ(root.send("GET", "/api/v1/billing/entries").status, 200);
    EXPECT_EQ(looks("read_entries"), 0);
    EXPECT_EQ(
        root.send("GET", "/api/v1/billing/entries?account_id=" + to_string(ben.account)).status,
        200);
    EXPECT_EQ(looks("read_entries"), 1);
}

}  // namespace
}  // namespace berth::test
