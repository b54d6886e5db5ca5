// What an agent does by commands, good and bad: a real agent, and a server that lies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "agent/card_of_host.hpp"
#include "agent_protocol/commands.hpp"
#include "agent_protocol/hashes.hpp"
#include "agent_protocol/structured.hpp"
#include "http/server.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"
#include "support/town.hpp"
#include "wire/wire.hpp"

namespace berth::test {
namespace {

using namespace agent_protocol;

// Answers as berthd does, hands out what it is given, and remembers what it was told.
class LyingServer final : public http::Handler {
public:
    LyingServer() : server_({}, *this) { server_.start(); }
    ~LyingServer() override { server_.stop(); }

    std::string url() const { return fmt::format("http://127.0.0.1:{}", server_.port()); }

    void give(Command command, const CommandKey& by) {
        by.sign(command);
        give_text(wire::encode(command));
    }
    void give_text(std::string text) {
        const std::lock_guard lock(mutex_);
        commands_.push_back(std::move(text));
    }
    // What it was told under a path, the bodies one after the other.
    std::string told(const std::string& path) {
        const std::lock_guard lock(mutex_);
        std::string all;
        for (const auto& [where, body] : told_)
            if (where.find(path) != std::string::npos) all += body + "\n";
        return all;
    }
    std::string told_of(CommandId id) {
        const std::string all = told("commands/" + to_string(id) + "/ack");
        return all.substr(0, all.find('\n'));
    }

    void handle(http::Request request, http::Reply reply) override {
        const std::string path(request.path());
        const std::lock_guard lock(mutex_);
        told_.emplace_back(path, request.body);
        http::Response response;
        if (path.ends_with("/enroll")) {
            response.status = 201;
            response.body = fmt::format(
                R"({{"machine_id":"{}","fence":"5","server_public_key":"{}",)"
                R"("server_key_id":"{}","heartbeat_s":1}})",
                to_string(machine), key_text(own.public_key()), own.id());
        } else if (path.ends_with("/heartbeat") || path.ends_with("/commands")) {
            std::string list;
            for (const std::string& text : commands_) list += (list.empty() ? "" : ",") + text;
            response.body = fmt::format(
                R"({{"server_time":"{}","fence":"5","commands":[{}],"leases":[],"warnings":[]}})",
                to_rfc3339(SystemClock().now()), list);
        } else if (path.ends_with("/ack")) {
            std::erase_if(commands_, [&](const std::string& text) {
                return path.find(member(text, "command_id")) != std::string::npos;
            });
            response.body = "{}";
        } else {
            response.body = "{}";
            if (path.ends_with("/events") && troubles > 0) {
                --troubles;
                response.status = 503;
            }
        }
        reply(std::move(response));
    }

    int troubles = 0;  // so many events are answered with 503
    SystemRandom random;
    const MachineId machine = MachineId::make(SystemClock().now(), random);
    const CommandKey own{crypto::Ed25519Key{crypto::Secret::make(random)}};

private:
    std::mutex mutex_;
    std::vector<std::string> commands_;
    std::vector<std::pair<std::string, std::string>> told_;
    http::Server server_;
};

class Obedience : public testing::Test {
protected:
    void SetUp() override {
        std::ofstream(folder.path() + "/token") << "bre_x\n";
        const std::uint16_t port = free_port();
        std::vector<std::string> words{"enroll", "--server", server.url(), "--token-file",
                                       folder.path() + "/token", "--runtime", "process", "--ports",
                                       fmt::format("{}-{}", port, port + 4)};
        words.insert(words.end(), card_options.begin(), card_options.end());
        const Outcome enrolled = run_agent(words);
        ASSERT_EQ(enrolled.status, 0) << enrolled.output;
        agent = std::make_unique<Process>(
            std::vector<std::string>{program_path("berth-agent"), "run", "--state", state()},
            folder.path() + "/agent.log");
    }
    std::string state() const { return folder.path() + "/state"; }
    Outcome run_agent(std::vector<std::string> words) const {
        words.insert(words.begin(), program_path("berth-agent"));
        words.insert(words.end(), {"--state", state()});
        return run_program(words);
    }
    Command command(CommandKind kind, const std::string& payload = "{}") {
        Command made;
        made.command_id = CommandId::make(SystemClock().now(), server.random);
        made.kind = kind;
        made.machine_id = server.machine;
        made.fence.value = 5;
        made.issued_at = SystemClock().now();
        made.expires_at = made.issued_at + std::chrono::minutes(5);
        made.payload.text = payload;
        return made;
    }
    std::string answer_to(const Command& command) {
        EXPECT_TRUE(support::eventually([&] { return !server.told_of(command.command_id).empty(); },
                                        {std::chrono::minutes(1), std::chrono::milliseconds(20)}))
            << read_text(folder.path() + "/agent.log");
        return server.told_of(command.command_id);
    }

