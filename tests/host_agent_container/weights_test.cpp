// Weights of open models: fetched once for a revision, compared with what the hub says of it, read
// by jobs of templates, and by nobody else.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>

#include "crypto/hash.hpp"
#include "host_agent/runtimes/weight_cache.hpp"
#include "host_agent_container/host.hpp"
#include "http/server.hpp"

namespace berth::test {
namespace {

using host_agent::JobKind;

const std::string revision(40, 'a');
const std::string large(100'000, 'w');
// Git's name of "hello\n", as everybody's git gives it.
constexpr const char* hello_in_git = "ce013625030ba8dba906f756967f9e9ca394464a";

// The two addresses of the hub that matter: the list of a revision's files, and the files.
class HubDouble final : public http::Handler {
public:
    explicit HubDouble(const std::string& folder) : certificate(folder + "/hub.crt") {
        host_agent::run_tool_or_throw(
            {.arguments = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                           "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                           "/CN=hub.test", "-addext", "subjectAltName=DNS:hub.test", "-keyout",
                           folder + "/hub.key", "-out", certificate}});
        http::ServerOptions options;
        options.tls_certificate_file = certificate;
        options.tls_key_file = folder + "/hub.key";
        server_ = std::make_unique<http::Server>(options, *this);
        server_->start();
    }
    void handle(http::Request request, http::Reply reply) override {
        ++asked;
        http::Response response;
        const std::string at = "/acme/model/resolve/" + revision + "/";
        if (request.target == "/api/models/acme/model/tree/" + revision + "?recursive=true")
            response.body = fmt::format(
                R"([{{"type":"directory","oid":"0","size":0,"path":"sub"}},)"
                R"({{"type":"file","oid":"{}","size":6,"path":"config.json"}},)"
                R"({{"type":"file","oid":"1","size":{},"path":"sub/model.safetensors",)"
                R"("lfs":{{"oid":"{}","size":{},"pointerSize":134}}}},)"
                R"({{"type":"file","oid":"2","size":5,"path":"pytorch_model.bin"}}])",
                hello_in_git, large.size(), to_hex(crypto::sha256(large)), large.size());
        else if (request.target == at + "config.json")
            response.body = "hello\n";
        else if (request.target == at + "sub/model.safetensors")
            response.body = tampered ? std::string(large.size(), 'x') : large;
        else
            response.status = 404;
        reply(std::move(response));
    }
    std::uint16_t port() const { return server_->port(); }

    const std::string certificate;
    std::atomic<int> asked = 0;
    std::atomic<bool> tampered = false;

private:
    std::unique_ptr<http::Server> server_;
};

class WeightsTest : public ContainerTest {
protected:
    void SetUp() override {
        ContainerTest::SetUp();
        if (IsSkipped()) return;
        at_hub = std::make_unique<HubDouble>(folder);
        hub = {.url = fmt::format("https://hub.test:{}", at_hub->port()),
               .ca_file = at_hub->certificate};
        registries += "," + Registry::place_of("hub.test", at_hub->port());
        runtime = make_runtime();
    }
    void TearDown() override {
        ContainerTest::TearDown();
        if (!folder.empty()) std::filesystem::remove_all(folder + "/weights");
    }
    host_agent::Workload of_model() {
        auto workload =
            make_workload({"/bin/sh", "-c",
                           "cd /cache/hub/models--acme--model && cat refs/main; echo; cat "
                           "snapshots/*/config.json; "
                           "ls snapshots/*/sub; echo offline=$HF_HUB_OFFLINE; touch /cache/x; "
                           "ls snapshots/*/pytorch_model.bin"});
        workload.kind = JobKind::model;
        workload.environment = {{"MODEL_ID", "acme/model"}, {"MODEL_REVISION", revision}};
        return workload;
    }
    std::string said_by(const host_agent::Workload& workload) {
        start(workload);
        wait_for_exit(workload);
        return runtime->log_tail(workload, 8192);
    }

