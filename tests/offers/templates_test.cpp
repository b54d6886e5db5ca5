// Templates: the starter set, what everybody sees, and what operators do.
#include "offers/templates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "accounts/accounts.hpp"
#include "agent_protocol/image.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

using offers::TemplateKind;
using offers::TemplateRow;

const std::string digest = "example.org/image@sha256:" + std::string(64, 'b');

std::string draft(const std::string& slug, const std::string& more = "") {
    return R"({"template_id":")" + slug +
           R"(","name":"A template","kind":"model","engine":"vllm","vram_fit":{)"
           R"("min_vram_bytes":"24000000000","est_weights_bytes":"16060522496",)"
           R"("est_kv_bytes_per_1k_tokens":"131072000"},"required_runtime":"rocm-hip")" +
           more + "}";
}

class Templates : public ::testing::Test {
protected:
    void SetUp() override {
        root.enroll();
        ASSERT_EQ(root.step_up("admin-sensitive").status, 200);
    }
    Browser operator_of_the_town() {
        town.harness.app->database().write([&](db::Transaction& tx) {
            accounts::make_admin({tx, town.harness.random, town.harness.clock.now()},
                                 "root@example.org");
        });
        return town.person("root@example.org");
    }
    http::Response get(const std::string& target) {
        return town.harness.ask({.target = "/api/v1/templates" + target});
    }
    http::Response admin(const std::string& method, const std::string& target,
                         const std::string& body = "") {
        return root.send(method, "/api/v1/admin/templates" + target, body, town.harness.new_id());
    }
    std::vector<std::string> slugs(const std::string& query) {
        std::vector<std::string> found;
        const std::string body = get(query).body;
        for (int i = 0;; ++i) {
            const std::string slug = member(body, "items." + std::to_string(i) + ".template_id");
            if (slug.empty()) return found;
            found.push_back(slug);
        }
    }

    Town town;
    Browser root = operator_of_the_town();
};

TEST(StarterTemplates, ThreeOfEachKindArePublishedWithADigestThatStandsInAPublicSource) {
    std::map<TemplateKind, int> published;
    std::set<std::string> slugs;
    std::set<std::string> ids;
    for (const TemplateRow& row : offers::starter_templates()) {
        SCOPED_TRACE(row.slug);
        EXPECT_TRUE(slugs.insert(row.slug).second);
        EXPECT_TRUE(ids.insert(to_string(row.template_id)).second);
        EXPECT_EQ(row.published_at.has_value(), row.image_digest && row.image_source);
        if (row.published_at) ++published[row.kind];
        EXPECT_TRUE(agent_protocol::names_registry(row.image_digest.value_or("")))
            << row.image_digest.value_or("none");
        EXPECT_NO_THROW(offers::shown(row));
        if (row.min_cuda) {
            EXPECT_TRUE(offers::parse_version(*row.min_cuda));
        }
    }
    EXPECT_GE(published[TemplateKind::model], 3);
    EXPECT_GE(published[TemplateKind::classical], 3);
}

TEST(StarterTemplates, TheFloorOfEachIsEnoughForItsModel) {
    for (const TemplateRow& row : offers::starter_templates())
        EXPECT_EQ(row.fits_from_bytes, row.min_vram_bytes) << row.slug;
}

TEST_F(Templates, TheStarterSetIsThereFromTheStart) {
    EXPECT_EQ(slugs("?limit=100").size(), offers::starter_templates().size());
    const auto planted = town.harness.app->database().write([&](db::Transaction& tx) {
        return offers::plant_starter_templates(tx, town.harness.clock.now());
    });
    EXPECT_EQ(planted, 0) << "a second server adds nothing";
}

TEST_F(Templates, ImagesOfDockersThatShippedWithoutTheirRegistryAreGivenIt) {
    const std::string before = member(get("/pytorch-2-6").body, "image_digest");
    constexpr std::string_view registry = "docker.io/";
    ASSERT_TRUE(before.starts_with(registry)) << before;
    const std::string other = "example.org/pytorch@sha256:" + std::string(64, 'c');
    const auto plant_over = [&](const std::string& image) {
        town.harness.app->database().write([&](db::Transaction& tx) {
            tx.run("UPDATE templates SET image_digest = $1 WHERE slug = $2", image,
                   std::string("pytorch-2-6"));
            return offers::plant_starter_templates(tx, town.harness.clock.now());
        });
        return member(get("/pytorch-2-6").body, "image_digest");
    };
    EXPECT_EQ(plant_over(before.substr(registry.size())), before);
    EXPECT_EQ(plant_over(other), other) << "what an operator chose stays";
}

