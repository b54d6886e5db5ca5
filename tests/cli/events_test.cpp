// `berth events`, followed through a restart of the server, and waits that hear of what happens.
#include <gtest/gtest.h>

#include <signal.h>

#include <future>

#include "cli/reading.hpp"
#include "cli/shell.hpp"
#include "relay/rental.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

class EventsByCommand : public ::testing::Test {
protected:
    EventsByCommand() { start(); }

    void start() {
        server = std::make_unique<Process>(
            std::vector<std::string>{program_path("berthd"), "serve", "--listen", place, "--db",
                                     "sqlite:" + folder.path() + "/berth.db", "--secrets",
                                     folder.path() + "/secrets", "--mail",
                                     "file:" + folder.path() + "/mail"},
            folder.path() + "/log");
        EXPECT_TRUE(wait_until_ready(*server, "http://" + place + "/readyz"))
            << read_text(folder.path() + "/log");
    }
    // Each registration makes a key, which is told.
    void make_key() {
        const Printed made =
            shell.run({"agents", "register", "--name", "Scout", "--vendor", "Example",
                       "--passphrase-file", shell.file("passphrase", "correct horse\n")});
        ASSERT_EQ(made.status, 0) << made.err;
    }
    static std::vector<std::string> lines(const std::string& text) {
        std::vector<std::string> all;
        std::istringstream stream(text);
        for (std::string line; std::getline(stream, line);)
            if (line.starts_with('{')) all.push_back(line);
        return all;
    }

    TemporaryFolder folder;
    std::string place = "127.0.0.1:" + std::to_string(free_port());
    std::unique_ptr<Process> server;
    Shell shell{"http://" + place};
};

TEST_F(EventsByCommand, AreListedWithTheirNumbers) {
    make_key();
    const Printed listed = shell.run({"events", "--types", "account.*"});
    ASSERT_EQ(listed.status, 0) << listed.err;
    const cli::Reading page(listed.out);
    EXPECT_EQ(page.text("type", page.rows().at(0)), "account.make_api_key");
    EXPECT_EQ(page.text("through"), "1");
    const Printed shown = shell.run_on_terminal({"events"});
    EXPECT_NE(shown.out.find("account.make_api_key"), std::string::npos) << shown.out;
    const Printed wrong = shell.run({"events", "--after", "9"});
    EXPECT_NE(wrong.err.find("EVENTS_EXPIRED"), std::string::npos) << wrong.err;
    EXPECT_EQ(shell.run({"events", "--types", "nonsense.*"}).status, 6)
        << "the input of whoever asked";
}

TEST_F(EventsByCommand, AreTheLatestWhereNoNumberIsNamed) {
    for (int i = 0; i < 3; ++i) make_key();
    const auto first_of = [&](const std::vector<std::string>& words) {
        const Printed listed = shell.run(words);
        EXPECT_EQ(listed.status, 0) << listed.err;
        const cli::Reading page(listed.out);
        EXPECT_EQ(page.rows().size(), 2U) << listed.out;
        return page.text("sequence", page.rows().at(0));
    };
    EXPECT_EQ(first_of({"events", "--limit", "2"}), "2");
    EXPECT_EQ(first_of({"events", "--limit", "2", "--after", "0"}), "1");
    EXPECT_EQ(first_of({"events", "--limit", "2", "--types", "account.*"}), "1");
    EXPECT_EQ(shell.run({"events", "--limit", "x"}).status, 6);
}

TEST_F(EventsByCommand, AreFollowedThroughARestartOfTheServer) {
    make_key();
    Process following(
        {"/usr/bin/env", "BERTH_HOME=" + shell.home(), "BERTH_SERVER=http://" + place,
         program_path("berth"), "events", "--follow", "--after", "0", "--output", "json"},
        shell.folder() + "/followed");
    const auto came = [&](std::size_t count) {
        return support::eventually(
            [&] { return lines(read_text(following.log_path())).size() >= count; });
    };
    EXPECT_TRUE(came(1)) << read_text(following.log_path());
    server->signal(SIGKILL);
    server->wait();
    start();
    make_key();
    EXPECT_TRUE(came(2)) << read_text(following.log_path());
    following.signal(SIGTERM);
    following.wait();
    std::int64_t last = 0;
    for (const std::string& line : lines(read_text(following.log_path())))
        EXPECT_EQ(cli::Reading(line).text("sequence"), std::to_string(++last)) << line;
}

class WaitsByCommand : public RentalTest {
protected:
    WaitsByCommand() : shell("http://127.0.0.1:" + std::to_string(town.harness.app->port())) {
        shell.environment["BERTH_API_KEY"] = ben.key;
    }
    Shell shell;
};

TEST_F(WaitsByCommand, EndWhenItHappensAndNotWhenTheyLookAgain) {
    const JobId job = rent_model();
    accept(job);
    auto waiting = std::async(std::launch::async, [&] {
        return shell.run({"rentals", "wait", to_string(job), "--for", "running"});
    });
    ASSERT_TRUE(
        http::eventually([&] { return town.harness.app->service().notifier().waiting() == 1; }));
    const auto began = std::chrono::steady_clock::now();
    tell(job, agent_protocol::JobEventKind::ready, ready_with(engine.port()));
    const Printed said = waiting.get();
    EXPECT_EQ(said.status, 0) << said.err;
    EXPECT_EQ(member(said.out, "state"), "RUNNING");
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20))
        << "it heard of it; its wait at the server is 30 seconds";
}

TEST_F(WaitsByCommand, LastAsLongAsTheyWereToldTo) {
    const JobId job = rent_model();
    accept(job);
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(shell.run({"rentals", "wait", to_string(job), "--timeout", "1s"}).status, 124);
    EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(950));
}

}  // namespace
}  // namespace berth::test
