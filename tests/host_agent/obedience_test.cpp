// What an agent does by commands, good and bad: a real agent, and a server that lies.
#include "host_agent/card_of_host.hpp"
#include "host_agent/lying_server.hpp"

namespace berth::test {
namespace {

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

TEST_F(Obedience, AStartUnderAnotherLaunchProfileOrWithALoadersVariableIsRefused) {
    const auto answer = [&](const auto& change) {
        StartPayload payload = start_of_model(new_job());
        change(payload);
        const Command order = start(payload);
        server.give(order, server.own);
        const std::string told = answer_to(order);
        EXPECT_FALSE(std::filesystem::exists(state() + "/jobs/" + to_string(payload.job_id)));
        return member(told, "result") + " " + member(told, "code");
    };
    const std::string refused = "rejected HOST_REJECTED";
    EXPECT_EQ(answer([](StartPayload& order) { order.profile.privileged = true; }), refused);
    EXPECT_EQ(answer([](StartPayload& order) { order.profile.uid.value = 0; }), refused);
    EXPECT_EQ(answer([](StartPayload& order) { order.profile.capabilities = {"SYS_ADMIN"}; }),
              refused);
    EXPECT_EQ(answer([](StartPayload& order) { order.profile.writable.push_back("/cache"); }),
              refused);
    for (const char* name : {"LD_PRELOAD", "LD_AUDIT"})
        EXPECT_EQ(answer([&](StartPayload& order) { order.env[name] = "/work/x.so"; }), refused);
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
    // Three times more, each before it would be a part of the next report of usage, which is every
    // minute.
    const auto since = std::chrono::steady_clock::now();
    EXPECT_TRUE(hears_of(job, down, 4)) << agent_log();
    EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds(120));
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

// What the agent before it told is not known: a store that was emptied would be warm for ever.
TEST_F(Obedience, AnAgentThatStartsTellsItsImagesOnceEvenIfThereAreNone) {
    const auto beats = [&] { return server.told("heartbeat"); };
    ASSERT_TRUE(soon([&] {
        const std::string all = beats();
        return std::count(all.begin(), all.end(), '\n') >= 3;
    })) << agent_log();
    const std::string all = beats();
    const std::size_t first = all.find(R"("warm_images":[])");
    ASSERT_LT(first, all.find('\n')) << all;
    EXPECT_EQ(all.find("warm_images", first + 2), all.npos) << all;
}

TEST_F(Obedience, AServerThatKnowsOfNoWarmImagesIsHeardAndToldOfThemNoMore) {
    kill_agent();
    server.is_older = true;
    const std::string known = server.told("heartbeat");
    start_agent();
    ASSERT_TRUE(soon([&] {
        const std::string all = server.told("heartbeat").substr(known.size());
        return std::count(all.begin(), all.end(), '\n') >= 4;
    })) << agent_log();
    const std::string all = server.told("heartbeat").substr(known.size());
    const std::size_t first = all.find("warm_images");
    ASSERT_LT(first, all.find('\n')) << all;
    EXPECT_EQ(all.find("warm_images", first + 1), all.npos) << all;
    const Command rotate = command(CommandKind::rotate_key, R"({"nonce":"n"})");
    server.give(rotate, server.own);
    EXPECT_EQ(member(answer_to(rotate), "result"), "completed");
    EXPECT_EQ(agent_log().find("heartbeat_refused"), std::string::npos) << agent_log();
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
