// A page of a rental in a browser, by `berth rentals open`: what the browser of its renter gets,
// and what every other page gets that the same browser shows.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>

#include "cli/shell.hpp"
#include "http/certificate.hpp"
#include "relay/rental.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

// Says back what it hears once the connection is switched.
class EchoingPage final : public http::Source {
public:
    void start(http::Outlet& outlet) override {
        outlet_ = &outlet;
        http::Response head{.status = http::switching_status};
        head.headers.add("Upgrade", "websocket");
        outlet.begin(std::move(head));
    }
    bool on_input(std::string_view bytes) override { return outlet_->write(bytes); }
    void on_room() override { outlet_->resume_input(); }
    void on_gone() override {}

private:
    http::Outlet* outlet_ = nullptr;
};

class OpenedInBrowser : public RentalTest {
protected:
    OpenedInBrowser() : shell("http://127.0.0.1:" + std::to_string(town.harness.app->port())) {
        certificate.write();
        page = serve_page(0);
        job = to_string(serve_model(
            ready_with(page->port(), fmt::format(R"(,"tls_key_sha256":"{}")",
                                                 to_hex(http::key_digest(certificate.key()))))));
        key = member(send(ben, "GET", "/api/v1/jobs/" + job + "/access").body, "endpoint_api_key");
        shell.environment["BERTH_API_KEY"] = ben.key;
    }
    ~OpenedInBrowser() override {
        program.reset();
        town.harness.app.reset();
        page.reset();
    }

    std::unique_ptr<http::TestServer> serve_page(std::uint16_t at) {
        return std::make_unique<http::TestServer>(
            http::ServerOptions{.port = at,
                                .tls_certificate_file = certificate.certificate(),
                                .tls_key_file = certificate.key()},
            [this](http::Request request, const http::Reply& reply) { answer(request, reply); });
    }
    // Tells what it was asked with.
    void answer(const http::Request& request, const http::Reply& reply) {
        if (request.path() == "/v1/models")  // by the service, before it is READY
            return reply({.body = R"({"object":"list","data":[{"id":"m"}]})"});
        ++asked;
        http::Response response{.content_type = "text/plain"};
        if (request.switch_to == "websocket") {
            response.source = std::make_shared<EchoingPage>();
        } else if (request.path() == "/leads") {
            response.status = 302;
            response.headers.add("Location", "http://localhost:8888/lab?x=1");
            response.headers.add("Set-Cookie", "theirs=1; Path=/");
            response.headers.add("Set-Cookie", "berth-opened=x; Path=/");
        } else {
            response.body = request.method + " " + request.target + " " + request.body + "\n";
            for (const http::Headers::Field& field : request.headers)
                response.body += field.name + ": " + field.value + "\n";
        }
        reply(std::move(response));
    }

    // Starts it and reads the address that it prints.
    // Once it is there whole, as programs or people are shown it.
    static std::string address_in(const std::string& said) {
        const std::size_t at = said.find("http://");
        const std::size_t end = said.find_first_of("\"\n", std::min(at, said.size()));
        return end == std::string::npos ? "" : said.substr(at, end - at);
    }
    void open(const std::vector<std::string>& more = {"--no-browser"}) {
        std::vector<std::string> words = {"/usr/bin/env", "-i"};
        for (const auto& [name, value] : shell.environment) words.push_back(name + "=" + value);
        words.insert(words.end(), {program_path("berth"), "rentals", "open", job});
        words.insert(words.end(), more.begin(), more.end());
        const std::string log = shell.folder() + "/open.log";
        program = std::make_unique<Process>(words, log);
        std::string url;
        ASSERT_TRUE(support::eventually([&] {
            url = address_in(read_text(log));
            return !url.empty();
        })) << read_text(log);
        const std::size_t mark = url.find("/#");
        ASSERT_NE(mark, std::string::npos) << url;
        origin = url.substr(0, mark);
        token = url.substr(mark + 2);
        authority = origin.substr(origin.find("//") + 2);
        port = static_cast<std::uint16_t>(std::stoi(authority.substr(authority.find(':') + 1)));
        asked = 0;
    }

    using Fields = std::vector<std::pair<std::string, std::string>>;
    http::Response ask(const std::string& path, const Fields& fields, const std::string& body = "",
                       const std::string& host = "") const {
        http::Outbound request;
        request.url = fmt::format("http://127.0.0.1:{}{}", port, path);
        request.method = body.empty() ? "GET" : "POST";
        request.body = body;
        request.headers.add("Host", host.empty() ? authority : host);
        for (const auto& [name, value] : fields) request.headers.add(name, value);
        return http::CurlClient().send(request);
    }
    // The cookie that the browser has after its page sent the token.
    std::string enter() const {
        const auto entered = ask("/.berth/enter", {{"Origin", origin}}, token);
        EXPECT_EQ(entered.status, 204) << entered.body;
        const std::string set(entered.headers.find("Set-Cookie").value_or(""));
        EXPECT_NE(set.find("; HttpOnly; SameSite=Strict"), std::string::npos) << set;
        return set.substr(0, set.find(';'));
    }

