// A host agent that does what it is told, well or badly: a real process on the real library, whose
// state is in a folder, so that one agent can be started many times.
//
//     scripted_agent FOLDER SERVER ACTION [ARGUMENT...] [ACTION ...]
//
// Every action prints one line that begins with its name: the status of the answer and what came.
// `serve` is the last one: it goes on until it is killed, passes its test, and runs the engine of
// the test tree for each job. In its folder, a file `preempt` makes it give notice, and a file
// `idle` makes it tell that the machine is rented out only while its owner does not need it.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "agent_protocol/commands.hpp"
#include "agent_protocol/counters.hpp"
#include "agent_protocol/hashes.hpp"
#include "agent_protocol/signature.hpp"
#include "scripted_agent/workload.hpp"
#include "support/host_agent_double.hpp"
#include "support/ssh_server.hpp"

namespace {

using namespace berth;
using namespace berth::agent_protocol;

constexpr std::uint16_t dark_port = 1024;  // where nobody answers

struct Kept {
    std::string seed;  // hex
    std::string machine_id;
    std::string server_key_id;
    std::string server_public_key;
    std::string gpu_uuid;
    std::optional<JobId> job;  // whose files are still there
};
BOOST_DESCRIBE_STRUCT(Kept, (), (seed, machine_id, server_key_id, server_public_key, gpu_uuid, job))

// A job on this host.
struct Held {
    JobId job;
    std::int64_t lease_seq = 1;
    StartPayload start = {};
    std::unique_ptr<scripted::Workload> workload;
    std::unique_ptr<test::SshServer> shell = {};
    bool is_ready = false;
    bool is_noticed = false;
    long long last_ms = 0;  // when it was stopped
};

class Agent {
public:
    Agent(const std::string& folder, std::string server)
        : folder_(folder),
          path_(folder + "/agent.json"),
          server_(std::move(server)),
          counters_(folder + "/counters.json") {
        std::filesystem::create_directories(folder);
        std::ifstream file(path_);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        if (!text.empty()) kept_ = wire::decode<Kept>(text, "file");
        if (kept_.seed.empty()) kept_.seed = to_hex(random_.bytes(crypto::Secret::size));
    }

    void enroll(const std::string& token, const std::string& gpu_uuid) {
        kept_.gpu_uuid = gpu_uuid;
        http::Outbound request{.method = "POST",
                               .url = server_ + "/api/v1/host-agent/enroll",
                               .headers = json_headers()};
        request.body = wire::encode(host().enroll(token, key().public_key()));
        const http::Response response = client_.send(request);
        const auto enrolled = read_enrolled(response.body);
        if (response.status == 201 && enrolled) {
            kept_.machine_id = to_string(enrolled->machine_id);
            kept_.server_key_id = enrolled->server_key_id;
            kept_.server_public_key = enrolled->server_public_key;
            counters_.take_fence(enrolled->fence.value);
        }
        save();
        fmt::print("enroll {} {}\n", response.status, kept_.machine_id);
    }

