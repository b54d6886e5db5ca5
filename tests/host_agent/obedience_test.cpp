// What an agent does by commands, good and bad: a real agent, and a server that lies.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "agent_protocol/commands.hpp"
#include "agent_protocol/hashes.hpp"
#include "agent_protocol/structured.hpp"
#include "host_agent/card_of_host.hpp"
#include "http/server.hpp"
#include "support/eventually.hpp"
#include "support/folder.hpp"
#include "support/host_agent_double.hpp"
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
            response.body =
                fmt::format(R"({{"machine_id":"{}","fence":"5","server_public_key":"{}",)"
                            R"("server_key_id":"{}","heartbeat_s":1}})",
                            to_string(machine), key_text(own.public_key()), own.id());
        } else if (path.ends_with("/heartbeat") || path.ends_with("/commands")) {
            std::string list;
            for (const std::string& text : commands_) list += (list.empty() ? "" : ",") + text;
            response.body =
                fmt::format(R"({{"server_time":"{}","fence":"5","commands":[{}],"leases":[],)"
                            R"("warnings":["the weather"]}})",
                            to_rfc3339(SystemClock().now()), list);
            if (path.ends_with("/heartbeat") && strangers > 0) {
                --strangers;
                response.status = 401;
            }
        } else if (path.ends_with("/ack") && forgets_answers) {
            response.status = 503;
        } else if (path.ends_with("/ack")) {
            std::erase_if(commands_, [&](const std::string& text) {
                return path.find(member(text, "command_id")) != std::string::npos;
            });
            response.body = "{}";
        } else if (path.ends_with("/manifest")) {
            if (manifest_troubles > 0) {
                --manifest_troubles;
                response.status = 503;
            }
        } else if (path.ends_with("/leave")) {
            response.status = strangers > 0 ? 401 : 204;
            if (strangers > 0) --strangers;
        } else {
            response.body = wire::encode(JobEventTaken{JobId{}, "RUNNING", {5}, std::nullopt});
            const bool is_refused =
                !refused_words.empty() && request.body.find(refused_words) != std::string::npos;
            if (path.find("/jobs/") != path.npos && path.ends_with("/events") &&
                (troubles > 0 || is_refused)) {
                if (troubles > 0) --troubles;
                response.status = 503;
            }
        }
        reply(std::move(response));
    }

    void refuse(const std::string& words) {
        const std::lock_guard lock(mutex_);
        refused_words = words;
    }

    std::atomic<int> troubles = 0;           // so many events are answered with 503
    std::atomic<int> manifest_troubles = 0;  // and so many manifests
    std::atomic<int> strangers = 0;          // so many heartbeats, or leaves, with 401
    std::atomic<bool> forgets_answers = false;
    std::string refused_words;  // events with these are answered with 503
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
        std::vector<std::string> words{"enroll",
                                       "--server",
                                       server.url(),
                                       "--token-file",
                                       folder.path() + "/token",
                                       "--runtime",
                                       "process",
                                       "--ports",
                                       fmt::format("{}-{}", port, port + 4)};
        words.insert(words.end(), card_options.begin(), card_options.end());
        const Outcome enrolled = run_agent(words);
        ASSERT_EQ(enrolled.status, 0) << enrolled.output;
        start_agent();
    }
    void TearDown() override {
        if (agent) kill_agent();
        for (const auto& job : std::filesystem::directory_iterator(state() + "/jobs")) {
            const std::string pid = member(read_text(job.path() / "process.json"), "pid");
            if (!pid.empty()) ::kill(std::stoi(pid), SIGKILL);
        }
    }
    void start_agent() {
        agent = std::make_unique<Process>(
            std::vector<std::string>{program_path("berth-agent"), "run", "--state", state()},
            folder.path() + "/agent.log");
    }
    void kill_agent() {
        agent->signal(SIGKILL);
        agent->wait();
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
                                        {.look_every = std::chrono::milliseconds(20)}))
            << read_text(folder.path() + "/agent.log");
        return server.told_of(command.command_id);
    }

    // A model for the toy engine.
    Command start(JobId job) { return start(start_of_model(job)); }
    Command start(const StartPayload& payload) {
        return about(payload.job_id, CommandKind::start, wire::encode(payload));
    }
    Command about(JobId job, CommandKind kind, const std::string& payload = "{}") {
        Command made = command(kind, payload);
        made.job_id = job;
        made.lease_seq = wire::Decimal{1};
        return made;
    }
    JobId new_job() { return JobId::make(SystemClock().now(), server.random); }
    std::string events_of(JobId job) { return server.told("jobs/" + to_string(job) + "/events"); }
    bool hears_of(JobId job, const std::string& words, std::size_t times = 1) {
        return soon([&] {
            const std::string all = events_of(job);
            std::size_t count = 0;
            for (std::size_t at = 0; (at = all.find(words, at)) != all.npos; ++at) ++count;
            return count >= times;
        });
    }
    std::string phase_of(JobId job) const {
        return member(read_text(state() + "/jobs/" + to_string(job) + "/record.json"), "phase");
    }
    std::string own(const std::string& name) const {
        return member(read_text(state() + "/identity.json"), name);
    }
    template <class Predicate>
    [[nodiscard]] bool soon(const Predicate& predicate) {
        return support::eventually(predicate, {.look_every = std::chrono::milliseconds(20)});
    }
    std::string agent_log() const { return read_text(folder.path() + "/agent.log"); }

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
    danced.replace(danced.find(server.own.id()), server.own.id().size(), key_id(key.public_key()));
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