    std::unique_ptr<HubDouble> at_hub;
};

TEST_F(WeightsTest, AreFetchedOnceAndOnlyReadByJobsOfTheirTemplate) {
    const std::string said = said_by(of_model());
    // Its two outputs are one log, in any order.
    for (const std::string& line :
         {revision + "\n", std::string("hello\n"), std::string("model.safetensors\n"),
          std::string("offline=1\n"), std::string("Read-only file system\n")})
        EXPECT_NE(said.find(line), std::string::npos) << line << said;
    EXPECT_NE(said.find("pytorch_model.bin: No such file"), std::string::npos) << said;
    const int asked = at_hub->asked;
    EXPECT_EQ(asked, 3);
    EXPECT_NE(said_by(of_model()).find("hello"), std::string::npos);
    runtime = make_runtime();
    EXPECT_NE(said_by(of_model()).find("hello"), std::string::npos) << "another agent knows them";
    EXPECT_EQ(at_hub->asked.load(), asked);
    const auto warm = runtime->warm_images();
    EXPECT_NE(std::ranges::find(warm, Registry::get().image()), warm.end());
    for (const std::string& image : warm)
        EXPECT_FALSE(image.starts_with(host_agent::weights_prefix)) << image;
}

// A list, two files, and a look at each of these: by programs that a slot counts.
TEST_F(WeightsTest, AreFetchedByProgramsThatAreCountedIn) {
    host_agent::WeightCache cache(folder + "/weights", hub);
    const std::atomic<bool> cancelled = false;
    int begun = 0;
    cache.fetch({"acme/model", revision},
                {.bytes_max = std::int64_t{1} << 40, .begun = [&](pid_t) { ++begun; }},
                host_agent::parse_registries(registries),
                {std::chrono::steady_clock::now() + std::chrono::minutes(3), cancelled}, {});
    EXPECT_EQ(begun, 5);
}

TEST_F(WeightsTest, OfAHubThatGivesSomethingElseAreNotKeptAndTheJobStartsWithout) {
    at_hub->tampered = true;
    const std::string said = said_by(of_model());
    EXPECT_EQ(said.find("offline=1"), std::string::npos) << said;
    EXPECT_TRUE(std::filesystem::is_empty(folder + "/weights"));
}

TEST_F(WeightsTest, AreNeverThoseOfAnImageOfOnesOwnOrOfWhoHasAToken) {
    auto own = of_model();
    own.kind = JobKind::custom;
    EXPECT_FALSE(host_agent::weights_of(own));
    auto gated = of_model();
    gated.secrets["HF_TOKEN"] = "hf_x";
    EXPECT_FALSE(host_agent::weights_of(gated));
    auto moving = of_model();
    moving.environment["MODEL_REVISION"] = "main";
    EXPECT_FALSE(host_agent::weights_of(moving)) << "a branch is no revision";
    for (const char* bad : {"../etc", "acme", "acme/../x", "/acme/model", "acme/model/x", ""}) {
        auto strange = of_model();
        strange.environment["MODEL_ID"] = bad;
        EXPECT_FALSE(host_agent::weights_of(strange)) << bad;
    }
    said_by(own);
    EXPECT_EQ(at_hub->asked.load(), 0);
}

TEST_F(WeightsTest, GoWhenThereIsNoRoomForThem) {
    store_bytes = 50'000'000;
    runtime = make_runtime();
    pull(of_model());
    EXPECT_FALSE(std::filesystem::is_empty(folder + "/weights"));
    // A host whose disk is nearly full keeps none.
    floor_bytes = std::int64_t{1} << 60;
    runtime = make_runtime();
    auto other = of_model();
    other.image = Registry::get().name("berth/other") + "@sha256:" + std::string(64, '0');
    EXPECT_THROW(pull(other), host_agent::RuntimeError);
    EXPECT_TRUE(std::filesystem::is_empty(folder + "/weights"));
}

TEST_F(WeightsTest, AreNotWhatGoesToMakeRoomForTheirOwnJob) {
    const std::string root = folder + "/small";
    std::filesystem::create_directories(root + "/bin");
    auto small = make_workload({});
    small.image = Registry::get().add("berth/small", root, {"ENV PATH=/bin"});
    pull(of_model());
    pull(small);
    const int asked = at_hub->asked;
    // Room for what the job has, and for nothing beside it.
    store_bytes = 0;
    for (const auto& each : host_agent::ImageStore(folder + "/images.json", 0).all())
        if (each.image != small.image) store_bytes += each.bytes.value;
    runtime = make_runtime();
    pull(of_model());
    EXPECT_EQ(at_hub->asked.load(), asked) << "they were fetched again";
    EXPECT_FALSE(std::filesystem::is_empty(folder + "/weights"));
    const auto warm = runtime->warm_images();
    EXPECT_EQ(std::ranges::find(warm, small.image), warm.end());
}

TEST(HubListTest, WhatMakesNoSenseIsRefused) {
    const auto entry = [](const std::string& path, const std::string& oid) {
        return fmt::format(R"([{{"type":"file","oid":"{}","size":1,"path":"{}","more":[]}}])", oid,
                           path);
    };
    EXPECT_EQ(host_agent::read_hub_list(entry("a/b.json", hello_in_git)).size(), 1u);
    for (const char* path : {"../a", "/a", "a/../b", "a//b", "a b", "", "a\\u0000b"})
        EXPECT_ANY_THROW(host_agent::read_hub_list(entry(path, hello_in_git))) << path;
    EXPECT_ANY_THROW(host_agent::read_hub_list(entry("a", "no hash")));
    EXPECT_ANY_THROW(host_agent::read_hub_list("[]"));
    EXPECT_ANY_THROW(host_agent::read_hub_list("<html>"));
}

}  // namespace
}  // namespace berth::test
