// What the relay refuses, and in which order.
#include "rental.hpp"

namespace berth::test {
namespace {

using RelayRefusals = RentalTest;

TEST_F(RelayRefusals, KnowFourPathsAndNoOther) {
    const JobId job = serve_model();
    const std::string at = place(job);
    const std::string nobody = place(JobId{});
    for (const auto& [method, path] :
         std::vector<std::pair<std::string, std::string>>{{"GET", "files"},
                                                          {"POST", "models"},
                                                          {"HEAD", "models"},
                                                          {"GET", "models/m"},
                                                          {"GET", "models/"},
                                                          {"GET", "chat/completions"},
                                                          {"PUT", "chat/completions"},
                                                          {"POST", "chat"},
                                                          {"POST", "chat/completions/"},
                                                          {"POST", "Chat/completions"},
                                                          {"POST", "chat%2Fcompletions"},
                                                          {"POST", "../v1/chat/completions"},
                                                          {"POST", "images/generations"},
                                                          {"POST", "responses"},
                                                          {"DELETE", "completions"},
                                                          {"GET", ""}})
        for (const std::string& as : {ben.key, std::string()})
            for (const std::string& where : {at, nobody}) {
                const auto answer =
                    town.harness.ask({.method = method, .target = where + path, .as = as});
                EXPECT_EQ(answer.status, 404) << method << " " << path;
                EXPECT_EQ(error_code(answer), "NOT_FOUND");
            }
    EXPECT_EQ(engine.accepted(), 2);  // the looks at READY
}

TEST_F(RelayRefusals, ComeInTheOrderOfEveryRoute) {
    const JobId job = serve_model();
    const Person cy = join(R"(["renter"])");
    const std::string chat = place(job) + "chat/completions";
    const auto post = [&](const std::string& as, const std::string& target,
                          const std::string& body) {
        return town.harness.ask({.method = "POST", .target = target, .as = as, .body = body});
    };
    EXPECT_EQ(post("", chat, "[").status, 401);
    EXPECT_EQ(post(ada.key, chat, "[").status, 403);  // a host's key, whatever the job
    for (const std::string body : {"[", "[1]", "1", "null", "\"x\"", R"({"a":1,"a":2})", "{} {}"})
        EXPECT_EQ(post(cy.key, chat, body).status, 422) << body;
    EXPECT_EQ(town.harness
                  .ask({.method = "POST",
                        .target = chat,
                        .as = ben.key,
                        .headers = {{"Content-Type", "application/json"}}})
                  .status,
              422);
    EXPECT_EQ(post(ben.key, "/api/v1/jobs/no-id/openai/v1/chat/completions", "{}").status, 422);
    EXPECT_EQ(post(cy.key, chat, "{}").status, 404);
    EXPECT_EQ(post(ben.key, place(JobId{}) + "completions", "{}").status, 404);
    EXPECT_EQ(engine.accepted(), 2);  // the looks at READY
}

TEST_F(RelayRefusals, WantAJobThatRunsWithAModel) {
    const auto expect_conflict = [&](JobId job) {
        const auto answer = town.harness.ask({.target = place(job) + "models", .as = ben.key});
        EXPECT_EQ(answer.status, 409);
        EXPECT_EQ(error_code(answer), "CONFLICT");
        EXPECT_EQ(answer.headers.find("x-should-retry"), "false");
    };
    const JobId job = rent_model();
    expect_conflict(job);
    accept(job);
    expect_conflict(job);
    EXPECT_EQ(tell(job, agent_protocol::JobEventKind::ready, ready_with(engine.port())), "RUNNING");
    EXPECT_EQ(ask(job, "models").status, 200);
    EXPECT_EQ(stop(ben, job).status, 202);
    expect_conflict(job);
    end(job);
    expect_conflict(job);

    const JobId classical_job = rent(ben, put_up());
    get_ready(classical_job);
    expect_conflict(classical_job);
}

TEST_F(RelayRefusals, TakeAnEndpointNamedOpenaiOfAnyJob) {
    const JobId job = rent(ben, put_up());
    accept(job);
    EXPECT_EQ(
        tell(job, agent_protocol::JobEventKind::ready,
             fmt::format(R"({{"container_id":"c1","boot_id":"boot-1","endpoints":[)"
                         R"({{"kind":"http","name":"comfyui","host":"127.0.0.1","port":{0}}},)"
                         R"({{"kind":"ssh","name":"ssh","host":"203.0.113.7","port":40022}},)"
                         R"({{"kind":"http","name":"openai","host":"127.0.0.1","port":{0}}}]}})",
                         engine.port())),
        "RUNNING");
    EXPECT_EQ(ask(job, "models").status, 200);
}

TEST_F(RelayRefusals, CountTheBytesOfABodyHoweverItComes) {
    const JobId job = serve_model();
    engine.set(json_answer("{}"));
    constexpr std::size_t most = std::size_t{1} << 20;
    const std::string frame = R"({"a":"","end":1})";
    const std::string fits = R"({"a":")" + std::string(most - frame.size(), 'x') + R"(","end":1})";
    ASSERT_EQ(fits.size(), most);
    EXPECT_EQ(ask(job, "embeddings", fits).status, 200);
    EXPECT_EQ(ask(job, "embeddings", fits + " ").status, 413);

    for (const std::size_t bytes : {most, most + 1}) {
        RawSocket socket(town.harness.app->port());
        const std::string body =
            R"({"a":")" + std::string(bytes - frame.size(), 'x') + R"(","end":1})";
        EXPECT_TRUE(
            socket.try_send(fmt::format(
                "POST {}embeddings HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n"
                "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
                place(job), ben.key, chunk(body))) ||
            bytes > most);
        const std::string head = socket.receive_until("\r\n");
        EXPECT_EQ(head,
                  bytes == most ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 413 Content Too Large\r\n");
    }
}

class RelayRates : public RentalTest {
protected:
    RelayRates() : RentalTest({{"rate-relay-per-minute", "3"}, {"relay-streams-max", "2"}}) {}
};

TEST_F(RelayRates, AreOfTheAccount) {
    const JobId job = serve_model();
    engine.set(json_answer("{}"));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(job, "models").status, 200);
    const auto refused = ask(job, "models");
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(error_code(refused), "UNAVAILABLE");
    EXPECT_EQ(send(ben, "GET", "/api/v1/jobs/" + to_string(job)).status, 200);
    const Person other = join(R"(["renter"])");
    EXPECT_EQ(http::CurlClient().send(outbound(other, job, "models", "")).status, 404);
}

TEST_F(RelayRates, BoundWhatIsOpenAtATime) {
    const JobId job = serve_model();
    engine.set([](RawSocket& socket) {
        socket.send(events_head + chunk("data: 1\n\n"));
        socket.await_end();
    });
    RawSocket first = open(job);
    RawSocket second = open(job);
    first.receive_until("data: 1");
    second.receive_until("data: 1");
    EXPECT_EQ(ask(job, "chat/completions", chat_body).status, 429);
}

class OwnHouse : public MarketTest {
protected:
    OwnHouse() : MarketTest(Harness::Options{}, Outside::all_asked) {}
};

// Addresses and names that a host must not make the server dial.
TEST_F(OwnHouse, AnEndpointInOurOwnHouseIsRefusedAtReady) {
    const JobId job = rent(ben, put_up(), {.what = fmt::format(R"("template_id":"{}")", model)});
    accept(job);
    for (const std::string host : {"127.0.0.1",
                                   "127.8.9.10",
                                   "0.0.0.0",
                                   "10.0.0.1",
                                   "172.16.0.1",
                                   "172.31.255.255",
                                   "192.168.1.1",
                                   "169.254.169.254",
                                   "100.64.0.1",
                                   "100.127.255.255",
                                   "224.0.0.1",
                                   "239.1.2.3",
                                   "240.0.0.1",
                                   "255.255.255.255",
                                   "::",
                                   "::1",
                                   "fe80::1",
                                   "fc00::1",
                                   "fd12::1",
                                   "ff02::1",
                                   "::ffff:127.0.0.1",
                                   "::ffff:10.0.0.1",
                                   "::ffff:a9fe:a9fe",
                                   "64:ff9b::7f00:1",
                                   "2002:7f00:1::",
                                   "2001::1",
                                   "localhost",
                                   "LOCALHOST",
                                   "localhost.",
                                   "127.1",
                                   "0x7f000001",
                                   "2130706433",
                                   "017700000001",
                                   "[::1]",
                                   "no such name",
                                   "a\\r\\nb",
                                   "nowhere.invalid"}) {
        const bool is_a_name = host.find_first_of(" \\") == std::string::npos;
        const std::string evidence =
            fmt::format(R"({{"container_id":"c1","boot_id":"boot-1","endpoints":[{{"kind":"http",)"
                        R"("name":"openai","host":"{}","port":1029}}]}})",
                        host);
        try {
            tell(job, agent_protocol::JobEventKind::ready, evidence);
            ADD_FAILURE() << host << " was taken";
        } catch (const Problem& problem) {
            EXPECT_EQ(problem.code, is_a_name ? Code::conflict : Code::invalid_input) << host;
            EXPECT_NE(problem.message.find(is_a_name ? "cannot be used" : "must be a name"),
                      std::string::npos)
                << host << ": " << problem.message;
        }
    }
    EXPECT_EQ(state_of(job), JobState::STARTING);
}

class RelayEndpoints : public RentalTest {
protected:
    explicit RelayEndpoints(std::map<std::string, std::string> flags = {})
        : RentalTest(std::move(flags), Outside::all_asked) {}

