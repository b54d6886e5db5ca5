// berthd and berth-agent as real processes that talk over real HTTP: a host whose GPU is simulated,
// a renter with money, and what both do.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "base/json_text.hpp"
#include "crypto/secp256k1.hpp"
#include "ledger/ledger.hpp"
#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"
#include "support/town.hpp"

namespace berth::test {

class AgentTown : public testing::Test {
protected:
    static constexpr support::Patience patience{.look_every = std::chrono::milliseconds(50)};
    static constexpr std::int64_t rate = 360'000'000;  // 0.1 of a dollar a second

    struct Account {
        std::string key;
        std::string id;
    };

    void SetUp() override {
        start_server();
        ada = enlist();
        ben = enlist();
        server->signal(SIGTERM);
        server->wait();
        // As if a transfer on chain had been claimed.
        database->open()->write([&](db::Transaction& tx) {
            ledger::deposit({tx, random, clock.now()},
                            {AccountId{parse_uuid(ben.id).value()}, ledger::Asset::usdc,
                             Micro{50'000'000}, "test:1"});
            prepare(tx);
        });
        start_server();
    }
    virtual void prepare(db::Transaction&) {}
    // What a test that failed left running ends with it.
    void TearDown() override {
        if (agent) agent->signal(SIGKILL);
        const std::string jobs = state() + "/jobs";
        if (!std::filesystem::exists(jobs)) return;
        for (const auto& job : std::filesystem::directory_iterator(jobs)) {
            const std::string pid = member(read_text(job.path() / "process.json"), "pid");
            if (!pid.empty()) ::kill(std::stoi(pid), SIGKILL);
        }
    }

    virtual std::vector<std::string> server_options() const { return {}; }
    virtual std::vector<std::string> agent_options() const { return {}; }

    void start_server() {
        std::vector<std::string> words{program_path("berthd"),
                                       "serve",
                                       "--listen",
                                       place,
                                       "--base-url",
                                       url,
                                       "--db",
                                       database->url(),
                                       "--secrets",
                                       folder.path() + "/secrets",
                                       "--mail",
                                       "file:" + folder.path() + "/mail",
                                       "--allow-unsafe",
                                       "undurable-db",
                                       "--allow-private-endpoints",
                                       "--allow-plain-engines",
                                       "--allow-unproven-cards",
                                       "--funded-time-min-s",
                                       "0",
                                       "--starts-open-max",
                                       "0",
                                       "--unbilled-starts-per-hour",
                                       "0",
                                       "--payout-delay-hours",
                                       "0",
                                       "--retrieval-min-s",
                                       "900",
                                       "--allow-simulated",
                                       "--allow-process-runtime",
                                       "--availability-classes-released",
                                       "--rate-account-per-minute",
                                       "1000000",
                                       "--rate-public-per-minute",
                                       "1000000",
                                       "--rate-heartbeats-per-minute",
                                       "100000",
                                       "--rate-job-events-per-minute",
                                       "100000"};
        for (const std::string& word : server_options()) words.push_back(word);
        server = std::make_unique<Process>(words, folder.path() + "/berthd.log");
        ASSERT_TRUE(wait_until_ready(*server, url + "/readyz"))
            << read_text(folder.path() + "/berthd.log");
    }

