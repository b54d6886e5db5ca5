// Which doors a machine is given, and where.
#include <set>
#include <thread>

#include "gates/yard.hpp"

namespace berth::test {
namespace {

using machines::Continent;

TEST_F(Yard, DoorsComeWithATicketThatTheirGateCanCheck) {
    const Gate gate = live_gate('a');
    const auto agent = host();
    const DoorsGiven given = give(*agent, {"ssh", "openai"});
    ASSERT_TRUE(given.gate.value);
    EXPECT_EQ(given.gate.value->gate_id, gate.id);
    EXPECT_EQ(given.gate.value->host, gate.host);
    ASSERT_EQ(given.doors.size(), 2U);
    EXPECT_EQ(given.doors[0].name, "ssh");
    EXPECT_NE(given.doors[0].port.value, given.doors[1].port.value);

    agent_protocol::TicketKeys keys;
    for (const auto& key : report(gate).keys)
        keys[key.key_id] = *agent_protocol::parse_key(key.public_key);
    const agent_protocol::TicketRead read = agent_protocol::read_ticket(given.ticket, keys);
    ASSERT_EQ(read.fault, std::nullopt);
    EXPECT_EQ(read.ticket.gate_id, gate.id);
    EXPECT_EQ(read.ticket.machine_id, agent->machine);
    EXPECT_EQ(read.ticket.fence.value, agent->fence);
    EXPECT_EQ(read.ticket.expires_at, harness.clock.now() + std::chrono::minutes(15));
    ASSERT_EQ(read.ticket.doors.value.size(), 2U);
    EXPECT_EQ(read.ticket.doors.value[0].streams_max.value, 64);
    EXPECT_EQ(read.ticket.doors.value[1].streams_max.value, 512);
    EXPECT_EQ(read.ticket.doors.value[0].rate_bps.value, 0);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(read.ticket.doors.value[i].door_id, given.doors[i].door_id);
        EXPECT_EQ(read.ticket.doors.value[i].port.value, given.doors[i].port.value);
    }
}

std::int64_t serial_of(const DoorsGiven& given) {
    const auto from = given.ticket.find(R"("serial":")") + 10;
    return std::stoll(given.ticket.substr(from));
}

TEST_F(Yard, AskingAgainKeepsTheDoorsAndRenewsTheTicket) {
    live_gate('a');
    const auto agent = host();
    const DoorsGiven first = give(*agent, {"ssh", "openai"});
    wait(1);
    const DoorsGiven second = give(*agent, {"openai", "ssh"});
    ASSERT_EQ(second.doors.size(), 2U);
    EXPECT_EQ(second.doors[0].door_id, first.doors[1].door_id);
    EXPECT_EQ(second.doors[0].port.value, first.doors[1].port.value);
    EXPECT_EQ(second.doors[1].door_id, first.doors[0].door_id);
    EXPECT_GT(second.expires_at, first.expires_at);
    const DoorsGiven third = give(*agent, {"openai", "ssh"});  // within the same moment
    EXPECT_GT(serial_of(second), serial_of(first));
    EXPECT_GT(serial_of(third), serial_of(second));
}

TEST_F(Yard, APortThatWasGivenBackRestsTenMinutes) {
    const Gate gate = live_gate('a', {20'000, 20'001});
    const auto first = host();
    const auto second = host();
    give(*first, {"a", "b"});
    EXPECT_EQ(error_code(ask_for(*second, wanted(job_of(*second), {"a"}))), "NO_GATE") << "full";
    const http::Response gone = ask_for(*first, "");
    EXPECT_EQ(gone.status, 200);
    EXPECT_FALSE(wire::decode_known<DoorsGiven>(gone.body, "answer").gate.value);
    wait(599);
    report(gate);
    EXPECT_EQ(error_code(ask_for(*second, wanted(job_of(*second), {"a"}))), "NO_GATE") << "rests";
    wait(2);
    report(gate);
    EXPECT_EQ(give(*second, {"a"}).doors.size(), 1U);
}

TEST_F(Yard, AJobThatAsksForADoorAgainUsesUpNoOtherPort) {
    live_gate('a', {20'000, 20'001});
    const auto agent = host();
    const DoorsGiven first = give(*agent, {"a", "b"});
    ask_for(*agent, "");
    const DoorsGiven second = give(*agent, {"a", "b"});
    ASSERT_EQ(second.doors.size(), 2U);
    EXPECT_EQ(second.doors[0].door_id, first.doors[0].door_id);
    EXPECT_EQ(second.doors[0].port.value, first.doors[0].port.value);
    EXPECT_EQ(second.doors[1].port.value, first.doors[1].port.value);
}

TEST_F(Yard, AJobHasAtMostThirtyTwoNames) {
    live_gate('a');
    const auto agent = host();
    for (int i = 0; i < 32; ++i)
        EXPECT_EQ(give(*agent, {fmt::format("name-{}", i)}).doors.size(), 1U) << i;
    EXPECT_EQ(error_code(ask_for(*agent, wanted(job_of(*agent), {"one-more"}))), "CONFLICT");
    EXPECT_EQ(give(*agent, {"name-0"}).doors.size(), 1U) << "one of them again";
}

TEST_F(Yard, ARequestWithAnOlderFenceIsThePasts) {
    live_gate('a');
    const auto agent = host();
    change(*agent, [](machines::Machine& row) { ++row.fence; });
    const http::Response response = ask_for(*agent, wanted(job_of(*agent), {"a"}));
    EXPECT_EQ(response.status, 409);
    EXPECT_EQ(error_code(response), "STALE_FENCE");
}

TEST_F(Yard, ADoorLeadsToTheMachinesOwnJobOrTestAndToNothingElse) {
    live_gate('a');
    const auto agent = host();
    const auto other = host();
    EXPECT_EQ(error_code(ask_for(*agent, wanted(job_of(*other), {"a"}))), "CONFLICT");
    const std::string run = harness.new_id();
    const std::string test = fmt::format(R"({{"run_id":"{}","name":"t","kind":"test"}})", run);
    EXPECT_EQ(error_code(ask_for(*agent, test)), "CONFLICT") << "no such test is in progress";
    change(*agent,
           [&](machines::Machine& row) { row.qualify_run_id = machines::RunId{*parse_uuid(run)}; });
    EXPECT_EQ(ask_for(*agent, test).status, 200);

    const std::string job = to_string(job_of(*agent));
    for (const std::string& bad :
         {fmt::format(R"({{"name":"t","kind":"test"}})"),
          fmt::format(R"({{"job_id":"{}","run_id":"{}","name":"t","kind":"http"}})", job, run),
          fmt::format(R"({{"job_id":"{}","name":"t","kind":"test"}})", job),
          fmt::format(R"({{"run_id":"{}","name":"t","kind":"ssh"}})", run),
          fmt::format(R"({{"job_id":"{0}","name":"t","kind":"ssh"}},)"
                      R"({{"job_id":"{0}","name":"t","kind":"ssh"}})",
                      job),
          fmt::format(R"({{"job_id":"{}","name":"","kind":"ssh"}})", job),
          fmt::format(R"({{"job_id":"{}","name":"t","kind":"shell"}})", job)})
        EXPECT_EQ(ask_for(*agent, bad).status, 422) << bad;
    std::vector<std::string> seventeen;
    for (int i = 0; i < 17; ++i) seventeen.push_back(fmt::format("n{}", i));
    EXPECT_EQ(ask_for(*agent, wanted(job_of(*agent), seventeen)).status, 422);
}

// Anybody can enroll what says that it is a machine, as many as they like.
TEST_F(Yard, TestsHaveTwoDoorsAndLeaveTheLastQuarterOfAGateToJobs) {
    live_gate('a', {20'000, 20'007});
    const auto tested = [&](int doors) {
        const auto agent = host();
        const std::string run = harness.new_id();
        change(*agent, [&](machines::Machine& row) {
            row.qualify_run_id = machines::RunId{*parse_uuid(run)};
        });
        std::string list;
        for (int i = 0; i < doors; ++i)
            list += fmt::format(R"({}{{"run_id":"{}","name":"t{}","kind":"test"}})",
                                i == 0 ? "" : ",", run, i);
        const http::Response response = ask_for(*agent, list);
        return response.status == 200 ? "" : error_code(response);
    };
    EXPECT_EQ(tested(3), "CONFLICT");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(tested(2), "");
    EXPECT_EQ(tested(1), "NO_GATE");
    EXPECT_EQ(give(*host(), {"ssh", "openai"}).doors.size(), 2U);
}

TEST_F(Yard, WithoutALiveGateThereIsNoDoor) {
    const auto agent = host();
    const auto refused = [&] {
        const http::Response response = ask_for(*agent, wanted(job_of(*agent), {"a"}));
        EXPECT_EQ(response.status, 409);
        return error_code(response);
    };
    EXPECT_EQ(refused(), "NO_GATE");
    Gate gate = add_gate('a');
    EXPECT_EQ(refused(), "NO_GATE") << "it has never reported";
    report(gate);
    wait(16);
    EXPECT_EQ(refused(), "NO_GATE") << "it is silent";
    gate.draining = true;
    report(gate);
    EXPECT_EQ(refused(), "NO_GATE") << "it drains";
    gate.draining = false;
    report(gate);
    EXPECT_EQ(give(*agent, {"a"}).doors.size(), 1U);
    EXPECT_EQ(ask_for(*agent, "").status, 200) << "nothing is wanted";
}

TEST_F(Yard, ANearGateIsChosenAndThenTheOneWithFewestDoors) {
    const Gate far = live_gate('a', {20'000, 20'099}, Continent::NA);
    const Gate near = live_gate('b', {20'000, 20'099}, Continent::EU);
    const Gate near_too = live_gate('c', {20'000, 20'099}, Continent::EU);
    const auto at_gate = [&](Continent continent) {
        return give(*host(continent), {"a"}).gate.value.value().gate_id;
    };
    const GateId first = at_gate(Continent::EU);
    EXPECT_NE(first, far.id);
    EXPECT_EQ(at_gate(Continent::EU), first == near.id ? near_too.id : near.id);
    EXPECT_EQ(at_gate(Continent::NA), far.id);
    EXPECT_EQ(at_gate(Continent::NA), far.id) << "near counts for more than empty";
    EXPECT_NE(at_gate(Continent::AS), far.id) << "none is near: the emptiest";
}

TEST_F(Yard, AFullGateLeavesTheRestToAnother) {
    const Gate small = live_gate('a', {20'000, 20'000}, Continent::EU);
    const Gate other = live_gate('b', {20'000, 20'099});
    const auto agent = host(Continent::EU);
    EXPECT_EQ(give(*agent, {"a"}).gate.value.value().gate_id, small.id);
    const DoorsGiven both = give(*agent, {"a", "b"});
    EXPECT_EQ(both.gate.value.value().gate_id, other.id) << "all doors are at one gate";
    EXPECT_EQ(both.doors.size(), 2U);
}

TEST_F(Yard, DoorsMoveWhenTheAgentCannotReachTheirGateOnceInFiveMinutes) {
    const Gate here = live_gate('a');
    const auto agent = host();
    const DoorsGiven first = give(*agent, {"ssh", "openai"});
    const Gate there = live_gate('b');
    EXPECT_EQ(give(*agent, {"ssh", "openai"}, 89).gate.value->gate_id, here.id);
    const DoorsGiven moved = give(*agent, {"ssh", "openai"}, 90);
    ASSERT_TRUE(moved.gate.value);
    EXPECT_EQ(moved.gate.value->gate_id, there.id);
    EXPECT_EQ(moved.doors[0].door_id, first.doors[0].door_id) << "it is the same door";
    EXPECT_EQ(report(here, all_of(first)).cut.size(), 2U) << "the old gate closes it";
    EXPECT_TRUE(report(there, all_of(moved)).cut.empty());

    wait(299);
    report(here);
    report(there);
    EXPECT_EQ(give(*agent, {"ssh", "openai"}, 200).gate.value->gate_id, there.id);
    wait(1);
    EXPECT_EQ(give(*agent, {"ssh", "openai"}, 200).gate.value->gate_id, here.id);
}

TEST_F(Yard, DoorsLeaveAGateThatIsSilentForAMinuteIfAnotherLives) {
    const Gate here = live_gate('a');
    const auto agent = host();
    give(*agent, {"a"});
    wait(61);
    EXPECT_EQ(give(*agent, {"a"}).gate.value->gate_id, here.id) << "better there than nowhere";
    const Gate there = live_gate('b');
    const DoorsGiven moved = give(*agent, {"a"});
    EXPECT_EQ(moved.gate.value->gate_id, there.id);
    const JobId job = job_of(*agent);
    const auto place = harness.app->database().read(
        [&](db::Transaction& tx) { return gates::door_of_job(tx, job, "a"); });
    ASSERT_TRUE(place);
    EXPECT_EQ(place->host, there.host);
    EXPECT_EQ(place->port, moved.doors[0].port.value);
}

TEST_F(Yard, AnOutageOfOursIsNoSilenceOfTheGate) {
    listen();
    const Gate here = live_gate('a');
    const auto agent = host();
    give(*agent, {"a"});
    wait(600);
    listen();
    live_gate('b');
    EXPECT_EQ(give(*agent, {"a"}).gate.value->gate_id, here.id);
}

TEST_F(Yard, ADrainedGateKeepsItsDoorsAndGetsNoneARemovedOneLosesThem) {
    const Gate here = live_gate('a');
    const auto agent = host();
    give(*agent, {"a"});
    const auto actor = audit::Actor::local_operator();
    write([&](const db::Context& context) { gates::drain_gate(context, actor, here.id); });
    EXPECT_EQ(give(*agent, {"a"}).gate.value->gate_id, here.id);
    const auto other = host();
    EXPECT_EQ(error_code(ask_for(*other, wanted(job_of(*other), {"a"}))), "NO_GATE");
    EXPECT_THROW(write([&](const db::Context& context) {
                     gates::remove_gate(context, actor, here.id, false);
                 }),
                 Problem);
    write([&](const db::Context& context) { gates::remove_gate(context, actor, here.id, true); });
    EXPECT_EQ(error_code(ask_for(*agent, wanted(job_of(*agent), {"a"}))), "NO_GATE");
    const Gate there = live_gate('b');
    EXPECT_EQ(give(*agent, {"a"}).gate.value->gate_id, there.id);
}

TEST_F(Yard, OnlyTheDoorThatWasGivenIsTakenForAnEndpoint) {
    const Gate gate = live_gate('a');
    const auto agent = host();
    const auto other = host();
    const DoorsGiven given = give(*agent, {"ssh", "openai"});
    give(*other, {"openai"});
    const auto found = [&](const gates::NamedEndpoint& endpoint) {
        return harness.app->database()
            .read([&](db::Transaction& tx) { return gates::door_at(tx, endpoint); })
            .has_value();
    };
    const gates::NamedEndpoint good{agent->machine, job_of(*agent), "openai", gate.host,
                                    given.doors[1].port.value};
    EXPECT_TRUE(found(good));
    const auto with = [&](const std::function<void(gates::NamedEndpoint&)>& how) {
        gates::NamedEndpoint one = good;
        how(one);
        return found(one);
    };
    EXPECT_FALSE(with([&](auto& one) { one.machine_id = other->machine; }));
    EXPECT_FALSE(with([&](auto& one) { one.job_id = job_of(*other); }));
    EXPECT_FALSE(with([&](auto& one) { one.name = "ssh"; }));
    EXPECT_FALSE(with([&](auto& one) { one.host = "203.0.113.20"; }));
    EXPECT_FALSE(with([&](auto& one) { one.port = given.doors[0].port.value; }));
    ask_for(*agent, "");
    EXPECT_FALSE(found(good)) << "it was taken back";
}

TEST_F(Yard, MachinesThatAskAtOnceGetPortsOfTheirOwn) {
    constexpr int count = 8;
    live_gate('a', {20'000, 20'000 + 2 * count - 1});
    std::vector<std::unique_ptr<MachineAgent>> agents;
    std::vector<http::Request> requests;
    for (int i = 0; i < count; ++i) {
        agents.push_back(host());
        requests.push_back(agents.back()->request(
            {.target = "/api/v1/host-agent/doors",
             .body =
                 fmt::format(R"({{"fence":"{}","lost_s":0,"wanted":[{}]}})", agents.back()->fence,
                             wanted(job_of(*agents.back()), {"ssh", "openai"}))}));
    }
    std::vector<http::Response> answers(count);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i)
        threads.emplace_back([&, i] { answers[i] = harness.app->service().answer(requests[i]); });
    for (std::thread& thread : threads) thread.join();
    std::set<std::int64_t> ports;
    for (const http::Response& answer : answers) {
        ASSERT_EQ(answer.status, 200) << answer.body;
        for (const auto& door : wire::decode_known<DoorsGiven>(answer.body, "answer").doors)
            EXPECT_TRUE(ports.insert(door.port.value).second) << door.port.value;
    }
    EXPECT_EQ(ports.size(), 2U * count) << "every port of the gate";
}

