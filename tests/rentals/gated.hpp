// A market whose machine is reached by gates. Agents ask for doors and gates report as the page of
// the protocol says, in plain JSON; their signatures are tested elsewhere.
#pragma once

#include "api/caller.hpp"
#include "gates/operate.hpp"
#include "machines/machine.hpp"
#include "rentals/carriage.hpp"
#include "rentals/market.hpp"

namespace berth::test {

// Everybody is the machine or the gate that they say.
class TakesTheirWord final : public api::Authenticator {
public:
    api::Caller identify(const http::Request& request, db::Transaction&, Time) override {
        const std::string_view value = request.headers.find("Authorization").value_or("");
        const bool is_gate = value.starts_with("Bearer gate ");
        api::Caller caller;
        caller.credential = is_gate ? api::Credential::gate : api::Credential::machine;
        caller.credential_id = parse_uuid(value.substr(value.rfind(' ') + 1)).value();
        if (!is_gate) caller.account = {caller.credential_id};
        return caller;
    }
    void note_use(const api::Caller&, db::Transaction&, Time) override {}
};

class GatedMarket : public MarketTest {
protected:
    explicit GatedMarket(const EndpointProber* prober = nullptr)
        : MarketTest(by_their_word(prober), prober ? Outside::all_asked : Outside::doubled) {}
    static Harness::Options by_their_word(const EndpointProber* prober) {
        static TakesTheirWord their_word;
        Harness::Options options;
        options.overrides.authenticators.machines = &their_word;
        options.overrides.authenticators.gates = &their_word;
        options.overrides.prober = prober;
        return options;
    }

    struct Gate {
        gates::GateId id;
        std::string host;
        Time started_at;
    };
    Gate add_gate(const std::string& host, const std::string& address) {
        gates::NewGate fresh;
        fresh.host = host;
        fresh.dial_host = address;
        fresh.link_port = 443;
        fresh.call_port = 8443;
        fresh.public_key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
        fresh.tls_key_sha256 = std::string(64, 'a');
        const auto id = database().write([&](db::Transaction& tx) {
            return gates::add_gate({tx, town.harness.random, now()}, audit::Actor::of(ada.account),
                                   fresh);
        });
        return {id, host, now()};
    }
    // What a gate says of every door that it was asked to hold.
    void report(const Gate& gate, bool linked, std::int64_t bytes = 0,
                std::int64_t unanswered = 0) {
        std::vector<std::string> told;
        for (const std::string& door : doors)
            told.push_back(fmt::format(
                R"({{"door_id":"{}","linked":{},"bytes_in":0,"bytes_out":{},"streams":0{}}})", door,
                linked, bytes,
                unanswered > 0 ? fmt::format(R"(,"unanswered":{})", unanswered) : ""));
        const auto answer = town.harness.ask(
            {.method = "POST",
             .target = "/api/v1/gate/report",
             .as = "gate " + to_string(gate.id),
             .body = fmt::format(
                 R"({{"boot_id":"b1","started_at":"{}","draining":false,"doors":[{}]}})",
                 to_rfc3339(gate.started_at), fmt::join(told, ","))});
        ASSERT_EQ(answer.status, 200) << answer.body;
    }
    // As the agent of the job's machine.
    http::Response want(JobId job, const std::string& wanted) {
        const auto machine = seen(town.harness, find(job).terms.machine_id);
        return town.harness.ask({.method = "POST",
                                 .target = "/api/v1/host-agent/doors",
                                 .as = "machine " + to_string(machine.machine_id),
                                 .body = fmt::format(R"({{"fence":"{}","lost_s":0,"wanted":[{}]}})",
                                                     machine.fence, wanted)});
    }
    std::string wanted_by(JobId job) {
        std::vector<std::string> all;
        for (const auto& [name, kind] : named(job))
            all.push_back(fmt::format(R"({{"job_id":"{}","name":"{}","kind":"{}"}})",
                                      to_string(job), name, kind));
        return fmt::format("{}", fmt::join(all, ","));
    }
    // Name and kind of everything that the renter was promised.
    std::vector<std::pair<std::string, std::string>> named(JobId job) {
        const JobTerms terms = find(job).terms;
        std::vector<std::pair<std::string, std::string>> all;
        if (terms.has_ssh) all.emplace_back("ssh", "ssh");
        for (const auto& exposed :
             wire::decode<std::vector<agent_protocol::Exposed>>(terms.exposes, "exposes"))
            if (exposed.protocol == "http") all.emplace_back(exposed.name, "http");
        return all;
    }
    // READY that names what the answer to `want` gave, as an agent does.
    std::string ready_at(JobId job, const http::Response& given) {
        std::vector<std::string> endpoints;
        const auto all = named(job);
        for (std::size_t i = 0; i < all.size(); ++i)
            endpoints.push_back(fmt::format(
                R"({{"kind":"{}","name":"{}","host":"{}","port":{},"tls_key_sha256":"{}"}})",
                all[i].second, all[i].first, member(given.body, "gate.host"),
                member(given.body, fmt::format("doors.{}.port", i)), std::string(64, 'b')));
        return ready_with(fmt::format("{}", fmt::join(endpoints, ",")));
    }
    static std::string ready_with(const std::string& endpoints) {
        return fmt::format(R"({{"container_id":"c1","boot_id":"boot-1","endpoints":[{}],)"
                           R"("ssh_host_key_fingerprint":"SHA256:x"}})",
                           endpoints);
    }
    void note_doors(const http::Response& given) {
        ASSERT_EQ(given.status, 200) << given.body;
        for (int i = 0;; ++i) {
            const auto door = member(given.body, fmt::format("doors.{}.door_id", i));
            if (door.empty()) return;
            if (std::find(doors.begin(), doors.end(), door) == doors.end()) doors.push_back(door);
        }
    }

