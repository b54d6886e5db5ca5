// All that host agents talk to, put together: their credentials, their routes, and a background
// thread that keeps the cache of machines current, writes signs of life of agents, and notes that
// this process listens.
#pragma once

#include <condition_variable>
#include <thread>

#include "api/router.hpp"
#include "base/log_limiter.hpp"
#include "machines/credentials.hpp"
#include "machines/enrollment.hpp"
#include "machines/heartbeats.hpp"
#include "machines/host_agent_messages.hpp"

namespace berth::machines {

class HostAgents {
public:
    struct Parts {
        const crypto::Sealer& sealer;
        crypto::Secret command_key;              // the server's, which commands are signed by
        std::optional<crypto::Secret> next_key;  // to take its place, if it is to be exchanged
        const geo::Table& countries;
        JobSide& jobs;
        std::string server;  // where agents reach this service
    };
    explicit HostAgents(Parts parts);
    ~HostAgents();  // stops

    api::Authenticator& credentials() { return credentials_; }
    const Commands& commands() const { return commands_; }
    MachineCache& cache() { return cache_; }

    // Routes can be declared before there is a database; requests are answered with this one.
    void connect(db::Database& database) { database_ = &database; }
    // How many messages of machines this process could not take so far, before start().
    void set_refused(std::function<std::uint64_t()> refused) { refused_ = std::move(refused); }
    void add_routes(api::Router& router);

    // For a process that listens to agents: from now on what is remembered is kept current, and
    // signs of life are written together.
    void start(const Clock& clock);
    // One turn of the background; its thread does so once a second, and a clock that is moved by
    // hand beside it.
    void turn(Time now);
    void set_batching(bool batching) { heartbeats_.set_batching(batching); }
    void stop();

private:
    void add_owner_routes(api::Router& router);
    void add_agent_routes(api::Router& router);
    void add_speed_routes(api::Router& router);
    void loop(const Clock& clock);

    agent_protocol::CommandKey key_;
    std::optional<agent_protocol::CommandKey> next_key_;
    MachineCache cache_;
    MachineCredentials credentials_;
    Commands commands_;
    Enrollments enrollments_;
    Heartbeats heartbeats_;
    HostAgentMessages messages_;
    JobSide& jobs_;

    db::Database* database_ = nullptr;
    std::function<std::uint64_t()> refused_;
    std::uint64_t refused_before_ = 0;
    std::mutex turning_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    LogLimiter failing_{std::chrono::seconds(10)};
    std::thread thread_;
};

}  // namespace berth::machines
