// A gate that means harm, or is none.
#include "host_agent/at_gate.hpp"

namespace berth::test {
namespace {

TEST(GateLines, ComeWholeHoweverTheyWereCut) {
    host_agent::LineReader reader;
    std::vector<std::string> lines;
    const auto take = [&](std::string_view line) { lines.emplace_back(line); };
    const std::string all = "one\ntwo\n\nthree\nfo";
    for (const char letter : all) EXPECT_TRUE(reader.feed({&letter, 1}, take));
    EXPECT_TRUE(reader.feed("ur\n", take));
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three", "four"}));
}

TEST(GateLines, OneThatIsTooLongIsTheLast) {
    host_agent::LineReader reader;
    const auto take = [](std::string_view) { ADD_FAILURE(); };
    bool goes_on = true;
    std::size_t fed = 0;
    for (; goes_on && fed < 1'000'000; fed += 100)
        goes_on = reader.feed(std::string(100, 'x'), take);
    EXPECT_FALSE(goes_on);
    EXPECT_LE(fed, 2'000U);
}

TEST_F(AgentAtGate, AGateWithAnotherKeySeesNeitherTicketNorCall) {
    server.give([&](const std::string&, int) {
        // The place of one, the key of another.
        std::string body = doors_given(other, gate_id, {{door_id, "openai"}}, "ticket-1");
        body.replace(body.find(other.key()), 64, gate.key());
        return DoorsServer::Answer{200, body};
    });
    start();
    want();
    EXPECT_TRUE(soon([&] { return !keeper->trouble().empty(); }));
    EXPECT_EQ(other.waiting("POST"), 0U);
    EXPECT_FALSE(keeper->places(job));
}

TEST_F(AgentAtGate, DoorsThatAreNotOursLeadNowhere) {
    start();
    want();
    const auto opened = linked();
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(opened->say_call(new_uuid(), new_uuid()));
    EXPECT_TRUE(soon([&] { return keeper->counts().unknown == 20; }));
    EXPECT_EQ(gate.waiting("GET"), 0U);
    EXPECT_FALSE(local.has_guest());
    EXPECT_TRUE(opened->line->is_open());
}

TEST_F(AgentAtGate, AFloodOfCallsMakesTheHostDialNoMoreThanAGateMayAsk) {
    start();
    want();
    const auto opened = linked();
    std::string flood;
    constexpr std::uint64_t calls = 500;
    for (std::uint64_t i = 0; i < calls; ++i) {
        const std::string line =
            fmt::format(R"({{"kind":"call","call_id":"{}","door_id":"{}"}})", new_uuid(), door_id);
        flood += fmt::format("{:x}\r\n{}\n\r\n", line.size() + 1, line);
    }
    EXPECT_TRUE(opened->line->send(flood));
    // The numbers of the design, and a little for the time that this takes.
    EXPECT_TRUE(soon([&] { return keeper->counts().too_many >= calls - 200; }));
    EXPECT_TRUE(soon([&] { return gate.waiting("GET /v1/calls/") >= 50; }));
    EXPECT_LE(gate.waiting("GET /v1/calls/"), 200U);
}

TEST_F(AgentAtGate, ALineThatIsTooLongEndsTheLink) {
    start();
    want();
    const auto opened = linked();
    EXPECT_TRUE(opened->say(R"({"kind":"ping","more":")" + std::string(5'000, 'x') + "\"}"));
    EXPECT_TRUE(opened->line->ends());
    EXPECT_TRUE(soon([&] { return keeper->trouble().find("too long") != std::string::npos; }))
        << keeper->trouble();
    const auto kept = linked();
}

TEST_F(AgentAtGate, GarbageEndsTheLinkAndKindsOfALaterVersionDoNot) {
    start();
    want();
    const auto later = linked();
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(later->say(R"({"kind":"weather","sun":true})"));
    const std::string call_id = new_uuid();
    EXPECT_TRUE(later->say_call(call_id, door_id));
    gate.next("GET /v1/calls/" + call_id);
    for (int i = 0; i < 100; ++i)
        if (!later->say("\x01\xff{]")) break;
    EXPECT_TRUE(later->line->ends());
    const auto kept = linked();
}

TEST_F(AgentAtGate, CallsWithoutHelloOrWithoutTheirIdsAreNone) {
    start();
    want();
    const auto opened = gate.next("POST /v1/link ");
    EXPECT_TRUE(opened->say_call(new_uuid(), door_id));
    EXPECT_TRUE(opened->say(R"({"kind":"call"})"));
    EXPECT_TRUE(
        opened->say(R"({"kind":"call","call_id":"../../etc","door_id":")" + door_id + "\"}"));
    EXPECT_TRUE(opened->say_hello(new_uuid()));
    ASSERT_TRUE(has_places());
    const std::string good = new_uuid();
    EXPECT_TRUE(opened->say_call(good, door_id));
    gate.next("GET /v1/calls/" + good);
    EXPECT_EQ(gate.waiting("GET"), 0U);
}

TEST_F(AgentAtGate, AGateCannotMakeTheAgentDialAnythingButItselfAndTheDoor) {
    start();
    want();
    const auto opened = linked();
    // Members that no line has name what a careless agent would dial.
    const Listener elsewhere;
    EXPECT_TRUE(opened->say(
        fmt::format(R"({{"kind":"call","call_id":"{}","door_id":"{}","host":"127.0.0.1","port":{},)"
                    R"("local_port":{}}})",
                    new_uuid(), door_id, elsewhere.port(), elsewhere.port())));
    const auto call = gate.next("GET /v1/calls/");
    EXPECT_TRUE(call->take_call("x\n"));
    EXPECT_EQ(local.guest().receive_until("\n"), "x\n");
    EXPECT_FALSE(elsewhere.has_guest());
}

TEST_F(AgentAtGate, AGateThatNeverAnswersACallHoldsNothingForLong) {
    start({.by_tls = false, .plain_max = 2s});
    want();
    const auto opened = linked();
    EXPECT_TRUE(opened->say_call(new_uuid(), door_id));
    const auto plain = gate.next("GET /v1/calls/");
    const auto by_tls = gate.next("GET /v1/calls/");
    EXPECT_FALSE(plain->is_tls);
    EXPECT_TRUE(by_tls->is_tls);
    EXPECT_TRUE(soon([&] { return keeper->counts().failed == 1; }));
    local.guest().await_end();
}

}  // namespace
}  // namespace berth::test
