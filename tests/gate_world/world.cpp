#include "gate_world/world.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/json_text.hpp"
#include "crypto/secp256k1.hpp"
#include "ledger/ledger.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

std::unique_ptr<World> the_world;
std::string why_none;  // it was tried, and failed

std::string last_of(const std::string& text) {
    constexpr std::size_t shown = 3000;
    return text.substr(text.size() - std::min(text.size(), shown));
}

std::vector<std::string> split_words(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

void demand(bool happened, const std::string& what, const std::string& log) {
    if (!happened) throw std::runtime_error(what + "\n" + log);
}

}  // namespace

World& World::only() {
    if (!why_none.empty()) throw std::runtime_error(why_none);
    if (the_world) return *the_world;
    try {
        the_world.reset(new World());
        return *the_world;
    } catch (const std::exception& error) {
        why_none = std::string("there is no world: ") + error.what();
        throw;
    }
}

void World::end() { the_world.reset(); }

World::World() {
    const Outcome made =
        run_program({"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                     "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=berth",
                     "-addext", fmt::format("subjectAltName=IP:{}", Networks::server_address),
                     "-keyout", at("tls.key"), "-out", at("tls.pem")});
    demand(made.status == 0, "no certificate", made.output);
    if (make_host) kind = make_host(networks);
    if (kind.state.empty()) kind.state = at("state");
    if (kind.options.empty()) provide_engine();
    make_accounts();
    add_gate(first);
    open_host();
}

World::~World() {
    for (auto* each : {&agent, &first.process, &second.process, &server}) kill(*each);
}

void World::kill(std::unique_ptr<Process>& process) {
    if (!process) return;
    process->signal(SIGKILL);
    process->wait();
    process.reset();
}

void World::mend() {
    networks.mend();
    const auto runs = [](const std::unique_ptr<Process>& each) { return each && each->running(); };
    if (!runs(server)) start_server();
    for (Gate* gate : {&first, &second})
        if (!gate->folder.empty() && !runs(gate->process)) start_gate(*gate);
    if (!runs(agent)) start_agent();
    for (Gate* gate : {&first, &second})
        demand(gate->folder.empty() || soon([&] { return is_live(*gate); }), "no gate lives",
               logs());
}

// ---- Programs

void World::start_server() {
    const Inside in(networks.internet);
    server = std::make_unique<Process>(std::vector<std::string>{program_path("berthd"),
                                                                "serve",
                                                                "--listen",
                                                                "11.0.0.1:443",
                                                                "--base-url",
                                                                url,
                                                                "--tls-certificate",
                                                                at("tls.pem"),
                                                                "--tls-key",
                                                                at("tls.key"),
                                                                "--db",
                                                                database->url(),
                                                                "--secrets",
                                                                at("secrets"),
                                                                "--mail",
                                                                "file:" + at("mail"),
                                                                "--drain-s",
                                                                "0",
                                                                "--allow-unsafe",
                                                                "undurable-db",
                                                                "--allow-unproven-cards",
                                                                "--allow-process-runtime",
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
                                                                "--rate-account-per-minute",
                                                                "1000000",
                                                                "--rate-public-per-minute",
                                                                "1000000",
                                                                "--rate-heartbeats-per-minute",
                                                                "100000",
                                                                "--rate-job-events-per-minute",
                                                                "100000"},
                                       at("berthd.log"));
    demand(soon([&] {
               if (!server->running()) return true;
               try {
                   return send("", "GET", "/readyz").status == 200;
               } catch (const http::TransportError&) {
                   return false;
               }
           }) &&
               server->running(),
           "the server is not ready", logs());
}

void World::start_agent() {
    const Inside in(networks.host);
    agent = std::make_unique<Process>(
        std::vector<std::string>{program_path("berth-agent"), "run", "--state", kind.state},
        at("agent.log"));
}

void World::start_gate(Gate& gate) {
    const Inside in(networks.internet);
    const int metrics = 9466 + gate.starts++ + (&gate == &second ? 100 : 0);
    gate.process = std::make_unique<Process>(
        std::vector<std::string>{program_path("berth-gate"), "run", "--dir", gate.folder,
                                 "--server", url, "--ca", at("tls.pem"), "--listen", gate.address,
                                 "--metrics", fmt::format("127.0.0.1:{}", metrics)},
        at(gate.name + "-gate.log"));
}

