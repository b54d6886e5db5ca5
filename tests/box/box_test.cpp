// The marketplace in a box, as ./run starts it: real programs, play money, and a newcomer's first
// rental.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

constexpr support::Patience patience{.look_every = std::chrono::milliseconds(50)};

#define EXPECT_SAYS(text, words) EXPECT_NE((text).find(words), std::string::npos) << (text)

class Box : public ::testing::Test {
protected:
    std::unique_ptr<Process> start() {
        std::filesystem::remove(output);
        auto box = std::make_unique<Process>(
            std::vector<std::string>{program_path("berth-box"), "--data", data, "--port", port,
                                     "--host-ports", std::to_string(ports), "--gate-ports",
                                     std::to_string(ports + 80)},
            output);
        EXPECT_TRUE(support::eventually(
            [&] {
                return !box->running() ||
                       read_text(output).find("In another shell") != std::string::npos;
            },
            patience))
            << read_text(output) << read_text(data + "/berthd.log");
        EXPECT_TRUE(box->running()) << read_text(output);
        return box;
    }
    void end(Process& box) const {
        box.signal(SIGINT);
        EXPECT_EQ(box.wait(), 0) << read_text(output);
    }
    // As a shell that was told BERTH_HOME.
    Outcome berth(std::vector<std::string> words) const {
        words.insert(words.begin(),
                     {"/usr/bin/env", "BERTH_HOME=" + data + "/home", program_path("berth")});
        return run_program(words);
    }
    std::string said(std::vector<std::string> words) const {
        const Outcome outcome = berth(std::move(words));
        EXPECT_EQ(outcome.status, 0) << outcome.output;
        return outcome.output;
    }
    void prove_books() const {
        const Outcome check = run_program({program_path("berthd"), "check", "ledger", "--chain",
                                           "--simulated", "--db", "sqlite:" + data + "/play.db"});
        EXPECT_EQ(check.status, 0) << check.output;
        EXPECT_SAYS(check.output, "0 faults: sound");
    }

    // As the operator, with the authenticator that the box enrolled.
    void change_a_setting() const {
        EXPECT_SAYS(said({"--profile", "admin", "admin", "users", "list"}), "admin-");
        std::vector<std::string> words{"--profile", "admin",    "admin",
                                       "settings",  "set",      "operations.custom_images_enabled",
                                       "--value",   "true",     "--expected-version",
                                       "0",         "--reason", "trying it"};
        EXPECT_EQ(berth(words).status, 3) << "without a code";
        const std::string code = folder.path() + "/code";
        std::ofstream(code) << said(
            {"authenticator", "code", "--secret-file", data + "/admin.authenticator"});
        words.insert(words.end(), {"--proof-file", code});
        EXPECT_SAYS(said(words), "true");
    }
    // An account of one's own, with money.
    void become_an_agent() const {
        const std::string passphrase = folder.path() + "/passphrase";
        std::ofstream(passphrase) << "correct horse";
        const std::string url = "http://127.0.0.1:" + port;
        said({"--profile", "scout", "--server", url, "agents", "register", "--name", "Scout",
              "--vendor", "Example", "--passphrase-file", passphrase});
        EXPECT_SAYS(said({"--profile", "scout", "faucet", "--amount", "2.5"}),
                    R"("spendable_micro":"2500000")");
        // Its one wallet need not be named.
        EXPECT_SAYS(said({"--profile", "scout", "funding", "create", "--amount", "1"}),
                    R"("treasury_address":"0x)");
    }
    // Somebody puts a key of their own where the box had put the renter's.
    std::string replace_the_renter() const {
        const std::string wallet = folder.path() + "/wallet";
        std::ofstream(wallet) << std::string(64, '7');
        const std::vector<std::string> words{"agents",   "register", "--name",     "Mine",
                                             "--vendor", "Example",  "--key-file", wallet};
        const Outcome refused = berth(words);
        EXPECT_EQ(refused.status, 5) << refused.output;
        auto agreed = words;
        agreed.push_back("--yes");
        EXPECT_SAYS(said(agreed), "/replaced/default-");
        return said({"whoami"});
    }
    // Host 2 has the interruptible machine, host 1 a dedicated one.
    void take_a_machine_back() const {
        const auto machine = [&](const char* host) {
            std::string id = read_text(data + "/hosts/" + host + "/machine");
            id.pop_back();
            return id;
        };
        const auto preempt = [&](const std::string& id) {
            return berth({"--profile", "host", "machines", "preempt", id});
        };
        said({"rentals", "create", "--offer",
              said({"offers", "list", "--limit", "1", "--output", "ids"}).substr(0, 36),
              "--template", "llama-cpp-qwen2-5-7b-instruct-q4-k-m", "--budget", "1", "--yes"});
        said({"rentals", "wait"});
        const Outcome idle = preempt(machine("1"));
        EXPECT_EQ(idle.status, 5) << idle.output;
        EXPECT_SAYS(idle.output, "no job runs");
        const Outcome given = preempt(machine("2"));
        EXPECT_EQ(given.status, 0) << given.output;
        EXPECT_SAYS(given.output, "notice given to job");
        EXPECT_SAYS(said({"rentals", "show"}), R"("preemption":{"notice_at")");
        said({"rentals", "stop"});
        said({"rentals", "wait", "--for", "closed"});
    }

