// A real agent, and a server that lies: it answers as berthd does, hands out what it is given, and
// remembers what it was told.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "agent_protocol/commands.hpp"
#include "agent_protocol/hashes.hpp"
#include "agent_protocol/structured.hpp"
#include "http/server.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/host_agent_double.hpp"
#include "support/process.hpp"
#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::test {

using namespace agent_protocol;

// Answers as berthd does, hands out what it is given, and remembers what it was told.
class LyingServer final : public http::Handler {
public:
    LyingServer() : server_({}, *this) { server_.start(); }
    ~LyingServer() override { server_.stop(); }

    std::string url() const { return fmt::format("http://127.0.0.1:{}", server_.port()); }

    void give(Command command, const CommandKey& by) {
        by.sign(command);
        give_text(wire::encode(command));
    }
    void give_text(std::string text) {
        const std::lock_guard lock(mutex_);
        commands_.push_back(std::move(text));
    }
    // What it was told under a path, the bodies one after the other.
    std::string told(const std::string& path) {
        const std::lock_guard lock(mutex_);
        std::string all;
        for (const auto& [where, body] : told_)
            if (where.find(path) != std::string::npos) all += body + "\n";
        return all;
    }
    std::string told_of(CommandId id) {
        const std::string all = told("commands/" + to_string(id) + "/ack");
        return all.substr(0, all.find('\n'));
    }

    void handle(http::Request request, http::Reply reply) override {
        const std::string path(request.path());
        const std::lock_guard lock(mutex_);
        told_.emplace_back(path, request.body);
        http::Response response;
        if (path.ends_with("/enroll")) {
            response.status = 201;
            response.body =
                fmt::format(R"({{"machine_id":"{}","fence":"5","server_public_key":"{}",)"
                            R"("server_key_id":"{}","heartbeat_s":1}})",
                            to_string(machine), key_text(own.public_key()), own.id());
        } else if (path.ends_with("/heartbeat") || path.ends_with("/commands")) {
            std::string list;
            for (const std::string& text : commands_) list += (list.empty() ? "" : ",") + text;
            response.body =
                fmt::format(R"({{"server_time":"{}","fence":"{}","commands":[{}],"leases":[],)"
                            R"("warnings":["the weather"]}})",
                            to_rfc3339(SystemClock().now()), fence.load(), list);
            if (path.ends_with("/heartbeat") && strangers > 0) {
                --strangers;
                response.status = 401;
            } else if (is_older && request.body.find("warm_images") != std::string::npos) {
                response.status = 422;
                response.body = R"({"code":"INVALID_INPUT","message":)"
                                R"("body.warm_images: is not a member of this request"})";
            }
        } else if (path.ends_with("/ack") && forgets_answers) {
            response.status = 503;
        } else if (path.ends_with("/ack")) {
            std::erase_if(commands_, [&](const std::string& text) {
                return path.find(member(text, "command_id")) != std::string::npos;
            });
            response.body = "{}";
        } else if (path.ends_with("/manifest")) {
            if (manifest_troubles > 0) {
                --manifest_troubles;
                response.status = 503;
            }
        } else if (path.ends_with("/doors")) {
            std::tie(response.status, response.body) = doors_(request.body);
        } else if (path.ends_with("/leave")) {
            response.status = strangers > 0 ? 401 : 204;
            if (strangers > 0) --strangers;
        } else {
            response.body = wire::encode(JobEventTaken{JobId{}, "RUNNING", {5}, std::nullopt});
            const bool is_refused =
                !refused_words.empty() && request.body.find(refused_words) != std::string::npos;
            if (path.find("/jobs/") != path.npos && path.ends_with("/events") &&
                (troubles > 0 || is_refused)) {
                if (troubles > 0) --troubles;
                response.status = 503;
            }
        }
        reply(std::move(response));
    }

    // What requests for doors are answered: status and body.
    using Doors = std::function<std::pair<int, std::string>(const std::string& asked)>;
    void give_doors(Doors doors) {
        const std::lock_guard lock(mutex_);
        doors_ = std::move(doors);
    }
    void refuse(const std::string& words) {
        const std::lock_guard lock(mutex_);
        refused_words = words;
    }