TEST_F(Yard, OneMachineThatAsksTwiceAtOnceHasItsDoorsOnce) {
    live_gate('a');
    const auto agent = host();
    std::vector<http::Request> requests;
    for (int i = 0; i < 6; ++i)
        requests.push_back(agent->request(
            {.target = "/api/v1/host-agent/doors",
             .body = fmt::format(R"({{"fence":"{}","lost_s":0,"wanted":[{}]}})", agent->fence,
                                 wanted(job_of(*agent), {"ssh", "openai"}))}));
    std::vector<http::Response> answers(requests.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < requests.size(); ++i)
        threads.emplace_back([&, i] { answers[i] = harness.app->service().answer(requests[i]); });
    for (std::thread& thread : threads) thread.join();
    std::set<std::int64_t> ports;
    std::set<std::int64_t> serials;
    for (const http::Response& answer : answers) {
        ASSERT_EQ(answer.status, 200) << answer.body;
        const auto given = wire::decode_known<DoorsGiven>(answer.body, "answer");
        for (const auto& door : given.doors) ports.insert(door.port.value);
        serials.insert(serial_of(given));
    }
    EXPECT_EQ(ports.size(), 2U);
    EXPECT_EQ(serials.size(), answers.size()) << "no two tickets are alike";
}

}  // namespace
}  // namespace berth::test