// ---- Jobs that cannot be taken on, or taken up

TEST_F(Obedience, AStartThatCannotBeUnderstoodIsRefusedAndLeavesNothing) {
    const JobId job = new_job();
    Command strange = start(job);
    strange.payload.text.replace(strange.payload.text.find(R"("model")"), 7, R"("quantum")");
    server.give(strange, server.own);
    EXPECT_EQ(member(answer_to(strange), "result"), "rejected");
    EXPECT_FALSE(std::filesystem::exists(state() + "/jobs/" + to_string(job)));
    kill_agent();
    start_agent();
    const Command rotate = command(CommandKind::rotate_key, R"({"nonce":"n"})");
    server.give(rotate, server.own);
    EXPECT_EQ(member(answer_to(rotate), "result"), "completed");
}

TEST_F(Obedience, AStartUnderAnotherLaunchProfileThanTheMandatoryOneIsRefused) {
    const auto answer = [&](const auto& change) {
        StartPayload payload = start_of_model(new_job());
        change(payload.profile);
        const Command order = start(payload);
        server.give(order, server.own);
        const std::string told = answer_to(order);
        EXPECT_FALSE(std::filesystem::exists(state() + "/jobs/" + to_string(payload.job_id)));
        return member(told, "result") + " " + member(told, "code");
    };
    const std::string refused = "rejected HOST_REJECTED";
    EXPECT_EQ(answer([](LaunchProfile& profile) { profile.privileged = true; }), refused);
    EXPECT_EQ(answer([](LaunchProfile& profile) { profile.uid.value = 0; }), refused);
    EXPECT_EQ(answer([](LaunchProfile& profile) { profile.capabilities = {"SYS_ADMIN"}; }),
              refused);
    EXPECT_EQ(answer([](LaunchProfile& profile) { profile.writable.push_back("/cache"); }),
              refused);
    const JobId job = new_job();
    server.give(start(job), server.own);
    EXPECT_TRUE(soon([&] { return phase_of(job) == "RUNNING"; })) << agent_log();
}

TEST_F(Obedience, AJobOnDiskThatCannotBeUnderstoodIsToldAndCleanedAndStopsNothingElse) {
    const JobId job = new_job();
    server.give(start(job), server.own);
    ASSERT_TRUE(soon([&] { return phase_of(job) == "RUNNING"; })) << agent_log();
    kill_agent();
    const std::string file = state() + "/jobs/" + to_string(job) + "/record.json";
    std::string record = read_text(file);
    record.replace(record.find(R"("model")"), 7, R"("quantum")");
    std::ofstream(file) << record;
    const auto keeper =
        std::stoi(member(read_text(state() + "/jobs/" + to_string(job) + "/process.json"), "pid"));
    start_agent();
    EXPECT_TRUE(hears_of(job, "EXITED")) << agent_log();
    EXPECT_TRUE(hears_of(job, "STOPPED"));
    EXPECT_TRUE(soon([&] { return ::kill(keeper, 0) != 0; }));
    server.give(about(job, CommandKind::clean), server.own);
    EXPECT_TRUE(hears_of(job, "CLEANED")) << agent_log();
    EXPECT_TRUE(soon([&] { return !std::filesystem::exists(file); })) << agent_log();
}