    // What a host is told who says READY with this; empty when it was taken.
    std::string refusal(const std::string& evidence, Code code) {
        if (!job_) {
            job_ = rent_model();
            accept(*job_);
        }
        try {
            tell(*job_, agent_protocol::JobEventKind::ready, evidence);
        } catch (const Problem& problem) {
            EXPECT_EQ(problem.code, code) << problem.message;
            return problem.message;
        }
        return "";
    }

private:
    std::optional<JobId> job_;
};

TEST_F(RelayEndpoints, HaveNoPortThatIsSomebodyElses) {
    for (const std::uint16_t port : std::initializer_list<std::uint16_t>{1, 22, 25, 443, 1023}) {
        const std::string told = refusal(ready_with(port), Code::invalid_input);
        EXPECT_NE(told.find("endpoints"), std::string::npos) << told;
        EXPECT_NE(told.find("port"), std::string::npos) << told;
    }
    EXPECT_EQ(engine.accepted(), 0);
}

// Our own answer to a request that we send ourselves would be believed, and billed.
TEST_F(RelayEndpoints, AreNoDoorsOfOurOwn) {
    const std::uint16_t own = town.harness.app->port();
    for (const std::string host : {"127.0.0.1", "0.0.0.0", "::ffff:127.0.0.1", "localhost"})
        EXPECT_NE(refusal(ready_with(own, "", host), Code::conflict).find("this service answers"),
                  std::string::npos)
            << host;
    EXPECT_EQ(refusal(ready_with(engine.port()), Code::conflict), "");
}

class SealedEndpoints : public RelayEndpoints {
protected:
    SealedEndpoints() : RelayEndpoints({{"allow-plain-engines", "false"}}) {}
};

// Unless operators say otherwise. Nothing is dialled either: the probe carries the job's key.
TEST_F(SealedEndpoints, SpeakTls) {
    const std::string told = refusal(ready_with(engine.port()), Code::invalid_input);
    EXPECT_NE(told.find("tls_key_sha256"), std::string::npos) << told;
    EXPECT_EQ(engine.accepted(), 0);
}

}  // namespace
}  // namespace berth::test