    std::atomic<std::int64_t> fence = 5;     // after the enrollment
    std::atomic<int> troubles = 0;           // so many events are answered with 503
    std::atomic<int> manifest_troubles = 0;  // and so many manifests
    std::atomic<int> strangers = 0;          // so many heartbeats, or leaves, with 401
    std::atomic<bool> forgets_answers = false;
    std::atomic<bool> is_older = false;  // and knows of no warm images
    std::string refused_words;           // events with these are answered with 503
    SystemRandom random;
    const MachineId machine = MachineId::make(SystemClock().now(), random);
    const CommandKey own{crypto::Ed25519Key{crypto::Secret::make(random)}};

private:
    std::mutex mutex_;
    std::vector<std::string> commands_;
    Doors doors_ = [](const std::string&) {
        return std::pair<int, std::string>{
            409, R"({"error":{"code":"NO_GATE","message":"no gate is up"}})"};
    };
    std::vector<std::pair<std::string, std::string>> told_;
    http::Server server_;
};

class Obedience : public testing::Test {
protected:
    void SetUp() override {
        std::ofstream(folder.path() + "/token") << "bre_x\n";
        const std::uint16_t port = free_port();
        std::vector<std::string> words{"enroll",
                                       "--server",
                                       server.url(),
                                       "--token-file",
                                       folder.path() + "/token",
                                       "--runtime",
                                       "process",
                                       "--ports",
                                       fmt::format("{}-{}", port, port + 4)};
        words.insert(words.end(), card_options.begin(), card_options.end());
        const Outcome enrolled = run_agent(words);
        ASSERT_EQ(enrolled.status, 0) << enrolled.output;
        start_agent();
    }
    void TearDown() override {
        if (agent) kill_agent();
        if (!std::filesystem::exists(state() + "/jobs")) return;  // it has left
        for (const auto& job : std::filesystem::directory_iterator(state() + "/jobs")) {
            const std::string pid = member(read_text(job.path() / "process.json"), "pid");
            if (!pid.empty()) ::kill(std::stoi(pid), SIGKILL);
        }
    }
    void start_agent() {
        std::vector<std::string> words{program_path("berth-agent"), "run", "--state", state()};
        words.insert(words.end(), run_options.begin(), run_options.end());
        agent = std::make_unique<Process>(words, folder.path() + "/agent.log");
    }
    void kill_agent() {
        agent->signal(SIGKILL);
        agent->wait();
    }
    std::string state() const { return folder.path() + "/state"; }
    Outcome run_agent(std::vector<std::string> words) const {
        words.insert(words.begin(), program_path("berth-agent"));
        words.insert(words.end(), {"--state", state()});
        return run_program(words);
    }
    Command command(CommandKind kind, const std::string& payload = "{}") {
        Command made;
        made.command_id = CommandId::make(SystemClock().now(), server.random);
        made.kind = kind;
        made.machine_id = server.machine;
        made.fence.value = 5;
        made.issued_at = SystemClock().now();
        made.expires_at = made.issued_at + std::chrono::minutes(5);
        made.payload.text = payload;
        return made;
    }
    std::string answer_to(const Command& command) {
        EXPECT_TRUE(support::eventually([&] { return !server.told_of(command.command_id).empty(); },
                                        {.look_every = std::chrono::milliseconds(20)}))
            << read_text(folder.path() + "/agent.log");
        return server.told_of(command.command_id);
    }

    // A model for the toy engine.
    Command start(JobId job) { return start(start_of_model(job)); }
    Command start(const StartPayload& payload) {
        return about(payload.job_id, CommandKind::start, wire::encode(payload));
    }
    Command about(JobId job, CommandKind kind, const std::string& payload = "{}") {
        Command made = command(kind, payload);
        made.job_id = job;
        made.lease_seq = wire::Decimal{1};
        return made;
    }
    JobId new_job() { return JobId::make(SystemClock().now(), server.random); }
    std::string events_of(JobId job) { return server.told("jobs/" + to_string(job) + "/events"); }
    bool hears_of(JobId job, const std::string& words, std::size_t times = 1) {
        return soon([&] {
            const std::string all = events_of(job);
            std::size_t count = 0;
            for (std::size_t at = 0; (at = all.find(words, at)) != all.npos; ++at) ++count;
            return count >= times;
        });
    }
    std::string phase_of(JobId job) const {
        return member(read_text(state() + "/jobs/" + to_string(job) + "/record.json"), "phase");
    }
    std::string own(const std::string& name) const {
        return member(read_text(state() + "/identity.json"), name);
    }
    template <class Predicate>
    [[nodiscard]] bool soon(const Predicate& predicate) {
        return support::eventually(predicate, {.look_every = std::chrono::milliseconds(20)});
    }
    std::string agent_log() const { return read_text(folder.path() + "/agent.log"); }

    TemporaryFolder folder;
    LyingServer server;
    std::unique_ptr<Process> agent;
    std::vector<std::string> card_options{"--simulate-gpu", "RTX 4090"};
    std::vector<std::string> run_options;
};

}  // namespace berth::test
