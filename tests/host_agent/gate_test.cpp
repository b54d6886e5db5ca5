// An agent at a gate: its doors, its link, and what comes of calls.
#include "host_agent/at_gate.hpp"

namespace berth::test {
namespace {

using std::chrono::steady_clock;

TEST_F(AgentAtGate, ACallLeadsToTheLocalPortOfItsDoorAndWhatCameWithThe101IsNotLost) {
    start();
    want();
    const auto opened = gate.next("POST /v1/link ");
    EXPECT_TRUE(opened->is_tls);
    EXPECT_EQ(opened->body, "ticket-1");
    EXPECT_NE(opened->head.find(R"(tag="berth-agent")"), std::string::npos) << opened->head;
    EXPECT_NE(opened->head.find(to_string(*identity.machine_id)), std::string::npos);
    EXPECT_FALSE(keeper->places(job)) << "before the gate said hello nobody gets through";
    EXPECT_TRUE(opened->say_hello(new_uuid()));
    ASSERT_TRUE(has_places());
    EXPECT_EQ(keeper->places(job)->front(), (host_agent::DoorPlace{"127.0.0.1", 20017}));
    EXPECT_EQ(member(server.last(), "wanted.0.job_id"), to_string(job));
    EXPECT_EQ(member(server.last(), "wanted.0.kind"), "http");

    const std::string call_id = new_uuid();
    EXPECT_TRUE(opened->say_call(call_id, door_id));
    const auto call = gate.next("GET /v1/calls/" + call_id);
    EXPECT_FALSE(call->is_tls);
    EXPECT_NE(call->head.find("Upgrade: berth-stream"), std::string::npos) << call->head;
    auto workload = local.guest();
    EXPECT_TRUE(call->take_call("first "));
    EXPECT_TRUE(call->line->send("second\n"));
    EXPECT_EQ(workload.receive_until("\n"), "first second\n");
    workload.send("answer\n");
    EXPECT_EQ(call->line->until("\n"), "answer\n");
    workload.finish_sending();
    EXPECT_TRUE(call->line->ends());
}

TEST_F(AgentAtGate, WithoutAnythingWantedNobodyIsAskedAndNoLinkIsOpened) {
    start();
    keeper->give_back(job);
    want();
    const auto kept = linked();
    EXPECT_EQ(server.asked().size(), 1U);
    EXPECT_EQ(keeper->in_words().find("trouble"), std::string::npos);
}

TEST_F(AgentAtGate, ACallIsTakenAlsoWhileTheEndOfAnotherIsOnItsWay) {
    start();
    keeper->want(agent_protocol::RunId::make(SystemClock().now(), random),
                 {{"openai", DoorKind::test, local.port()}});
    const auto opened = linked();
    constexpr int most = 16;  // as the ticket of a test says
    std::vector<std::shared_ptr<GateDouble::Knock>> calls;
    for (int i = 0; i < most; ++i) {
        EXPECT_TRUE(opened->say_call(new_uuid(), door_id));
        calls.push_back(gate.next("GET /v1/calls/"));
        EXPECT_TRUE(calls.back()->take_call());
    }
    ASSERT_TRUE(soon([&] { return keeper->counts().open == most; }));
    const std::string next = new_uuid();  // at the gate one of them is over already
    EXPECT_TRUE(opened->say_call(next, door_id));
    EXPECT_TRUE(gate.next("GET /v1/calls/" + next)->take_call());
}

TEST_F(AgentAtGate, WhereNothingListensTheCallEndsAtOnce) {
    local.close();
    start();
    want();
    const auto opened = linked();
    EXPECT_TRUE(opened->say_call(new_uuid(), door_id));
    const auto call = gate.next("GET /v1/calls/");
    EXPECT_TRUE(call->take_call());
    EXPECT_TRUE(call->line->ends());
}

TEST_F(AgentAtGate, WherePlainCallsDoNotGetThroughTheyGoByTlsAndStayWithIt) {
    gate.takes_plain = false;
    start();
    want();
    const auto opened = linked();
    for (const char* word : {"one\n", "two\n"}) {
        EXPECT_TRUE(opened->say_call(new_uuid(), door_id));
        const auto call = gate.next("GET /v1/calls/");
        EXPECT_TRUE(call->is_tls);
        EXPECT_TRUE(call->take_call(word));
        EXPECT_EQ(local.guest().receive_until("\n"), word);
        // From now on plain ones would be taken: nobody tries.
        gate.takes_plain = true;
    }
}

TEST_F(AgentAtGate, WithTlsAloneNoCallIsPlain) {
    start({.by_tls = true});
    want();
    const auto opened = linked();
    EXPECT_TRUE(opened->say_call(new_uuid(), door_id));
    EXPECT_TRUE(gate.next("GET /v1/calls/")->is_tls);
}

TEST_F(AgentAtGate, ACallThatTheGateDoesNotKnowIsNotTriedAgainByTls) {
    start();
    want();
    const auto opened = linked();
    EXPECT_TRUE(opened->say_call(new_uuid(), door_id));
    const auto call = gate.next("GET /v1/calls/");
    EXPECT_TRUE(call->line->send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"));
    EXPECT_TRUE(call->line->ends());
    EXPECT_TRUE(soon([&] { return keeper->counts().failed == 1; }));
    EXPECT_EQ(gate.waiting("GET /v1/calls/"), 0U);
}

TEST_F(AgentAtGate, ATicketIsRenewedOverTheLinkThatIsThere) {
    pace.renewal = 100ms;
    server.give([this](const std::string&, int times) {
        return DoorsServer::Answer{200, doors_given(gate, gate_id, {{door_id, "openai"}},
                                                    fmt::format("ticket-{}", times))};
    });
    start();
    want();
    const auto opened = gate.next("POST /v1/link ");
    const std::string link_id = new_uuid();
    EXPECT_TRUE(opened->say_hello(link_id));
    const auto renewed = gate.next("POST /v1/links/" + link_id + "/ticket");
    EXPECT_TRUE(renewed->body.starts_with("ticket-")) << renewed->body;
    EXPECT_NE(renewed->body, "ticket-1");
    EXPECT_NE(renewed->head.find("Signature: "), std::string::npos) << renewed->head;
    EXPECT_EQ(gate.waiting("POST /v1/link "), 0U) << "the link stays";
    EXPECT_TRUE(opened->line->is_open());
}

TEST_F(AgentAtGate, WhereATicketIsNotTakenTheLinkIsMadeAnew) {
    pace.renewal = 100ms;
    gate.ticket_status = 404;
    server.give([this](const std::string&, int times) {
        return DoorsServer::Answer{200, doors_given(gate, gate_id, {{door_id, "openai"}},
                                                    fmt::format("ticket-{}", times))};
    });
    start();
    want();
    const auto opened = linked();
    const auto second = gate.next("POST /v1/link ");
    EXPECT_NE(second->body, "ticket-1");
    EXPECT_TRUE(opened->line->ends());
}

TEST_F(AgentAtGate, DoorsThatAreGivenBackAreClosedAtOnceWithWhoCameByThem) {
    start();
    want();
    const auto opened = linked();
    ASSERT_TRUE(has_places());
    EXPECT_TRUE(opened->say_call(new_uuid(), door_id));
    const auto call = gate.next("GET /v1/calls/");
    EXPECT_TRUE(call->take_call("in\n"));
    auto workload = local.guest();
    EXPECT_EQ(workload.receive_until("\n"), "in\n");
    keeper->give_back(job);
    EXPECT_FALSE(keeper->places(job));
    EXPECT_TRUE(call->line->ends());
    workload.await_end();
    EXPECT_TRUE(soon([&] { return server.last().find(R"("wanted":[])") != std::string::npos; }));
    EXPECT_TRUE(opened->line->ends()) << "nothing is wanted: there is no link";
    EXPECT_FALSE(local.has_guest());
}

TEST_F(AgentAtGate, ACallForADoorOfAnEndedJobLeadsNowhereWhileTheLinkIsStillThere) {
    server.give([this](const std::string& asked, int) {
        // The server is away when doors are given back.
        if (asked.find(R"("wanted":[])") != std::string::npos)
            return DoorsServer::Answer{503, "{}"};
        return usual(asked);
    });
    start();
    want();
    const auto opened = linked();
    ASSERT_TRUE(has_places());
    keeper->give_back(job);
    EXPECT_TRUE(opened->say_call(new_uuid(), door_id));
    EXPECT_TRUE(soon([&] { return keeper->counts().unknown == 1; }));
    EXPECT_EQ(gate.waiting("GET /v1/calls/"), 0U);
    EXPECT_FALSE(local.has_guest());
}

// ---- Links that end

TEST_F(AgentAtGate, AGateThatIsUpgradedHasTheNewLinkBeforeTheOldOneIsLeft) {
    pace.draining_grace = 50ms;
    start();
    want();
    const auto older = linked();
    ASSERT_TRUE(has_places());
    EXPECT_TRUE(older->say(R"({"kind":"bye","reason":"draining"})"));
    const auto newer = gate.next("POST /v1/link ");
    EXPECT_TRUE(older->line->is_open()) << "until there is another";
    // Who waits at the older process is still answered, there.
    Listener own;
    const std::string call_id = new_uuid();
    EXPECT_TRUE(
        older->say(fmt::format(R"({{"kind":"call","call_id":"{}","door_id":"{}","call_port":{}}})",
                               call_id, door_id, own.port())));
    auto call = own.guest();
    EXPECT_NE(call.receive_until("\r\n\r\n").find(call_id), std::string::npos);
    EXPECT_TRUE(newer->say_hello(new_uuid()));
    EXPECT_TRUE(older->line->ends());
    EXPECT_TRUE(newer->line->is_open());
    EXPECT_TRUE(has_places());
}

TEST_F(AgentAtGate, WhoWasReplacedWaitsBeforeItReplacesTheOther) {
    pace.replaced_pause = 400ms;
    start();
    want();
    const auto first = linked();
    const auto said = steady_clock::now();
    EXPECT_TRUE(first->say(R"({"kind":"bye","reason":"replaced"})"));
    const auto second = gate.next("POST /v1/link ");
    EXPECT_GE(second->at - said, 400ms);
    EXPECT_NE(keeper->trouble().find("another agent"), std::string::npos) << keeper->trouble();
}

TEST_F(AgentAtGate, AStormOfGoodbyesIsNotAnsweredByAStormOfLinks) {
    pace.pause_min = 100ms;
    pace.pause_max = 400ms;
    start();
    want();
    for (const char* reason : {"draining", "cut", "refused", "of a later version"}) {
        const auto opened = linked();
        const auto ended = steady_clock::now();
        EXPECT_TRUE(opened->say(fmt::format(R"({{"kind":"bye","reason":"{}"}})", reason)));
        opened->line.reset();
        const auto next = gate.next("POST /v1/link ");
        EXPECT_GE(next->at - ended, 45ms) << reason;  // half of the pause at least
        EXPECT_TRUE(next->say_hello(new_uuid()));
        next->line.reset();
    }
    EXPECT_LE(server.asked().size(), 16U);
}

TEST_F(AgentAtGate, AfterARefusalAnotherTicketIsAskedFor) {
    gate.link_status = 401;
    start();
    want();
    gate.next("POST /v1/link ");
    EXPECT_TRUE(soon([&] { return server.asked().size() >= 2; }));
    gate.link_status = 200;
    auto opened = gate.next("POST /v1/link ");
    while (opened->answered != 200) opened = gate.next("POST /v1/link ");
    EXPECT_TRUE(opened->say_hello(new_uuid()));
    EXPECT_TRUE(has_places());
}

TEST_F(AgentAtGate, WithoutALinkTheServerIsToldHowLongAndItsOtherGateIsTaken) {
    pace.lost_max = 1100ms;
    pace.lost_again = 200ms;
    // The gate takes the link and never says a word.
    server.give([&](const std::string& asked, int) {
        const std::string lost = member(asked, "lost_s");
        if (lost.empty() || std::stoi(lost) < 1) return usual(asked);
        return DoorsServer::Answer{
            200, doors_given(other, new_uuid(), {{door_id, "openai", 20500}}, "ticket-2")};
    });
    start();
    want();
    const auto opened = other.next("POST /v1/link ");
    EXPECT_EQ(opened->body, "ticket-2");
    EXPECT_TRUE(opened->say_hello(new_uuid()));
    ASSERT_TRUE(has_places());
    EXPECT_EQ(keeper->places(job)->front().port, 20500);
}

TEST_F(AgentAtGate, ASilentLinkIsGivenUp) {
    pace.silence_max = 1s;
    start();
    want();
    const auto silent = linked();
    EXPECT_TRUE(silent->line->ends());
    const auto kept = linked();
}

// ---- The server's answers

TEST_F(AgentAtGate, WhileNoGateLivesItAsksAgain) {
    server.give([this](const std::string& asked, int times) {
        if (times > 3) return usual(asked);
        return DoorsServer::Answer{409, R"({"error":{"code":"NO_GATE","message":"none"}})"};
    });
    start();
    want();
    EXPECT_TRUE(soon([&] { return keeper->trouble() == "No gate of the server is up."; }));
    const auto kept = linked();
    EXPECT_TRUE(has_places());
    EXPECT_TRUE(soon([&] { return keeper->trouble().empty(); }));
}

TEST_F(AgentAtGate, ATestThatIsOverTakesNoDoorFromAJob) {
    const auto run = agent_protocol::RunId::make(SystemClock().now(), random);
    server.give([this](const std::string& asked, int) {
        if (asked.find("run_id") != std::string::npos)
            return DoorsServer::Answer{409, R"({"error":{"code":"CONFLICT","message":"over"}})"};
        return usual(asked);
    });
    start();
    keeper->want(run, {{"endpoint", DoorKind::test, local.port()}});
    want();
    const auto kept = linked();
    EXPECT_TRUE(has_places());
    EXPECT_FALSE(keeper->places(run));
}

// It read "trouble The server gives no doors" beside a rental that had none.
TEST_F(AgentAtGate, ADoorThatATestIsRefusedIsNoTroubleOfTheOwners) {
    server.give([](const std::string&, int) {
        return DoorsServer::Answer{409, R"({"error":{"code":"CONFLICT","message":"over"}})"};
    });
    start();
    keeper->want(agent_protocol::RunId::make(SystemClock().now(), random),
                 {{"endpoint", DoorKind::test, local.port()}});
    EXPECT_TRUE(soon([&] { return !keeper->trouble().empty(); })) << "the test says why";
    EXPECT_EQ(keeper->in_words(), "");
    want();
    EXPECT_TRUE(soon([&] {
        return keeper->in_words().find("The server gives no doors: 409 CONFLICT.") !=
               std::string::npos;
    }));
}

TEST_F(AgentAtGate, AnswersThatAreNotWhatWasAskedForAreNotTaken) {
    const std::vector<std::string> bad{
        doors_given(gate, gate_id, {}, "t"),
        doors_given(gate, gate_id, {{door_id, "another"}}, "t"),
        doors_given(gate, gate_id, {{door_id, "openai"}, {new_uuid(), "more"}}, "t"),
        doors_given(gate, "no id", {{door_id, "openai"}}, "t"),
        no_doors_given,
        "{}",
        "words"};
    server.give([&](const std::string& asked, int times) {
        const auto at = static_cast<std::size_t>(times - 1);
        return at < bad.size() ? DoorsServer::Answer{200, bad[at]} : usual(asked);
    });
    start();
    want();
    const auto opened = gate.next("POST /v1/link ");
    EXPECT_EQ(opened->body, "ticket-1");
    EXPECT_GT(server.asked().size(), bad.size());
}

}  // namespace
}  // namespace berth::test