void World::add_gate(Gate& gate) {
    gate.folder = at(gate.name + "-gate");
    const Outcome made = run_program({program_path("berth-gate"), "init", "--dir", gate.folder,
                                      "--host", gate.address, "--link-port", "443", "--call-port",
                                      "80", "--ports", "20000-20031"});
    const std::size_t at_line = made.output.find("berthd gates add ");
    demand(made.status == 0 && at_line != std::string::npos, "berth-gate init", made.output);
    std::vector<std::string> words =
        split_words(made.output.substr(at_line, made.output.find('\n', at_line) - at_line));
    words.front() = program_path("berthd");
    words.insert(words.end(), {"--db", database->url(), "--secrets", at("secrets")});
    const Outcome told = run_program(words);
    demand(told.status == 0, "berthd gates add", told.output + logs());
    start_gate(gate);
    demand(soon([&] { return is_live(gate); }), "the gate does not live", logs());
}

bool World::is_live(const Gate& gate) {
    const std::string page = send("", "GET", "/api/v1/gates").body;
    for (int i = 0; i < 8; ++i) {
        const std::string row = fmt::format("items.{}.", i);
        if (member(page, row + "host") == gate.address) return member(page, row + "live") == "true";
    }
    return false;
}

// ---- Requests

http::Response World::send(const std::string& key, const std::string& method,
                           const std::string& target, const std::string& body) {
    http::Outbound request{.method = method, .url = url + target, .headers = {}};
    if (!key.empty()) request.headers.add("Authorization", "Bearer " + key);
    if (method != "GET")
        request.headers.add("Idempotency-Key", to_string(make_uuid(clock.now(), random)));
    if (!body.empty()) request.headers.add("Content-Type", "application/json");
    request.body = body;
    request.ca_file = at("tls.pem");
    const Inside in(networks.renter);  // whoever is asked, also while a server is started
    return client.send(request);
}

std::string World::get(const Account& who, const std::string& target) {
    return send(who.key, "GET", target).body;
}

std::string World::post(const Account& who, const std::string& target, const std::string& body,
                        int status, const std::string& method) {
    const auto response = send(who.key, method, target, body);
    if (response.status != status) throw std::runtime_error(target + " " + response.body + logs());
    return response.body;
}

World::Account World::enlist() {
    const auto key = crypto::SigningKey::make(random);
    const auto asked = send("", "POST", "/api/v1/agents/accounts/challenge",
                            R"({"address":")" + crypto::to_string(key.address()) + "\"}");
    const std::string message = member(asked.body, "message");
    const auto made = send("", "POST", "/api/v1/agents/accounts",
                           R"({"message":)" + json_quoted(message) + R"(,"signature":)" +
                               json_quoted(sign(key, message)) +
                               R"(,"agent":{"name":"Scout","vendor":"Example","model":"m"},)"
                               R"("scopes":["renter","host"]})");
    demand(made.status == 201, "no account", made.body + logs());
    return {member(made.body, "api_key.secret"), member(made.body, "account_id")};
}

