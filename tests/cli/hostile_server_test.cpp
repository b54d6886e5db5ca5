// What a server, a model or somebody in between may say, and what must not come of it: nothing
// steers the terminal, no file is overwritten, and what is no answer is taken for none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/console.hpp"
#include "cli/reading.hpp"
#include "cli/shell.hpp"
#include "crypto/hash.hpp"
#include "http/raw_upstream.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

namespace fs = std::filesystem;

const std::string rental_id = "01941f29-7c00-7a3e-9b1d-2f4c6a8e0b57";

struct Said {
    std::string body;
    std::string type = "application/json";
    std::string status = "200 OK";
};

// Says to each request what the test thinks of, by its head.
class Hostile : public ::testing::Test {
protected:
    Hostile() { shell.environment["BERTH_API_KEY"] = "ark_x"; }

    void fake(const std::string& name, const std::string& script) {
        fs::permissions(shell.file(name, "#!/bin/sh\n" + script + "\n"), fs::perms::owner_all);
        shell.environment["PATH"] = shell.folder() + ":/usr/bin:/bin";
    }
    // A shell on a host whose key has these four bytes.
    void offer_shell() {
        std::string fingerprint = to_base64(crypto::sha256("key!"));
        while (fingerprint.ends_with('=')) fingerprint.pop_back();
        access = fmt::format(R"({{"endpoints":[{{"kind":"ssh","external_host":"203.0.113.7",)"
                             R"("external_port":40022}}],)"
                             R"("ssh_command":"ssh -p 40022 renter@203.0.113.7",)"
                             R"("ssh_host_key_fingerprint":"SHA256:{}"}})",
                             fingerprint);
        fake("ssh-keyscan", "echo \"[$5]:$4 ssh-ed25519 " + to_base64("key!") + "\"");
    }

    std::function<Said(const std::string& head)> says = [](const std::string&) -> Said {
        return {"{}"};
    };
    std::string access;
    http::RawUpstream upstream{[this](support::RawSocket& socket) {
        const std::string head = socket.receive_until("\r\n\r\n");
        const Said said = says(head);
        socket.send(fmt::format(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
            said.status, said.type, said.body.size(), said.body));
    }};
    Shell shell{"http://127.0.0.1:" + std::to_string(upstream.port())};
};

// The id of a rental becomes the name of a file.
TEST_F(Hostile, AnIdNamesNoFileThatIsOverwritten) {
    offer_shell();
    fake("ssh", "echo entered");
    const std::string victim = shell.file("victim", "mine\n");
    says = [&](const std::string& head) -> Said {
        if (head.starts_with("GET /api/v1/jobs?"))
            return {R"({"items":[{"job_id":"01941f29/../../../victim"}],"next_cursor":null})"};
        return {access};
    };
    const Printed said = shell.run({"rentals", "ssh", "01941f29", "-o", "table"});
    EXPECT_EQ(said.status, 2) << said.out << said.err;
    EXPECT_EQ(read_text(victim), "mine\n");
    EXPECT_EQ(shell.run({"rentals", "ssh", rental_id}).out, "entered\n") << "and others are";
}

TEST_F(Hostile, APageIsNoAnswer) {
    says = [](const std::string&) -> Said {
        return {"<p>Welcome to the hotel</p>", "Text/HTML; charset=utf-8"};
    };
    const Printed said = shell.run({"tickets", "create", "--category", "other", "--text", "x"});
    EXPECT_EQ(said.status, 1) << said.err;
    EXPECT_EQ(said.out, "");
    EXPECT_EQ(cli::Reading(said.err).text("idempotency_key").size(), 36U)
        << "nobody knows what was done: " << said.err;
    EXPECT_EQ(shell.run({"api", "GET", "/docs"}).out, "<p>Welcome to the hotel</p>\n");
}

