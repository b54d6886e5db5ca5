// Gates and machines that ask for doors, at a server in this process. The gates are written from
// docs/agent-protocol.md: raw JSON, signed by hand.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent_protocol/gate_ticket.hpp"
#include "agent_protocol/hashes.hpp"
#include "agent_protocol/messages.hpp"
#include "crypto/hash.hpp"
#include "gates/gates.hpp"
#include "gates/operate.hpp"
#include "support/machine_agent.hpp"
#include "support/machines.hpp"
#include "wire/open.hpp"

namespace berth::test {

using agent_protocol::DoorId;
using agent_protocol::DoorsGiven;
using agent_protocol::GateId;
using agent_protocol::GateOrders;

// What a gate says of one door.
struct Said {
    DoorId door;
    bool linked = true;
    std::int64_t bytes_in = 0;
    std::int64_t bytes_out = 0;
    std::int64_t streams = 0;
    std::int64_t unanswered = 0;
};

class Yard : public testing::Test {
protected:
    static crypto::Ed25519Key key_of(char seed) {
        return crypto::Ed25519Key(crypto::Secret(Bytes(32, seed)));
    }

    struct Gate {
        GateId id;
        std::string host;
        char seed = 'a';
        std::string boot = "boot-1";
        std::int64_t started = 1;  // second of the test
        bool draining = false;

        crypto::Ed25519Key key() const { return key_of(seed); }
    };
    struct Ports {
        std::int64_t from = 20'000;
        std::int64_t to = 20'099;
    };

    // A gate that the operator has added; it has not reported yet.
    Gate add_gate(char seed, Ports ports = {20'000, 20'099},
                  std::optional<machines::Continent> continent = {}) {
        Gate gate{{}, fmt::format("gate-{}.example.com", seed), seed};
        gates::NewGate wanted;
        wanted.host = gate.host;
        wanted.dial_host = "203.0.113.20";
        wanted.link_port = 443;
        wanted.call_port = 8443;
        wanted.ports_from = ports.from;
        wanted.ports_to = ports.to;
        wanted.continent = continent;
        wanted.public_key = agent_protocol::key_text(gate.key().public_key());
        wanted.tls_key_sha256 = std::string(64, seed);
        write([&](const db::Context& context) {
            gate.id = gates::add_gate(context, audit::Actor::local_operator(), wanted);
        });
        return gate;
    }
    // The same, and it lives.
    Gate live_gate(char seed, Ports ports = {20'000, 20'099},
                   std::optional<machines::Continent> continent = {}) {
        Gate gate = add_gate(seed, ports, continent);
        report(gate);
        return gate;
    }

    // An agent of a machine that a job holds.
    std::unique_ptr<MachineAgent> host(std::optional<machines::Continent> continent = {}) {
        auto agent = std::make_unique<MachineAgent>(harness);
        const crypto::Ed25519Key key{crypto::Secret(agent->seed.view())};
        const machines::Machine row =
            enrolled(harness, owner,
                     {.continent = continent,
                      .public_key = agent_protocol::key_text(key.public_key()),
                      .adjust = [&](machines::Machine& one) {
                          one.job_id = JobId::make(harness.clock.now(), harness.random);
                      }});
        agent->machine = row.machine_id;
        agent->fence = row.fence;
        return agent;
    }
    JobId job_of(const MachineAgent& agent) { return seen(harness, agent.machine).job_id.value(); }
    void change(const MachineAgent& agent, const std::function<void(machines::Machine&)>& how) {
        write([&](const db::Context& context) {
            auto row = machines::hold(context.tx, agent.machine).value();
            how(row);
            machines::save(context, row);
        });
    }

    std::string wanted(JobId job, const std::vector<std::string>& names) {
        std::string list;
        for (const std::string& name : names)
            list += fmt::format(R"({}{{"job_id":"{}","name":"{}","kind":"{}"}})",
                                list.empty() ? "" : ",", to_string(job), name,
                                name == "ssh" ? "ssh" : "http");
        return list;
    }
    http::Response ask_for(MachineAgent& agent, const std::string& list, int lost_s = 0) {
        return agent.send({.target = "/api/v1/host-agent/doors",
                           .body = fmt::format(R"({{"fence":"{}","lost_s":{},"wanted":[{}]}})",
                                               agent.fence, lost_s, list)});
    }
    DoorsGiven give(MachineAgent& agent, const std::vector<std::string>& names, int lost_s = 0) {
        const http::Response response = ask_for(agent, wanted(job_of(agent), names), lost_s);
        EXPECT_EQ(response.status, 200) << response.body;
        if (response.status != 200) return {};
        return wire::decode_known<DoorsGiven>(response.body, "answer");
    }

