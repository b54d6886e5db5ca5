// A whole rental from the command line: the real service on a port, a machine whose agent does what
// the test says, and an engine behind the relay.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>

#include "catalog/catalog.hpp"
#include "cli/renting.hpp"
#include "crypto/hash.hpp"

namespace berth::test {
namespace {

std::string unpadded(std::string base64) {
    while (base64.ends_with('=')) base64.pop_back();
    return base64;
}

TEST_F(RentingByCommand, ShowsTheMostItCanCostAndAsks) {
    const Printed dry = shell.run(create({"--dry-run", "-o", "table"}));
    EXPECT_EQ(dry.status, 0) << dry.err;
    EXPECT_EQ(dry.out,
              "price     3.6000 USDC/h\n"
              "at most   1.0000 USDC (1.0000 for 1h)\n"
              "of which  10.00 % is the fee: 0.1000 to the service, 0.9000 to the host\n");
    EXPECT_EQ(shell.run(create({})).status, 2) << "nobody can be asked";
    const Printed refused =
        shell.run_on_terminal(create({}), {{"reserve it? [y/N]: ", [] { return "n"; }}});
    EXPECT_EQ(refused.status, 2) << refused.out;
    EXPECT_NE(refused.out.find("at most   1.0000 USDC"), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("nothing was reserved"), std::string::npos) << refused.out;
    EXPECT_EQ(rentals(), "");
    const Printed agreed =
        shell.run_on_terminal(create({}), {{"reserve it? [y/N]: ", [] { return "y"; }}});
    EXPECT_EQ(agreed.status, 0) << agreed.out;
    EXPECT_EQ(rentals().size(), 37U);
}

TEST_F(RentingByCommand, IsDoneOnceHoweverOftenItIsRepeated) {
    const std::string key = "0191e7a0-0000-7000-8000-000000000002";
    const Printed first = shell.run(create({"--yes", "--idempotency-key", key}));
    ASSERT_EQ(first.status, 0) << first.err;
    EXPECT_EQ(first.err, "");
    EXPECT_EQ(shell.run(create({"--yes", "--idempotency-key", key})).out, first.out);
    EXPECT_EQ(rentals(), member(first.out, "job_id") + "\n");
    const Printed other = shell.run(create({"--yes", "-o", "table"}));
    EXPECT_EQ(other.status, 5);
    EXPECT_NE(other.err.find("--idempotency-key"), std::string::npos) << "it says how to repeat";
    const Printed piped = shell.run(create({"--yes"}));
    EXPECT_EQ(piped.status, 5);
    EXPECT_TRUE(piped.err.starts_with(R"({"error":{"code":"CONFLICT",)")) << piped.err;
    EXPECT_EQ(std::count(piped.err.begin(), piped.err.end(), '\n'), 1) << "nothing else";
    const Printed asked = shell.run_on_terminal(create({"--yes", "-o", "json"}));
    EXPECT_NE(asked.out.find("--idempotency-key"), std::string::npos) << "a person reads both";
}

// What it says may have cost the renter time: the relay asks that nobody sends it again.
TEST_F(RentingByCommand, AsksAModelOnceAndSaysWhatBrokeOff) {
    std::atomic<int> asked = 0;
    http::RawUpstream broken([&](RawSocket& socket) {
        const std::string head = socket.receive_until("\r\n\r\n");
        if (head.starts_with("GET"))
            return socket.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
                R"({"object":"list","data":[{"id":"tiny"}]})");
        if (!head.starts_with("POST")) return;
        ++asked;
        if (head.find("chat/completions") == head.npos) return;
        socket.receive_until("}]}");
        socket.send(events_head +
                    chunk("data: {\"choices\":[{\"delta\":{\"content\":\"Good\"}}]}\n\n"));
    });
    const JobId job = rented();
    accept(job);
    ASSERT_EQ(tell(job, agent_protocol::JobEventKind::ready, ready_with(broken.port())), "RUNNING");
    const Printed lost = shell.run({"rentals", "complete", "--from", "-"}, R"({"prompt":"hello"})");
    EXPECT_EQ(lost.status, 7) << lost.err;
    EXPECT_EQ(asked, 1);

