// Jobs that are reached by a gate: what READY may name, and where they are found.
#include "machines/commands.hpp"
#include "machines/host_agents.hpp"
#include "rentals/gated.hpp"
#include "rentals/serving_jobs.hpp"
#include "server/secrets.hpp"

namespace berth::test {
namespace {

using agent_protocol::JobEventKind;

// Remembers what it was asked, and answers at all of it.
class AskedOutside final : public EndpointProber {
public:
    Answers ask_all(const Asked&, const std::vector<Question>& questions) const override {
        asked = questions;
        Answers answers;
        for (const Question& each : questions) answers.addresses.push_back(each.endpoint.host);
        return answers;
    }
    mutable std::vector<Question> asked;
};

class GatedReady : public GatedMarket {
protected:
    JobId rented(const Wish& wish = {}) {
        listen();
        report(first, false);
        const JobId job = rent(ben, put_up_behind_gate(), wish);
        accept(job);
        return job;
    }
    // Why the READY was refused; empty when it was not.
    std::optional<Problem> refused(JobId job, const std::string& evidence) {
        try {
            tell(job, JobEventKind::ready, evidence);
            return std::nullopt;
        } catch (const Problem& problem) {
            return problem;
        }
    }
};

TEST_F(GatedReady, MustNameDoorsOfItsOwnJob) {
    const JobId mine = rented();
    const auto given = want(mine, wanted_by(mine));
    ASSERT_EQ(given.status, 200) << given.body;
    const JobId other = rented();
    const auto others = want(other, wanted_by(other));
    ASSERT_EQ(others.status, 200) << others.body;

    const auto stolen = refused(other, ready_at(other, given));
    ASSERT_TRUE(stolen) << "the doors of another machine";
    EXPECT_EQ(stolen->code, Code::conflict);
    EXPECT_NE(stolen->message.find("not a door of this job"), std::string::npos);
    const auto own = refused(other, ready_with(promised_endpoints(other)));
    ASSERT_TRUE(own) << "an address of its own";
    EXPECT_EQ(state_of(other), JobState::STARTING);
    EXPECT_FALSE(refused(other, ready_at(other, others)));
    EXPECT_EQ(state_of(other), JobState::RUNNING);
}

TEST_F(GatedReady, MustNotExchangeItsDoors) {
    const JobId job = rented();
    ASSERT_GE(named(job).size(), 1u);
    const auto given = want(job, wanted_by(job));
    ASSERT_EQ(given.status, 200) << given.body;
    const std::string port = member(given.body, "doors.0.port");
    const auto with = [&](const std::string& kind, const std::string& name, const std::string& at) {
        return ready_with(fmt::format(R"({{"kind":"{}","name":"{}","host":"{}","port":{},)"
                                      R"("tls_key_sha256":"{}"}})",
                                      kind, name, first.host, at, std::string(64, 'b')));
    };
    EXPECT_TRUE(refused(job, with("http", "ssh", port)));
    EXPECT_TRUE(refused(job, with("ssh", "other", port)));
    EXPECT_TRUE(refused(job, with("ssh", "ssh", "22")));
    EXPECT_EQ(state_of(job), JobState::STARTING);
}

TEST_F(GatedReady, NamesTheTlsKeyOfEveryHttpDoor) {
    const JobId job = rented({.what = fmt::format(R"("template_id":"{}")", model)});
    const auto given = want(job, wanted_by(job));
    ASSERT_EQ(given.status, 200) << given.body;
    const auto plain = refused(
        job, ready_with(fmt::format(R"({{"kind":"http","name":"{}","host":"{}","port":{}}})",
                                    named(job).front().first, first.host,
                                    member(given.body, "doors.0.port"))));
    ASSERT_TRUE(plain) << "the gate would read the key of the job";
    EXPECT_EQ(plain->code, Code::invalid_input);
}

// The relay follows a door, and dials where the operator says that the gate is.
TEST_F(GatedReady, IsServedWhereItsDoorIsNow) {
    const JobId job =
        start({.budget = 5'000'000, .what = fmt::format(R"("template_id":"{}")", model)});
    const std::string secrets = town.harness.folder.path() + "/secrets";
    const crypto::Sealer sealer{
        crypto::Secret(server::load_secrets(secrets, town.harness.random).seal)};
    ServingJobs serving(sealer);
    const auto found = [&] {
        return database().read(
            [&](db::Transaction& tx) { return serving.find(tx, job, now()).value(); });
    };
    const ServingJob before = found();
    ASSERT_TRUE(before.endpoint);
    EXPECT_EQ(http::to_string(before.endpoint->address), "198.51.100.7");
    EXPECT_EQ(before.endpoint->host, first.host);
    EXPECT_TRUE(before.endpoint->tls);
    EXPECT_TRUE(before.is_by_gate);

    const Gate second = add_gate("gate-2.example.com", "198.51.100.8");
    go(job, seconds(100), Says::nothing);
    report(second, false);
    const auto given = want(job, wanted_by(job));
    ASSERT_EQ(given.status, 200) << given.body;
    const ServingJob after = found();
    ASSERT_TRUE(after.endpoint);
    EXPECT_EQ(http::to_string(after.endpoint->address), "198.51.100.8");
    EXPECT_EQ(std::to_string(after.endpoint->port), member(given.body, "doors.0.port"));
    EXPECT_EQ(after.endpoint->key_sha256, before.endpoint->key_sha256) << "the job's own key";

    ASSERT_EQ(want(job, "").status, 200);
    EXPECT_FALSE(found().endpoint) << "no door, nothing to dial";
}

TEST_F(GatedReady, NeedsAGateThatLivesToBeReserved) {
    listen();
    report(first, false);
    const auto machine = put_up_behind_gate();
    const auto quoted = quote(ben, machine, {});
    ASSERT_EQ(quoted.status, 201) << quoted.body;
    town.harness.clock.advance(seconds(16));  // nothing was heard of any gate
    listen();
    hear(town.harness, machine.machine_id);
    const auto reserved = reserve(ben, member(quoted.body, "quote_id"));
    EXPECT_EQ(reserved.status, 409) << reserved.body;
    EXPECT_EQ(error_code(reserved), "CONFLICT");
    EXPECT_NE(error_message(reserved).find("no gate"), std::string::npos) << reserved.body;
    EXPECT_EQ(balances(ben).held, Micro{});
    // A machine with ports of its own does not care.
    EXPECT_EQ(state_of(rent(ben, put_up())), JobState::RESERVED);
}

TEST_F(GatedReady, IsSaidInTheStart) {
    listen();
    report(first, false);
    const auto started = [&](JobId job) {
        std::string payload;
        as_agent(find(job).terms.machine_id,
                 [&](const db::Context& context, machines::Machine& machine) {
                     const auto commands = town.harness.app->host_agents().commands().deliver(
                         context.tx, machine.machine_id, context.now);
                     ASSERT_EQ(commands.size(), 1u);
                     payload = commands.front().payload.text;
                 });
        return payload;
    };
    EXPECT_EQ(member(started(rent(ben, put_up_behind_gate())), "reach"), "gate");
    EXPECT_EQ(member(started(rent(ben, put_up())), "reach"), "");
}

TEST_F(GatedReady, FailsForWantOfAGateAndThatIsNobodysFault) {
    const JobId job = rented();
    const MachineId machine = find(job).terms.machine_id;
    EXPECT_EQ(tell(job, JobEventKind::exited, R"({"code":"NO_GATE"})"), "FAILED");
    EXPECT_EQ(member(show(ben, job), "failure.code"), "NO_GATE");
    EXPECT_EQ(seen(town.harness, machine).starts_failed, 0);
    EXPECT_FALSE(find(job).live.unbilled_at);
    // Whoever has a door has a gate, and whoever needs none cannot lack one.
    const JobId lied = rented();
    ASSERT_EQ(want(lied, wanted_by(lied)).status, 200);
    EXPECT_EQ(tell(lied, JobEventKind::exited, R"({"code":"NO_GATE"})"), "FAILED");
    EXPECT_EQ(seen(town.harness, find(lied).terms.machine_id).starts_failed, 1);
    const JobId gave_back = rented();
    ASSERT_EQ(want(gave_back, wanted_by(gave_back)).status, 200);
    ASSERT_EQ(want(gave_back, "").status, 200);
    EXPECT_EQ(tell(gave_back, JobEventKind::exited, R"({"code":"NO_GATE"})"), "FAILED");
    EXPECT_EQ(seen(town.harness, find(gave_back).terms.machine_id).starts_failed, 1);
    // But a gate may die when its doors are given, and nothing leads there any more.
    const JobId left_alone = rented();
    ASSERT_EQ(want(left_alone, wanted_by(left_alone)).status, 200);
    town.harness.clock.advance(seconds(16));
    EXPECT_EQ(tell(left_alone, JobEventKind::exited, R"({"code":"NO_GATE"})"), "FAILED");
    EXPECT_EQ(seen(town.harness, find(left_alone).terms.machine_id).starts_failed, 0);
    const JobId direct = rent(ben, put_up());
    accept(direct);
    EXPECT_EQ(tell(direct, JobEventKind::exited, R"({"code":"NO_GATE"})"), "FAILED");
    EXPECT_EQ(seen(town.harness, find(direct).terms.machine_id).starts_failed, 1);
}

// The same, when the host says so at once.
TEST_F(GatedReady, AStartThatIsRefusedForWantOfAGateIsNobodysFaultEither) {
    const auto refuse = [&](JobId job) {
        as_agent(find(job).terms.machine_id,
                 [&](const db::Context& context, machines::Machine& machine) {
                     machines::CommandAck ack;
                     ack.kind = agent_protocol::CommandKind::start;
                     ack.job_id = job;
                     ack.ack.result = agent_protocol::AckResult::rejected;
                     ack.ack.code = wire::Text<1, 64>{"NO_GATE"};
                     side().acknowledge(context, machine, ack, some_message);
                 });
        EXPECT_EQ(state_of(job), JobState::FAILED);
        return seen(town.harness, find(job).terms.machine_id).starts_failed;
    };
    listen();
    report(first, false);
    EXPECT_EQ(refuse(rent(ben, put_up_behind_gate())), 0);
    EXPECT_EQ(refuse(rent(ben, put_up())), 1) << "whoever needs none cannot lack one";
    const JobId lied = rented();
    ASSERT_EQ(want(lied, wanted_by(lied)).status, 200);
    EXPECT_EQ(refuse(lied), 1) << "whoever has a door has a gate";
}

// A gate that came into a job while it runs would carry what is billed as direct.
TEST_F(GatedReady, ADirectJobIsGivenNoDoorsAndMayNameNone) {
    const JobId other = rented();
    const auto given = want(other, wanted_by(other));
    ASSERT_EQ(given.status, 200) << given.body;

    const JobId direct = rent(ben, put_up());
    accept(direct);
    const auto refused_doors = want(direct, wanted_by(direct));
    EXPECT_EQ(refused_doors.status, 409) << refused_doors.body;
    EXPECT_EQ(error_code(refused_doors), "CONFLICT");
    EXPECT_NE(error_message(refused_doors).find("reached directly"), std::string::npos);
    const auto named_door = refused(direct, ready_at(direct, given));
    ASSERT_TRUE(named_door);
    EXPECT_EQ(named_door->code, Code::conflict);
    EXPECT_NE(named_door->message.find("a door of a gate"), std::string::npos);
    EXPECT_EQ(state_of(direct), JobState::STARTING);
    get_ready(direct);
    EXPECT_EQ(want(direct, wanted_by(direct)).status, 409) << "nor while it runs";
    EXPECT_EQ(state_of(direct), JobState::RUNNING);
}

class GatedProbe : public GatedMarket {
protected:
    GatedProbe() : GatedMarket(&asked_outside) { asked_outside.asked.clear(); }
    static inline AskedOutside asked_outside;
};

TEST_F(GatedProbe, DialsTheOperatorsAddressOfTheGateAndNoName) {
    const JobId job = start();
    ASSERT_EQ(asked_outside.asked.size(), named(job).size());
    for (const EndpointProber::Question& question : asked_outside.asked) {
        EXPECT_EQ(question.dial_host, "198.51.100.7");
        EXPECT_EQ(question.endpoint.host, first.host) << "as renters call it";
    }
}

TEST_F(GatedReady, ADirectJobHasNothingOfGates) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    town.harness.clock.advance(seconds(20));
    beat(job, 20'000);
    EXPECT_EQ(member(show(ben, job), "uncarried_ms"), "");
    EXPECT_EQ(member(receipt(job), "uncarried_ms"), "");
    EXPECT_EQ(member(receipt(job), "carried_bytes"), "");
    EXPECT_EQ(member(access(job), "endpoints.0.external_host"), std::string(double_host));
}

}  // namespace
}  // namespace berth::test
