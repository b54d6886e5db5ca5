// A market in a test: a host with a listed machine, renters with money, and the host's agent. The
// agent speaks to the side of the jobs directly, so that a test can say everything an agent may say
// and many things that it may not; what it sends over HTTP is signed and tested elsewhere.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <mutex>

#include "ledger/check.hpp"
#include "ledger/ledger.hpp"
#include "rentals/rentals.hpp"
#include "support/endpoints_double.hpp"
#include "support/host_agent_double.hpp"
#include "support/machines.hpp"
#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::test {

using namespace rentals;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// At this rate a job costs a micro-unit a millisecond.
inline constexpr std::int64_t rate = 3'600'000;

struct Wish {
    std::int64_t budget = 1'000'000;
    std::int64_t duration_s = 86'400;
    std::string what = {};  // template_id or image; empty: the classical template
};

class MarketTest : public ::testing::Test {
protected:
    MarketTest() : MarketTest(Harness::Options{}) {}
    // Whether whatever READY names answers, engines are asked over the network, or everything is.
    enum class Outside { doubled, engines_asked, all_asked };
    explicit MarketTest(Harness::Options options, Outside asked = Outside::doubled)
        : outside(asked == Outside::engines_asked ? std::optional(http::Reach::anywhere)
                                                  : std::nullopt),
          town(with_outside(std::move(options), asked)) {}
    Harness::Options with_outside(Harness::Options options, Outside asked) const {
        if (asked != Outside::all_asked) options.overrides.prober = &outside;
        return options;
    }

    struct Person {
        std::string key;
        AccountId account;
    };
    Person join(const std::string& scopes, std::int64_t funds = 0) {
        const auto wallet = crypto::SigningKey::make(town.harness.random);
        const std::string body = town.enlist(wallet, scopes).body;
        const Person person{member(body, "api_key.secret"),
                            AccountId{parse_uuid(member(body, "account_id")).value()}};
        if (funds > 0) fund(person, funds);
        return person;
    }
    void fund(const Person& person, std::int64_t funds) {
        database().write([&](db::Transaction& tx) {
            ledger::deposit({tx, town.harness.random, town.harness.clock.now()},
                            {person.account, ledger::Asset::usdc, Micro{funds},
                             "test:" + to_string(person.account)});
        });
    }

    db::Database& database() { return town.harness.app->database(); }
    Time now() { return town.harness.clock.now(); }

    std::string new_key() {
        const std::lock_guard lock(mutex);
        return town.harness.new_id();
    }
    http::Response send(const Person& who, const std::string& method, const std::string& target,
                        const std::string& body = "") {
        return town.harness.ask({.method = method,
                                 .target = target,
                                 .as = who.key,
                                 .key = method == "GET" ? "" : new_key(),
                                 .body = body});
    }

    // A machine that is for sale, with a version published as its owner would.
    machines::Machine put_up(const std::string& more = "", std::optional<machines::HostMode> mode =
                                                               machines::HostMode::dedicated) {
        const auto machine =
            enrolled(town.harness, ada.account,
                     {.state = machines::MachineState::UNLISTED,
                      .measured = measured_4090(),
                      .mode = mode,
                      .adjust = [](machines::Machine& m) { m.accepts_custom_images = true; }});
        const std::string place = "/api/v1/hosts/machines/" + to_string(machine.machine_id);
        const auto edited = send(
            ada, "PATCH", place + "/offer",
            fmt::format(R"({{"expected_version":"0","rate_micro_per_hour":"{}",)"
                        R"("included_disk_gib":100,"included_egress_gib":1000,)"
                        R"("available_from":"{}","available_until":"{}"{}}})",
                        rate, to_rfc3339(now() - hours(1)), to_rfc3339(now() + hours(2000)), more));
        EXPECT_EQ(edited.status, 202) << edited.body;
        const auto listed = send(ada, "POST", place + "/list");
        EXPECT_EQ(listed.status, 202) << listed.body;
        EXPECT_EQ(member(listed.body, "decision"), "admitted") << listed.body;
        return seen(town.harness, machine.machine_id);
    }