    http::Response send(const std::string& key, const std::string& method,
                        const std::string& target, const std::string& body = "") {
        http::Outbound request{.method = method, .url = url + target, .headers = {}};
        if (!key.empty()) request.headers.add("Authorization", "Bearer " + key);
        if (method != "GET")
            request.headers.add("Idempotency-Key", to_string(make_uuid(clock.now(), random)));
        if (!body.empty()) request.headers.add("Content-Type", "application/json");
        request.body = body;
        return client.send(request);
    }
    std::string get(const Account& who, const std::string& target) {
        return send(who.key, "GET", target).body;
    }
    std::string post(const Account& who, const std::string& target, const std::string& body,
                     int status, const std::string& method = "POST") {
        const auto response = send(who.key, method, target, body);
        // What follows could only wait in vain.
        if (response.status != status) throw std::runtime_error(target + " " + response.body);
        return response.body;
    }
    Account enlist() {
        const auto key = crypto::SigningKey::make(random);
        const auto asked = send("", "POST", "/api/v1/agents/accounts/challenge",
                                R"({"address":")" + crypto::to_string(key.address()) + "\"}");
        const std::string message = member(asked.body, "message");
        const auto made = send("", "POST", "/api/v1/agents/accounts",
                               R"({"message":)" + json_quoted(message) + R"(,"signature":)" +
                                   json_quoted(sign(key, message)) +
                                   R"(,"agent":{"name":"Scout","vendor":"Example","model":"m"},)"
                                   R"("scopes":["renter","host"]})");
        EXPECT_EQ(made.status, 201) << made.body;
        return {member(made.body, "api_key.secret"), member(made.body, "account_id")};
    }

    // ---- The host's side

