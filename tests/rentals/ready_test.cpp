// What a READY has to name before the meter runs.
#include "rentals/market.hpp"

namespace berth::test {
namespace {

using agent_protocol::JobEventKind;

class Ready : public MarketTest {
protected:
    JobId rent_model() {
        return rent(ben, put_up(), {.what = fmt::format(R"("template_id":"{}")", model)});
    }
    // What a READY with these endpoints is refused for; empty where it was taken.
    std::string refusal(JobId job, const std::string& endpoints, Code code = Code::invalid_input) {
        try {
            tell(job, JobEventKind::ready,
                 fmt::format(R"({{"container_id":"c1","boot_id":"boot-1","endpoints":[{}]}})",
                             endpoints));
        } catch (const Problem& problem) {
            EXPECT_EQ(problem.code, code) << problem.message;
            EXPECT_EQ(state_of(job), JobState::STARTING);
            EXPECT_EQ(find(job).live.meter_started_at, std::nullopt);
            return problem.message;
        }
        return "";
    }
    static std::string named(const std::string& kind, const std::string& name,
                             std::int64_t port = 40001) {
        return fmt::format(R"({{"kind":"{}","name":"{}","host":"203.0.113.7","port":{}}})", kind,
                           name, port);
    }
    static bool has(const std::string& text, const std::string& words) {
        return text.find(words) != std::string::npos;
    }
};

TEST_F(Ready, OfAModelWithoutItsEndpointStartsNoMeter) {
    const JobId job = rent_model();
    accept(job);
    for (const std::string& endpoints :
         {std::string(), named("ssh", "ssh"), named("http", "api"), named("http", "OPENAI"),
          named("ssh", "openai"), named("http", "metrics") + "," + named("ssh", "openai")})
        EXPECT_TRUE(has(refusal(job, endpoints),
                        "body.evidence.endpoints: must name the http "
                        "endpoint 'openai'"))
            << endpoints;
    town.harness.clock.advance(seconds(60));
    beat(job, 60'000);
    EXPECT_EQ(find(job).live.accepted_ms, 0);
    EXPECT_EQ(refusal(job, named("http", "openai")), "");
    EXPECT_EQ(state_of(job), JobState::RUNNING);
}

TEST_F(Ready, NamesEveryHttpEndpointOfTheTemplateAndAWayForTheRentersKey) {
    const JobId job = rent(ben, put_up());
    accept(job);
    const std::string page = named("http", "comfyui");
    EXPECT_TRUE(has(refusal(job, ""), "'comfyui'"));
    EXPECT_TRUE(has(refusal(job, named("ssh", "ssh")), "'comfyui'"));
    EXPECT_TRUE(has(refusal(job, page), "must name an ssh endpoint"));
    EXPECT_TRUE(has(refusal(job, page + "," + named("http", "ssh")), "must name an ssh endpoint"));
    EXPECT_EQ(refusal(job, page + "," + named("ssh", "shell")), "");
}

TEST_F(Ready, OfAnImageOfOnesOwnNamesTheWayIntoIt) {
    town.harness.set("operations.custom_images_enabled", "true");
    const JobId job = rent(
        ben, put_up(),
        {.what = fmt::format(R"("image":"docker.io/me/mine@sha256:{}")", std::string(64, 'a'))});
    accept(job);
    EXPECT_TRUE(has(refusal(job, ""), "must name an ssh endpoint"));
    EXPECT_EQ(refusal(job, named("ssh", "ssh")), "");
}

TEST_F(Ready, IsHeldToWhatTheTemplateExposedWhenTheJobWasReserved) {
    const JobId job = rent_model();
    database().write([&](db::Transaction& tx) {
        tx.run("UPDATE templates SET exposes = '[]' WHERE template_id = $1",
               Uuid{parse_uuid(model).value()});
    });
    accept(job);
    EXPECT_TRUE(has(refusal(job, ""), "'openai'"));
}

TEST_F(Ready, IsTakenOnlyFromEndpointsThatAnswer) {
    const JobId job = rent(ben, put_up());
    accept(job);
    const std::string dark_page = named("http", "comfyui", dark_port);
    const std::string dark_shell = named("ssh", "ssh", dark_port);
    EXPECT_TRUE(has(refusal(job, dark_page + "," + named("ssh", "ssh"), Code::conflict),
                    "does not answer"));
    EXPECT_TRUE(has(refusal(job, named("http", "comfyui") + "," + dark_shell, Code::conflict),
                    "does not answer"));
    // One that nobody asked for is looked at all the same: renters are told of it.
    EXPECT_TRUE(has(refusal(job,
                            named("http", "comfyui") + "," + named("ssh", "ssh") + "," +
                                named("http", "more", dark_port),
                            Code::conflict),
                    "does not answer"));
}

}  // namespace
}  // namespace berth::test