    // ---- What a gate sends

    std::string body_of(const Gate& gate, const std::vector<Said>& doors) const {
        std::string list;
        for (const Said& one : doors)
            list += fmt::format(
                R"({}{{"door_id":"{}","linked":{},"bytes_in":{},"bytes_out":{},"streams":{}{}}})",
                list.empty() ? "" : ",", to_string(one.door), one.linked, one.bytes_in,
                one.bytes_out, one.streams,
                one.unanswered > 0 ? fmt::format(R"(,"unanswered":{})", one.unanswered) : "");
        return fmt::format(R"({{"boot_id":"{}","started_at":"{}","draining":{},"doors":[{}]}})",
                           gate.boot, to_rfc3339(started + std::chrono::seconds(gate.started)),
                           gate.draining, list);
    }
    struct Sent {
        std::string body;
        std::string tag = "berth-gate";
        std::string nonce = {};
        Duration late = {};  // how long ago it was signed
    };
    http::Response send(const Gate& gate, const Sent& sent) {
        const std::string nonce = sent.nonce.empty() ? harness.new_id() : sent.nonce;
        const std::string digest = "sha-256=:" + to_base64(crypto::sha256(sent.body)) + ":";
        const std::string parameters = fmt::format(
            "(\"@method\" \"@authority\" \"@path\" \"@query\" \"content-digest\");created={};"
            "nonce=\"{}\";keyid=\"{}\";alg=\"ed25519\";tag=\"{}\"",
            (harness.clock.now() - sent.late).micros / 1'000'000, nonce, to_string(gate.id),
            sent.tag);
        const std::string base = fmt::format(
            "\"@method\": POST\n\"@authority\": localhost\n\"@path\": /api/v1/gate/report\n"
            "\"@query\": ?\n\"content-digest\": {}\n\"@signature-params\": {}",
            digest, parameters);
        http::Request request =
            make_request({.method = "POST", .target = "/api/v1/gate/report", .body = sent.body});
        if (request.headers.count("Host") == 0) request.headers.add("Host", "localhost");
        request.headers.add("Content-Digest", digest);
        request.headers.add("Signature-Input", "sig=" + parameters);
        request.headers.add("Signature", "sig=:" + to_base64(gate.key().sign(base)) + ":");
        http::Response response = harness.app->service().answer(request);
        expect_declared(harness.app->router(), request, response);
        return response;
    }
    GateOrders report(const Gate& gate, const std::vector<Said>& doors = {}) {
        const http::Response response = send(gate, {.body = body_of(gate, doors)});
        EXPECT_EQ(response.status, 200) << response.body;
        if (response.status != 200) return {};
        return wire::decode_known<GateOrders>(response.body, "answer");
    }
    // Everything that was given, as a gate says it while the machine has a link.
    static std::vector<Said> all_of(const DoorsGiven& given, bool linked = true) {
        std::vector<Said> list;
        for (const agent_protocol::Door& door : given.doors)
            list.push_back({.door = door.door_id, .linked = linked});
        return list;
    }

    // ---- What the market reads

    std::vector<gates::Gap> gaps(JobId job) {
        return harness.app->database().read([&](db::Transaction& tx) {
            return gates::gaps_of_job(tx, job, Time{}, harness.clock.now());
        });
    }
    gates::Carriage carriage(JobId job) {
        return harness.app->database().read(
            [&](db::Transaction& tx) { return gates::carriage_of(tx, job, harness.clock.now()); });
    }
    std::int64_t carried(JobId job) {
        return harness.app->database().read(
            [&](db::Transaction& tx) { return gates::carried_bytes(tx, job); });
    }
    void listen(Duration gap = std::chrono::seconds(15)) {
        write([&](const db::Context& context) {
            gates::note_listening(context.tx, context.now, gap);
        });
    }
    void wait(std::int64_t seconds) { harness.clock.advance(std::chrono::seconds(seconds)); }
    // Seconds since the test began.
    std::int64_t at(Time time) const { return (time - started) / std::chrono::seconds(1); }

    template <class Work>
    void write(Work&& work) {
        harness.app->database().write([&](db::Transaction& tx) {
            work(db::Context{tx, harness.random, harness.clock.now()});
        });
    }

    Harness harness{{.flags = {{"rate-doors-per-minute", "1000000"},
                               {"rate-gate-reports-per-minute", "1000000"}},
                     .real_accounts = true}};
    const AccountId owner = AccountId::make(harness.clock.now(), harness.random);
    const Time started = harness.clock.now();
};

}  // namespace berth::test