    http::CertificateFolder certificate;
    Shell shell;
    std::atomic<int> asked = 0;
    std::unique_ptr<http::TestServer> page;
    std::string job;
    std::string key;
    std::unique_ptr<Process> program;
    std::string origin;
    std::string authority;
    std::string token;
    std::uint16_t port = 0;
};

TEST_F(OpenedInBrowser, LetsInWhoHasTheTokenOfItsFragmentAndOnlyOnce) {
    open();
    EXPECT_TRUE(authority.find(".localhost:") >= 32) << authority;
    // First there is a page of our own, whose script alone sees the fragment.
    const auto first = ask("/lab?a=1", {{"Sec-Fetch-Site", "none"}});
    EXPECT_EQ(first.status, 401);
    EXPECT_EQ(first.headers.find("Content-Type"), "text/html; charset=utf-8");
    EXPECT_NE(std::string(first.headers.find("Content-Security-Policy").value_or(""))
                  .find("default-src 'none'; script-src 'nonce-"),
              std::string::npos);
    EXPECT_EQ(first.body.find(token), std::string::npos);
    EXPECT_EQ(asked, 0);

    EXPECT_EQ(ask("/.berth/enter", {{"Origin", origin}}, "guessed").status, 403);
    EXPECT_EQ(ask("/.berth/enter", {}, token).status, 403) << "from no page";
    const std::string cookie = enter();
    EXPECT_EQ(ask("/.berth/enter", {{"Origin", origin}}, token).status, 403) << "once";

    const auto shown = ask("/lab?a=1", {{"Cookie", "a=1; " + cookie + "; b=2"},
                                        {"Origin", origin},
                                        {"Referer", origin + "/"},
                                        {"Authorization", "Basic of-the-page"},
                                        {"X-Kept", "yes"}});
    EXPECT_EQ(shown.status, 200);
    EXPECT_TRUE(shown.body.starts_with("GET /lab?a=1 \n")) << shown.body;
    for (const std::string& line : {"Authorization: Bearer " + key, std::string("Cookie: a=1; b=2"),
                                    std::string("X-Kept: yes")})
        EXPECT_NE(shown.body.find(line + "\n"), std::string::npos) << shown.body;
    for (const std::string& secret : {cookie.substr(cookie.find('=') + 1), token, origin})
        EXPECT_EQ(shown.body.find(secret), std::string::npos) << shown.body;
    EXPECT_EQ(shown.body.find("Basic"), std::string::npos) << shown.body;
    const auto posted = ask("/api", {{"Cookie", cookie}, {"Origin", origin}}, "{}");
    EXPECT_TRUE(posted.body.starts_with("POST /api {}\n")) << posted.body;
    // As a page with Referrer-Policy: no-referrer sends its own forms.
    const Fields unnamed = {
        {"Cookie", cookie}, {"Origin", "null"}, {"Sec-Fetch-Site", "same-origin"}};
    EXPECT_EQ(ask("/api", unnamed, "{}").status, 200);
    EXPECT_EQ(ask("/.berth/enter", unnamed, token).status, 403);
}