    // Host 4 has no port of its own: test, READY, and every word of the chat go by the gate.
    void rent_behind_the_gate(const std::string& offers) const {
        std::string machine = read_text(data + "/hosts/4/machine");
        machine.pop_back();
        const std::string shown = said({"--profile", "host", "machines", "show", machine});
        EXPECT_SAYS(shown, R"("reach":"gate")");
        // An hour was jumped over, and the gate has to be heard since.
        EXPECT_TRUE(support::eventually(
            [&] {
                return said({"gates", "list"}).find(R"("live":true)") != std::string::npos;
            },
            patience));
        constexpr std::size_t id_length = 36;
        const std::string dearest = offers.substr(offers.size() - id_length - 1, id_length);
        said({"rentals", "create", "--offer", dearest, "--template",
              "llama-cpp-qwen2-5-7b-instruct-q4-k-m", "--budget", "1", "--yes"});
        said({"rentals", "wait"});
        EXPECT_SAYS(said({"--profile", "host", "machines", "show", machine}),
                    R"("state":"ALLOCATED")");
        EXPECT_SAYS(said({"rentals", "chat", "hello"}), R"("model":"berth-toy")");
        said({"rentals", "stop"});
        said({"rentals", "wait", "--for", "closed"});
    }

    TemporaryFolder folder;
    std::string data = folder.path() + "/box";
    std::string output = folder.path() + "/output";
    std::string port = std::to_string(free_port());
    int ports = free_ports(100);  // 80 of the hosts, 20 of the gate
};

TEST_F(Box, TakesANewcomerFromSearchToPayoutAndGoesOnAfterARestart) {
    auto box = start();
    for (const char* name :
         {"renter.key", "host.key", "renter.wallet", "host.wallet", "admin.email",
          "admin.authenticator", "simulated.sock", "home/sessions/admin.json"}) {
        struct stat facts {};
        EXPECT_EQ(::stat((data + "/" + name).c_str(), &facts), 0) << name;
        EXPECT_EQ(facts.st_mode & 0777, 0600U) << name;
    }
    const std::string offers = said({"offers", "list", "--output", "ids"});
    EXPECT_EQ(std::ranges::count(offers, '\n'), 4) << offers;
    const std::string before = said({"balance"});
    EXPECT_SAYS(before, R"("spendable_micro":"100000000")");

    change_a_setting();

    const std::string demo = said({"demo", "--clock"});
    for (const char* step :
         {"search   4 machines", "quote    ", "rent     ", "chat     ", "clock    an hour later",
          "preempt  ", "stop     ", "receipt  ", "payout   "})
        EXPECT_SAYS(demo, step);
    EXPECT_SAYS(demo, "final on the simulated chain");
    prove_books();
    rent_behind_the_gate(offers);
    take_a_machine_back();
    end(*box);

    box = start();
    EXPECT_EQ(said({"offers", "list", "--output", "ids"}), offers) << "the same machines";
    const std::string after = said({"balance"});
    EXPECT_NE(after, before) << "the hour was paid";
    EXPECT_SAYS(after, R"("held_micro":"0")");
    become_an_agent();
    const std::string renter = said({"whoami"});
    const std::string mine = replace_the_renter();
    end(*box);
    box = start();
    EXPECT_EQ(said({"whoami"}), mine) << "a key that the box did not make stays";
    EXPECT_EQ(said({"--profile", "renter", "whoami"}), renter) << "and the renter is beside it";
    end(*box);
    prove_books();
    const Outcome moved = run_program({program_path("berth-box"), "--data", data, "--port", "1"});
    EXPECT_EQ(moved.status, 1);
    EXPECT_SAYS(moved.output, "is at home on http://127.0.0.1:" + port);
}

// One machine is rented and one was taken back when the power fails.
TEST_F(Box, GoesOnWithARentalAfterItWasKilled) {
    auto box = start();
    std::string machine = read_text(data + "/hosts/1/machine");
    machine.pop_back();
    said({"--profile", "host", "machines", "unlist", machine});
    said({"rentals", "create", "--offer",
          said({"offers", "list", "--limit", "1", "--output", "ids"}).substr(0, 36), "--template",
          "llama-cpp-qwen2-5-7b-instruct-q4-k-m", "--budget", "1", "--yes"});
    said({"rentals", "wait"});
    box->signal(SIGKILL);
    box->wait();

    box = start();
    EXPECT_SAYS(said({"--profile", "host", "machines", "show", machine}), R"("state":"UNLISTED")");
    EXPECT_SAYS(said({"rentals", "chat", "hello"}), R"("model":"berth-toy")");
    said({"rentals", "stop"});
    said({"rentals", "wait", "--for", "closed"});
    end(*box);
    prove_books();
}

TEST_F(Box, SaysWhichFlagsAreItsOwn) {
    for (const std::string flag : {"--db", "--secrets", "--mail"}) {
        const Outcome refused = run_program(
            {program_path("berth-box"), "--data", data, "--port", port, flag, "elsewhere"});
        EXPECT_EQ(refused.status, 2) << refused.output;
        EXPECT_SAYS(refused.output, "berth-box: " + flag + " is what the box sets itself");
        EXPECT_EQ(std::ranges::count(refused.output, '\n'), 1) << refused.output;
    }
    EXPECT_FALSE(std::filesystem::exists(data)) << "nothing was begun";
}

TEST_F(Box, SaysWhichOfItsProgramsEnded) {
    Process other({program_path("berthd"), "serve", "--listen", "127.0.0.1:" + port, "--db",
                   "sqlite:" + folder.path() + "/other.db", "--secrets", folder.path() + "/secrets",
                   "--mail", "file:" + folder.path() + "/mail"},
                  folder.path() + "/log");
    ASSERT_TRUE(wait_until_ready(other, "http://127.0.0.1:" + port + "/readyz"));
    const Outcome outcome =
        run_program({program_path("berth-box"), "--data", data, "--port", port});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_SAYS(outcome.output, "berthd ended with status");
    EXPECT_SAYS(outcome.output, "cannot");
    port = std::to_string(free_port());
    end(*start());  // a market that never opened is at home nowhere
}

}  // namespace
}  // namespace berth::test