TEST_F(Hostile, NoOutputSteersTheTerminal) {
    const std::string steering =
        "\033[2J \xc2\x9b"
        "2J \xe2\x80\xae";
    const std::string body = R"({"items":[{"job_id":")" + steering + R"("}]})";
    says = [&](const std::string&) -> Said { return {body}; };
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"rentals", "list", "-o", "json"},
          {"api", "GET", "/api/v1/jobs"},
          {"statement", "--since", "2026-01-01T00:00:00Z", "--until", "now", "-o", "csv"}}) {
        const std::string shown = shell.run_on_terminal(words).out;
        EXPECT_NE(shown.find("job_id"), std::string::npos) << shown;
        for (const char* const each : {"\033", "\xc2\x9b", "\xe2\x80\xae"})
            EXPECT_EQ(shown.find(each), std::string::npos) << words[0] << ": " << shown;
        EXPECT_EQ(shell.run(words).out.substr(0, body.size()), body) << "into a pipe as it came";
    }
    says = [&](const std::string&) -> Said {
        return {R"({"error":{"code":"CONFLICT","message":")"
                "\xc2\x9b"
                R"(2J"}})",
                "application/json", "409 Conflict"};
    };
    EXPECT_EQ(shell.run_on_terminal({"balance", "-o", "json"}).out.find("\xc2\x9b"),
              std::string::npos);
    EXPECT_EQ(cli::printable("1 \xe2\x81\xa6USDC\xe2\x81\xa9 \xe2\x80\xad"
                             "9\t"),
              "1 ?USDC? ?9?");
    EXPECT_EQ(cli::printable("caf\xc3\xa9 \xe2\x82\xac\t", "\t"), "caf\xc3\xa9 \xe2\x82\xac\t");
}

// The model is a stranger's program.
TEST_F(Hostile, ATalkThatSendsALineWithoutAnEndIsGivenUp) {
    http::RawUpstream endless([](support::RawSocket& socket) {
        socket.receive_until("\r\n\r\n");
        socket.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ");
        while (socket.try_send(std::string(65'536, 'x'))) {
        }
    });
    shell.environment["BERTH_SERVER"] = "http://127.0.0.1:" + std::to_string(endless.port());
    const Printed said =
        shell.run({"rentals", "chat", rental_id, "hello", "--model", "tiny", "-o", "table"});
    EXPECT_EQ(said.status, 1) << said.err;
    EXPECT_NE(said.err.find("a line without an end"), std::string::npos) << said.err;
}

TEST_F(Hostile, ItsKeysAreKeptWhereverProfilesAre) {
    offer_shell();
    fake("ssh", "exec /usr/bin/ssh -G \"$@\"");
    says = [&](const std::string&) -> Said { return {access}; };
    const std::string home = shell.folder() + "/my \"home\" 100%h";
    shell.environment["BERTH_HOME"] = home;
    const Printed said = shell.run({"rentals", "ssh", rental_id});
    EXPECT_NE(said.out.find("userknownhostsfile " + home + "/known_hosts/" + rental_id + "\n"),
              std::string::npos)
        << said.out << said.err;
    fake("scp", "echo \"$@\"");
    EXPECT_TRUE(shell.run({"rentals", "cp", rental_id, "at 9:00.txt", "a/b:c", ":"})
                    .out.ends_with(" -- ./at 9:00.txt a/b:c renter@203.0.113.7:\n"));
}

using Clumsy = Hostile;

TEST_F(Clumsy, FoldersOfProfilesAreTheirOwnersAlone) {
    const std::string above = shell.folder() + "/new";
    shell.environment["BERTH_HOME"] = above + "/home";
    ASSERT_EQ(shell.run({"profiles", "add", "x", "--server", "https://berth.example"}).status, 0);
    for (const std::string& each : {above, above + "/home", above + "/home/profiles"})
        EXPECT_EQ(fs::status(each).permissions(), fs::perms::owner_all) << each;
    fs::remove_all(above);
    shell.file("new", "a file");
    const Printed said = shell.run({"status", "-o", "table"});
    EXPECT_EQ(said.status, 2);
    EXPECT_NE(said.err.find("cannot be read: Not a directory; BERTH_HOME names another"),
              std::string::npos)
        << said.err;
}

TEST_F(Clumsy, WhatIsNoFileToReadIsRefused) {
    for (const std::string& file : {shell.folder(), shell.folder() + "/none"}) {
        const Printed said = shell.run({"tickets", "create", "--from", file, "-o", "table"});
        EXPECT_EQ(said.status, 2) << said.err;
        EXPECT_NE(said.err.find(file + " cannot be read"), std::string::npos) << said.err;
    }
    const Printed endless = shell.run({"tickets", "create", "--from", "/dev/zero", "-o", "table"});
    EXPECT_EQ(endless.status, 2) << endless.err;
    EXPECT_NE(endless.err.find("larger than 16 MiB"), std::string::npos) << endless.err;
}

TEST_F(Clumsy, ATerminalShowsAgainWhatIsTypedAfterCtrlC) {
    const Printed said =
        shell.run_on_terminal({"agents", "register", "--name", "Scout", "--vendor", "Example"},
                              {{"8 letters or more: ", [] { return "\x03"; }}});
    EXPECT_EQ(said.status, 128 + 2) << said.out;
    EXPECT_TRUE(said.is_echoing);
    EXPECT_FALSE(fs::exists(shell.home() + "/wallets"));
}

}  // namespace
}  // namespace berth::test
