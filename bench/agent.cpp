// What berth-agent costs its host, with podman: memory and processor time while a job runs, and the
// time from START to a running container with network, volume, guard and sshd, against
// bench/container_start, a shell script with the same steps. The server is one of ours that says
// what berthd would.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "agent_protocol/commands.hpp"
#include "agent_protocol/hashes.hpp"
#include "base/enum_names.hpp"
#include "bench/measure.hpp"
#include "crypto/hash.hpp"
#include "host_agent/core/tool.hpp"
#include "host_agent_container/registry.hpp"
#include "http/server.hpp"
#include "support/host_agent_double.hpp"
#include "support/process.hpp"
#include "wire/wire.hpp"

namespace berth {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using namespace agent_protocol;

constexpr int rounds = 5;
constexpr auto watched = 60s;
constexpr auto patience = 60s;
constexpr double memory_goal_mb = 20;
constexpr double processor_goal_percent = 0.2;

// Hands out commands to an agent that waits for them, grants leases, and tells when events came.
class Orders final : public http::Handler {
public:
    Orders() : server_({}, *this) { server_.start(); }
    ~Orders() override { server_.stop(); }

    std::string url() const { return fmt::format("http://127.0.0.1:{}", server_.port()); }

    void give(CommandKind kind, JobId job, const std::string& payload) {
        Command command;
        command.command_id = CommandId::make(clock_.now(), random);
        command.kind = kind;
        command.machine_id = machine_;
        command.fence.value = 1;
        command.job_id = job;
        command.issued_at = clock_.now();
        command.expires_at = command.issued_at + 5min;
        command.payload.text = payload;
        key_.sign(command);
        const std::lock_guard lock(mutex_);
        commands_ = wire::encode(command);
        job_ = kind == CommandKind::clean ? std::nullopt : std::optional(job);
        answer_waiting();
    }

    // Until the agent has told of this event; when that was.
    steady_clock::time_point wait_for(const std::string& kind, JobId job) {
        std::unique_lock lock(mutex_);
        const auto name = to_string(job) + kind;
        if (!changed_.wait_for(lock, patience, [&] { return told_.contains(name); }))
            throw std::runtime_error("the agent does not tell of " + kind);
        return told_.at(name);
    }

    void handle(http::Request request, http::Reply reply) override {
        const std::string path(request.path());
        http::Response response{
            .body = wire::encode(JobEventTaken{JobId{}, "RUNNING", {1}, std::nullopt})};
        const std::lock_guard lock(mutex_);
        if (path.ends_with("/enroll")) {
            response.status = 201;
            response.body =
                fmt::format(R"({{"machine_id":"{}","fence":"1","server_public_key":"{}",)"
                            R"("server_key_id":"{}","heartbeat_s":20}})",
                            to_string(machine_), key_text(key_.public_key()), key_.id());
        } else if (path.ends_with("/commands") && commands_.empty()) {
            waiting_ = std::move(reply);
            waiting_since_ = steady_clock::now();
            return;
        } else if (path.ends_with("/commands")) {
            response.body = orders(false);
        } else if (path.ends_with("/heartbeat")) {
            response.body = orders(true);
            if (steady_clock::now() - waiting_since_ > 5s) answer_waiting();  // within its 30 s
        } else if (path.ends_with("/ack")) {
            commands_.clear();
        } else if (path.ends_with("/events") && path.find("/jobs/") != path.npos) {
            const auto event = wire::decode<JobEvent>(request.body, "event");
            const std::string job = path.substr(path.size() - 43, 36);
            told_.emplace(job + std::string(enum_name(event.kind)), steady_clock::now());
            changed_.notify_all();
        }
        reply(std::move(response));
    }

    SystemRandom random;

private:
    std::string orders(bool grants) {
        std::string lease;
        if (grants && job_)
            lease = fmt::format(
                R"({{"job_id":"{}","lease_seq":"{}","budget_version":"1","budget_micro":"1000000",)"
                R"("funded_through":null,"expires_at":"{}"}})",
                to_string(*job_), ++lease_seq_, to_rfc3339(clock_.now() + 90s));
        return fmt::format(
            R"({{"server_time":"{}","fence":"1","commands":[{}],"leases":[{}],"warnings":[]}})",
            to_rfc3339(clock_.now()), commands_, lease);
    }
    void answer_waiting() {
        if (!waiting_) return;
        std::exchange(waiting_, nullptr)(http::Response{.body = orders(false)});
    }

    SystemClock clock_;
    const MachineId machine_ = MachineId::make(clock_.now(), random);
    const CommandKey key_{crypto::Ed25519Key{crypto::Secret::make(random)}};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string commands_;
    http::Reply waiting_;
    steady_clock::time_point waiting_since_;
    std::optional<JobId> job_;
    std::int64_t lease_seq_ = 0;
    std::map<std::string, steady_clock::time_point> told_;
    http::Server server_;
};

std::string program(const std::string& name) { return test::program_path(name); }

class AgentBench {
public:
    AgentBench() : folder_(test::folder_of_root()), ports_(test::free_port()) {
        host_agent::run_tool_or_throw(
            {.arguments = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder_ + "/key"}});
        std::ofstream(folder_ + "/token") << "bre_x\n";
        host_agent::run_tool_or_throw(
            {.arguments = {program("berth-agent"), "enroll", "--server", orders_.url(),
                           "--token-file", folder_ + "/token", "--state", folder_ + "/state",
                           "--runtime", "podman", "--simulate-gpu", "RTX 4090", "--ports",
                           fmt::format("{}-{}", ports_, ports_ + 8), "--allow-registry",
                           test::Registry::get().place()}});
        agent_ = std::make_unique<test::Process>(
            std::vector<std::string>{program("berth-agent"), "run", "--state", folder_ + "/state"},
            folder_ + "/agent.log");
    }
    ~AgentBench() {
        script("end");
        agent_.reset();
        for (const char* store : {"/state/containers/overlay", "/script/containers/overlay"})
            host_agent::run_tool({.arguments = {"umount", folder_ + store}});
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
        std::filesystem::remove_all(run_folder(), ignored);
    }

