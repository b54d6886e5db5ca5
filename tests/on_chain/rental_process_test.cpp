// Whole rentals with real processes: berthd, host agents that start engines, and a chain. Both
// sides are accounts of wallets; nothing reaches into the server but its own routes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "base/json_text.hpp"
#include "on_chain/money_town.hpp"
#include "on_chain/operator.hpp"
#include "support/eventually.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

constexpr support::Patience patience{.look_every = std::chrono::milliseconds(50)};
constexpr std::int64_t rate = 360'000'000;  // 0.1 of a dollar a second
constexpr std::int64_t budget = 20'000'000;

class RentalProcess : public testing::Test {
protected:
    struct Server {
        std::string url;
        std::string place;
        std::unique_ptr<Process> process;
    };
    struct Account {
        std::string key;
        std::string id;
        int wallet = 0;
    };
    struct Host {
        std::string folder;
        std::string server;
        std::string machine;
        std::string offer;
        std::unique_ptr<Process> agent;
    };

    void SetUp() override {
        node.set_ether(treasury_address(), 1'000'000'000'000'000'000);
        write_secret(folder.path() + "/secrets", "treasury.key", to_hex(treasury_secret));
        make(server);
        ben = enlist(2);
        ada = enlist(1);
        fund(ben, 50'000'000);
    }
    // Every test ends with books that prove themselves, and with nothing held.
    void TearDown() override {
        const auto check =
            run_program({program_path("berthd"), "check", "ledger", "--db", database.url()});
        EXPECT_EQ(check.status, 0) << check.output;
        EXPECT_NE(check.output.find(": sound"), std::string::npos) << check.output;
        EXPECT_EQ(member(get(ben, "/api/v1/billing"), "held_micro"), "0");
    }

    void make(Server& one) {
        if (one.place.empty()) one.place = "127.0.0.1:" + std::to_string(free_port());
        one.url = "http://" + one.place;
        one.process = std::make_unique<Process>(
            std::vector<std::string>{program_path("berthd"),
                                     "serve",
                                     "--listen",
                                     one.place,
                                     "--base-url",
                                     server.url,
                                     "--db",
                                     database.url(),
                                     "--secrets",
                                     folder.path() + "/secrets",
                                     "--mail",
                                     "file:" + folder.path() + "/mail",
                                     "--metrics-listen",
                                     "127.0.0.1:" + std::to_string(free_port()),
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
                                     "--availability-classes-released",
                                     "--chain-rpc",
                                     node.url(),
                                     "--chain-poll-ms",
                                     "200",
                                     "--transfer-min-micro",
                                     "1",
                                     "--rate-account-per-minute",
                                     "1000000",
                                     "--rate-public-per-minute",
                                     "1000000",
                                     "--rate-heartbeats-per-minute",
                                     "100000",
                                     "--rate-job-events-per-minute",
                                     "100000",
                                     "--token-usdc",
                                     crypto::to_string(node.usdc()),
                                     "--token-usdt",
                                     crypto::to_string(node.usdt())},
            folder.path() + "/log");
        ASSERT_TRUE(wait_until_ready(*one.process, one.url + "/readyz"))
            << read_text(folder.path() + "/log");
    }
    void kill_and_start() {
        server.process->signal(SIGKILL);
        server.process->wait();
        make(server);
    }