    const Printed cut = shell.run({"rentals", "chat", "hello"});
    EXPECT_EQ(cut.status, 7) << cut.err;
    EXPECT_NE(cut.out.find("Good"), std::string::npos) << cut.out;
    EXPECT_EQ(cut.out.find("error"), std::string::npos) << cut.out;
    EXPECT_TRUE(cut.err.starts_with(R"({"error":{"code":"UNAVAILABLE",)")) << cut.err;
    EXPECT_EQ(std::count(cut.err.begin(), cut.err.end(), '\n'), 1) << cut.err;
    const Printed shown = shell.run({"rentals", "chat", "hello", "-o", "table"});
    EXPECT_EQ(shown.status, 7) << shown.err;
    EXPECT_EQ(shown.out, "Good\n");
    EXPECT_EQ(asked, 3);
}

TEST_F(RentingByCommand, SaysThatNothingWasReservedWhenTheQuoteRanOut) {
    const std::string key = "0191e7a0-0000-7000-8000-000000000003";
    ASSERT_EQ(
        shell
            .run({"quotes", "create", "--offer-id", to_string(machine.offer_id), "--template-id",
                  model, "--duration-limit", "1h", "--budget", "1", "--idempotency-key", key})
            .status,
        0);
    town.harness.clock.advance(std::chrono::minutes(2));
    hear(town.harness, machine.machine_id);
    const Printed late = shell.run(create({"--yes", "--idempotency-key", key, "-o", "table"}));
    EXPECT_EQ(late.status, 5) << late.err;
    EXPECT_NE(late.err.find("nothing was reserved"), std::string::npos) << late.err;
    EXPECT_EQ(rentals(), "");
}

TEST_F(RentingByCommand, GoesFromTheReservationToACheckedReceipt) {
    const JobId job = rented();
    accept(job);
    EXPECT_EQ(shell.run({"rentals", "wait", "--timeout", "0"}).status, 124);
    ASSERT_EQ(tell(job, agent_protocol::JobEventKind::ready, ready_with(talkative.port())),
              "RUNNING");
    const Printed running = shell.run({"rentals", "wait", "--for", "running"});
    EXPECT_EQ(running.status, 0) << running.err;
    EXPECT_EQ(member(running.out, "state"), "RUNNING");

    const Printed said = shell.run({"rentals", "chat", "hello", "-o", "table"});
    EXPECT_EQ(said.status, 0) << said.err;
    EXPECT_EQ(said.out, "Good day\n");
    const Printed talk =
        shell.run_on_terminal({"rentals", "chat"}, {{"you: ", [] { return "hello"; }},
                                                    {"Good day", [] { return "again"; }},
                                                    {"Good day", [] { return ""; }}});
    EXPECT_EQ(talk.status, 0) << talk.out;

    tell(job, agent_protocol::JobEventKind::usage,
         R"({"container_id":"c1","boot_id":"boot-1","runtime_ms":"1",)"
         R"("log_tail":"loading\nserving on port 8000"})");
    const Printed logs = shell.run({"rentals", "logs"});
    EXPECT_EQ(logs.status, 0) << logs.err;
    EXPECT_EQ(member(logs.out, "log_tail"), "loading\nserving on port 8000") << logs.out;
    const Printed read = shell.run_on_terminal({"rentals", "logs"});
    EXPECT_NE(read.out.find("loading\r\n          serving on port 8000\r\n"), std::string::npos)
        << read.out;

    const Printed raised = shell.run({"rentals", "budget", "--add", "0.5"});
    EXPECT_EQ(raised.status, 0) << raised.err;
    EXPECT_EQ(member(raised.out, "budget_micro"), "1500000") << raised.out;
    EXPECT_EQ(shell.run({"rentals", "stop"}).status, 0);
    end(job);
    const Printed over = shell.run({"rentals", "wait", "--for", "running"});
    EXPECT_EQ(over.status, 9) << over.err;

    const Printed receipt = shell.run({"rentals", "receipt", "--signed"});
    ASSERT_EQ(receipt.status, 0) << receipt.err;
    const std::string file = shell.file("receipt.json", receipt.out);
    const std::string keys = shell.file("keys.json", shell.run({"keys", "published"}).out);
    const Printed good = shell.run({"verify", "receipt", file, "--keys", keys});
    EXPECT_EQ(good.status, 0) << good.out << good.err;
    std::string forged = receipt.out;
    forged.replace(forged.find("\"charge_micro\":\"") + 16, 1, "9");
    EXPECT_EQ(shell.run({"verify", "receipt", shell.file("forged.json", forged)}).status, 1);
    const Printed table = shell.run_on_terminal({"rentals", "receipt"});
    EXPECT_NE(table.out.find("\ncharge "), std::string::npos) << table.out;
    EXPECT_NE(table.out.find(" USDC"), std::string::npos) << table.out;
}

TEST_F(RentingByCommand, EndsAWaitAtOnceWhenTheRentalFails) {
    const JobId job = rented();
    accept(job);
    tell(job, agent_protocol::JobEventKind::exited,
         R"({"container_id":"c1","exit_code":1,"oom_killed":false,"failure_code":"DISK_FULL"})");
    const Printed waited = shell.run({"rentals", "wait", "--for", "running", "--timeout", "10m"});
    EXPECT_EQ(waited.status, 9) << waited.err;
}

TEST_F(RentingByCommand, FindsOffersAndTheirMachines) {
    town.harness.app->catalog().refresh(database(), now());
    const Printed offers = shell.run_on_terminal({"offers", "list"});
    EXPECT_EQ(offers.status, 0);
    EXPECT_NE(offers.out.find(to_string(machine.offer_id)), std::string::npos) << offers.out;
    EXPECT_NE(offers.out.find("3.6000 USDC/h"), std::string::npos) << offers.out;
    EXPECT_NE(offers.out.find("24 GB"), std::string::npos) << offers.out;
    shell.environment["BERTH_API_KEY"] = ada.key;
    const std::string id = to_string(machine.machine_id);
    EXPECT_EQ(shell.run({"machines", "list", "-o", "ids"}).out, id + "\n");
    EXPECT_EQ(shell.run({"machines", "doctor", id}).status, 0);
    const Printed edited =
        shell.run({"offers", "edit", id, "--rate", "0.45", "--included-disk-gib", "100",
                   "--included-egress-gib", "1000", "--available-from", to_rfc3339(now()),
                   "--available-until", to_rfc3339(now() + hours(100))});
    EXPECT_EQ(edited.status, 0) << edited.err;
    EXPECT_EQ(member(edited.out, "rate_micro_per_hour"), "450000") << edited.out;
    EXPECT_EQ(shell.run({"machines", "unlist", id}).status, 0);
    const Printed off = shell.run({"machines", "doctor", id});
    EXPECT_EQ(off.status, 1);
    EXPECT_NE(off.out.find("list-for-rent"), std::string::npos) << off.out;
    town.harness.clock.advance(hours(200));
    const Printed stale = shell.run({"machines", "doctor", id});
    for (const std::string& words :
         {std::string("HEARTBEAT_STALE"), std::string("berth-agent status"),
          std::string("OFFER_EXPIRED"), "berth offers edit " + id})
        EXPECT_NE(stale.out.find(words), std::string::npos) << words << stale.out;
    town.harness.set("operations.custom_images_enabled", "true");
    for (const std::string wish : {"true", "false"}) {
        const Printed set = shell.run({"machines", "custom-images", id, "--accept=" + wish});
        EXPECT_EQ(set.status, 0) << set.err;
        EXPECT_EQ(member(set.out, "accepts_custom_images"), wish) << set.out;
    }
}

TEST_F(RentingByCommand, OpensAShellOnlyOnTheMachineThatTheServiceKnows) {
    // The fingerprint of the four bytes "key!", as sshd would tell it.
    const std::string fingerprint = "SHA256:" + unpadded(to_base64(crypto::sha256("key!")));
    const JobId job = rent(ben, machine);
    accept(job);
    ASSERT_EQ(tell(job, agent_protocol::JobEventKind::ready,
                   fmt::format(R"({{"container_id":"c1","boot_id":"boot-1","endpoints":[{}],)"
                               R"("ssh_host_key_fingerprint":"{}"}})",
                               promised_endpoints(job), fingerprint)),
              "RUNNING");
    const auto fake = [&](const std::string& name, const std::string& script) {
        const std::string path = shell.file(name, "#!/bin/sh\n" + script + "\n");
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    };
    shell.environment["PATH"] = shell.folder() + ":" + shell.environment["PATH"];
    fake("ssh", "echo ssh \"$@\"");
    const std::string id = to_string(job);
    fake("ssh-keyscan",
         "echo '# a comment'; echo \"[$5]:$4 ssh-ed25519 " + to_base64("another") + "\"");
    const Printed stranger = shell.run({"rentals", "ssh", id});
    EXPECT_EQ(stranger.status, 8) << stranger.out << stranger.err;
    EXPECT_EQ(stranger.out, "");

    fake("ssh-keyscan", "echo \"[$5]:$4 ssh-ed25519 " + to_base64("key!") + "\"");
    const Printed entered = shell.run({"rentals", "ssh", id});
    EXPECT_EQ(entered.status, 0) << entered.err;
    const std::string known = shell.home() + "/known_hosts/" + id;
    const std::string options =
        "-o StrictHostKeyChecking=yes -o ForwardAgent=no -o ForwardX11=no -o ControlMaster=no "
        "-o ControlPath=none -o UserKnownHostsFile=" +
        known;
    EXPECT_EQ(entered.out, "ssh -p 40022 " + options + " -l renter 203.0.113.7\n");
    EXPECT_EQ(read_text(known), "[203.0.113.7]:40022 ssh-ed25519 a2V5IQ==\n");

    fake("scp", "echo scp \"$@\"");
    EXPECT_EQ(shell.run({"rentals", "cp", id, ":out/a.csv", "here"}).out,
              "scp -P 40022 " + options + " -r -- renter@203.0.113.7:out/a.csv here\n");
    EXPECT_EQ(shell.run({"rentals", "cp", id, "one", "two"}).status, 2) << "nothing is remote";
    EXPECT_EQ(shell.run({"rentals", "forward", id, "8888", "9000:80"}).out,
              "ssh -p 40022 " + options +
                  " -N -o ExitOnForwardFailure=yes -L 127.0.0.1:8888:localhost:8888 "
                  "-L 127.0.0.1:9000:localhost:80 -l renter 203.0.113.7\n");
    for (const char* const bad : {"0", "65536", "here", "1:2:3"})
        EXPECT_EQ(shell.run({"rentals", "forward", id, bad}).status, 2) << bad;

    std::filesystem::remove_all(shell.home() + "/known_hosts");
    std::ofstream(shell.home() + "/known_hosts") << "no folder";
    const Printed unwritten = shell.run({"rentals", "ssh", id, "-o", "table"});
    EXPECT_EQ(unwritten.status, 1);
    EXPECT_NE(unwritten.err.find("cannot be written: Not a directory"), std::string::npos)
        << unwritten.err;
}

TEST_F(RentingByCommand, ProvesToARenterThatItsBalanceIsInTheTotal) {
    town.harness.clock.advance(std::chrono::hours(1));
    town.run_tasks();
    const Printed proof = shell.run({"liabilities", "proof"});
    ASSERT_EQ(proof.status, 0) << proof.err;
    EXPECT_EQ(member(proof.out, "balance_micro"), "10000000") << proof.out;
    const Printed good =
        shell.run({"verify", "liabilities", shell.file("proof.json", proof.out), "-o", "table"});
    EXPECT_EQ(good.status, 0) << good.out << good.err;
    EXPECT_TRUE(good.out.starts_with("ok  ")) << good.out;
    std::string less = proof.out;
    less.replace(less.find("\"10000000\""), 10, "\"10000001\"");
    EXPECT_EQ(shell.run({"verify", "liabilities", shell.file("less.json", less)}).status, 1);
    EXPECT_EQ(shell.run({"verify", "liabilities", shell.file("none.json", "{}")}).status, 6);
}

}  // namespace
}  // namespace berth::test