    // How a heartbeat may be wrong: replay, tamper, future, past, old-fence, oversized, no-gpus.
    void heartbeat(const std::string& how) {
        Time sent_at = clock_.now();
        if (how == "future") sent_at = sent_at + std::chrono::hours(2);
        if (how == "past") sent_at = sent_at - std::chrono::hours(2);
        test::HostAgentDouble told = host();
        if (how == "no-gpus") told.manifest.gpus.value.clear();
        if (how == "old-fence") told.fence = 0;
        told.telemetry.emplace().load_1m = 0.5;
        std::string body = wire::encode(told.heartbeat(sent_at));
        if (how == "oversized") body += std::string(80'000, ' ');
        http::Outbound request = signed_request("POST", "/api/v1/host-agent/heartbeat", body);
        if (how == "tamper") request.body.replace(request.body.find("0.5"), 3, "0.6");
        http::Response response = client_.send(request);
        if (how == "replay") response = client_.send(request);
        if (const auto orders = read_orders(response.body); response.status == 200 && orders) {
            counters_.take_fence(orders->fence);
            obey(*orders);
        }
        fmt::print("heartbeat {} {}\n", response.status, response.body);
    }

    void wait(const std::string& seconds) {
        const http::Response response = client_.send(
            signed_request("GET", "/api/v1/host-agent/commands?wait_s=" + seconds, ""));
        const auto orders = read_orders(response.body);
        if (response.status == 200 && orders) obey(*orders);
        fmt::print("wait {} {}\n", response.status, orders ? orders->commands.size() : 0);
    }

    // Heartbeats and commands, for ever. Each start is a boot of the host.
    [[noreturn]] void serve() {
        serves_ = true;
        boot_ = to_hex(random_.bytes(8));
        if (kept_.job) {
            held_.emplace();
            held_->job = *kept_.job;
            held_->is_ready = true;  // as far as this agent remembers
        }
        for (;;) {
            try {
                const http::Response response =
                    client_.send(signed_request("POST", "/api/v1/host-agent/heartbeat", beat()));
                if (const auto orders = read_orders(response.body);
                    response.status == 200 && orders) {
                    counters_.take_fence(orders->fence);
                    take_leases(*orders);
                    obey(*orders);
                }
                mind_workload();
                const http::Response more =
                    client_.send(signed_request("GET", "/api/v1/host-agent/commands?wait_s=1", ""));
                if (const auto orders = read_orders(more.body); more.status == 200 && orders)
                    obey(*orders);
            } catch (const http::TransportError&) {
                ::usleep(100'000);  // the server is away; it comes back
            }
            std::fflush(stdout);
        }
    }

    void leave() {
        const http::Response response =
            client_.send(signed_request("POST", "/api/v1/host-agent/leave", ""));
        fmt::print("leave {}\n", response.status);
    }

private:
    test::HostAgentDouble host() const {
        test::HostAgentDouble host;
        host.manifest = test::manifest_4090(kept_.gpu_uuid);
        host.boot_id = boot_;
        host.fence = counters_.fence();
        return host;
    }
    std::string beat() const {
        test::HostAgentDouble host = this->host();
        if (std::filesystem::exists(folder_ + "/idle")) host.host_mode.mode = HostMode::idle;
        if (held_) {
            JobReport report;
            report.job_id = held_->job;
            report.lease_seq = {held_->lease_seq};
            report.budget_version = {1};
            if (held_->is_ready) {
                report.phase = JobPhase::running;
                report.container_id = wire::Text<1, 128>{"c1"};
            }
            report.runtime_ms = {runtime_ms()};
            host.jobs.push_back(std::move(report));
        }
        return wire::encode(host.heartbeat(clock_.now()));
    }
    long long runtime_ms() const {
        return held_->workload ? held_->workload->runtime_ms() : held_->last_ms;
    }
    void take_leases(const AgentOrders& orders) {
        for (const Lease& lease : orders.leases)
            if (held_ && lease.job_id == held_->job && lease.lease_seq.value > held_->lease_seq)
                held_->lease_seq = lease.lease_seq.value;
    }

    // READY once the engine answers, at a port where nobody does while it is to stay dark; a notice
    // when the owner wants the machine back.
    void mind_workload() {
        if (!held_ || !held_->workload) return;
        if (!held_->is_ready) {
            const bool is_dark = std::filesystem::exists(folder_ + "/dark");
            const test::DoublePlace place{
                .host = "127.0.0.1",
                .http_port = is_dark ? dark_port : held_->workload->port(),
                .ssh_port = held_->shell ? held_->shell->port() : dark_port};
            const int status =
                tell(held_->job, JobEventKind::ready,
                     test::ready_evidence({"c1", boot_}, test::endpoints_of(held_->start, place)));
            held_->is_ready = status == 200;
            if (held_->is_ready) held_->workload->start_clock();
        } else if (!held_->is_noticed && std::filesystem::exists(folder_ + "/preempt")) {
            PreemptNoticeEvidence notice;
            notice.reason.emplace(HostText{"the owner"});
            held_->is_noticed = tell(held_->job, JobEventKind::preempt_notice, notice) == 200;
        }
    }

    template <class Evidence>
    int tell(JobId job, JobEventKind kind, const Evidence& evidence) {
        const JobEvent event =
            host().event(kind, held_ ? held_->lease_seq : 1, clock_.now(), evidence);
        const http::Response response = client_.send(signed_request(
            "POST", "/api/v1/host-agent/jobs/" + to_string(job) + "/events", wire::encode(event)));
        fmt::print("event {} {} {}\n", enum_name(kind), response.status, response.body);
        return response.status;
    }

    void start(const Command& command) {
        const auto payload = payload_of<StartPayload>(command);
        acknowledge(command.command_id, host().ack(AckResult::accepted));
        held_.emplace();
        held_->job = payload.job_id;
        kept_.job = payload.job_id;
        save();
        held_->start = payload;
        held_->workload = std::make_unique<scripted::Workload>(payload.endpoint_api_key);
        if (payload.ssh_public_key.value)
            held_->shell = std::make_unique<test::SshServer>(scripted::free_port());
    }
    void stop(const Command& command) {
        acknowledge(command.command_id, host().ack(AckResult::accepted));
        if (held_ && held_->job == command.job_id && held_->workload) {
            held_->last_ms = held_->workload->runtime_ms();
            held_->workload.reset();
        }
        tell(*command.job_id, JobEventKind::stopped,
             held_ && held_->is_ready ? test::end_evidence({"c1", boot_}, held_->last_ms)
                                      : EndEvidence{});
    }
    void clean(const Command& command) {
        acknowledge(command.command_id, host().ack(AckResult::accepted));
        held_.reset();
        kept_.job.reset();
        save();
        tell(*command.job_id, JobEventKind::cleaned, test::cleaned_evidence());
    }
    void qualify(const Command& command) {
        acknowledge(command.command_id, host().ack(AckResult::accepted));
        const auto payload = payload_of<QualifyPayload>(command);
        const http::Response response = client_.send(signed_request(
            "POST", "/api/v1/host-agent/qualification/" + to_string(payload.run_id) + "/result",
            wire::encode(test::passed_test(counters_.fence()))));
        fmt::print("qualified {} {}\n", response.status, response.body);
    }

    void obey(const AgentOrders& orders) {
        for (const std::string& text : orders.commands) {
            const PinnedKey pinned{kept_.server_key_id, *parse_key(kept_.server_public_key)};
            const CheckedCommand checked = check_command(text, machine(), pinned, clock_.now());
            if (!checked.command_id) {
                fmt::print("ignored\n");
                continue;
            }
            auto refusal = checked.refusal;
            if (!refusal) refusal = counters_.take_fence(checked.command->fence.value);
            if (refusal)
                acknowledge(*checked.command_id,
                            host().rejection(std::string(code_name(*refusal))));
            else
                carry_out(*checked.command);
        }
    }

    void carry_out(const Command& command) {
        fmt::print("command {} {}\n", enum_name(command.kind), to_rfc3339(clock_.now()));
        if (serves_) switch (command.kind) {
                case CommandKind::start: return start(command);
                case CommandKind::stop: return stop(command);
                case CommandKind::clean: return clean(command);
                case CommandKind::qualify: return qualify(command);
                case CommandKind::budget:
                    return acknowledge(
                        command.command_id,
                        host().ack(AckResult::accepted, payload_of<BudgetPayload>(command)));
                default: break;
            }
        if (command.kind != CommandKind::rotate_key)
            return acknowledge(command.command_id, host().ack(AckResult::accepted));
        const auto payload = payload_of<RotateKeyPayload>(command);
        const std::string seed = to_hex(random_.bytes(crypto::Secret::size));
        const crypto::Ed25519Key fresh{crypto::Secret(*from_hex(seed))};
        const RotateKeyDetail detail{{key_text(fresh.public_key())},
                                     {to_base64(fresh.sign(payload.nonce))}};
        acknowledge(command.command_id, host().ack(AckResult::completed, detail));
        kept_.seed = seed;
        save();
    }

    void acknowledge(CommandId id, const Ack& ack) {
        const http::Response response = client_.send(signed_request(
            "POST", "/api/v1/host-agent/commands/" + to_string(id) + "/ack", wire::encode(ack)));
        fmt::print("ack {} {}\n", response.status, response.body);
    }

    http::Outbound signed_request(const std::string& method, const std::string& target,
                                  const std::string& body) {
        http::Outbound request{.method = method,
                               .url = server_ + target,
                               .headers = body.empty() ? http::Headers{} : json_headers(),
                               .body = body,
                               .total_max = std::chrono::seconds(60)};
        RequestSigner(machine(), key()).sign(request, {clock_.now(), make_nonce(random_)});
        return request;
    }

    static http::Headers json_headers() {
        http::Headers headers;
        headers.add("Content-Type", "application/json");
        return headers;
    }

    MachineId machine() const { return {parse_uuid(kept_.machine_id).value()}; }
    crypto::Ed25519Key key() const {
        return crypto::Ed25519Key{crypto::Secret(*from_hex(kept_.seed))};
    }
    void save() const { std::ofstream(path_) << wire::encode(kept_); }

    const std::string folder_;
    const std::string path_;
    const std::string server_;
    std::string boot_ = "boot";
    bool serves_ = false;
    std::optional<Held> held_;
    Kept kept_;
    Counters counters_;
    SystemRandom random_;
    SystemClock clock_;
    http::CurlClient client_;
};

}  // namespace

int main(int count, char** words) {
    std::vector<std::string> rest(words + 1, words + count);
    if (rest.size() < 3) return 2;
    std::filesystem::create_directories(rest[0]);
    Agent agent(rest[0], rest[1]);
    std::size_t next = 2;
    const auto take = [&] { return next < rest.size() ? rest[next++] : std::string(); };
    while (next < rest.size()) {
        const std::string action = take();
        if (action == "enroll") {
            const std::string token = take();
            agent.enroll(token, take());
        } else if (action == "heartbeat") {
            agent.heartbeat(take());
        } else if (action == "wait") {
            agent.wait(take());
        } else if (action == "serve") {
            agent.serve();
        } else if (action == "leave") {
            agent.leave();
        } else {
            return 2;
        }
        std::fflush(stdout);
    }
    return 0;
}
