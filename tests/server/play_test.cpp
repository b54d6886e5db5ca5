// What only a simulated server answers: its faucet and its mail, by HTTP.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "server/kept_mail.hpp"
#include "server/simulation.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"
#include "support/raw_socket.hpp"
#include "support/town.hpp"

namespace berth::test {
namespace {

const std::string faucet = "/api/v1/simulated/faucet";
const std::string mail_of = "/api/v1/simulated/mail?to=";

class PlayServer : public ::testing::Test {
protected:
    PlayServer()
        : process({program_path("berthd"), "serve", "--listen", place, "--db", file, "--simulated",
                   "--secrets", folder.path() + "/secrets", "--mail",
                   "file:" + folder.path() + "/mail", "--chain-poll-ms", "50"},
                  folder.path() + "/log") {
        EXPECT_TRUE(wait_until_ready(process, "http://" + place + "/readyz"))
            << read_text(process.log_path());
    }
    http::Response send(const std::string& method, const std::string& target,
                        const std::string& body = "", const std::string& key = "") {
        http::Outbound request;
        request.method = method;
        request.url = "http://" + place + target;
        request.body = body;
        request.total_max = std::chrono::seconds(60);
        if (!body.empty()) request.headers.add("Content-Type", "application/json");
        if (!key.empty()) request.headers.add("Idempotency-Key", key);
        request.headers.add("Origin", "http://" + place);
        request.headers.add("User-Agent", "Browser/1");
        if (!cookie.empty()) request.headers.add("Cookie", cookie);
        if (!csrf.empty()) request.headers.add("X-CSRF-Token", csrf);
        return http::CurlClient().send(request);
    }
    // The code comes out of the server's own mail.
    void sign_in(const std::string& email) {
        send("POST", "/api/v1/auth/email/start", R"({"email":")" + email + "\"}");
        std::string text;
        ASSERT_TRUE(support::eventually(
            [&] {
                text = member(send("GET", mail_of + email).body, "items.0.text");
                return !text.empty();
            },
            {.look_every = std::chrono::milliseconds(50)}));
        const std::string code = text.substr(text.find(": ") + 2, 6);
        const auto opened = send("POST", "/api/v1/auth/email/verify",
                                 fmt::format(R"({{"email":"{}","code":"{}"}})", email, code));
        ASSERT_EQ(opened.status, 200) << opened.body << text;
        const std::string set(opened.headers.find("Set-Cookie").value_or(""));
        cookie = set.substr(0, set.find(';'));
        csrf = member(opened.body, "csrf_token");
    }
    std::string has(const std::string& asset) {
        return member(send("GET", "/api/v1/billing?asset=" + asset).body, "spendable_micro");
    }
    std::string wish(const std::string& amount, const std::string& asset = "USDC") {
        return fmt::format(R"({{"asset":"{}","amount_micro":"{}"}})", asset, amount);
    }
    std::string key() { return to_string(make_uuid(SystemClock().now(), random)); }

    TemporaryFolder folder;
    std::string place = "127.0.0.1:" + std::to_string(free_port());
    std::string file = "sqlite:" + folder.path() + "/play.db";
    SeededRandom random;
    Process process;
    std::string cookie;
    std::string csrf;
};

TEST_F(PlayServer, GivesPlayMoneyOnceForAKeyAndOnlySoMuchADay) {
    EXPECT_EQ(member(send("GET", "/api/v1/status").body, "simulated"), "true");
    EXPECT_EQ(send("POST", faucet, wish("5"), key()).status, 401);
    sign_in("ada@example.org");
    EXPECT_EQ(send("POST", faucet, wish("5")).status, 422) << "without a key";
    EXPECT_EQ(send("POST", faucet, wish("1000000001"), key()).status, 422);
    EXPECT_EQ(send("POST", faucet, wish("0"), key()).status, 422);
    EXPECT_EQ(send("POST", faucet, wish("5", "EUR"), key()).status, 422);

    const std::string once = key();
    const auto first = send("POST", faucet, wish("1000000000"), once);
    ASSERT_EQ(first.status, 201) << first.body;
    EXPECT_EQ(member(first.body, "amount_micro"), "1000000000");
    EXPECT_EQ(member(first.body, "asset"), "USDC");
    EXPECT_EQ(send("POST", faucet, wish("1000000000"), once).body, first.body);
    EXPECT_EQ(has("USDC"), "1000000000");
    EXPECT_EQ(send("POST", faucet, wish("7"), once).status, 409) << "the key of another request";

    const std::string raced = key();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back(
            [&] { EXPECT_EQ(send("POST", faucet, wish("7", "USDT"), raced).status, 201); });
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(has("USDT"), "7");

    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(send("POST", faucet, wish("1000000000"), key()).status, 201);
    EXPECT_EQ(send("POST", faucet, wish("1000000000"), key()).status, 409) << "with the 7 of USDT";
    EXPECT_EQ(has("USDC"), "4000000000");
    const Outcome books = run_program(
        {program_path("berthd"), "check", "ledger", "--chain", "--db", file, "--simulated"});
    EXPECT_EQ(books.status, 0) << books.output;
    EXPECT_NE(books.output.find("the treasury holds 4000000000, the books say 4000000000"),
              std::string::npos)
        << books.output;
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait(), 0);
}