    http::Response send(const std::string& key, const std::string& method,
                        const std::string& target, const std::string& body) {
        http::Outbound request{.method = method, .url = server.url + target, .headers = {}};
        if (!key.empty()) request.headers.add("Authorization", "Bearer " + key);
        if (method != "GET")
            request.headers.add("Idempotency-Key", to_string(make_uuid(clock.now(), random)));
        if (!body.empty()) request.headers.add("Content-Type", "application/json");
        request.body = body;
        request.total_max = std::chrono::minutes(1);  // some of them ask the node
        return client.send(request);
    }
    std::string get(const Account& who, const std::string& target) {
        return send(who.key, "GET", target, "").body;
    }
    std::string post(const Account& who, const std::string& target, const std::string& body,
                     int status, const std::string& method = "POST") {
        const auto response = send(who.key, method, target, body);
        // What follows could only wait in vain.
        if (response.status != status) throw std::runtime_error(target + " " + response.body);
        return response.body;
    }
    template <class Predicate>
    [[nodiscard]] static bool eventually(const Predicate& predicate) {
        return support::eventually(predicate, patience);
    }
    std::string logs() {
        std::string text = read_text(folder.path() + "/log");
        for (const char* name : {"/a.log", "/b.log"}) {
            const std::string told = read_text(folder.path() + name);
            text += told.substr(told.size() - std::min<std::size_t>(told.size(), 4000));
        }
        return text.substr(text.size() - std::min<std::size_t>(text.size(), 8000));
    }

