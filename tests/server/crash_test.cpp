// kill -9 during writes: after a restart every acknowledged write is there exactly once, and one
// that was not acknowledged can be repeated with its key. Keeps the invariant that the balance is
// the sum of the deposits. BERTH_CRASH_CYCLES sets how often (tools/crash runs a thousand).
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <cstdlib>

#include "support/database.hpp"
#include "support/fakes.hpp"
#include "support/folder.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

constexpr int clients = 4;
constexpr int cycles_default = 24;

int cycles() {
    const char* text = std::getenv("BERTH_CRASH_CYCLES");
    return text == nullptr ? cycles_default : std::atoi(text);
}

struct Sent {
    std::string key;
    std::string answer;  // empty: not acknowledged
};

class Crash : public ::testing::Test {
protected:
    std::unique_ptr<Process> start() {
        port = free_port();
        auto server = std::make_unique<Process>(
            std::vector<std::string>{program_path("bankd"), "--listen",
                                     "127.0.0.1:" + std::to_string(port), "--db", database.url(),
                                     "--secrets", folder.path() + "/secrets"},
            folder.path() + "/log");
        if (!wait_until_ready(*server, url("/readyz")))
            throw std::runtime_error(read_text(folder.path() + "/log"));
        return server;
    }
    std::string url(const std::string& path) const {
        return "http://127.0.0.1:" + std::to_string(port) + path;
    }
    // The answer's body, or nothing when the server did not answer with success.
    std::string deposit(const std::string& key) {
        http::Outbound request;
        request.method = "POST";
        request.url = url("/test/deposits");
        request.headers.add("Authorization", "Bearer renter " + me);
        request.headers.add("Idempotency-Key", key);
        request.headers.add("Content-Type", "application/json");
        request.body = R"({"amount_micro":"1"})";
        try {
            const auto response = client.send(request);
            return response.status == 201 ? response.body : "";
        } catch (const http::TransportError&) {
            return "";
        }
    }
    std::string balance() {
        http::Outbound request;
        request.url = url("/test/accounts/" + me);
        request.headers.add("Authorization", "Bearer renter " + me);
        return client.send(request).body;
    }
    // Deposits from several clients until the server is gone.
    void load(Process& server, std::vector<Sent>& sent) {
        const auto acknowledged_wanted = 1 + static_cast<int>(random.below(40));
        std::atomic<int> acknowledged{0};
        std::atomic<bool> gone{false};
        std::mutex mutex;
        std::vector<std::thread> threads;
        for (int i = 0; i < clients; ++i)
            threads.emplace_back([&] {
                while (!gone) {
                    Sent one{to_string(make_uuid(SystemClock{}.now(), random)), ""};
                    one.answer = deposit(one.key);
                    if (!one.answer.empty()) ++acknowledged;
                    const std::lock_guard lock(mutex);
                    sent.push_back(std::move(one));
                }
            });
        while (acknowledged < acknowledged_wanted && server.running()) ::poll(nullptr, 0, 1);
        server.signal(SIGKILL);
        server.wait();
        gone = true;
        for (std::thread& thread : threads) thread.join();
    }

    TemporaryFolder folder;
    TestDatabase database;
    SeededRandom random;
    http::CurlClient client;
    std::uint16_t port = 0;
    std::string me = to_string(make_uuid(SystemClock{}.now(), random));
};

TEST_F(Crash, EveryAcknowledgedWriteIsThereOnceAfterKill9) {
    std::size_t deposits = 0;
    auto server = start();
    for (int cycle = 0; cycle < cycles(); ++cycle) {
        std::vector<Sent> sent;
        load(*server, sent);
        server = start();
        for (const Sent& one : sent) {
            const std::string again = deposit(one.key);
            ASSERT_FALSE(again.empty());
            const bool acknowledged = !one.answer.empty();
            ASSERT_TRUE(!acknowledged || again == one.answer) << "an acknowledged write was lost";
        }
        deposits += sent.size();
        ASSERT_EQ(balance(), R"({"account_id":")" + me + R"(","balance_micro":")" +
                                 std::to_string(deposits) + "\"}");
    }
    EXPECT_GT(deposits, static_cast<std::size_t>(cycles()));
}

}  // namespace
}  // namespace berth::test
