// A rental with a model in a test: a real server on a port, a job that is RUNNING, and an engine
// that does to each request what the test's script says.
#pragma once

#include "http/client.hpp"
#include "http/harness.hpp"
#include "http/raw_upstream.hpp"
#include "relay/relay.hpp"
#include "rentals/market.hpp"

namespace berth::test {

using http::RawSocket;

// How every body of these tests ends, so that an engine without a parser knows.
inline const std::string body_end = R"("end":1})";
inline const std::string chat_body = R"({"model":"m","messages":[],"temperature":0.7,)" + body_end;
inline const std::string stream_body = R"({"model":"m","stream":true,)" + body_end;

inline std::string json_answer(const std::string& body, const std::string& status = "200 OK") {
    return fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", status,
        body.size(), body);
}
inline const std::string events_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
inline std::string chunk(const std::string& text) {
    return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

class ScriptedEngine {
public:
    using Script = std::function<void(RawSocket&)>;

    std::uint16_t port() const { return upstream_.port(); }
    int accepted() const { return upstream_.accepted(); }
    void set(Script script) {
        const std::lock_guard lock(mutex_);
        script_ = std::move(script);
    }
    void set(const std::string& answer) {
        set([answer](RawSocket& socket) { socket.send(answer); });
    }
    // Heads and bodies as they came, one after the other.
    std::vector<std::string> heard() {
        const std::lock_guard lock(mutex_);
        return heard_;
    }

private:
    // Without a script it only answers: that is how READY is seen.
    void converse(RawSocket& socket) {
        while (true) {
            std::string text = socket.receive_until("\r\n\r\n");
            if (text.starts_with("POST")) text += socket.receive_until(body_end);
            Script script;
            {
                const std::lock_guard lock(mutex_);
                if (script_) heard_.push_back(text);
                script = script_;
            }
            if (!script)
                return socket.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" +
                                   std::string(R"({"object":"list","data":[]})"));
            script(socket);
        }
    }

    std::mutex mutex_;
    Script script_;
    std::vector<std::string> heard_;
    http::RawUpstream upstream_{[this](RawSocket& socket) { converse(socket); }};
};

class RentalTest : public MarketTest {
protected:
    RentalTest() : RentalTest(std::map<std::string, std::string>{}) {}
    explicit RentalTest(std::map<std::string, std::string> flags,
                        Outside asked = Outside::engines_asked)
        : MarketTest(Harness::Options{.flags = with(std::move(flags))}, asked) {
        town.harness.app->serve();
    }
    // The engine waits for connections that the server keeps.
    ~RentalTest() override { town.harness.app.reset(); }

    static std::map<std::string, std::string> with(std::map<std::string, std::string> flags) {
        flags.insert({{"allow-private-endpoints", "true"},
                      {"io-threads", "1"},
                      {"worker-threads", "0"},
                      {"rate-relay-per-minute", "1000000"}});
        return flags;
    }

    std::string ready_with(std::uint16_t port, const std::string& more = "",
                           const std::string& host = "127.0.0.1") {
        return fmt::format(
            R"({{"container_id":"c1","boot_id":"boot-1","endpoints":[{{"kind":"http",)"
            R"("name":"openai","host":"{}","port":{}{}}}]}})",
            host, port, more);
    }
    JobId rent_model() {
        return rent(ben, put_up(), {.what = fmt::format(R"("template_id":"{}")", model)});
    }
    JobId serve_model(const std::string& evidence) {
        const JobId job = rent_model();
        accept(job);
        EXPECT_EQ(tell(job, agent_protocol::JobEventKind::ready, evidence), "RUNNING");
        return job;
    }
    JobId serve_model() { return serve_model(ready_with(engine.port())); }

    static std::string place(JobId job) { return "/api/v1/jobs/" + to_string(job) + "/openai/v1/"; }
    http::Outbound outbound(const Person& who, JobId job, const std::string& what,
                            const std::string& body) {
        http::Outbound request;
        request.method = body.empty() ? "GET" : "POST";
        request.url =
            fmt::format("http://127.0.0.1:{}{}{}", town.harness.app->port(), place(job), what);
        request.headers.add("Authorization", "Bearer " + who.key);
        if (!body.empty()) request.headers.add("Content-Type", "application/json");
        request.body = body;
        return request;
    }
    http::Response ask(JobId job, const std::string& what, const std::string& body = "") {
        return http::CurlClient().send(outbound(ben, job, what, body));
    }
    // A request whose answer the test reads as it comes.
    RawSocket open(JobId job, const std::string& body = stream_body,
                   RawSocket::Options options = {}) {
        RawSocket socket(town.harness.app->port(), options);
        socket.send(fmt::format(
            "POST {}chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n"
            "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
            place(job), ben.key, body.size(), body));
        return socket;
    }
    // What is over is counted when its last byte was handed on, which is a moment before or after
    // the client has it.
    std::string usage(JobId job) {
        EXPECT_TRUE(http::eventually([this] { return is_idle(); }));
        return send(ben, "GET", "/api/v1/jobs/" + to_string(job) + "/usage").body;
    }
    bool is_idle() { return town.harness.app->relay().open() == 0; }

    ScriptedEngine engine;
};

}  // namespace berth::test