    std::string find_template(const std::string& kind) {
        const auto page = town.harness.ask({.target = "/api/v1/templates?limit=100&kind=" + kind});
        for (int i = 0; i < 100; ++i) {
            const std::string at = fmt::format("items.{}.", i);
            if (member(page.body, at + "id").empty()) break;
            if (member(page.body, at + "required_runtime") == "cuda" &&
                member(page.body, at + "min_gpu_count") == "1" &&
                std::stoll(member(page.body, at + "vram_fit.min_vram_bytes")) < 24'000'000'000)
                return member(page.body, at + "id");
        }
        ADD_FAILURE() << "no template of kind " << kind << " fits";
        return "";
    }

    std::string quote_body(const machines::Machine& machine, const Wish& wish) {
        const std::string what =
            wish.what.empty() ? fmt::format(R"("template_id":"{}")", classical) : wish.what;
        return fmt::format(R"({{"offer_id":"{}",{},"duration_limit_s":{},"budget_micro":"{}"}})",
                           to_string(machine.offer_id), what, wish.duration_s, wish.budget);
    }
    http::Response quote(const Person& who, const machines::Machine& machine, const Wish& wish) {
        hear(town.harness, machine.machine_id);
        return send(who, "POST", "/api/v1/quotes", quote_body(machine, wish));
    }
    static std::string reserve_body(const std::string& quote_id, bool with_ssh = true) {
        if (!with_ssh) return fmt::format(R"({{"quote_id":"{}"}})", quote_id);
        return fmt::format(R"({{"quote_id":"{}","ssh_public_key":"ssh-ed25519 {} me"}})", quote_id,
                           "AAAAC3NzaC1lZDI1NTE5AAAAIJ3n7n4v0mC1bq2m3Z3o9m1m1k2l3n4p5q6r7s8t9u0v");
    }
    http::Response reserve(const Person& who, const std::string& quote_id, bool with_ssh = true) {
        return send(who, "POST", "/api/v1/jobs", reserve_body(quote_id, with_ssh));
    }
    JobId rent(const Person& who, const machines::Machine& machine, const Wish& wish = {}) {
        const auto quoted = quote(who, machine, wish);
        EXPECT_EQ(quoted.status, 201) << quoted.body;
        // Who rents a model wants no shell.
        const bool is_model = wish.what.find(model) != std::string::npos;
        const auto reserved = reserve(who, member(quoted.body, "quote_id"), !is_model);
        EXPECT_EQ(reserved.status, 202) << reserved.body;
        const auto id = parse_uuid(member(reserved.body, "job_id"));
        return id ? JobId{*id} : JobId{};
    }

    // The agent

    template <class Function>
    auto as_agent(MachineId id, const Function& function) {
        return database().write([&](db::Transaction& tx) {
            auto machine = machines::hold(tx, id);
            return function(db::Context{tx, town.harness.random, now()}, *machine);
        });
    }
    machines::JobSide& side() { return town.harness.app->rentals().host_agent_side(); }

    void accept(JobId job) {
        const JobRow row = find(job);
        as_agent(row.terms.machine_id, [&](const db::Context& context, machines::Machine& machine) {
            machines::CommandAck ack;
            ack.kind = agent_protocol::CommandKind::start;
            ack.job_id = job;
            ack.ack.result = agent_protocol::AckResult::accepted;
            side().acknowledge(context, machine, ack, some_message);
        });
    }
    std::string tell(JobId job, agent_protocol::JobEventKind kind, const std::string& evidence,
                     std::optional<std::int64_t> lease = {}) {
        const JobRow row = find(job);
        agent_protocol::JobEvent event;
        event.lease_seq = {lease.value_or(row.live.lease_seq)};
        event.kind = kind;
        event.at = now();
        event.evidence = {evidence};
        machines::EventFacts facts;
        const auto ask = database().read([&](db::Transaction& tx) {
            return side().prepare(tx, *machines::find(tx, row.terms.machine_id), job, event);
        });
        facts = ask();
        if (facts.fault)
            database().write([&](db::Transaction& tx) {
                side().note_refused({tx, town.harness.random, now()},
                                    {row.terms.machine_id, job, event, some_message, *facts.fault});
            });
        return as_agent(
            row.terms.machine_id, [&](const db::Context& context, machines::Machine& machine) {
                return side().event(context, machine, job, event, facts, some_message).state;
            });
    }
    // As an honest agent says it: everything that the renter was promised has an endpoint.
    std::string promised_endpoints(JobId job) {
        const JobTerms terms = find(job).terms;
        std::vector<std::string> endpoints;
        const auto add = [&](const std::string& kind, const std::string& name, int port) {
            endpoints.push_back(fmt::format(R"({{"kind":"{}","name":"{}","host":"{}","port":{}}})",
                                            kind, name, double_host, port));
        };
        if (terms.has_ssh) add("ssh", "ssh", 40022);
        for (const auto& exposed :
             wire::decode<std::vector<agent_protocol::Exposed>>(terms.exposes, "exposes"))
            if (exposed.protocol == "http") add("http", exposed.name, 40080);
        return fmt::format("{}", fmt::join(endpoints, ","));
    }
    std::string ready_evidence(JobId job, const std::string& boot = "boot-1") {
        return fmt::format(
            R"({{"container_id":"c1","boot_id":"{}","endpoints":[{}],)"
            R"("ssh_host_key_fingerprint":"SHA256:x",)"
            R"("time_to_ready":{{"pull_ms":"1","load_ms":"2","probe_ms":"3"}},"more":1}})",
            boot, promised_endpoints(job));
    }
    void get_ready(JobId job) {
        accept(job);
        EXPECT_EQ(tell(job, agent_protocol::JobEventKind::ready, ready_evidence(job)), "RUNNING");
    }
    std::size_t beat(JobId job, std::int64_t runtime_ms, const std::string& boot = "boot-1",
                     const std::string& container = "c1") {
        const JobRow row = find(job);
        HostAgentDouble host;
        host.boot_id = boot;
        agent_protocol::JobReport& report = host.jobs.emplace_back();
        report.job_id = job;
        report.lease_seq = {row.live.lease_seq};
        report.container_id = wire::Text<1, 128>{container};
        report.runtime_ms = {runtime_ms};
        const auto beat = host.heartbeat(now());
        return as_agent(row.terms.machine_id,
                        [&](const db::Context& context, machines::Machine& machine) {
                            return side().heartbeat(context, machine, beat, some_message).size();
                        });
    }
    std::string end(JobId job, std::optional<std::int64_t> runtime_ms = {}) {
        return tell(job, agent_protocol::JobEventKind::stopped,
                    runtime_ms
                        ? fmt::format(R"({{"container_id":"c1","runtime_ms":"{}"}})", *runtime_ms)
                        : R"({"container_id":"c1"})");
    }
    std::string clean(JobId job) {
        return tell(job, agent_protocol::JobEventKind::cleaned, wire::encode(cleaned_evidence()));
    }

    // Time goes on in steps that the worker can follow, and it does; agents can be heard.
    void pass(Duration span) {
        go_on(span, [&] { side().note_listening(database(), town.harness.clock.now()); });
    }
    // The worker goes on, and no process listens.
    void pass_unheard(Duration span) {
        go_on(span, [] {});
    }
    void go_on(Duration span, const std::function<void()>& before_each_look) {
        DeadlineWorker deadlines({town.harness.app->rentals().lifecycle(), database(),
                                  town.harness.clock, town.harness.random});
        const auto look = [&] {
            before_each_look();
            deadlines.look();
        };
        look();
        for (Duration left = span; left > Duration{};) {
            const Duration step = std::min<Duration>(left, seconds(10));
            town.harness.clock.advance(step);
            left -= step;
            look();
        }
    }

    JobRow find(JobId id) {
        return database().read([&](db::Transaction& tx) { return *rentals::find_job(tx, id); });
    }
    JobState state_of(JobId id) { return find(id).live.state; }
    machines::MachineState machine_of(JobId id) {
        return seen(town.harness, find(id).terms.machine_id).state;
    }
    ledger::Balances balances(const Person& who) {
        return database().read([&](db::Transaction& tx) {
            return ledger::balances(tx, who.account, ledger::Asset::usdc);
        });
    }
    std::string show(const Person& who, JobId job) {
        return send(who, "GET", "/api/v1/jobs/" + to_string(job)).body;
    }
    http::Response stop(const Person& who, JobId job, const std::string& more = "") {
        return send(who, "POST", "/api/v1/jobs/" + to_string(job) + "/stop",
                    R"({"reason":"done")" + more + "}");
    }
    // What every test ends with: the books prove themselves, and so does every job's evidence.
    void TearDown() override {
        database().read([&](db::Transaction& tx) {
            const auto report = ledger::check_ledger(tx);
            EXPECT_TRUE(report.sound()) << ledger::to_text(report);
        });
    }

    const machines::SignedMessage some_message{"{}", "sig=()", "sig=:AA==:", "berth.example",
                                               "/x", "AA=="};
    std::mutex mutex;
    const EndpointsDouble outside;
    Town town;
    Person ada = join(R"(["host"])");
    Person ben = join(R"(["renter"])", 10'000'000);
    std::string classical = find_template("classical");
    std::string model = find_template("model");
};

}  // namespace berth::test