    int measure() {
        end_job(start_job("READY").first);  // pulls the image
        std::filesystem::create_directories(folder_ + "/script");
        host_agent::run_tool_or_throw(
            {.arguments = {"podman", "--root", folder_ + "/script/containers", "--runroot",
                           folder_ + "/script/run", "--tmpdir", folder_ + "/script/tmp", "pull",
                           "--quiet", "--tls-verify=false", test::Registry::get().local_image()}});
        std::vector<double> ours;
        std::vector<double> theirs;
        for (int i = 0; i < rounds; ++i) {
            const auto begun = start_job("STARTED");
            ours.push_back(begun.second);
            end_job(begun.first);
            theirs.push_back(script());
            script("end");
        }
        watch(start_job("READY").first);
        const double own = bench::median(ours);
        const double other = bench::median(theirs);
        fmt::print("BENCH agent_start_ms ours={:.0f} baseline=shell-script:{:.0f} ratio={:.2f}\n",
                   own, other, other / own);
        return 0;
    }

private:
    // Of a template, whose image stays on the host: as for the script, there is nothing to pull.
    std::pair<JobId, double> start_job(const std::string& until) {
        const JobId job = JobId::make(SystemClock().now(), orders_.random);
        StartPayload start = test::start_of_model(job);
        start.image_digest = test::Registry::get().image();
        start.template_.value->engine = "llama.cpp";
        start.readiness_path = std::nullopt;
        start.ssh_public_key = public_key();
        start.endpoint_api_key = "secret";
        const auto begin = steady_clock::now();
        orders_.give(CommandKind::start, job, wire::encode(start));
        const auto end = orders_.wait_for(until, job);
        return {job, std::chrono::duration<double, std::milli>(end - begin).count()};
    }
    void end_job(JobId job) {
        orders_.give(CommandKind::stop, job, wire::encode(StopPayload{"done", {10}}));
        orders_.wait_for("STOPPED", job);
        orders_.give(CommandKind::clean, job, wire::encode(CleanPayload{}));
        orders_.wait_for("CLEANED", job);
    }

    double script(const std::string& word = "") const {
        std::vector<std::string> words = {BERTH_SOURCE_DIR "/bench/container_start",
                                          folder_ + "/script",
                                          test::Registry::get().local_image(),
                                          run_folder() + "/seccomp.json",
                                          folder_ + "/key.pub",
                                          std::to_string(ports_ + 7),
                                          std::to_string(ports_ + 6)};
        if (!word.empty()) words.push_back(word);
        const auto begin = steady_clock::now();
        const auto outcome = host_agent::run_tool({.arguments = words});
        if (!outcome.good() && word.empty()) throw std::runtime_error(outcome.why());
        return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
    }

    // A minute of a running job: three heartbeats, a manifest, a report of usage. What the agent
    // has others do for it counts.
    void watch(JobId job) {
        std::this_thread::sleep_for(2s);
        const double before = processor_ms();
        std::this_thread::sleep_for(watched);
        const double spent = processor_ms() - before;
        const double percent =
            spent / std::chrono::duration<double, std::milli>(watched).count() * 100;
        const double megabytes = resident_bytes() / 1e6;
        end_job(job);
        fmt::print("BENCH agent_memory_mb ours={:.1f} baseline=goal:{} ratio={:.2f}\n", megabytes,
                   memory_goal_mb, memory_goal_mb / megabytes);
        fmt::print("BENCH agent_processor_percent ours={:.3f} baseline=goal:{} ratio={:.2f}\n",
                   percent, processor_goal_percent, processor_goal_percent / percent);
    }

    double resident_bytes() const {
        std::ifstream status(fmt::format("/proc/{}/status", agent_->pid()));
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) * 1024;
        throw std::runtime_error("the agent is gone");
    }
    // Its own, of all its threads to the nanosecond, and that of the programs it waited for, which
    // the kernel counts in hundredths of a second.
    double processor_ms() const {
        clockid_t clock{};
        timespec own{};
        if (::clock_getcpuclockid(agent_->pid(), &clock) != 0 || ::clock_gettime(clock, &own) != 0)
            throw std::runtime_error("the agent is gone");
        std::ifstream file(fmt::format("/proc/{}/stat", agent_->pid()));
        std::string text;
        std::getline(file, text);
        std::istringstream rest(text.substr(text.rfind(')') + 2));
        std::string word;
        for (int column = 3; column < 16; ++column) rest >> word;
        double user = 0;
        double system = 0;
        rest >> user >> system;
        return static_cast<double>(own.tv_sec) * 1e3 + static_cast<double>(own.tv_nsec) / 1e6 +
               (user + system) * 1000 / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }

    std::string public_key() const {
        std::string line = test::read_text(folder_ + "/key.pub");
        while (line.ends_with('\n')) line.pop_back();
        return line;
    }
    std::string run_folder() const {
        return "/run/berth-agent-" + to_hex(crypto::sha256(folder_ + "/state")).substr(0, 8);
    }

    const std::string folder_;
    const std::uint16_t ports_;
    Orders orders_;
    std::unique_ptr<test::Process> agent_;
};

int run() {
    if (const std::string why = test::why_no_containers(); !why.empty()) {
        fmt::print(stderr, "{}\n", why);
        return bench::cannot_run_here;
    }
    test::Registry::get();
    return AgentBench().measure();
}

}  // namespace
}  // namespace berth

int main() { return berth::run(); }
