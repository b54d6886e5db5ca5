// What the relay remembers of who calls and of jobs, and what makes it forget: at once what this
// process changed, after a moment what another one did.
#include "rental.hpp"

namespace berth::test {
namespace {

class RelayMemory : public RentalTest {
protected:
    explicit RelayMemory(std::map<std::string, std::string> flags = {})
        : RentalTest(std::move(flags)) {}

    // The first request may have to note that the key is used; the next is kept for the third.
    JobId serve_known() {
        const JobId job = serve_model();
        engine.set(json_answer("{}"));
        for (int i = 0; i < 3; ++i) EXPECT_EQ(status(job), 200);
        EXPECT_GT(remembered(), 0U);
        return job;
    }
    int status(JobId job) { return ask(job, "chat/completions", chat_body).status; }
    int status_for(const Person& who, JobId job) {
        return http::CurlClient().send(outbound(who, job, "chat/completions", chat_body)).status;
    }
    std::uint64_t remembered() { return town.harness.app->relay().remembered(); }
    bool is_remembered(JobId job) {
        const std::uint64_t before = remembered();
        EXPECT_EQ(status(job), 200);
        return remembered() > before;
    }
    template <class... Params>
    void change(db::Database& where, std::string_view sql, const Params&... params) {
        where.write([&](db::Transaction& tx) { EXPECT_EQ(tx.run(sql, params...).affected, 1); });
    }
    void advance(Duration span) { town.harness.clock.advance(span); }

    static constexpr std::string_view revoke =
        "UPDATE api_keys SET revoked_at = $2 WHERE account_id = $1";
    static constexpr std::string_view expire =
        "UPDATE api_keys SET expires_at = $2 WHERE account_id = $1";
    static constexpr std::string_view unscope =
        "UPDATE api_keys SET renter = 0, host = 1 WHERE account_id = $1";
    static constexpr std::string_view move_to =
        "UPDATE jobs SET endpoints = replace(endpoints, $2, $3) WHERE job_id = $1";
    static constexpr std::string_view fail = "UPDATE jobs SET state = 'STOPPING' WHERE job_id = $1";
};

TEST_F(RelayMemory, LastsAMoment) {
    const JobId job = serve_known();
    EXPECT_TRUE(is_remembered(job));
    advance(db::Reading::good_for - Duration(1));
    EXPECT_TRUE(is_remembered(job));
    advance(Duration(1));
    EXPECT_FALSE(is_remembered(job));
    EXPECT_TRUE(is_remembered(job));
    advance(-Duration(1));  // a clock that was set back
    EXPECT_FALSE(is_remembered(job));
    EXPECT_TRUE(is_remembered(job));
}

TEST_F(RelayMemory, IsGoodForTheHeadAndThenTheBodyOfALongRequest) {
    const JobId job = serve_known();
    const std::string long_body = std::string(100'000, ' ') + std::string(chat_body);
    EXPECT_EQ(ask(job, "chat/completions", long_body).status, 200);
    EXPECT_TRUE(engine.heard().back().ends_with(long_body)) << "and nothing of it was lost";
    EXPECT_TRUE(is_remembered(job));
}

TEST_F(RelayMemory, OutlivesWhatDoesNotMatter) {
    const JobId job = serve_known();
    EXPECT_EQ(beat(job, 1), 1U);
    tell(job, agent_protocol::JobEventKind::usage,
         R"({"container_id":"c1","boot_id":"boot-1","runtime_ms":"1","log_tail":"loud"})");
    EXPECT_FALSE(usage(job).empty());
    EXPECT_TRUE(is_remembered(job));
}

TEST_F(RelayMemory, EndsWithTheKeyAtOnce) {
    const JobId job = serve_known();
    change(database(), revoke, ben.account, now());
    EXPECT_EQ(status(job), 401);
}

TEST_F(RelayMemory, EndsWhenTheKeyRunsOut) {
    const JobId job = serve_known();
    change(database(), expire, ben.account, now() + milliseconds(100));
    EXPECT_FALSE(is_remembered(job));
    EXPECT_TRUE(is_remembered(job));
    advance(milliseconds(100));
    EXPECT_EQ(status(job), 401);
}

TEST_F(RelayMemory, EndsWithTheScopeAtOnce) {
    const JobId job = serve_known();
    change(database(), unscope, ben.account);
    EXPECT_EQ(status(job), 403);
}

TEST_F(RelayMemory, EndsWithASuspensionAtOnce) {
    const JobId job = serve_known();
    town.suspend(to_string(ben.account));
    EXPECT_EQ(status(job), 401);
    town.suspend(to_string(ben.account), false);
    EXPECT_EQ(status(job), 200);
}

TEST_F(RelayMemory, EndsWithTheJobAtOnce) {
    const JobId job = serve_known();
    EXPECT_EQ(stop(ben, job).status, 202);
    EXPECT_EQ(status(job), 409);
}

TEST_F(RelayMemory, FollowsTheEndpointAtOnce) {
    const JobId job = serve_known();
    ScriptedEngine other;
    other.set(json_answer("{}", "404 Not Found"));
    change(database(), move_to, job, std::to_string(engine.port()), std::to_string(other.port()));
    EXPECT_EQ(status(job), 404);
    EXPECT_EQ(other.heard().size(), 1U);
}

TEST_F(RelayMemory, TellsAStrangerNothing) {
    const Person cy = join(R"(["renter"])");
    const JobId job = serve_known();
    const std::uint64_t before = remembered();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(status_for(cy, job), 404);
    EXPECT_GT(remembered(), before);
    EXPECT_TRUE(is_remembered(job));
}

TEST_F(RelayMemory, KnowsNoKeyThatComesWithAnother) {
    const JobId job = serve_known();
    http::Outbound twice = outbound(ben, job, "chat/completions", chat_body);
    twice.headers.add("Authorization", "Bearer " + ada.key);
    EXPECT_EQ(http::CurlClient().send(twice).status, 401);
}

class RelayMemoryRates : public RelayMemory {
protected:
    RelayMemoryRates() : RelayMemory({{"rate-relay-per-minute", "5"}}) {}
};

TEST_F(RelayMemoryRates, CountWhatIsRemembered) {
    const JobId job = serve_known();
    EXPECT_TRUE(is_remembered(job));
    advance(db::Reading::good_for);
    EXPECT_FALSE(is_remembered(job));
    EXPECT_EQ(status(job), 429);
}

// The caller is remembered, the job is not: the request begins again, and counts once.
TEST_F(RelayMemoryRates, CountOnceWhatIsOnlyHalfRemembered) {
    const JobId other = serve_model();
    const JobId job = serve_known();
    EXPECT_EQ(status(other), 200);
    EXPECT_TRUE(is_remembered(job));
    EXPECT_EQ(status(job), 429);
}

// SQLite belongs to one process.
class PostgresOnlyRelayMemory : public RelayMemory {};

TEST_F(PostgresOnlyRelayMemory, FollowsAnotherServerAfterAMoment) {
    const auto other = db::open(town.harness.database.url());
    const JobId job = serve_known();
    change(*other, fail, job);
    EXPECT_TRUE(is_remembered(job));
    advance(db::Reading::good_for);
    EXPECT_EQ(status(job), 409);
    change(*other, "UPDATE jobs SET state = 'RUNNING' WHERE job_id = $1", job);
    EXPECT_EQ(status(job), 200);
    EXPECT_TRUE(is_remembered(job));
    change(*other, revoke, ben.account, now());
    EXPECT_TRUE(is_remembered(job));
    advance(db::Reading::good_for);
    EXPECT_EQ(status(job), 401);
}

}  // namespace
}  // namespace berth::test