    machines::Machine put_up_behind_gate() {
        const auto machine = put_up();
        as_agent(machine.machine_id, [&](const db::Context& context, machines::Machine& row) {
            row.reach = agent_protocol::Reach::gate;
            machines::save(context, row);
        });
        return seen(town.harness, machine.machine_id);
    }
    // A job that runs behind the first gate and is carried.
    JobId start(const Wish& wish = {.budget = 5'000'000}) {
        listen();
        report(first, false);
        const JobId job = rent(ben, put_up_behind_gate(), wish);
        accept(job);
        const auto given = want(job, wanted_by(job));
        note_doors(given);
        report(first, true);
        EXPECT_EQ(tell(job, agent_protocol::JobEventKind::ready, ready_at(job, given)), "RUNNING");
        ready_since = now();
        return job;
    }

    void listen() { side().note_listening(database(), now()); }
    void look() {
        DeadlineWorker deadlines({town.harness.app->rentals().lifecycle(), database(),
                                  town.harness.clock, town.harness.random});
        deadlines.look();
    }
    std::int64_t ran_ms() { return (now() - ready_since).count() / 1000; }

    enum class Says { linked, unlinked, nothing, unanswered };
    enum class Seen { yes, no };  // whether the agent speaks and the worker looks meanwhile
    // Five seconds at a time; whoever speaks does so at the end of each.
    void go(JobId job, Duration span, Says says, Seen is_seen = Seen::yes) {
        for (Duration left = span; left > Duration{}; left -= seconds(5)) {
            town.harness.clock.advance(seconds(5));
            listen();
            if (says != Says::nothing)
                report(first, says != Says::unlinked, 0, says == Says::unanswered ? 1 : 0);
            if (is_seen == Seen::no) continue;
            if (is_metered(state_of(job))) beat(job, ran_ms());
            look();
        }
    }
    std::int64_t accepted_ms(JobId job) { return find(job).live.accepted_ms; }
    std::string receipt(JobId job) {
        return send(ben, "GET", "/api/v1/billing/receipts/" + to_string(job)).body;
    }
    std::string access(JobId job) {
        return send(ben, "GET", "/api/v1/jobs/" + to_string(job) + "/access").body;
    }

    Time ready_since;
    std::vector<std::string> doors;
    Gate first = add_gate("gate-1.example.com", "198.51.100.7");
};

}  // namespace berth::test