void World::make_accounts() {
    start_server();
    ada = enlist();
    ben = enlist();
    server->signal(SIGTERM);
    server->wait();
    // As if a transfer on chain had been claimed.
    database->open()->write([&](db::Transaction& tx) {
        ledger::deposit({tx, random, clock.now()},
                        {AccountId{parse_uuid(ben.id).value()}, ledger::Asset::usdc,
                         Micro{1'000'000'000}, "test:1"});
        if (kind.prepare) kind.prepare(tx);
    });
    start_server();
}

// ---- Host and renter

// Where a job's own folder does not hide it.
void World::provide_engine() {
    std::filesystem::create_directory(at("bin"));
    std::filesystem::copy(program_path("engine"), at("bin/engine"));
    std::string rows;
    for (const char* name : {"vllm", "llama.cpp"})
        rows += fmt::format(R"({}{{"name":"{}","program":"/usr/bin/sh","arguments":["-c",)"
                            R"("exec {}/engine {{port}} $BERTH_API_KEY"],"readable":["{}"]}})",
                            rows.empty() ? "" : ",", name, at("bin"), at("bin"));
    std::ofstream(at("engines")) << R"({"engines":[)" + rows + "]}";
    kind.options = {"--runtime", "process", "--engines", at("engines")};
}

// As its owner would: no name of the host, no port, nothing but the server's address.
void World::enroll() {
    std::ofstream(at("token")) << member(post(ada, "/api/v1/hosts/enrollments",
                                              R"({"tier":")" + kind.tier + "\"}", 201),
                                         "token")
                               << "\n";
    std::vector<std::string> words{program_path("berth-agent"),
                                   "enroll",
                                   "--server",
                                   url,
                                   "--token-file",
                                   at("token"),
                                   "--ca-file",
                                   at("tls.pem"),
                                   "--state",
                                   kind.state};
    words.insert(words.end(), kind.options.begin(), kind.options.end());
    const Inside in(networks.host);
    const Outcome done = run_program(words);
    const std::string mark = "enrolled as machine ";
    const std::size_t found = done.output.find(mark);
    demand(done.status == 0 && found != std::string::npos, "enroll", done.output + logs());
    enrolled = done.output;
    machine = done.output.substr(found + mark.size(), 36);
}

void World::open_host() {
    enroll();
    start_agent();
    const auto is = [&](const char* state) {
        return soon([&] { return member(get(ada, machine_place()), "state") == state; });
    };
    demand(is("UNLISTED"), "the machine's test was not passed",
           get(ada, machine_place()) + get(ada, machine_place() + "/qualification") + logs());
    post(ada, machine_place() + "/offer",
         fmt::format(R"({{"expected_version":"0","rate_micro_per_hour":"{}",)"
                     R"("included_disk_gib":1,"included_egress_gib":10,)"
                     R"("available_from":"{}","available_until":"{}"}})",
                     rate, to_rfc3339(clock.now() - std::chrono::hours(1)),
                     to_rfc3339(clock.now() + std::chrono::hours(200))),
         202, "PATCH");
    post(ada, machine_place() + "/list", "", 202);
    demand(is("AVAILABLE"), "the machine is not for rent", get(ada, machine_place()) + logs());
    offer = member(get(ada, machine_place() + "/offers"), "items.0.offer_id");
}

std::string World::find_template() {
    const std::string page =
        send("", "GET", "/api/v1/templates?limit=100&kind=" + kind.template_kind).body;
    for (int i = 0; i < 100; ++i) {
        const std::string row = fmt::format("items.{}.", i);
        if (member(page, row + "required_runtime") == "cuda" &&
            member(page, row + "min_gpu_count") == "1" &&
            std::stoll(member(page, row + "vram_fit.min_vram_bytes")) < 24'000'000'000)
            return member(page, row + "id");
    }
    throw std::runtime_error("no template fits");
}

std::string World::reserve(std::int64_t budget) {
    demand(soon([&] { return member(get(ada, machine_place()), "state") == "AVAILABLE"; }),
           "the machine is not free", get(ada, machine_place()) + logs());
    const std::string wish =
        fmt::format(R"({{"offer_id":"{}","template_id":"{}","duration_limit_s":3600,)"
                    R"("budget_micro":"{}"}})",
                    offer, find_template(), budget);
    // A server that was just started rents a machine once it has heard of it. Quotes are counted.
    auto quoted = send(ben.key, "POST", "/api/v1/quotes", wish);
    for (int tries = 0; quoted.status == 409 && tries < 200; ++tries) {
        std::this_thread::sleep_for(1s);
        quoted = send(ben.key, "POST", "/api/v1/quotes", wish);
    }
    demand(quoted.status == 201, "no quote", quoted.body + logs());
    const std::string quote = quoted.body;
    std::string body = R"({"quote_id":")" + member(quote, "quote_id") + "\"";
    if (!kind.ssh_key.empty()) body += R"(,"ssh_public_key":")" + kind.ssh_key + "\"";
    return member(post(ben, "/api/v1/jobs", body + "}", 202), "job_id");
}

std::string World::state_of(const std::string& job) { return member(show(job), "state"); }

bool World::await_state(const std::string& job, const std::string& wanted) {
    std::string seen;
    const bool came = soon([&] {
        seen = state_of(job);
        return seen == wanted || seen == "FAILED" || seen == "CLOSED";
    });
    return came && seen == wanted;
}

const std::string& World::running() {
    if (job_.empty() || state_of(job_) != "RUNNING") {
        constexpr std::int64_t long_enough = 100'000'000;  // for a thousand seconds
        job_ = reserve(long_enough);
        demand(await_state(job_, "RUNNING"), "the job does not run",
               show(job_) + get(ben, "/api/v1/jobs/" + job_ + "/logs") + logs());
    }
    demand(knocks_in(door_of(job_)), "the job's door does not answer", show(job_) + logs());
    return job_;
}

void World::stop(const std::string& job) {
    post(ben, "/api/v1/jobs/" + job + "/stop", R"({"reason":"done"})", 202);
    demand(await_state(job, "CLOSED"), "the job is not over", show(job) + logs());
}

void World::free_machine() {
    if (!job_.empty() && state_of(job_) == "RUNNING") stop(job_);
}

std::int64_t World::charged(const std::string& job) {
    const std::string text = member(show(job), "cumulative_charge_micro");
    return text.empty() ? 0 : std::stoll(text);
}

World::Door World::door_of(const std::string& job) {
    const std::string access = get(ben, "/api/v1/jobs/" + job + "/access");
    return {member(access, "endpoints.0.external_host"),
            member(access, "endpoints.0.external_port"), member(access, "endpoint_api_key"),
            from_hex(member(access, "endpoints.0.tls_key_sha256")).value_or("")};
}

http::Outbound World::through(const Door& door, const std::string& path) const {
    http::Outbound asked;
    asked.url = fmt::format("https://{}:{}{}", door.host, door.port, path);
    asked.headers.add("Authorization", "Bearer " + door.key);
    asked.pinned_key = door.tls_key;
    asked.fresh_connection = true;  // a door is new each time
    // A stranger waits up to ten seconds for a link, and the greeting is a part of this.
    asked.connect_max = std::chrono::seconds(12);
    return asked;
}

bool World::answers(const Door& door) {
    try {
        return !door.tls_key.empty() && client.send(through(door, "/v1/models")).status == 200;
    } catch (const http::TransportError&) {
        return false;
    }
}

bool World::knocks_in(const Door& door) {
    return support::eventually([&] { return answers(door); },
                               {.at_most = world_patience, .look_every = knock_every});
}

bool World::knocks_in_vain(const Door& door) {
    return support::eventually([&] { return !answers(door); },
                               {.at_most = world_patience, .look_every = knock_every});
}

std::string World::words_body(std::int64_t words, std::chrono::milliseconds delay) const {
    return fmt::format(R"({{"model":"m","messages":[{{"role":"user","content":"count"}}],)"
                       R"("stream":true,"max_tokens":{},"delay_ms":{}}})",
                       words, delay.count());
}

std::string World::check_books() {
    const Outcome check =
        run_program({program_path("berthd"), "check", "ledger", "--db", database->url()});
    // The money came by no chain, which is said of it twice: once of the transaction, once of the
    // sum.
    const auto says = [&](std::string_view what) {
        return check.output.find(what) != std::string::npos;
    };
    const bool sound = says(" 2 faults:") && says("names no transfer") && says("that came in");
    return sound ? "" : check.output;
}

std::string World::logs() const {
    std::string all;
    for (const char* name : {"berthd.log", "agent.log", "first-gate.log", "second-gate.log"})
        all += fmt::format("\n-- {}\n{}", name, last_of(read_text(at(name))));
    return all;
}

// ---- A stream

Counting::Counting(World& world, const World::Door& door, std::int64_t words,
                   std::chrono::milliseconds delay)
    : words_(words) {
    http::Outbound asked = world.through(door, "/v1/chat/completions");
    asked.method = "POST";
    asked.headers.add("Content-Type", "application/json");
    asked.body = world.words_body(words, delay);
    asked.total_max = std::chrono::seconds(120);  // of silence
    asked.take = [this](std::string_view bytes) { take(bytes); };
    thread_ = std::thread([this, asked = std::move(asked)] {
        try {
            const auto answer = http::CurlClient().send(asked);
            if (answer.status != 200) fault_ += answer.body;
        } catch (const http::TransportError& error) {
            fault_ += error.what();
        }
        over_ = true;
    });
}

Counting::~Counting() {
    if (thread_.joinable()) thread_.join();
}

void Counting::take(std::string_view bytes) {
    rest_ += bytes;
    for (std::size_t end = 0; (end = rest_.find('\n')) != std::string::npos;) {
        const std::string line = rest_.substr(0, end);
        rest_.erase(0, end + 1);
        if (line == "data: [DONE]") done_ = true;
        if (line.find("\"word") == std::string::npos) continue;
        if (line.find(fmt::format("\"word{} ", count_ + 1)) == std::string::npos)
            fault_ += fmt::format("after word {} came {}\n", count_.load(), line);
        ++count_;
    }
}

bool Counting::reaches(std::int64_t number) const {
    const std::int64_t wanted = std::min(number, words_);
    return soon([&] { return count_ >= wanted || over_; }) && count_ >= wanted;
}

bool Counting::ends_whole() {
    if (!soon([&] { return over_.load(); })) return false;
    thread_.join();
    return done_ && fault_.empty() && count_ == words_;
}

std::string Counting::said() const {
    return fmt::format("{} of {} words{}; {}", count_.load(), words_, over_ ? "" : " so far",
                       over_ ? fault_ : "");
}

// ---- A story

void GateStory::SetUp() {
    static const std::string lacking = World::missing.empty() ? why_no_networks() : World::missing;
    if (!lacking.empty()) GTEST_SKIP() << lacking;
    try {
        world_ = &World::only();
        world_->mend();
    } catch (const std::exception& error) {
        FAIL() << error.what();
    }
}

void GateStory::TearDown() {
    if (world_ != nullptr && HasFailure()) std::cerr << world_->logs() << "\n";
}

}  // namespace berth::test