    Account enlist(int wallet) {
        const auto key = EvmNode::account(wallet);
        const auto asked = send("", "POST", "/api/v1/agents/accounts/challenge",
                                R"({"address":")" + crypto::to_string(key.address()) + "\"}");
        const std::string message = member(asked.body, "message");
        const auto made = send("", "POST", "/api/v1/agents/accounts",
                               R"({"message":)" + json_quoted(message) + R"(,"signature":)" +
                                   json_quoted(sign(key, message)) +
                                   R"(,"agent":{"name":"Scout","vendor":"Example","model":"m"},)"
                                   R"("scopes":["renter","host"]})");
        EXPECT_EQ(made.status, 201) << made.body;
        return {member(made.body, "api_key.secret"), member(made.body, "account_id"), wallet};
    }
    void fund(const Account& who, std::int64_t amount) {
        const std::string binding = member(get(who, "/api/v1/wallets"), "items.0.binding_id");
        node.mint(node.usdc(), {EvmNode::account(who.wallet).address(), Micro{amount}});
        const std::string intent = member(
            post(
                who, "/api/v1/funding-intents",
                fmt::format(R"({{"wallet_binding_id":"{}","amount_micro":"{}"}})", binding, amount),
                201),
            "intent_id");
        const auto paid = node.transfer(EvmNode::account(who.wallet), node.usdc(),
                                        {treasury_address(), Micro{amount}});
        node.finalize();
        const std::string claim = R"({"tx_hash":")" + chain::to_string(paid.transaction) +
                                  R"(","log_index":)" + std::to_string(paid.log_index) + "}";
        EXPECT_TRUE(eventually([&] {  // a node under load may not answer in time
            try {
                return send(who.key, "POST", "/api/v1/funding-intents/" + intent + "/claim", claim)
                           .status < 500;
            } catch (const http::TransportError&) {
                return false;
            }
        }));
        EXPECT_TRUE(eventually([&] {
            node.mine();
            return member(get(who, "/api/v1/billing"), "spendable_micro") == std::to_string(amount);
        })) << get(who, "/api/v1/billing");
    }

    // A machine that enrolls, passes its test, and is for sale.
    Host open_host(const std::string& name, const std::string& at, bool interruptible = false) {
        Host host{folder.path() + "/" + name, at, "", "", nullptr};
        std::filesystem::create_directories(host.folder);
        if (interruptible) std::ofstream(host.folder + "/idle") << "";
        const std::string token =
            member(post(ada, "/api/v1/hosts/enrollments", R"({"tier":"container"})", 201), "token");
        start_agent(host, {"enroll", token, "GPU-" + name});
        std::smatch match;
        std::string told;
        EXPECT_TRUE(eventually([&] {
            told = read_text(host.folder + ".log");
            return std::regex_search(told, match, std::regex("enroll 201 ([0-9a-f-]{36})"));
        })) << told;
        host.machine = match[1].str();
        const std::string place = "/api/v1/hosts/machines/" + host.machine;
        EXPECT_TRUE(eventually([&] { return member(get(ada, place), "state") == "UNLISTED"; }))
            << get(ada, place) << logs();
        post(ada, place + "/offer",
             fmt::format(R"({{"expected_version":"0","rate_micro_per_hour":"{}",)"
                         R"("included_disk_gib":100,"included_egress_gib":1000,)"
                         R"("available_from":"{}","available_until":"{}",)"
                         R"("availability_class":"{}"{}}})",
                         rate, to_rfc3339(clock.now() - std::chrono::hours(1)),
                         to_rfc3339(clock.now() + std::chrono::hours(200)),
                         interruptible ? "interruptible" : "dedicated",
                         interruptible ? R"(,"preemption_notice_s":120)" : ""),
             202, "PATCH");
        post(ada, place + "/list", "", 202);
        await_available(host);
        host.offer = member(get(ada, place + "/offers"), "items.0.offer_id");
        return host;
    }
    void start_agent(Host& host, std::vector<std::string> first) {
        first.insert(first.begin(), {program_path("scripted_agent"), host.folder, host.server});
        first.push_back("serve");
        host.agent = std::make_unique<Process>(first, host.folder + ".log");
    }
    void await_available(const Host& host) {
        const std::string place = "/api/v1/hosts/machines/" + host.machine;
        EXPECT_TRUE(eventually([&] { return member(get(ada, place), "state") == "AVAILABLE"; }))
            << get(ada, place) << logs();
    }

    std::string find_template(const std::string& kind = "model") {
        const std::string page =
            send("", "GET", "/api/v1/templates?limit=100&kind=" + kind, "").body;
        for (int i = 0; i < 100; ++i) {
            const std::string at = fmt::format("items.{}.", i);
            if (member(page, at + "required_runtime") == "cuda" &&
                member(page, at + "min_gpu_count") == "1" &&
                std::stoll(member(page, at + "vram_fit.min_vram_bytes")) < 24'000'000'000)
                return member(page, at + "id");
        }
        ADD_FAILURE() << "no template fits";
        return "";
    }
    std::string quote(const Host& host, const std::string& fit, std::int64_t money) {
        return member(
            post(ben, "/api/v1/quotes",
                 fmt::format(R"({{"offer_id":"{}","template_id":"{}","duration_limit_s":3600,)"
                             R"("budget_micro":"{}"}})",
                             host.offer, fit, money),
                 201),
            "quote_id");
    }
    std::string reserve(const Host& host) {
        return member(post(ben, "/api/v1/jobs",
                           R"({"quote_id":")" + quote(host, find_template(), budget) + "\"}", 202),
                      "job_id");
    }
    // A machine to work on, with files that outlast the work.
    std::string reserve_shell(const Host& host, std::int64_t money) {
        return member(post(ben, "/api/v1/jobs",
                           fmt::format(R"({{"quote_id":"{}","ssh_public_key":)"
                                       R"("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5me"}})",
                                       quote(host, find_template("classical"), money)),
                           202),
                      "job_id");
    }
    std::string show(const std::string& job) { return get(ben, "/api/v1/jobs/" + job); }
    void await_state(const std::string& job, const std::string& state) {
        EXPECT_TRUE(eventually([&] { return member(show(job), "state") == state; }))
            << show(job) << logs();
    }
    void await_usage(const std::string& job, std::int64_t more_ms) {
        const std::int64_t before = std::stoll(member(show(job), "accepted_runtime_ms"));
        EXPECT_TRUE(eventually([&] {
            return std::stoll(member(show(job), "accepted_runtime_ms")) >= before + more_ms;
        })) << show(job)
            << logs();
    }
    void stop(const std::string& job) {
        post(ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done"})", 202);
    }
    // The receipt of a job that is over: its parts make its whole.
    std::int64_t charge_of(const std::string& job, std::int64_t money = budget) {
        const std::string receipt = get(ben, "/api/v1/billing/receipts/" + job);
        const auto number = [&](const char* name) { return std::stoll(member(receipt, name)); };
        const std::int64_t charge = number("charge_micro");
        EXPECT_EQ(charge,
                  std::min<std::int64_t>(money, rate * number("accepted_runtime_ms") / 3'600'000));
        EXPECT_EQ(number("fee_micro"), charge / 10);
        EXPECT_EQ(number("host_micro"), charge - charge / 10);
        return charge;
    }
    std::int64_t spendable() {
        return std::stoll(member(get(ben, "/api/v1/billing"), "spendable_micro"));
    }

    EvmNode& node = shared_evm_node();
    TemporaryFolder folder;
    TestDatabase database;
    SystemClock clock;
    SystemRandom random;
    http::CurlClient client;
    Server server;
    Account ada;
    Account ben;
};