TEST_F(OpenedInBrowser, GivesOtherPagesNothing) {
    open();
    const std::string cookie = enter();
    const std::string number = std::to_string(port);
    // A name that was bound to 127.0.0.1 when the page was loaded, and everything else it can name.
    for (const std::string& host :
         {"rebound.example:" + number, "127.0.0.1:" + number, "localhost:" + number,
          "x." + authority, "x.localhost:" + number, authority.substr(0, authority.find(':'))})
        for (const char* path : {"/", "/lab", "/.berth/enter"})
            EXPECT_EQ(ask(path, {{"Cookie", cookie}}, "", host).status, 421) << host;
    // A page that learned the address sends what browsers let it send, with the cookie at worst.
    for (const char* from : {"https://evil.example", "http://localhost", "null"})
        for (const char* path : {"/lab", "/.berth/enter"}) {
            EXPECT_EQ(ask(path, {{"Cookie", cookie}, {"Origin", from}}, "x").status, 403) << from;
            EXPECT_EQ(ask(path, {{"Cookie", cookie}, {"Origin", from}}).status, 403) << from;
        }
    for (const char* site : {"cross-site", "same-site", "none"})
        EXPECT_EQ(
            ask("/lab", {{"Cookie", cookie}, {"Origin", "null"}, {"Sec-Fetch-Site", site}}, "x")
                .status,
            403)
            << site;
    for (const char* mode : {"no-cors", "cors", "websocket"})
        EXPECT_EQ(
            ask("/lab",
                {{"Cookie", cookie}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", mode}})
                .status,
            403)
            << mode;
    EXPECT_EQ(ask("/lab", {{"Cookie", cookie},
                           {"Sec-Fetch-Site", "cross-site"},
                           {"Sec-Fetch-Mode", "navigate"},
                           {"Sec-Fetch-Dest", "iframe"}})
                  .status,
              403);
    RawSocket socket(port);
    socket.send("GET /socket HTTP/1.1\r\nHost: " + authority + "\r\nOrigin: https://evil.example" +
                "\r\nCookie: " + cookie + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    EXPECT_EQ(socket.receive().status, 403);
    // Who has no session gets no further than our own page.
    for (const Fields& fields :
         {Fields{}, Fields{{"Cookie", "berth-opened="}}, Fields{{"Cookie", "berth-opened=00"}},
          Fields{{"Authorization", "Bearer " + token}}})
        EXPECT_EQ(ask("/lab", fields).status, 401);
    RawSocket without(port);
    without.send("GET /socket HTTP/1.1\r\nHost: " + authority + "\r\nOrigin: " + origin +
                 "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    EXPECT_EQ(without.receive().status, 401);
    EXPECT_EQ(asked, 0) << "the rental heard of it";
}

TEST_F(OpenedInBrowser, PassesWebsocketsBothWays) {
    open();
    const std::string cookie = enter();
    RawSocket socket(port);
    socket.send("GET /socket HTTP/1.1\r\nHost: " + authority + "\r\nOrigin: " + origin +
                "\r\nCookie: " + cookie +
                "\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
                "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    EXPECT_TRUE(socket.receive_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
    socket.send(std::string("\x81\x85\0\0\0\0hello", 11));
    EXPECT_EQ(socket.receive_until("hello"), std::string("\x81\x85\0\0\0\0hello", 11));
    EXPECT_EQ(asked, 1);
}

TEST_F(OpenedInBrowser, SendsNothingToWhoHasAnotherKey) {
    open();
    const std::string cookie = enter();
    const std::uint16_t there = page->port();
    page.reset();
    certificate.write();
    page = serve_page(there);
    EXPECT_EQ(ask("/lab", {{"Cookie", cookie}}).status, 502);
    EXPECT_EQ(asked, 0);
}

TEST_F(OpenedInBrowser, KeepsThePageAtItsAddressAndItsOwnCookie) {
    open();
    const std::string cookie = enter();
    const auto led = ask("/leads", {{"Cookie", cookie}});
    EXPECT_EQ(led.status, 302);
    EXPECT_EQ(led.headers.find("Location"), "/lab?x=1");
    EXPECT_EQ(led.headers.count("Set-Cookie"), 1u);
    EXPECT_EQ(led.headers.find("Set-Cookie"), "theirs=1; Path=/");
}

TEST_F(OpenedInBrowser, IsShownByAFileThatOthersCannotReadAndThatGoes) {
    const std::string noted = shell.folder() + "/noted";
    std::filesystem::create_directory(shell.folder() + "/bin");
    const std::string browser =
        shell.file("bin/xdg-open", "#!/bin/sh\necho \"$1\" > " + noted + ".new\nmv " + noted +
                                       ".new " + noted + "\n");
    ASSERT_EQ(::chmod(browser.c_str(), 0755), 0);
    shell.environment["PATH"] = shell.folder() + "/bin:" + shell.environment["PATH"];
    shell.environment["HOME"] = shell.folder();
    open({"openai", "--output", "table"});
    ASSERT_TRUE(support::eventually([&] { return std::filesystem::exists(noted); }));
    std::string file = read_text(noted);
    file.pop_back();
    EXPECT_EQ(file.find(token), std::string::npos) << "others see it in the list of processes";
    struct stat facts {};
    ASSERT_EQ(::stat(file.c_str(), &facts), 0) << file;
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
    EXPECT_NE(read_text(file).find(origin + "/#" + token), std::string::npos);
    EXPECT_EQ(std::filesystem::path(file).parent_path(), shell.folder())
        << "confined browsers read no hidden folder";
    EXPECT_TRUE(support::eventually([&] {
        return read_text(program->log_path()).find("no browser has come yet: open " + origin) !=
               std::string::npos;
    })) << read_text(program->log_path());
    enter();
    EXPECT_TRUE(support::eventually([&] { return !std::filesystem::exists(file); }));
    program->signal(SIGTERM);
    EXPECT_EQ(program->wait(), 0) << read_text(program->log_path());
}

TEST_F(OpenedInBrowser, NamesTheEndpointsThereAre) {
    const Printed other = shell.run({"rentals", "open", job, "jupyter", "--no-browser"});
    EXPECT_EQ(other.status, 2) << other.err;
    EXPECT_NE(other.err.find("openai"), std::string::npos) << other.err;
    const Printed taken =
        shell.run({"rentals", "open", job, "--port", std::to_string(page->port()), "--no-browser"});
    EXPECT_EQ(taken.status, 2) << taken.err;
    EXPECT_EQ(shell.run({"rentals", "open", job, "--port", "99999"}).status, 2);
    EXPECT_EQ(shell.run({"rentals", "open", job, "--explain"}).out,
              "GET /api/v1/jobs/" + job + "/access\n");
}

}  // namespace
}  // namespace berth::test