TEST_F(Templates, StarterTemplatesAsTheLastVersionLeftThemAreBroughtUpToDate) {
    struct Stored {
        std::string slug;
        std::string image;
        std::string env;
    };
    const auto plant_over = [&](const Stored& stored) {
        town.harness.app->database().write([&](db::Transaction& tx) {
            tx.run(
                "UPDATE templates SET image_digest = $1, env = $2, command = '[]' WHERE slug = $3",
                stored.image, stored.env, stored.slug);
            return offers::plant_starter_templates(tx, town.harness.clock.now());
        });
        return get("/" + stored.slug).body;
    };
    const auto image_of = [&](const std::string& slug) {
        return member(get("/" + slug).body, "image_digest");
    };
    EXPECT_EQ(member(plant_over({"jupyter-pytorch", image_of("jupyter-pytorch"),
                                 R"({"HOME":"/work","JUPYTER_RUNTIME_DIR":"/work/.jupyter"})"}),
                     "env.JUPYTER_TOKEN"),
              "{BERTH_API_KEY}");
    EXPECT_EQ(member(plant_over({"whisper", image_of("whisper"), R"({"HF_HOME":"/work/hub"})"}),
                     "env.API_KEY"),
              "{BERTH_API_KEY}");
    const std::string mistral = "vllm-mistral-7b-instruct-v0-3";
    const std::string image = image_of(mistral);
    const std::string former_image = image.substr(image.find('/') + 1);
    const std::string env = R"({"HF_HOME":"/work/hub","MAX_MODEL_LEN":"32768",)"
                            R"("MODEL_ID":"mistralai/Mistral-7B-Instruct-v0.3"})";
    const std::string renewed = plant_over({mistral, former_image, env});
    EXPECT_EQ(member(renewed, "image_digest"), image);
    EXPECT_EQ(member(renewed, "command.0"), "vllm") << renewed;
    const std::string qwen = plant_over(
        {"vllm-qwen3-8b", former_image,
         R"({"HF_HOME":"/work/hub","MAX_MODEL_LEN":"16384","MODEL_ID":"Qwen/Qwen3-8B"})"});
    EXPECT_EQ(member(qwen, "env.MODEL_REVISION").size(), 40U) << qwen;
    EXPECT_EQ(member(qwen, "command.0"), "vllm") << qwen;
    // What an operator chose stays: other variables, and no command.
    const std::string other = plant_over({mistral, former_image, R"({"MODEL_ID":"a/b"})"});
    EXPECT_EQ(member(other, "image_digest"), image);
    EXPECT_EQ(member(other, "env.MODEL_ID"), "a/b");
    EXPECT_EQ(member(other, "command.0"), "") << other;
    EXPECT_EQ(member(plant_over({mistral, image, env}), "command.0"), "");
}

TEST(StarterTemplates, OpenModelsOfVllmNameTheRevisionThatIsServed) {
    int named = 0;
    for (const TemplateRow& row : offers::starter_templates()) {
        if (row.engine != "vllm") continue;
        SCOPED_TRACE(row.slug);
        const std::string revision = member(row.env, "MODEL_REVISION");
        const auto words = offers::command_of(row);
        const auto option = std::find(words.begin(), words.end(), "--revision");
        EXPECT_EQ(revision.size(), row.gated ? 0U : 40U);
        EXPECT_EQ(revision.find_first_not_of("0123456789abcdef"), std::string::npos);
        ASSERT_EQ(option != words.end(), !row.gated);
        if (row.gated) continue;
        ASSERT_NE(option + 1, words.end());
        EXPECT_EQ(*(option + 1), revision);
        ++named;
    }
    EXPECT_GE(named, 3);
}