TEST_F(RentalProcess, GoesFromAWalletToAnEngineAndTheEarningsToTheHostsWallet) {
    Host host = open_host("a", server.url);
    const std::int64_t before = spendable();
    const std::string job = reserve(host);
    await_state(job, "RUNNING");

    // The engine is the renter's: it answers to the key of this job and to no other.
    const std::string access = get(ben, "/api/v1/jobs/" + job + "/access");
    http::Outbound asked{
        .method = "GET",
        .url = "http://127.0.0.1:" + member(access, "endpoints.0.external_port") + "/v1/models",
        .headers = {}};
    EXPECT_EQ(client.send(asked).status, 401);
    asked.headers.add("Authorization", "Bearer " + member(access, "endpoint_api_key"));
    EXPECT_EQ(client.send(asked).status, 200);
    await_usage(job, 2'000);
    stop(job);
    await_state(job, "CLOSED");
    EXPECT_THROW(client.send(asked), http::TransportError);
    const std::int64_t charge = charge_of(job);
    EXPECT_GE(charge, 200'000);
    EXPECT_EQ(spendable(), before - charge);
    await_available(host);

    const auto wallet = EvmNode::account(ada.wallet).address();
    const Micro had = node.balance(node.usdc(), wallet);
    const std::int64_t earned = charge - charge / 10;
    post(ada, "/api/v1/hosts/payouts",
         fmt::format(R"({{"address":"{}","amount_micro":"{}"}})", crypto::checksummed(wallet),
                     earned),
         202);
    EXPECT_TRUE(eventually([&] {
        node.mine();
        return member(get(ada, "/api/v1/hosts/payouts"), "items.0.state") == "SETTLED";
    })) << get(ada, "/api/v1/hosts/payouts")
        << logs();
    EXPECT_EQ(node.balance(node.usdc(), wallet), had + Micro{earned});
}

TEST_F(RentalProcess, GoesOnWhereAServerWasKilledInEachOfItsStates) {
    Host host = open_host("a", server.url);
    const std::int64_t before = spendable();
    host.agent->signal(SIGSTOP);
    std::ofstream(host.folder + "/dark") << "";
    const std::string job = reserve(host);
    kill_and_start();
    EXPECT_EQ(member(show(job), "state"), "RESERVED");
    host.agent->signal(SIGCONT);
    // Its READY is not believed, and that is on record.
    EXPECT_TRUE(eventually([&] {
        const std::string told = get(ben, "/api/v1/jobs/" + job + "/evidence?limit=100");
        return told.find("READY_REFUSED") != std::string::npos;
    })) << show(job)
        << logs();
    kill_and_start();
    EXPECT_EQ(member(show(job), "state"), "STARTING");
    std::filesystem::remove(host.folder + "/dark");
    await_state(job, "RUNNING");
    kill_and_start();
    await_usage(job, 1'000);
    const std::string raised = post(ben, "/api/v1/jobs/" + job + "/budget",
                                    R"({"add_micro":"1","expected_budget_version":"1"})", 202);
    EXPECT_EQ(member(raised, "budget_version"), "2");
    // A host that is drained keeps its promise, and is not rented again.
    const std::string place = "/api/v1/hosts/machines/" + host.machine;
    post(ada, place + "/drain", "", 202);
    EXPECT_EQ(member(get(ada, place), "state"), "DRAINING");
    await_usage(job, 500);
    host.agent->signal(SIGSTOP);
    stop(job);
    kill_and_start();
    EXPECT_EQ(member(show(job), "state"), "STOPPING");
    host.agent->signal(SIGCONT);
    await_state(job, "CLOSED");
    EXPECT_EQ(member(show(job), "end_reason"), "renter_stop");
    EXPECT_EQ(spendable(), before - charge_of(job));
    kill_and_start();
    EXPECT_TRUE(eventually([&] { return member(get(ada, place), "state") == "UNLISTED"; }))
        << get(ada, place) << logs();
}

// The server dies with the raise in its books, and again while the renter may still fetch files.
TEST_F(RentalProcess, RunsOnWhenItsBudgetWasRaisedAtTheLastMomentAndKeepsItsFiles) {
    constexpr std::int64_t first = 600'000;
    constexpr std::int64_t more = 300'000;
    Host host = open_host("a", server.url);
    std::int64_t before = 0;
    std::string job;
    // Whoever is too late is told so, pays for what ran, and has another try.
    for (int left_ms = 1'500; left_ms < 6'000; left_ms *= 2) {
        before = spendable();
        job = reserve_shell(host, first);
        await_state(job, "RUNNING");
        const auto until = parse_rfc3339(member(show(job), "funded_through"));
        ASSERT_TRUE(until);
        EXPECT_TRUE(
            eventually([&] { return *until - clock.now() <= std::chrono::milliseconds(left_ms); }));
        const auto raised =
            send(ben.key, "POST", "/api/v1/jobs/" + job + "/budget",
                 fmt::format(R"({{"add_micro":"{}","expected_budget_version":"1"}})", more));
        if (raised.status == 202) {
            EXPECT_EQ(member(raised.body, "budget_micro"), std::to_string(first + more));
            break;
        }
        EXPECT_EQ(error_code(raised), "STOP_IRREVERSIBLE");
        await_state(job, "STOPPED");
        post(ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done","skip_retrieval":true})",
             202);
        await_state(job, "CLOSED");
        EXPECT_EQ(spendable(), before - charge_of(job, first));
        await_available(host);
    }
    kill_and_start();
    await_state(job, "STOPPED");
    EXPECT_EQ(member(show(job), "end_reason"), "funded_expiry");
    EXPECT_GT(charge_of(job, first + more), first);
    EXPECT_EQ(spendable(), before - charge_of(job, first + more));
    const std::string window = member(show(job), "retrieval_until");
    kill_and_start();
    EXPECT_EQ(member(show(job), "state"), "STOPPED");
    EXPECT_EQ(member(show(job), "retrieval_until"), window);
    EXPECT_EQ(member(get(ben, "/api/v1/jobs/" + job + "/access"), "mode"), "retrieval");
    EXPECT_EQ(member(get(ada, "/api/v1/hosts/machines/" + host.machine), "state"), "CLEANING");
    post(ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done","skip_retrieval":true})", 202);
    await_state(job, "CLOSED");
    await_available(host);
    EXPECT_EQ(spendable(), before - charge_of(job, first + more));
}

// On PostgreSQL the second host talks to a server of its own.
TEST_F(RentalProcess, EndsWithItsHostAndCostsNothingAfterANotice) {
    Server other;
    if (database.url().starts_with("postgres")) make(other);
    Host first = open_host("a", server.url);
    Host second = open_host("b", other.process ? other.url : server.url, true);
    const std::int64_t before = spendable();
    const std::string lost = reserve(first);
    const std::string noticed = reserve(second);
    await_state(lost, "RUNNING");
    await_state(noticed, "RUNNING");
    await_usage(lost, 500);

    first.agent->signal(SIGKILL);
    first.agent->wait();
    start_agent(first, {});
    EXPECT_TRUE(eventually([&] { return member(show(lost), "end_reason") == "host_lost"; }))
        << show(lost) << logs();
    std::ofstream(second.folder + "/preempt") << "";
    EXPECT_TRUE(eventually([&] { return member(show(noticed), "preemption") != "null"; }))
        << show(noticed) << logs();
    const std::string at_notice = member(show(noticed), "meter_stopped_at");
    stop(noticed);
    await_state(noticed, "CLOSED");
    EXPECT_EQ(member(show(noticed), "meter_stopped_at"), at_notice);
    EXPECT_EQ(spendable(), before - charge_of(lost) - charge_of(noticed));
    // It is wiped and tested before anybody has it again.
    await_available(first);
}

TEST_F(RentalProcess, GoesOnAndIsChargedWhenItsRenterIsSuspended) {
    const auto made =
        run_program({program_path("berthd"), "admin", "create", "--email", "root@example.org",
                     "--db", database.url(), "--secrets", folder.path() + "/secrets"});
    ASSERT_EQ(made.status, 0) << made.output;
    Operator root(server.url, folder.path() + "/mail", "root@example.org");
    Host host = open_host("a", server.url);
    const std::int64_t before = spendable();
    const std::string job = reserve(host);
    await_state(job, "RUNNING");
    root.suspend(ben.id, true);
    const std::string wish = fmt::format(
        R"({{"offer_id":"{}","template_id":"{}","duration_limit_s":3600,"budget_micro":"1"}})",
        host.offer, find_template());
    EXPECT_EQ(send(ben.key, "POST", "/api/v1/quotes", wish).status, 401);
    EXPECT_EQ(send(ben.key, "GET", "/api/v1/jobs/" + job, "").status, 401);

    // The job runs and is counted, as its host and the operator see.
    const auto runtime = [&] {
        const std::string page = root.send("GET", "/api/v1/admin/jobs?renter=" + ben.id, "", 200);
        EXPECT_EQ(member(page, "items.0.state"), "RUNNING") << page;
        return std::stoll(member(page, "items.0.accepted_runtime_ms"));
    };
    const std::int64_t at_suspension = runtime();
    EXPECT_TRUE(eventually([&] { return runtime() >= at_suspension + 1'000; })) << logs();
    root.suspend(ben.id, false);
    EXPECT_EQ(member(show(job), "state"), "RUNNING");
    stop(job);
    await_state(job, "CLOSED");
    EXPECT_GE(charge_of(job), rate * (at_suspension + 1'000) / 3'600'000);
    EXPECT_EQ(spendable(), before - charge_of(job));
}

// docs/renting.md as it stands: its blocks in one shell.
TEST_F(RentalProcess, FollowsTheGuide) {
    Host host = open_host("a", server.url);
    const std::string guide = read_text(BERTH_SOURCE_DIR "/docs/renting.md");
    std::string script = "set -euo pipefail\n";
    constexpr std::string_view begin = "```bash\n";
    for (std::size_t at = guide.find(begin); at != guide.npos; at = guide.find(begin, at)) {
        at += begin.size();
        script += "echo; echo BLOCK\n" + guide.substr(at, guide.find("```", at) - at);
    }
    std::ofstream(folder.path() + "/guide") << script;
    // The catalog takes up what was listed a moment later.
    EXPECT_TRUE(eventually([&] {
        return !member(send("", "GET", "/api/v1/offers?limit=1", "").body, "items.0.offer_id")
                    .empty();
    }));
    const auto told = run_program({"/usr/bin/env", "-C", folder.path(), "base=" + server.url,
                                   "key=" + ben.key, "timeout", "120", "bash", "guide"});
    EXPECT_EQ(told.status, 0) << told.output << logs();
    EXPECT_NE(told.output.find("word1 word2 word3 word4"), std::string::npos) << told.output;
    EXPECT_NE(told.output.find(R"("end_reason":"renter_stop")"), std::string::npos) << told.output;
    EXPECT_NE(told.output.find(R"(["CLEANED",)"), std::string::npos) << told.output;
    RecordProperty("told", told.output);
    await_available(host);
}

}  // namespace
}  // namespace berth::test