TEST_F(Obedience, AStartWhileTheLastJobIsLeavingWaitsForIt) {
    const JobId job = new_job();
    server.give(start(job), server.own);
    ASSERT_TRUE(soon([&] { return phase_of(job) == "RUNNING"; })) << agent_log();
    // The server has CLEANED; that the agent hears so takes a while.
    server.refuse("CLEANED");
    server.give(about(job, CommandKind::clean), server.own);
    ASSERT_TRUE(hears_of(job, "CLEANED")) << agent_log();
    const JobId next = new_job();
    const Command follows = start(next);
    server.give(follows, server.own);
    ASSERT_TRUE(hears_of(job, "CLEANED", 3)) << agent_log();
    EXPECT_EQ(server.told_of(follows.command_id), "");
    server.refuse("");
    EXPECT_EQ(member(answer_to(follows), "result"), "accepted") << agent_log();
    // Not so while there is one that stays.
    ASSERT_TRUE(soon([&] { return phase_of(next) == "RUNNING"; })) << agent_log();
    const Command third = start(new_job());
    server.give(third, server.own);
    EXPECT_EQ(member(answer_to(third), "code"), "HOST_REJECTED");
}

// ---- A full disk

TEST_F(Obedience, WhatFindsNoRoomOnTheDiskKeepsNothingElseBack) {
    const JobId job = new_job();
    server.give(start(job), server.own);
    ASSERT_TRUE(soon([&] { return phase_of(job) == "RUNNING"; })) << agent_log();
    std::filesystem::create_directory(state() + "/counters.json.new");
    Command budget = about(job, CommandKind::budget,
                           R"({"budget_version":"2","budget_micro":"5","funded_through":null})");
    budget.lease_seq = wire::Decimal{2};
    server.give(budget, server.own);
    const Command rotate = command(CommandKind::rotate_key, R"({"nonce":"n"})");
    server.give(rotate, server.own);
    EXPECT_EQ(member(answer_to(rotate), "result"), "completed");
    EXPECT_EQ(server.told_of(budget.command_id), "");
    // What ends needs no room.
    Command stop = about(job, CommandKind::stop, R"({"reason":"done","grace_s":10})");
    stop.lease_seq = wire::Decimal{3};
    server.give(stop, server.own);
    EXPECT_EQ(member(answer_to(stop), "result"), "accepted");
    Command clean = about(job, CommandKind::clean);
    clean.lease_seq = wire::Decimal{3};
    server.give(clean, server.own);
    EXPECT_TRUE(hears_of(job, "CLEANED")) << agent_log();
    ASSERT_TRUE(soon([&] { return phase_of(job).empty(); })) << agent_log();
    const Command other = start(new_job());
    server.give(other, server.own);
    EXPECT_EQ(member(answer_to(other), "code"), "DISK_FULL");
    EXPECT_FALSE(std::filesystem::exists(state() + "/jobs/" + to_string(*other.job_id)));
    // With room again it is obeyed.
    std::filesystem::remove(state() + "/counters.json.new");
    EXPECT_NE(answer_to(budget), "");
}

// ---- What is told until it is heard

TEST_F(Obedience, AManifestIsToldUntilItIsTakenAndWarningsAreShown) {
    kill_agent();
    const auto told = [&] {
        const std::string all = server.told("/manifest");
        return std::count(all.begin(), all.end(), '\n');
    };
    const auto before = told();
    server.manifest_troubles = 2;
    start_agent();
    EXPECT_TRUE(soon([&] { return told() >= before + 3; })) << agent_log();
    EXPECT_TRUE(soon([&] {
        return run_agent({"status"}).output.find("warning the weather") != std::string::npos;
    }));
}

class HungToy : public Obedience {
protected:
    // The engine, as the innermost of what the keeper started.
    pid_t engine_of(JobId job) const {
        std::string pid =
            member(read_text(state() + "/jobs/" + to_string(job) + "/process.json"), "pid");
        for (;;) {
            const std::string below = read_text(fmt::format("/proc/{}/task/{}/children", pid, pid));
            if (below.empty()) return std::stoi(pid);
            pid = below.substr(0, below.find(' '));
        }
    }
};

TEST_F(HungToy, IsToldSoonAfterTheServerCanHearIt) {
    const JobId job = new_job();
    server.give(start(job), server.own);
    ASSERT_TRUE(soon([&] { return phase_of(job) == "RUNNING"; })) << agent_log();
    const std::string down = R"("engine":"down")";
    server.refuse(down);
    ::kill(engine_of(job), SIGSTOP);
    ASSERT_TRUE(hears_of(job, down)) << agent_log();
    // Long before the next report of usage, which is every minute.
    const auto since = std::chrono::steady_clock::now();
    EXPECT_TRUE(hears_of(job, down, 4)) << agent_log();
    EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds(40));
    server.refuse("");
    EXPECT_TRUE(hears_of(job, down, 5)) << agent_log();
}

