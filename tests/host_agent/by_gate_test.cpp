// Jobs and the machine test of a real agent that is reached by a gate; server and gate are doubles.
#include "host_agent/gate_double.hpp"
#include "host_agent/lying_server.hpp"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

// What a renter does with a stream that came to it by the gate: TLS by the key that READY named.
std::string ask_over(Line& line, const std::string& key, const std::string& request) {
    static const http::TlsContext tls = http::TlsContext::for_pins();
    http::Stream stream(line.socket(), tls, {"localhost", from_hex(key).value()});
    const auto wait = [&](const http::Transfer& transfer) {
        const bool reads = transfer.status == http::Transfer::Status::wants_read;
        pollfd watched{line.socket(), static_cast<short>(reads ? POLLIN : POLLOUT), 0};
        return (reads || transfer.status == http::Transfer::Status::wants_write) &&
               ::poll(&watched, 1, static_cast<int>(gate_patience / 1ms)) > 0;
    };
    http::Transfer done = stream.shake_hands();
    while (done.status != http::Transfer::Status::done && wait(done)) done = stream.shake_hands();
    if (done.status != http::Transfer::Status::done) return "no handshake";
    stream.write(request, {});
    std::string room(16 * 1024, '\0');
    done = stream.read(room);
    while (done.status != http::Transfer::Status::done && wait(done)) done = stream.read(room);
    return room.substr(0, done.bytes);
}

class AgentByGate : public Obedience {
protected:
    AgentByGate() {
        // Where a direct job would listen on every address.
        run_options = {"--public-host", "203.0.113.7"};
    }
    void SetUp() override {
        server.give_doors([this](const std::string& asked) -> std::pair<int, std::string> {
            if (asked.find(R"("wanted":[])") != std::string::npos) return {200, no_doors_given};
            return {200, doors_given(gate, gate_id,
                                     {{door_id, member(asked, "wanted.0.name"), 20017}}, "t")};
        });
        Obedience::SetUp();
    }
    Command start_by_gate(JobId job, std::int64_t deadline_s = 600) {
        StartPayload payload = start_of_model(job);
        payload.reach = Reach::gate;
        payload.start_deadline_s = {deadline_s};
        return start(payload);
    }
    std::shared_ptr<GateDouble::Knock> linked() {
        auto opened = gate.next("POST /v1/link ");
        EXPECT_TRUE(opened->say_hello(new_uuid()));
        return opened;
    }
    std::string ready_of(JobId job) {
        EXPECT_TRUE(hears_of(job, R"("READY")")) << agent_log();
        const std::string all = events_of(job);
        const std::size_t at = all.find(R"("READY")");
        const std::size_t from = all.rfind('\n', at) + 1;
        return all.substr(from, all.find('\n', at) - from);
    }
    std::string answer_by(const GateDouble::Knock& opened, const std::string& key) {
        EXPECT_TRUE(opened.say_call(new_uuid(), door_id));
        const auto call = gate.next("GET /v1/calls/");
        EXPECT_TRUE(call->take_call());
        return ask_over(*call->line, key,
                        "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer key\r\n\r\n");
    }

    // Nobody asks for doors of gates that are gone by then.
    void TearDown() override {
        Obedience::TearDown();
        server.give_doors([](const std::string&) {
            return std::pair<int, std::string>{503, "{}"};
        });
    }

    GateDouble gate;
    GateDouble other;  // to which doors move
    const std::string gate_id = new_uuid();
    const std::string door_id = new_uuid();
};

TEST_F(AgentByGate, AJobIsReadyAtItsDoorAndOpenToNobodyElse) {
    const JobId job = new_job();
    server.give(start_by_gate(job), server.own);
    const auto opened = linked();
    const std::string ready = ready_of(job);
    EXPECT_EQ(member(ready, "evidence.endpoints.0.host"), "127.0.0.1") << ready;
    EXPECT_EQ(member(ready, "evidence.endpoints.0.port"), "20017") << ready;
    const std::string key = member(ready, "evidence.endpoints.0.tls_key_sha256");
    ASSERT_EQ(key.size(), 64U) << ready;
    EXPECT_TRUE(answer_by(*opened, key).starts_with("HTTP/1.1 200")) << agent_log();
    // Another address of this host leads to no door of the job.
    const std::string port =
        member(read_text(state() + "/jobs/" + to_string(job) + "/record.json"), "doors.0.port");
    http::CurlClient client;
    http::Outbound direct{.url = "https://127.0.0.2:" + port + "/v1/models"};
    direct.pinned_key = from_hex(key).value();
    EXPECT_THROW(client.send(direct), http::TransportError);
}