    TemporaryFolder folder;
    LyingServer server;
    std::unique_ptr<Process> agent;
    std::vector<std::string> card_options{"--simulate-gpu", "RTX 4090"};
};

TEST_F(Obedience, WhatIsNotSignedByTheServerForThisMachineIsNotEvenAnswered) {
    const CommandKey stranger{crypto::Ed25519Key{crypto::Secret::make(server.random)}};
    Command forged = command(CommandKind::rotate_key, R"({"nonce":"n"})");
    server.give(forged, stranger);
    Command named_like_ours = command(CommandKind::rotate_key, R"({"nonce":"n"})");
    stranger.sign(named_like_ours);
    named_like_ours.key_id = server.own.id();
    server.give_text(wire::encode(named_like_ours));
    Command foreign = command(CommandKind::rotate_key, R"({"nonce":"n"})");
    foreign.machine_id = MachineId::make(SystemClock().now(), server.random);
    server.give(foreign, server.own);
    // What comes after them is heard all the same.
    Command expired = command(CommandKind::stop);
    expired.expires_at = expired.issued_at - std::chrono::seconds(1);
    server.give(expired, server.own);
    EXPECT_EQ(member(answer_to(expired), "code"), "COMMAND_EXPIRED");
    for (const Command& bad : {forged, named_like_ours, foreign})
        EXPECT_EQ(server.told_of(bad.command_id), "");
}

TEST_F(Obedience, WhatIsOfThePastOrUnknownIsRefusedByItsCode) {
    Command past = command(CommandKind::clean);
    past.fence.value = 4;
    past.job_id = JobId::make(SystemClock().now(), server.random);
    server.give(past, server.own);
    EXPECT_EQ(member(answer_to(past), "code"), "STALE_FENCE");
    EXPECT_EQ(member(server.told_of(past.command_id), "result"), "rejected");

    // A kind that we do not know, signed as it stands.
    Command known = command(CommandKind::clean);
    server.own.sign(known);
    std::string text = wire::encode(known);
    text.replace(text.find("\"CLEAN\""), 7, "\"DANCE\"");
    const std::size_t signature = text.find(",\"signature\":");
    const std::string unsigned_text = text.substr(0, signature) + "}";
    const crypto::Ed25519Key key{crypto::Secret::make(server.random)};
    // Only the server's own key counts, so it is pinned first.
    Command pin = command(CommandKind::server_key,
                          fmt::format(R"({{"key_id":"{}","public_key":"{}"}})",
                                      key_id(key.public_key()), key_text(key.public_key())));
    server.give(pin, server.own);
    EXPECT_EQ(member(answer_to(pin), "result"), "completed");
    std::string danced = unsigned_text;
    danced.replace(danced.find(server.own.id()), server.own.id().size(),
                   key_id(key.public_key()));
    const std::string signed_text = wire::canonical(danced).value();
    danced.insert(danced.size() - 1,
                  fmt::format(R"(,"signature":"{}")", to_base64(key.sign(signed_text))));
    server.give_text(danced);
    EXPECT_EQ(member(answer_to(known), "code"), "UNKNOWN_COMMAND_KIND");
}

TEST_F(Obedience, AJobThatIsNotHereIsToldAsStoppedUnderTheLeaseOfTheCommand) {
    Command stop = command(CommandKind::stop, R"({"reason":"done","grace_s":10})");
    stop.job_id = JobId::make(SystemClock().now(), server.random);
    stop.lease_seq = wire::Decimal{7};
    server.give(stop, server.own);
    EXPECT_EQ(member(answer_to(stop), "result"), "accepted");
    const std::string told = server.told("jobs/" + to_string(*stop.job_id) + "/events");
    EXPECT_EQ(member(told, "kind"), "STOPPED") << told;
    EXPECT_EQ(member(told, "lease_seq"), "7") << told;
}

TEST_F(Obedience, AStopIsAnsweredOnlyOnceItsEndWasHeard) {
    server.troubles = 1;
    Command stop = command(CommandKind::stop, R"({"reason":"done","grace_s":10})");
    stop.job_id = JobId::make(SystemClock().now(), server.random);
    stop.lease_seq = wire::Decimal{7};
    server.give(stop, server.own);
    EXPECT_EQ(member(answer_to(stop), "result"), "accepted");
    const std::string told = server.told("jobs/" + to_string(*stop.job_id) + "/events");
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2) << told;
}

class WatchedCard : public Obedience {
protected:
    WatchedCard() { card_options.clear(); }
    bool hears(const std::string& words) {
        return support::eventually(
            [&] { return server.told("host-agent/events").find(words) != std::string::npos; },
            {std::chrono::minutes(1), std::chrono::milliseconds(20)});
    }
    CardOfHost card;
};

TEST_F(WatchedCard, TellsOfErrorsAndThatItIsGone) {
    constexpr int ecc = 2;
    constexpr int xid = 8;
    card.report(xid, 79);
    EXPECT_TRUE(hears(R"("pci_address":"0000:01:00.0","code":79)"));
    EXPECT_TRUE(hears("GPU_XID"));
    card.report(ecc, 0);
    EXPECT_TRUE(hears("GPU_ECC"));
    card.fall_off();
    EXPECT_TRUE(hears("GPU_LOST"));
}

TEST_F(Obedience, TheKeyIsExchangedAndKept) {
    const Command rotate = command(CommandKind::rotate_key, R"({"nonce":"fresh"})");
    server.give(rotate, server.own);
    const std::string answer = answer_to(rotate);
    const auto key = parse_key(member(answer, "detail.public_key"));
    ASSERT_TRUE(key) << answer;
    EXPECT_TRUE(key->verify("fresh", from_base64(member(answer, "detail.signature")).value()));
    EXPECT_TRUE(support::eventually([&] {
        const std::string seed = member(read_text(state() + "/identity.json"), "seed");
        return crypto::Ed25519Key{crypto::Secret(from_hex(seed).value())}.public_key() == *key;
    }));
}

TEST_F(Obedience, ADamagedStateIsRefusedWithASentence) {
    EXPECT_TRUE(support::eventually([&] { return !server.told("heartbeat").empty(); }));
    agent->signal(SIGKILL);
    agent->wait();
    for (const char* name : {"/identity.json", "/counters.json"}) {
        const std::string before = read_text(state() + name);
        std::ofstream(state() + name) << before.substr(0, before.size() / 2);
        const Outcome told = run_agent({"run"});
        EXPECT_EQ(told.status, 1) << told.output;
        EXPECT_NE(told.output.find(name), std::string::npos) << told.output;
        std::ofstream(state() + name) << before;
    }
    const std::string job = state() + "/jobs/" + to_string(server.machine.uuid);
    std::filesystem::create_directories(job);
    std::ofstream(job + "/record.json") << "{}";
    const Outcome told = run_agent({"run"});
    EXPECT_EQ(told.status, 1) << told.output;
    EXPECT_NE(told.output.find("record.json is damaged"), std::string::npos) << told.output;
}

TEST(AgentCommandLine, TheDoctorSaysWhatIsMissingAndHowToMendIt) {
    TemporaryFolder folder;
    const auto examine = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {program_path("berth-agent"), "doctor", "--state",
                                     folder.path() + "/state", "--runtime", "process"});
        return run_program(words);
    };
    const Outcome bare = examine({"--server", "http://127.0.0.1:1"});
    EXPECT_EQ(bare.status, 1);
    for (const char* words :
         {"BAD  0 GPUs\n     Install the GPU's driver", "BAD  the runtime process",
          "There is no engine to start", "BAD  the server http://127.0.0.1:1"})
        EXPECT_NE(bare.output.find(words), std::string::npos) << words << "\n" << bare.output;
    const CardOfHost card;
    std::ofstream(folder.path() + "/engines")
        << R"({"engines":[{"name":"vllm","program":"/bin/true","arguments":[]}]})";
    const Outcome equipped =
        examine({"--public-host", "gpu1.example", "--engines", folder.path() + "/engines"});
    for (const char* words : {"ok   1 GPUs", "ok   0000:01:00.0 NVIDIA GeForce RTX 4090",
                              "ok   the runtime process",
                              "ok   jobs are reached under gpu1.example"})
        EXPECT_NE(equipped.output.find(words), std::string::npos) << words << equipped.output;
    std::ofstream(folder.path() + "/engines")
        << R"({"engines":[{"name":"vllm","program":"/no/such","arguments":[]}]})";
    const Outcome broken = examine({"--engines", folder.path() + "/engines"});
    EXPECT_EQ(broken.status, 2);
    EXPECT_NE(broken.output.find("must be the full path"), std::string::npos) << broken.output;
}

TEST(AgentCommandLine, WantsHttpsAndATokenThatIsNoArgument) {
    TemporaryFolder folder;
    const auto enroll = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {program_path("berth-agent"), "enroll", "--state",
                                     folder.path() + "/state", "--token-file", "/dev/null"});
        return run_program(words);
    };
    const Outcome plain = enroll({"--server", "http://berth.example"});
    EXPECT_EQ(plain.status, 2);
    EXPECT_NE(plain.output.find("is not an https address"), std::string::npos) << plain.output;
    const Outcome bare = enroll({"--server", "https://berth.example"});
    EXPECT_EQ(bare.status, 2);
    EXPECT_NE(bare.output.find("has no token"), std::string::npos) << bare.output;
    EXPECT_NE(enroll({"--server", "https://berth.example", "--token", "bre_x"}).status, 0);
    const Outcome unknown = run_program({program_path("berth-agent"), "run", "--state",
                                         folder.path() + "/state"});
    EXPECT_EQ(unknown.status, 2);
    EXPECT_NE(unknown.output.find("enrol it first"), std::string::npos) << unknown.output;
}

}  // namespace
}  // namespace berth::test