    virtual std::string state() const { return folder.path() + "/state"; }
    Outcome run_agent(std::vector<std::string> words) const {
        words.insert(words.begin(), program_path("berth-agent"));
        words.insert(words.end(), {"--state", state()});
        return run_program(words);
    }
    Outcome enroll_agent() {
        const std::string token = member(
            post(ada, "/api/v1/hosts/enrollments", R"({"tier":")" + tier + "\"}", 201), "token");
        std::ofstream(folder.path() + "/token") << token << "\n";
        const std::uint16_t first = free_ports(9);
        std::vector<std::string> words{"enroll",
                                       "--server",
                                       url,
                                       "--token-file",
                                       folder.path() + "/token",
                                       "--mode",
                                       mode,
                                       "--ports",
                                       fmt::format("{}-{}", first, first + 8)};
        words.insert(words.end(), machine_options.begin(), machine_options.end());
        return run_agent(words);
    }
    void start_agent() {
        std::vector<std::string> words{program_path("berth-agent"), "run", "--state", state()};
        for (const std::string& word : agent_options()) words.push_back(word);
        agent = std::make_unique<Process>(words, folder.path() + "/agent.log");
    }
    void kill_agent() {
        agent->signal(SIGKILL);
        agent->wait();
    }
    std::string machine_place() const { return "/api/v1/hosts/machines/" + machine; }
    void await_machine(const std::string& wanted) {
        EXPECT_TRUE(eventually([&] {
            return member(get(ada, machine_place()), "state") == wanted;
        })) << get(ada, machine_place())
            << logs();
    }
    // Enrolled, tested, and for sale.
    void open_host() {
        const Outcome enrolled = enroll_agent();
        ASSERT_EQ(enrolled.status, 0) << enrolled.output;
        const std::size_t at = enrolled.output.find("enrolled as machine ");
        ASSERT_NE(at, std::string::npos) << enrolled.output;
        machine = enrolled.output.substr(at + 20, 36);
        start_agent();
        await_machine("UNLISTED");
        post(ada, machine_place() + "/offer",
             fmt::format(R"({{"expected_version":"0","rate_micro_per_hour":"{}",)"
                         R"("included_disk_gib":{},"included_egress_gib":10,)"
                         R"("available_from":"{}","available_until":"{}",)"
                         R"("availability_class":"{}"{}}})",
                         rate, disk_gib, to_rfc3339(clock.now() - std::chrono::hours(1)),
                         to_rfc3339(clock.now() + std::chrono::hours(200)),
                         mode == "idle" ? "interruptible" : "dedicated",
                         mode == "idle" ? R"(,"preemption_notice_s":120)" : ""),
             202, "PATCH");
        post(ada, machine_place() + "/list", "", 202);
        await_machine("AVAILABLE");
        offer = member(get(ada, machine_place() + "/offers"), "items.0.offer_id");
    }

    // ---- The renter's side

    std::string find_template() {
        const std::string page =
            send("", "GET", "/api/v1/templates?limit=100&kind=" + template_kind).body;
        for (int i = 0; i < 100; ++i) {
            const std::string at = fmt::format("items.{}.", i);
            if (member(page, at + "required_runtime") == "cuda" &&
                member(page, at + "min_gpu_count") == "1" &&
                std::stoll(member(page, at + "vram_fit.min_vram_bytes")) < 24'000'000'000)
                return member(page, at + "id");
        }
        throw std::runtime_error("no template fits");
    }
    std::string reserve(std::int64_t budget = 20'000'000) {
        const std::string quote =
            post(ben, "/api/v1/quotes",
                 fmt::format(R"({{"offer_id":"{}","template_id":"{}","duration_limit_s":3600,)"
                             R"("budget_micro":"{}"}})",
                             offer, find_template(), budget),
                 201);
        std::string body = R"({"quote_id":")" + member(quote, "quote_id") + "\"";
        if (!ssh_key.empty()) body += R"(,"ssh_public_key":")" + ssh_key + "\"";
        return member(post(ben, "/api/v1/jobs", body + "}", 202), "job_id");
    }
    std::string show(const std::string& job) { return get(ben, "/api/v1/jobs/" + job); }
    void await_state(const std::string& job, const std::string& wanted) {
        std::string seen;
        EXPECT_TRUE(eventually([&] {
            seen = member(show(job), "state");
            return seen == wanted || (seen == "FAILED" && wanted == "RUNNING");
        })) << logs();
        EXPECT_EQ(seen, wanted) << show(job) << get(ben, "/api/v1/jobs/" + job + "/logs") << logs();
    }
    // Straight to the job's endpoint, as the relay does it: by its key, and pinned to its TLS key.
    struct Door {
        std::string port;
        std::string key;
        std::string tls_key;
    };
    Door door_of(const std::string& job) {
        const std::string access = get(ben, "/api/v1/jobs/" + job + "/access");
        const std::string record = read_text(state() + "/jobs/" + job + "/record.json");
        return {member(access, "endpoints.0.external_port"), member(access, "endpoint_api_key"),
                member(record, "doors.0.tls_key_sha256")};
    }
    bool answers(const Door& door) {
        http::Outbound asked;
        asked.url = fmt::format("{}://127.0.0.1:{}/v1/models",
                                door.tls_key.empty() ? "http" : "https", door.port);
        asked.headers.add("Authorization", "Bearer " + door.key);
        asked.pinned_key = from_hex(door.tls_key).value();
        try {
            return client.send(asked).status == 200;
        } catch (const http::TransportError&) {
            return false;
        }
    }

    template <class Predicate>
    [[nodiscard]] static bool eventually(const Predicate& predicate) {
        return support::eventually(predicate, patience);
    }
    std::string logs() const {
        std::string all;
        for (const char* name : {"/berthd.log", "/agent.log"}) {
            const std::string text = read_text(folder.path() + name);
            all += "\n" + text.substr(text.size() - std::min<std::size_t>(text.size(), 3000));
        }
        return all;
    }

    TemporaryFolder folder;
    std::unique_ptr<TestDatabase> database = TestDatabase::sqlite();
    const std::string place = "127.0.0.1:" + std::to_string(free_port());
    const std::string url = "http://" + place;
    std::unique_ptr<Process> server;
    std::unique_ptr<Process> agent;
    SystemClock clock;
    SystemRandom random;
    http::CurlClient client;
    Account ada;
    Account ben;
    std::string mode = "dedicated";
    std::string tier = "inference";
    std::vector<std::string> machine_options{"--runtime", "process", "--simulate-gpu", "RTX 4090"};
    int disk_gib = 10;
    std::string template_kind = "model";
    std::string ssh_key;
    std::string machine;
    std::string offer;
};

}  // namespace berth::test