class WatchedCard : public Obedience {
protected:
    WatchedCard() { card_options.clear(); }
    bool hears(const std::string& words) {
        return support::eventually(
            [&] { return server.told("host-agent/events").find(words) != std::string::npos; },
            {.look_every = std::chrono::milliseconds(20)});
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
    card.come_back();
    EXPECT_TRUE(hears("answers again"));
}

// What the agent before it said is not known to one that starts.
TEST_F(WatchedCard, SaysAtItsStartThatItIsThere) { EXPECT_TRUE(hears("GPU_BACK")); }

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

// It was refused for another reason than its key, while a new one is under way.
TEST_F(Obedience, NoKeyIsThrownAwayBeforeTheOtherWasAnswered) {
    kill_agent();
    const std::string before = own("seed");
    const std::string next(64, 'b');
    std::string identity = read_text(state() + "/identity.json");
    identity.insert(1, fmt::format(R"("next_seed":"{}",)", next));
    std::ofstream(state() + "/identity.json") << identity;
    server.strangers = 2;
    const std::string known = server.told("heartbeat");
    start_agent();
    EXPECT_TRUE(soon([&] {
        const std::string all = server.told("heartbeat").substr(known.size());
        return std::count(all.begin(), all.end(), '\n') >= 4;
    })) << agent_log();
    EXPECT_EQ(own("seed"), before);
    EXPECT_EQ(own("next_seed"), next);
    // One that is answered is the only one.
    kill_agent();
    server.strangers = 1;
    start_agent();
    EXPECT_TRUE(soon([&] { return own("seed") == next && own("old_seed").empty(); }))
        << agent_log();
    EXPECT_EQ(own("next_seed"), "");
}

TEST_F(Obedience, ToLeaveBothKeysAreTried) {
    kill_agent();
    std::string identity = read_text(state() + "/identity.json");
    identity.insert(1, fmt::format(R"("next_seed":"{}",)", std::string(64, 'b')));
    std::ofstream(state() + "/identity.json") << identity;
    server.strangers = 1;
    const Outcome left = run_agent({"leave"});
    EXPECT_EQ(left.status, 0) << left.output;
    EXPECT_EQ(left.output, "left: the machine's key is dead\n");
}

TEST_F(Obedience, TheServersNextKeyIsOnDiskBeforeItIsAcknowledgedAndEndsTheOldOne) {
    const CommandKey fresh{crypto::Ed25519Key{crypto::Secret::make(server.random)}};
    server.forgets_answers = true;  // each is lost on its way to the server
    const Command pin =
        command(CommandKind::server_key, fmt::format(R"({{"key_id":"{}","public_key":"{}"}})",
                                                     fresh.id(), key_text(fresh.public_key())));
    server.give(pin, server.own);
    EXPECT_EQ(member(answer_to(pin), "result"), "completed");
    EXPECT_EQ(own("next_server_key_id"), fresh.id());
    EXPECT_EQ(own("server_key_id"), server.own.id());
    // The server may have gone over to it or not; killed in between the agent obeys either.
    kill_agent();
    start_agent();
    server.forgets_answers = false;
    const Command by_old = command(CommandKind::rotate_key, R"({"nonce":"a"})");
    server.give(by_old, server.own);
    EXPECT_EQ(member(answer_to(by_old), "result"), "completed");
    const Command by_new = command(CommandKind::rotate_key, R"({"nonce":"b"})");
    server.give(by_new, fresh);
    EXPECT_EQ(member(answer_to(by_new), "result"), "completed");
    EXPECT_TRUE(soon([&] { return own("server_key_id") == fresh.id(); }));
    EXPECT_EQ(own("next_server_key_id"), "");
    const Command late = command(CommandKind::rotate_key, R"({"nonce":"c"})");
    server.give(late, server.own);
    const Command last = command(CommandKind::rotate_key, R"({"nonce":"d"})");
    server.give(last, fresh);
    EXPECT_EQ(member(answer_to(last), "result"), "completed");
    EXPECT_EQ(server.told_of(late.command_id), "");
}

TEST_F(Obedience, ADamagedStateIsRefusedWithASentence) {
    EXPECT_TRUE(support::eventually([&] { return !server.told("heartbeat").empty(); }));
    kill_agent();
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

}  // namespace
}  // namespace berth::test
