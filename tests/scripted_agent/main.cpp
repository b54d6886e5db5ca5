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
#include "wire/open.hpp"

namespace {

using namespace berth;
using namespace berth::agent_protocol;

struct Kept {
    std::string seed;  // hex
    std::string machine_id;
    std::string server_key_id;
    std::string server_public_key;
    std::string gpu_uuid;
    std::optional<JobId> job;  // whose files are still there
};
BOOST_DESCRIBE_STRUCT(Kept, (), (seed, machine_id, server_key_id, server_public_key, gpu_uuid, job))

// What is read of a payload.
struct StartPayload {
    JobId job_id;
    std::string endpoint_api_key;
};
BOOST_DESCRIBE_STRUCT(StartPayload, (), (job_id, endpoint_api_key))
struct QualifyPayload {
    std::string run_id;
};
BOOST_DESCRIBE_STRUCT(QualifyPayload, (), (run_id))

// A job on this host.
struct Held {
    JobId job;
    std::int64_t lease_seq = 1;
    std::unique_ptr<scripted::Workload> workload;
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
        request.body = fmt::format(
            R"({{"token":"{}","public_key":"{}","protocol_version":1,"agent_version":"1.0.0",)"
            R"("manifest":{},"manifest_hash":"{}","boot_id":"boot"}})",
            token, key_text(key().public_key()), wire::encode(manifest()),
            manifest_hash(manifest()));
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
        Manifest told = manifest();
        if (how == "no-gpus") told.gpus.value.clear();
        std::string body =
            fmt::format(R"({{"boot_id":"boot","fence":"{}","manifest_hash":"{}","sent_at":"{}",)"
                        R"("host_mode":{{"mode":"dedicated","offerable":true,"reasons":[]}},)"
                        R"("telemetry":{{"load_1m":0.5}},"jobs":[]{}}})",
                        how == "old-fence" ? 0 : counters_.fence(), manifest_hash(told),
                        to_rfc3339(sent_at), how == "oversized" ? std::string(80'000, ' ') : "");
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
    std::string beat() const {
        std::string jobs;
        if (held_)
            jobs = fmt::format(
                R"({{"job_id":"{}","lease_seq":"{}","budget_version":"1","phase":"{}",)"
                R"("container_id":{},"runtime_ms":"{}"}})",
                to_string(held_->job), held_->lease_seq, held_->is_ready ? "RUNNING" : "PREPARING",
                held_->is_ready ? R"("c1")" : "null", runtime_ms());
        return fmt::format(
            R"({{"boot_id":"{}","fence":"{}","manifest_hash":"{}","sent_at":"{}",)"
            R"("host_mode":{{"mode":"{}","offerable":true,"reasons":[]}},"jobs":[{}]}})",
            boot_, counters_.fence(), manifest_hash(manifest()), to_rfc3339(clock_.now()),
            std::filesystem::exists(folder_ + "/idle") ? "idle" : "dedicated", jobs);
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
            const int status =
                tell(held_->job, "READY",
                     fmt::format(
                         R"({{"container_id":"c1","boot_id":"{}","endpoints":[{{"kind":"http",)"
                         R"("name":"openai","host":"127.0.0.1","port":{}}}],)"
                         R"("time_to_ready":{{"pull_ms":"1","load_ms":"2","probe_ms":"3"}}}})",
                         boot_,
                         std::filesystem::exists(folder_ + "/dark") ? 1 : held_->workload->port()));
            held_->is_ready = status == 200;
            if (held_->is_ready) held_->workload->start_clock();
        } else if (!held_->is_noticed && std::filesystem::exists(folder_ + "/preempt")) {
            held_->is_noticed =
                tell(held_->job, "PREEMPT_NOTICE", R"({"reason":"the owner"})") == 200;
        }
    }

    int tell(JobId job, const std::string& kind, const std::string& evidence) {
        const http::Response response = client_.send(signed_request(
            "POST", "/api/v1/host-agent/jobs/" + to_string(job) + "/events",
            fmt::format(R"({{"fence":"{}","lease_seq":"{}","kind":"{}","at":"{}","evidence":{}}})",
                        counters_.fence(), held_ ? held_->lease_seq : 1, kind,
                        to_rfc3339(clock_.now()), evidence)));
        fmt::print("event {} {} {}\n", kind, response.status, response.body);
        return response.status;
    }

    void start(const Command& command) {
        const auto payload = wire::decode_known<StartPayload>(command.payload.text, "payload");
        acknowledge(command.command_id, "accepted", "");
        held_.emplace();
        held_->job = payload.job_id;
        kept_.job = payload.job_id;
        save();
        held_->workload = std::make_unique<scripted::Workload>(payload.endpoint_api_key);
    }
    void stop(const Command& command) {
        acknowledge(command.command_id, "accepted", "");
        if (held_ && held_->job == command.job_id && held_->workload) {
            held_->last_ms = held_->workload->runtime_ms();
            held_->workload.reset();
        }
        tell(*command.job_id, "STOPPED",
             held_ && held_->is_ready
                 ? fmt::format(R"({{"container_id":"c1","boot_id":"{}","runtime_ms":"{}"}})", boot_,
                               held_->last_ms)
                 : "{}");
    }
    void clean(const Command& command) {
        acknowledge(command.command_id, "accepted", "");
        held_.reset();
        kept_.job.reset();
        save();
        tell(*command.job_id, "CLEANED",
             R"({"volume_recreated":true,"gpus":[{"uuid":null,"total_bytes":"100",)"
             R"("wiped_bytes":"95","verified_bytes":"95"}]})");
    }
    void qualify(const Command& command) {
        acknowledge(command.command_id, "accepted", "");
        const auto payload = wire::decode_known<QualifyPayload>(command.payload.text, "payload");
        std::string checks;
        for (const char* id :
             {"driver.version", "gpu.uniform", "gpu.memory", "gpu.idle", "gpu.vram_write_read",
              "gpu.compute", "gpu.mem_bandwidth", "gpu.pcie", "disk.free", "ram", "net.down",
              "net.up", "container.profile", "cleanup.wipe"})
            checks +=
                fmt::format(R"({}{{"id":"{}","status":"pass"}})", checks.empty() ? "" : ",", id);
        const http::Response response = client_.send(signed_request(
            "POST", "/api/v1/host-agent/qualification/" + payload.run_id + "/result",
            fmt::format(R"({{"fence":"{}","checks":[{}],"measurements":{{)"
                        R"("vram_bytes":"25757220864","ram_bytes":"68719476736",)"
                        R"("disk_bytes":"1000000000000","cpu_cores":16,"download_mbps":900.5,)"
                        R"("upload_mbps":400.5,"gpu_mem_bw_gbps":920.5,"tflops":80.5,)"
                        R"("ai_speed_tok_s":110.5,"pcie_gbps":25.5}},"endpoint":null}})",
                        counters_.fence(), checks)));
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
                acknowledge(*checked.command_id, "rejected",
                            fmt::format(R"(,"code":"{}")", code_name(*refusal)));
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
                    return acknowledge(command.command_id, "accepted",
                                       fmt::format(R"(,"detail":{})", command.payload.text));
                default: break;
            }
        if (command.kind != CommandKind::rotate_key)
            return acknowledge(command.command_id, "accepted", "");
        const auto payload = wire::decode<RotateKeyPayload>(command.payload.text, "payload");
        const std::string seed = to_hex(random_.bytes(crypto::Secret::size));
        const crypto::Ed25519Key fresh{crypto::Secret(*from_hex(seed))};
        acknowledge(
            command.command_id, "completed",
            fmt::format(R"(,"detail":{{"public_key":"{}","signature":"{}"}})",
                        key_text(fresh.public_key()), to_base64(fresh.sign(payload.nonce))));
        kept_.seed = seed;
        save();
    }

    void acknowledge(CommandId id, const std::string& result, const std::string& more) {
        const http::Response response = client_.send(signed_request(
            "POST", "/api/v1/host-agent/commands/" + to_string(id) + "/ack",
            fmt::format(R"({{"fence":"{}","result":"{}"{}}})", counters_.fence(), result, more)));
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

    Manifest manifest() const {
        return wire::decode<Manifest>(
            R"({"architecture":"x86_64","cpu_cores":16,"cpu_model":"EPYC","cuda_max":"12.8",)"
            R"("driver_version":"570.86.10","gpus":[{"backends":["cuda"],)"
            R"("memory_bytes":"25757220864","memory_class":"dedicated",)"
            R"("model":"NVIDIA GeForce RTX 4090","pci_address":"0000:01:00.0","uuid":")" +
                kept_.gpu_uuid +
                R"(","vendor":"nvidia"}],"kernel":"6.1.0","runtime":"podman 4.3.1",)"
                R"("runtime_kind":"container"})",
            "manifest");
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
