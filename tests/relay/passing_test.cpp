// What passes through the relay, and what of it each side sees.
#include "http/certificate.hpp"
#include "rental.hpp"

namespace berth::test {
namespace {

using RelayPassing = RentalTest;

constexpr const char* own_policy = "default-src 'none'; sandbox; frame-ancestors 'none'";

bool has_field(const std::string& head, const std::string& line) {
    return head.find("\r\n" + line + "\r\n") != std::string::npos;
}

TEST_F(RelayPassing, GivesTheEngineTheBodyAsItIsAndFewFields) {
    const JobId job = serve_model();
    const std::string key = member(
        send(ben, "GET", "/api/v1/jobs/" + to_string(job) + "/access").body, "endpoint_api_key");
    engine.set(json_answer(R"({ "object" : "list" })"));
    for (const std::string what : {"models", "chat/completions", "completions", "embeddings"}) {
        const bool reads = what == "models";
        http::Outbound request =
            outbound(ben, job, what, reads ? "" : "  {\"a\" : 1e5, " + body_end);
        request.url += "?secret=1";
        for (const auto& [name, value] :
             std::vector<std::pair<std::string, std::string>>{{"Cookie", "session=x"},
                                                              {"Accept", "application/json"},
                                                              {"X-Request-Id", "mine-1"},
                                                              {"X-Api-Key", "k"},
                                                              {"OpenAI-Organization", "o"},
                                                              {"X-Forwarded-For", "1.2.3.4"},
                                                              {"Accept-Encoding", "gzip"}})
            request.headers.add(name, value);
        const auto answer = http::CurlClient().send(request);
        EXPECT_EQ(answer.status, 200) << answer.body;
        EXPECT_EQ(answer.body, R"({ "object" : "list" })");
        EXPECT_EQ(answer.content_type, "application/json");
        EXPECT_EQ(answer.headers.find("Cache-Control"), "private, no-store");
        EXPECT_TRUE(answer.headers.find("X-Request-Id").has_value());

        const std::string heard = engine.heard().back();
        EXPECT_TRUE(heard.starts_with((reads ? "GET /v1/" : "POST /v1/") + what + " HTTP/1.1\r\n"))
            << heard;
        EXPECT_TRUE(has_field(heard, "Authorization: Bearer " + key)) << heard;
        EXPECT_TRUE(has_field(heard, "X-Request-Id: mine-1")) << heard;
        EXPECT_TRUE(has_field(heard, "Accept: application/json")) << heard;
        for (const std::string& hidden :
             {ben.key, std::string("Cookie"), std::string("X-Api-Key"), std::string("OpenAI"),
              std::string("Forwarded"), std::string("gzip"), std::string("secret")})
            EXPECT_EQ(heard.find(hidden), std::string::npos) << hidden;
        if (!reads) {
            EXPECT_TRUE(heard.ends_with("\r\n\r\n  {\"a\" : 1e5, " + body_end)) << heard;
        }
    }
    EXPECT_EQ(engine.accepted(), 3);  // the looks at READY, then one that is kept
}

TEST_F(RelayPassing, GoesWhereTheRowOfTheJobSaysNow) {
    const JobId job = serve_model();
    ScriptedEngine other;
    engine.set(json_answer("1"));
    other.set("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n2");
    EXPECT_EQ(ask(job, "models").body, "1");
    EXPECT_EQ(ask(job, "models").body, "1");
    database().write([&](db::Transaction& tx) {
        tx.run("UPDATE jobs SET endpoints = replace(endpoints, $2, $3) WHERE job_id = $1", job,
               std::to_string(engine.port()), std::to_string(other.port()));
    });
    EXPECT_EQ(ask(job, "models").body, "2");
}

TEST_F(RelayPassing, HidesWhatTheEngineSaysBesidesItsAnswer) {
    const JobId job = serve_model();
    engine.set(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: berth_session=x\r\n"
        "Location: /\r\nContent-Security-Policy: none\r\nX-Engine-Status: 1\r\n"
        "Content-Length: 21\r\n\r\n<script>bad</script>\n");
    const auto answer = ask(job, "models");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.content_type, "text/plain; charset=utf-8");
    EXPECT_EQ(answer.headers.find("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer.headers.find("Content-Security-Policy"), own_policy);
    for (const char* name : {"Set-Cookie", "Location", "X-Engine-Status"})
        EXPECT_FALSE(answer.headers.find(name).has_value()) << name;
}

// A host that would have its page opened at our address, where the reader's session is.
TEST_F(RelayPassing, RunsNoScriptOfAHostOnOurOrigin) {
    const JobId job = serve_model();
    for (const std::string type : {"application/json;a=,text/html", "text/html", "image/svg+xml",
                                   "application/json;a=\",text/html", "application/xhtml+xml", "x"})
        for (const std::string status : {"200 OK", "404 Not Found", "409 Conflict"}) {
            engine.set("HTTP/1.1 " + status + "\r\nContent-Type: " + type +
                       "\r\nX-Content-Type-Options: none\r\nContent-Security-Policy: "
                       "script-src *\r\nContent-Length: 25\r\n\r\n<script>alert(1)</script>");
            const auto answer = ask(job, "models");
            EXPECT_EQ(answer.status, std::stoi(status));
            EXPECT_EQ(answer.content_type.find("html"), std::string::npos) << answer.content_type;
            EXPECT_EQ(answer.content_type.find(','), std::string::npos) << answer.content_type;
            EXPECT_EQ(answer.headers.count("X-Content-Type-Options"), 1U);
            EXPECT_EQ(answer.headers.find("X-Content-Type-Options"), "nosniff");
            EXPECT_EQ(answer.headers.count("Content-Security-Policy"), 1U);
            EXPECT_EQ(answer.headers.find("Content-Security-Policy"), own_policy);
            EXPECT_EQ(answer.headers.find("X-Accel-Buffering"), "no");
        }
}

// What a link or a form on another site sends is the cookie, and never the token.
TEST_F(RelayPassing, WantsTheTokenOfASessionAlsoToRead) {
    Browser browser = town.person("renter@example.org");
    ben = {
        town.key_of(browser),
        AccountId{parse_uuid(member(browser.send("GET", "/api/v1/auth/session").body, "account_id"))
                      .value()}};
    fund(ben, 10'000'000);
    const JobId job = serve_model();
    engine.set(json_answer("[]"));
    const auto status_of = [&](const std::string& token) {
        http::Outbound request = outbound(ben, job, "models", "");
        request.headers = {};
        request.headers.add("Cookie", browser.cookie);
        request.headers.add("User-Agent", browser.user_agent);
        if (!token.empty()) request.headers.add("X-CSRF-Token", token);
        return http::CurlClient().send(request).status;
    };
    EXPECT_EQ(status_of(""), 403);
    EXPECT_EQ(status_of(std::string(43, 'A')), 403);
    EXPECT_EQ(engine.heard().size(), 0U);
    EXPECT_EQ(status_of(browser.csrf), 200);
    EXPECT_EQ(ask(job, "models").status, 200);  // a key has no cookie that a page could borrow
    // Everything else is read with the cookie alone, as before.
    browser.csrf.clear();
    EXPECT_EQ(browser.send("GET", "/api/v1/jobs/" + to_string(job)).status, 200);
}

TEST_F(RelayPassing, LeavesTheEnginesOwnRefusalsAsTheyAre) {
    const JobId job = serve_model();
    for (const char* status : {"400 Bad Request", "401 Unauthorized", "404 Not Found",
                               "409 Conflict", "422 Unprocessable", "429 Too Many Requests"}) {
        engine.set(json_answer(R"({"error":{"message":"no"}})", status));
        const auto answer = ask(job, "chat/completions", chat_body);
        EXPECT_EQ(answer.status, std::stoi(status));
        EXPECT_EQ(answer.body, R"({"error":{"message":"no"}})");
        EXPECT_FALSE(answer.headers.find("WWW-Authenticate").has_value());
        EXPECT_EQ(answer.headers.find("x-should-retry").has_value(), answer.status == 409);
    }
    EXPECT_EQ(member(usage(job), "errors"), "6");
}

TEST_F(RelayPassing, TellsAFailureOfTheEngineInTheEnvelope) {
    const JobId job = serve_model();
    const auto expect_unavailable = [&](const std::string& answer, const std::string& status) {
        engine.set([answer](RawSocket& socket) {
            socket.send(answer);
            throw std::runtime_error("closes");
        });
        for (const std::string& body : {chat_body, std::string()}) {
            const auto said = ask(job, body.empty() ? "models" : "completions", body);
            EXPECT_EQ(said.status, 503) << answer;
            EXPECT_EQ(error_code(said), "UNAVAILABLE") << said.body;
            EXPECT_EQ(said.headers.find("X-Engine-Status").value_or(""), status) << answer;
            EXPECT_EQ(said.headers.find("x-should-retry").has_value(), !body.empty()) << answer;
            EXPECT_EQ(said.headers.count("Retry-After"), 0U);
        }
    };
    expect_unavailable(json_answer("{}", "500 Oh"), "500");
    expect_unavailable(json_answer("{}", "503 Not now"), "503");
    expect_unavailable(
        "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n"
        "Content-Length: 0\r\n\r\n",
        "302");
    expect_unavailable("HTTP/1.1 304 Not Modified\r\n\r\n", "304");
    expect_unavailable(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x08",
        "200");
    expect_unavailable("", "");
    expect_unavailable("HTTP/1.1 200", "");
    expect_unavailable("nonsense\r\n\r\n", "");
    expect_unavailable("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x'), "");
}

TEST_F(RelayPassing, TriesOnceMoreOnlyBeforeTheBodyIsSent) {
    JobId job;
    {
        ScriptedEngine gone;
        job = serve_model(ready_with(gone.port()));
    }
    const auto refused = ask(job, "chat/completions", chat_body);
    EXPECT_EQ(refused.status, 503);
    EXPECT_FALSE(refused.headers.find("x-should-retry").has_value());

    const JobId other = serve_model();
    std::atomic<int> times{0};
    engine.set([&](RawSocket&) {
        ++times;
        throw std::runtime_error("closes");
    });
    EXPECT_EQ(ask(other, "chat/completions", chat_body).status, 503);
    EXPECT_EQ(times, 1);
}

TEST_F(RelayPassing, TalksTlsToTheKeyOfReadyAndToNoOther) {
    http::CertificateFolder certificate;
    certificate.write();
    const auto serve = [&](std::uint16_t port) {
        return std::make_unique<http::TestServer>(
            http::ServerOptions{.port = port,
                                .tls_certificate_file = certificate.certificate(),
                                .tls_key_file = certificate.key()},
            [](http::Request, const http::Reply& reply) {
                reply({.body = R"({"secured":1,"data":[]})"});
            });
    };
    auto secured = serve(0);
    const std::uint16_t port = secured->port();
    const std::string pin = to_hex(http::key_digest(certificate.key()));
    const JobId job = serve_model(ready_with(port, fmt::format(R"(,"tls_key_sha256":"{}")", pin)));
    EXPECT_EQ(ask(job, "models").body, R"({"secured":1,"data":[]})");
    const std::string access = send(ben, "GET", "/api/v1/jobs/" + to_string(job) + "/access").body;
    EXPECT_EQ(member(access, "endpoints.0.url"), fmt::format("https://127.0.0.1:{}/", port));
    EXPECT_EQ(member(access, "endpoints.0.tls_key_sha256"), pin);

    // Somebody else takes the address.
    secured.reset();
    certificate.write();
    secured = serve(port);
    EXPECT_EQ(ask(job, "models").status, 503);
    EXPECT_EQ(ask(job, "chat/completions", chat_body).status, 503);
}

}  // namespace
}  // namespace berth::test
