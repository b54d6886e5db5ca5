// The keeper of doors as the agent has it, with a gate and a server that are doubles.
#pragma once

#include "host_agent/gate/doors.hpp"
#include "host_agent/gate_double.hpp"
#include "support/eventually.hpp"
#include "support/town.hpp"

namespace berth::test {

using namespace std::chrono_literals;
using agent_protocol::DoorKind;
using host_agent::DoorKeeper;
using host_agent::DoorPace;
using host_agent::LocalDoor;

// Gives the doors that a test has for it, and remembers what it was asked.
class DoorsServer final : public http::Handler {
public:
    struct Answer {
        int status = 200;
        std::string body;
    };
    using Give = std::function<Answer(const std::string& asked, int times)>;

    explicit DoorsServer(Give give) : give_(std::move(give)), server_({}, *this) {
        server_.start();
    }
    ~DoorsServer() override { server_.stop(); }

    std::string url() const { return fmt::format("http://127.0.0.1:{}", server_.port()); }
    void handle(http::Request request, http::Reply reply) override {
        const std::lock_guard lock(mutex_);
        asked_.push_back(request.body);
        const Answer answer = give_(request.body, static_cast<int>(asked_.size()));
        http::Response response{.status = answer.status};
        response.body = answer.body;
        reply(std::move(response));
    }
    std::vector<std::string> asked() {
        const std::lock_guard lock(mutex_);
        return asked_;
    }
    std::string last() {
        const std::lock_guard lock(mutex_);
        return asked_.empty() ? "" : asked_.back();
    }
    void give(Give give) {
        const std::lock_guard lock(mutex_);
        give_ = std::move(give);
    }

private:
    std::mutex mutex_;
    Give give_;
    std::vector<std::string> asked_;
    http::Server server_;
};

class AgentAtGate : public testing::Test {
protected:
    AgentAtGate() {
        identity.server = server.url();
        identity.seed = std::string(64, '7');
        identity.machine_id = MachineId::make(SystemClock().now(), random);
        link.emplace(client, clock, identity);
        counters.emplace(folder.path() + "/counters.json");
        pace.pause_min = 50ms;
        pace.pause_max = 200ms;
    }

    // A call that is late because this machine is busy is not tried again by TLS.
    void start(host_agent::GateCalls::Options calls = {.by_tls = false, .plain_max = 2min}) {
        keeper.emplace(DoorKeeper::Parts{*link, *counters, client},
                       DoorKeeper::Options{.calls = calls, .pace = pace});
    }
    void want() { keeper->want(job, {{"openai", DoorKind::http, local.port()}}); }
    // A link that is open, with the one door of the job.
    std::shared_ptr<GateDouble::Knock> linked() {
        auto opened = gate.next("POST /v1/link ");
        EXPECT_TRUE(opened->say_hello(new_uuid()));
        return opened;
    }
    bool has_places() {
        return support::eventually([&] { return keeper->places(job).has_value(); },
                                   {.look_every = 5ms});
    }
    template <class Predicate>
    static bool soon(const Predicate& predicate) {
        return support::eventually(predicate, {.look_every = 5ms});
    }
    DoorsServer::Answer usual(const std::string& asked) const {
        if (asked.find(R"("wanted":[])") != std::string::npos) return {200, no_doors_given};
        return {200, doors_given(gate, gate_id, {{door_id, "openai"}}, "ticket-1")};
    }

    TemporaryFolder folder;
    SystemRandom random;
    GateDouble gate;
    GateDouble other;  // one that is not the first one
    Listener local;    // where the workload is
    const std::string gate_id = new_uuid();
    const std::string door_id = new_uuid();
    const JobId job = JobId::make(SystemClock().now(), random);
    DoorsServer server{[this](const std::string& asked, int) { return usual(asked); }};
    http::CurlClient client;
    host_agent::SystemBootClock clock;
    host_agent::Identity identity;
    std::optional<host_agent::Link> link;
    std::optional<host_agent::SharedCounters> counters;
    DoorPace pace;
    std::optional<DoorKeeper> keeper;  // ends before the rest
};

}  // namespace berth::test