TEST_F(AgentByGate, AnAgentThatWasKilledAsksForItsDoorsAnewAndGivesThemBackWhenTheJobIsCleaned) {
    const JobId job = new_job();
    server.give(start_by_gate(job), server.own);
    auto opened = linked();
    const std::string key = member(ready_of(job), "evidence.endpoints.0.tls_key_sha256");
    EXPECT_TRUE(soon([&] { return phase_of(job) == "RUNNING"; })) << agent_log();
    kill_agent();
    EXPECT_TRUE(opened->line->ends());
    start_agent();
    opened = linked();
    EXPECT_TRUE(answer_by(*opened, key).starts_with("HTTP/1.1 200")) << agent_log();
    server.give(about(job, CommandKind::stop, R"({"reason":"done","grace_s":1})"), server.own);
    EXPECT_TRUE(hears_of(job, R"("STOPPED")")) << agent_log();
    server.give(about(job, CommandKind::clean), server.own);
    EXPECT_TRUE(soon([&] {
        return server.told("/doors").find(R"("wanted":[])") != std::string::npos;
    })) << agent_log();
    EXPECT_TRUE(opened->line->ends());
}

TEST_F(AgentByGate, WhileNoGateLivesTheJobWaitsAndThenEndsByNobodysFault) {
    server.give_doors([](const std::string&) {
        return std::pair<int, std::string>{
            409, R"({"error":{"code":"NO_GATE","message":"no gate is up"}})"};
    });
    const JobId job = new_job();
    server.give(start_by_gate(job, 20), server.own);
    EXPECT_TRUE(hears_of(job, R"("EXITED")")) << agent_log();
    EXPECT_TRUE(hears_of(job, R"("NO_GATE")")) << events_of(job);
    EXPECT_EQ(events_of(job).find(R"("READY")"), std::string::npos);
}

TEST_F(AgentByGate, AReadyThatNamesDoorsWhichMovedIsSaidAnew) {
    server.refuse(R"("port":20017)");
    const JobId job = new_job();
    server.give(start_by_gate(job), server.own);
    const auto opened = linked();
    EXPECT_TRUE(hears_of(job, R"("port":20017)")) << agent_log();
    server.give_doors([&](const std::string& asked) {
        return std::pair<int, std::string>{
            200, doors_given(other, new_uuid(), {{door_id, member(asked, "wanted.0.name"), 20099}},
                             "t2")};
    });
    // The gate's word makes the agent ask again at once.
    EXPECT_TRUE(opened->say(R"({"kind":"bye","reason":"cut"})"));
    const auto moved = other.next("POST /v1/link ");
    EXPECT_TRUE(moved->say_hello(new_uuid()));
    EXPECT_TRUE(hears_of(job, R"("port":20099)")) << agent_log();
    EXPECT_TRUE(soon([&] { return phase_of(job) == "RUNNING"; })) << agent_log();
}

TEST_F(AgentByGate, TheMachineTestIsReachedByADoor) {
    const std::string run = new_uuid();
    server.give(command(CommandKind::qualify,
                        fmt::format(R"({{"run_id":"{}","seed":"5","endpoint_token":"open sesame",)"
                                    R"("limits":{{"min_vram_bytes":"1","min_ram_bytes":"1",)"
                                    R"("min_disk_bytes":"1","deadline_s":900}},"reach":"gate"}})",
                                    run)),
                server.own);
    const auto opened = linked();
    const std::string place = "qualification/" + run + "/result";
    EXPECT_TRUE(soon([&] { return !server.told(place).empty(); })) << agent_log();
    const std::string told = server.told(place);
    EXPECT_EQ(member(told, "door.host"), "127.0.0.1") << told;
    EXPECT_EQ(member(told, "door.port"), "20017") << told;
    EXPECT_EQ(member(server.told("/doors"), "wanted.0.run_id"), run);
    EXPECT_TRUE(opened->say_call(new_uuid(), door_id));
    const auto call = gate.next("GET /v1/calls/");
    EXPECT_TRUE(call->take_call());
    EXPECT_TRUE(call->line->send("GET /berth-endpoint HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_NE(call->line->until("open sesame").find("200 OK"), std::string::npos);
}

class AgentWithoutGate : public AgentByGate {
protected:
    AgentWithoutGate() { run_options = {"--gate", "never"}; }
};

TEST_F(AgentWithoutGate, RefusesAJobThatIsReachedByOneAndSaysItInItsManifest) {
    const JobId job = new_job();
    const Command order = start_by_gate(job);
    server.give(order, server.own);
    EXPECT_EQ(member(answer_to(order), "code"), "HOST_REJECTED");
    EXPECT_EQ(member(server.told_of(order.command_id), "detail.by_policy"), "true");
    EXPECT_EQ(gate.waiting("POST"), 0U);
    EXPECT_TRUE(soon(
        [&] { return server.told("/manifest").find(R"("gate":"never")") != std::string::npos; }));
}

class AgentByGateAlways : public AgentByGate {
protected:
    AgentByGateAlways() { run_options = {"--gate", "always"}; }
};

// As a machine that was tested before its owner chose so: the server gives no doors for that job.
TEST_F(AgentByGateAlways, RefusesAJobThatIsReachedDirectlyAndSaysItInItsManifest) {
    const Command order = start(new_job());
    server.give(order, server.own);
    EXPECT_EQ(member(answer_to(order), "code"), "HOST_REJECTED");
    EXPECT_EQ(member(server.told_of(order.command_id), "detail.by_policy"), "true");
    EXPECT_EQ(gate.waiting("POST"), 0U);
    EXPECT_TRUE(soon(
        [&] { return server.told("/manifest").find(R"("gate":"always")") != std::string::npos; }));
}

}  // namespace
}  // namespace berth::test