TEST_F(PlayServer, ShowsMailToNobodyWhoComesByAnotherName) {
    sign_in("ada@example.org");
    const auto port = static_cast<std::uint16_t>(std::stoi(place.substr(place.find(':') + 1)));
    const auto look = [&](const std::string& fields) {
        support::RawSocket socket(port);
        socket.send("GET " + mail_of + "ada@example.org HTTP/1.1\r\n" + fields + "\r\n");
        return socket.receive().status;
    };
    EXPECT_EQ(look("Host: " + place + "\r\n"), 200);
    EXPECT_EQ(look("Host: localhost\r\n"), 200);
    EXPECT_EQ(look("Host: evil.example\r\n"), 404) << "a name that was made to lead here";
    EXPECT_EQ(look("Host: 127.0.0.1.evil.example\r\n"), 404);
    EXPECT_EQ(look("Host: " + place + "\r\nX-Forwarded-For: 192.0.2.7\r\n"), 404) << "a proxy";
}

TEST(OwnHost, IsThisMachineByItsNameOrAddress) {
    for (const char* own :
         {"localhost", "LocalHost:8080", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:8080"})
        EXPECT_TRUE(server::is_own_host(own)) << own;
    for (const char* other :
         {"", ":80", "evil.example", "localhost.evil.example", "127.0.0.1.nip", "127.", "192.0.2.1",
          "0.0.0.0", "[::2]", "[", "[::1", "[::1]x", "::1x"})
        EXPECT_FALSE(server::is_own_host(other)) << other;
}

TEST(KeptMail, HasTheLastOfEachAddress) {
    server::KeptMail kept;
    for (int i = 0; i < 8; ++i) kept.keep({"Ada@example.org", std::to_string(i), "text", Time{i}});
    kept.keep({"bob@example.org", "b", "text", Time{9}});
    const auto found = kept.find("ada@example.org", 5);
    ASSERT_EQ(found.size(), 5U);
    EXPECT_EQ(found.front().subject, "7");
    EXPECT_EQ(found.back().subject, "3");
    EXPECT_TRUE(kept.find("eve@example.org", 5).empty());
    for (int i = 0; i < 1000; ++i) kept.keep({"eve@example.org", "e", "text", Time{10}});
    EXPECT_TRUE(kept.find("ada@example.org", 5).empty()) << "old ones are forgotten";
}

TEST(RealServer, HasNeitherFaucetNorMailToShow) {
    Town town;
    Browser ada = town.person("ada@example.org");
    EXPECT_EQ(
        ada.send("POST", faucet, R"({"asset":"USDC","amount_micro":"5"})", town.harness.new_id())
            .status,
        404);
    EXPECT_EQ(town.harness.ask({.target = mail_of + "ada@example.org", .from = "127.0.0.1"}).status,
              404);
    EXPECT_EQ(member(town.harness.ask({.target = "/api/v1/status"}).body, "simulated"), "");
}

}  // namespace
}  // namespace berth::test