TEST_F(Templates, ATemplateIsFoundByItsSlugAndByItsId) {
    const auto by_slug = get("/vllm-qwen2-5-7b-instruct");
    ASSERT_EQ(by_slug.status, 200) << by_slug.body;
    EXPECT_EQ(by_slug.headers.find("cache-control"), "no-store");
    const std::string id = member(by_slug.body, "id");
    EXPECT_EQ(get("/" + id).body, by_slug.body);
    EXPECT_EQ(member(by_slug.body, "vram_fit.est_weights_bytes"), "15231233024");
    EXPECT_EQ(member(by_slug.body, "time_to_ready"), "null");
    EXPECT_EQ(member(by_slug.body, "exposes.0.port"), "8000");
    EXPECT_EQ(member(by_slug.body, "env.MODEL_ID"), "Qwen/Qwen2.5-7B-Instruct");
    EXPECT_EQ(get("/no-such-template").status, 404);
    EXPECT_EQ(get("/" + town.harness.new_id()).status, 404);
    for (const char* bad : {"/Upper", "/-dash", "/under_score", "/a.b", "/%20",
                            "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
        EXPECT_EQ(get(bad).status, 422) << bad;
}

TEST_F(Templates, ThatHavePagesAreStartedWithTheKeyOfTheirEndpoint) {
    EXPECT_EQ(member(get("/jupyter-pytorch").body, "env.JUPYTER_TOKEN"), "{BERTH_API_KEY}");
    EXPECT_EQ(member(get("/whisper").body, "env.API_KEY"), "{BERTH_API_KEY}");
}

TEST_F(Templates, TheListIsFilteredAndPaged) {
    const auto all = slugs("?limit=100");
    EXPECT_TRUE(std::ranges::is_sorted(all));
    EXPECT_EQ(slugs("?kind=classical").size(), 4u);
    EXPECT_TRUE(slugs("?kind=custom").empty());
    EXPECT_EQ(slugs("?kind=model&min_vram_bytes=8000000000"),
              (std::vector<std::string>{"llama-cpp-qwen2-5-7b-instruct-q4-k-m"}));
    EXPECT_TRUE(slugs("?min_vram_bytes=7999999999").empty());
    EXPECT_EQ(get("?kind=toy").status, 422);
    EXPECT_EQ(get("?min_vram_bytes=-1").status, 422);
    EXPECT_EQ(get("?min_vram_bytes=24GB").status, 422);
    EXPECT_EQ(get("?limit=0").status, 422);
    EXPECT_EQ(get("?limit=101").status, 422);
    EXPECT_EQ(get("?colour=blue").status, 200);

    std::vector<std::string> walked;
    std::string query = "?limit=3";
    for (int pages = 0; pages < 10; ++pages) {
        for (const std::string& slug : slugs(query)) walked.push_back(slug);
        const std::string cursor = member(get(query).body, "next_cursor");
        if (cursor == "null") break;
        query = "?limit=3&cursor=" + cursor;
    }
    EXPECT_EQ(walked, all);
    EXPECT_EQ(get(query + "&kind=model").status, 422) << "a cursor belongs to its filters";
}

TEST(StarterTemplates, OfVllmNameWhatIsStartedAndLeaveNoVariableOpen) {
    for (const TemplateRow& row : offers::starter_templates()) {
        const auto command = offers::command_of(row);
        EXPECT_EQ(command.empty(), row.engine != "vllm") << row.slug;
        for (const std::string& word : command)
            EXPECT_EQ(word.find_first_of("{}"), std::string::npos) << row.slug << " " << word;
        if (!command.empty()) {
            EXPECT_EQ(command.front(), "vllm");
        }
    }
}

TEST_F(Templates, ACommandIsKeptAndItsVariablesAreThoseOfTheTemplate) {
    const std::string env = R"(,"env":{"MODEL_ID":"a/b","SIZE":"4"})";
    const auto added =
        admin("POST", "",
              draft("mine", env + R"(,"command":["run","--model={MODEL_ID}","{SIZE}x{SIZE}"])"));
    ASSERT_EQ(added.status, 201) << added.body;
    EXPECT_EQ(member(added.body, "command.1"), "--model={MODEL_ID}");
    const auto row = town.harness.app->database().read([&](db::Transaction& tx) {
        return offers::find_template(
            tx, offers::TemplateId{parse_uuid(member(added.body, "id")).value()});
    });
    ASSERT_TRUE(row);
    EXPECT_EQ(offers::command_of(*row), (std::vector<std::string>{"run", "--model=a/b", "4x4"}));
    EXPECT_EQ(member(admin("POST", "", draft("plain")).body, "command"), "[]");
    for (const char* bad : {R"(["run","{OTHER}"])", R"(["--flag"])", R"(["a\u0001b"])", R"([""])",
                            R"("run")", R"([1])"}) {
        const auto refused =
            admin("POST", "", draft("bad", env + R"(,"command":)" + std::string(bad)));
        EXPECT_EQ(refused.status, 422) << bad;
        EXPECT_NE(refused.body.find("body.command"), std::string::npos) << refused.body;
    }
}

TEST_F(Templates, OperatorsAddPublishChangeAndTakeBack) {
    const auto added = admin("POST", "", draft("mine"));
    ASSERT_EQ(added.status, 201) << added.body;
    const std::string id = member(added.body, "id");
    EXPECT_EQ(member(added.body, "published_at"), "null");
    EXPECT_EQ(member(added.body, "image_digest"), "null");
    EXPECT_EQ(member(added.body, "required_runtime"), "rocm-hip");
    EXPECT_EQ(member(added.body, "start_deadline_s"), "7200");
    EXPECT_EQ(get("/mine").status, 404) << "nobody sees it yet";
    EXPECT_EQ(get("/" + id).status, 404);
    EXPECT_EQ(slugs("?limit=100").size(), offers::starter_templates().size());
    EXPECT_NE(admin("GET", "?limit=100").body.find(R"("mine")"), std::string::npos);

    EXPECT_EQ(admin("POST", "/" + id + "/publish").status, 409) << "it has no image";
    const std::string whole = draft("mine", R"(,"image_digest":")" + digest + R"(")");
    EXPECT_EQ(admin("PUT", "/" + id, whole).status, 200);
    const auto published = admin("POST", "/" + id + "/publish");
    EXPECT_EQ(published.status, 200) << published.body;
    EXPECT_EQ(get("/mine").body, published.body);
    town.harness.clock.advance(std::chrono::seconds(5));
    EXPECT_EQ(admin("POST", "/" + id + "/publish").body, published.body) << "once is enough";
    EXPECT_EQ(admin("PUT", "/" + id, draft("mine")).status, 409) << "it would lose its image";

    EXPECT_EQ(admin("POST", "/" + id + "/unpublish").status, 200);
    EXPECT_EQ(get("/mine").status, 404);
}

TEST_F(Templates, EveryChangeIsAudited) {
    const auto actions = [&] {
        return town.harness.app->database().read([](db::Transaction& tx) {
            return tx.fetch_value<std::int64_t>(
                "SELECT COUNT(*) FROM audit_events WHERE action IN ('add_template', "
                "'change_template', 'publish_template', 'unpublish_template')");
        });
    };
    const std::string whole = draft("mine", R"(,"image_digest":")" + digest + R"(")");
    const std::string id = member(admin("POST", "", whole).body, "id");
    EXPECT_EQ(actions(), 1);
    const auto added = town.harness.app->database().read([](db::Transaction& tx) {
        return tx
            .fetch_value<std::string>("SELECT after FROM audit_changes WHERE field = 'template'")
            .value_or("");
    });
    EXPECT_NE(added.find(digest), std::string::npos) << "the whole of it: " << added;
    admin("PUT", "/" + id, whole);
    admin("POST", "/" + id + "/publish");
    admin("POST", "/" + id + "/unpublish");
    EXPECT_EQ(actions(), 4);
}

TEST_F(Templates, BadDraftsAreRefusedByName) {
    struct Case {
        std::string more;
        std::string named;
    };
    const std::vector<Case> cases{
        {R"(,"image_digest":"vllm/vllm-openai:latest")", "body.image_digest"},
        {R"(,"image_digest":"a b@sha256:)" + std::string(64, 'a') + R"(")", "body.image_digest"},
        {R"(,"image_digest":"vllm/vllm-openai@sha256:)" + std::string(64, 'a') + R"(")",
         "body.image_digest: must begin with its registry"},
        {R"(,"image_digest":"python@sha256:)" + std::string(64, 'a') + R"(")",
         "body.image_digest: must begin with its registry"},
        {R"(,"env":{"LD_PRELOAD":"/work/x.so"})", "body.env: must not have LD_PRELOAD"},
        {R"(,"env":{"LD_AUDIT":"/work/x.so"})", "body.env: must not have LD_AUDIT"},
        {R"(,"min_gpu_count":0)", "body.min_gpu_count"},
        {R"(,"exposes":[{"name":"x","port":0,"protocol":"http"}])", "body.exposes"},
        {R"(,"exposes":[{"name":"x","port":65536,"protocol":"http"}])", "body.exposes"},
        {R"(,"exposes":[{"name":"x","port":80,"protocol":"udp"}])", "body.exposes"},
        {R"(,"env":{"1A":"b"})", "body.env"},
        {R"(,"env":{"A=B":"b"})", "body.env"},
        {R"(,"env":{"":"b"})", "body.env"},
        {R"(,"env":{"A":5})", "body.env"},
        {R"(,"readiness_path":"health")", "body.readiness_path"},
        {R"(,"readiness_path":"/a\r\nHost: evil")", "body.readiness_path"},
        {R"(,"readiness_path":"/a b")", "body.readiness_path"},
        {R"(,"readiness_path":"/\u00e9")", "body.readiness_path"},
        {R"(,"min_cuda":"twelve")", "body.min_cuda"},
        {R"(,"max_model_len":0)", "body.max_model_len"},
        {R"(,"start_deadline_s":59)", "body.start_deadline_s"},
        {R"(,"published_at":"2026-01-01T00:00:00Z")", "body.published_at"},
        {R"(,"colour":"blue")", "body.colour"}};
    for (const Case& row : cases) {
        const auto response = admin("POST", "", draft("bad", row.more));
        EXPECT_EQ(response.status, 422) << row.more;
        EXPECT_NE(error_message(response).find(row.named), std::string::npos)
            << row.more << ": " << response.body;
    }
    for (const std::string slug : {"", "-a", "A", "a_b", "0198c0de-0000-7000-8000-000000000001"})
        EXPECT_EQ(admin("POST", "", draft(slug)).status, 422) << slug;
    EXPECT_EQ(admin("POST", "", "{").status, 422);
    EXPECT_EQ(admin("POST", "", draft("whisper")).status, 409) << "the slug is taken";
    const std::string id = member(get("/whisper").body, "id");
    EXPECT_EQ(admin("PUT", "/" + id, draft("whisper-2")).status, 422) << "a slug never changes";
    EXPECT_EQ(admin("PUT", "/whisper", draft("whisper")).status, 422) << "operators name the id";
    EXPECT_EQ(admin("PUT", "/" + town.harness.new_id(), draft("x")).status, 404);
    EXPECT_EQ(admin("POST", "/" + town.harness.new_id() + "/publish").status, 404);
}

TEST_F(Templates, WritingNeedsAStepUpAndAKeyOfItsOwn) {
    const auto first = root.send("POST", "/api/v1/admin/templates", draft("once"), "no-uuid");
    EXPECT_EQ(first.status, 422);
    const std::string key = town.harness.new_id();
    const auto one = root.send("POST", "/api/v1/admin/templates", draft("once"), key);
    EXPECT_EQ(one.status, 201);
    EXPECT_EQ(root.send("POST", "/api/v1/admin/templates", draft("once"), key).body, one.body);
    EXPECT_EQ(root.send("POST", "/api/v1/admin/templates", draft("twice"), key).status, 409);
    town.harness.clock.advance(std::chrono::minutes(6));
    EXPECT_EQ(admin("POST", "", draft("late")).status, 403);
    Browser ada = town.person("ada@example.org");
    EXPECT_EQ(
        ada.send("POST", "/api/v1/admin/templates", draft("mine"), town.harness.new_id()).status,
        403);
}

}  // namespace
}  // namespace berth::test
