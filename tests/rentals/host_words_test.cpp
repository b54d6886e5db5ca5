// What a host says for itself, and who reads it: why it refused a job, how much the job has sent.
// And what it is told to start.
#include "agent_protocol/payloads.hpp"
#include "rentals/market.hpp"

namespace berth::test {
namespace {

class HostWords : public MarketTest {
protected:
    void reject(JobId job, const std::string& code, const std::string& detail) {
        as_agent(find(job).terms.machine_id,
                 [&](const db::Context& context, machines::Machine& machine) {
                     machines::CommandAck ack;
                     ack.kind = agent_protocol::CommandKind::start;
                     ack.job_id = job;
                     ack.ack.result = agent_protocol::AckResult::rejected;
                     ack.ack.code = wire::Text<1, 64>{code};
                     if (!detail.empty()) ack.ack.detail = agent_protocol::OpenObject{detail};
                     side().acknowledge(context, machine, ack, some_message);
                 });
    }
    std::string seen_by_host(JobId job, const std::string& name) {
        const auto shown =
            send(ada, "GET", "/api/v1/hosts/machines/" + to_string(find(job).terms.machine_id));
        EXPECT_EQ(member(shown.body, "recent_jobs.0.job_id"), to_string(job)) << shown.body;
        return member(shown.body, "recent_jobs.0." + name);
    }
    agent_protocol::StartPayload start_of(JobId job) {
        const auto machine = find(job).terms.machine_id;
        return database().read([&](db::Transaction& tx) {
            for (const auto& command :
                 town.harness.app->rentals().lifecycle().commands().waiting(tx, machine, now()))
                if (command.kind == agent_protocol::CommandKind::start)
                    return agent_protocol::payload_of<agent_protocol::StartPayload>(command);
            throw std::runtime_error("no START waits");
        });
    }
    JobId rent_model(const machines::Machine& machine, const std::string& place) {
        const std::string id = member(town.harness.ask({.target = place}).body, "id");
        const auto quoted = quote(ben, machine, {.what = fmt::format(R"("template_id":"{}")", id)});
        const auto reserved = reserve(ben, member(quoted.body, "quote_id"), false);
        EXPECT_EQ(reserved.status, 202) << reserved.body;
        return JobId{parse_uuid(member(reserved.body, "job_id")).value()};
    }
    void use(JobId job, const std::string& bytes) {
        tell(job, agent_protocol::JobEventKind::usage,
             fmt::format(R"({{"runtime_ms":"1","container_id":"c1","boot_id":"boot-1",)"
                         R"("egress_bytes":"{}"}})",
                         bytes));
    }
};

TEST_F(HostWords, AboutARefusedStartReachRenterAndHostWithoutSecrets) {
    const JobId job = rent(ben, put_up());
    reject(job, "HOST_REJECTED",
           R"({"message":"The host's owner\ntakes no job with Bearer )"
           R"(ark_0123456789abcdef0123456789abcdef at this price.","more":1})");
    EXPECT_EQ(state_of(job), JobState::FAILED);
    const std::string told = member(show(ben, job), "failure.message");
    EXPECT_NE(told.find("The host refused to start the job. The host says: The host's owner takes "
                        "no job"),
              std::string::npos)
        << told;
    EXPECT_EQ(told.find("0123456789abcdef0123456789abcdef"), std::string::npos) << told;
    EXPECT_EQ(seen_by_host(job, "failure.message"), told);
    EXPECT_EQ(seen_by_host(job, "failure.code"), "HOST_REJECTED");
    EXPECT_EQ(balances(ben).held, Micro{});
}

TEST_F(HostWords, MayBeMissingAndMustBeText) {
    const JobId silent = rent(ben, put_up());
    reject(silent, "DISK_FULL", "");
    EXPECT_EQ(member(show(ben, silent), "failure.message"), "The host refused to start the job.");
    EXPECT_EQ(member(show(ben, silent), "failure.code"), "DISK_FULL");
    const JobId job = rent(ben, put_up());
    try {
        reject(job, "HOST_REJECTED", R"({"message":7})");
        ADD_FAILURE() << "a number is no sentence";
    } catch (const Problem& problem) {
        EXPECT_NE(problem.message.find("body.detail.message"), std::string::npos)
            << problem.message;
    }
    EXPECT_EQ(state_of(job), JobState::RESERVED);
    reject(job, "HOST_REJECTED", R"({"message":null})");
    EXPECT_EQ(member(show(ben, job), "failure.message"), "The host refused to start the job.");
}

// Who meets the rules could not know them, and who knows them has no machine put aside by them.
TEST_F(HostWords, AboutRulesOfTheOwnerAreHeldAgainstNobodyAndNotAskedForAgainForHours) {
    const auto machine = put_up();
    const auto status = [&](const Person& who, const Wish& wish) {
        return quote(who, machine, wish).status;
    };
    const auto early = quote(ben, machine, {});
    EXPECT_EQ(early.status, 201) << early.body;
    for (const std::int64_t duration_s : {86'400, 43'200, 21'600, 10'800}) {
        const Person renter = join(R"(["renter"])", 10'000'000);
        const JobId job = rent(renter, machine, {.duration_s = duration_s});
        reject(job, "HOST_REJECTED",
               R"({"message":"The host's owner takes no images from docker.io.",)"
               R"("by_policy":true})");
        EXPECT_EQ(state_of(job), JobState::FAILED);
        EXPECT_FALSE(find(job).live.unbilled_at) << "nor is it the renter's fault";
        EXPECT_EQ(balances(renter).held, Micro{});
        EXPECT_EQ(clean(job), "FAILED");
        EXPECT_EQ(status(renter, {.duration_s = 600}), 409);
        EXPECT_EQ(status(ben, {.duration_s = duration_s}), 409);
        EXPECT_EQ(status(ben, {.duration_s = duration_s - 1}), 201);
    }
    EXPECT_EQ(reserve(ben, member(early.body, "quote_id")).status, 409);
    const auto after = seen(town.harness, machine.machine_id);
    EXPECT_EQ(after.state, machines::MachineState::AVAILABLE);
    EXPECT_EQ(after.starts_failed, 0);
    EXPECT_EQ(status(ben, {.what = fmt::format(R"("template_id":"{}")", model)}), 201);
    EXPECT_EQ(quote(ben, put_up(), {}).status, 201);
    town.harness.clock.advance(hours(7));
    EXPECT_EQ(status(ben, {}), 201);
    // Without that word it is the host who refuses.
    const JobId job = rent(ben, machine);
    reject(job, "HOST_REJECTED", R"({"message":"No port is free.","by_policy":false})");
    EXPECT_EQ(seen(town.harness, machine.machine_id).starts_failed, 1);
}

TEST_F(HostWords, AboutAWorkloadThatEndedReachTheHostToo) {
    const JobId job = rent(ben, put_up());
    accept(job);
    EXPECT_EQ(seen_by_host(job, "failure"), "null");
    tell(
        job, agent_protocol::JobEventKind::exited,
        R"({"exit_code":1,"code":"INTERNAL","message":"The host made a mistake: no loop device"})");
    EXPECT_EQ(seen_by_host(job, "failure.message"), member(show(ben, job), "failure.message"));
    EXPECT_NE(seen_by_host(job, "failure.message").find("no loop device"), std::string::npos);
}

TEST_F(HostWords, AboutAFailedWipeReachTheHost) {
    const JobId job = rent_model(put_up(), "/api/v1/templates/vllm-qwen2-5-7b-instruct");
    get_ready(job);
    EXPECT_EQ(seen_by_host(job, "clean_error"), "null");
    EXPECT_EQ(stop(ben, job).status, 202);
    EXPECT_EQ(end(job), "STOPPED");
    tell(job, agent_protocol::JobEventKind::cleaned,
         R"({"volume_recreated":false,"gpus":[],"error":"the volume is\nstill mounted"})");
    EXPECT_EQ(machine_of(job), machines::MachineState::QUARANTINED);
    EXPECT_EQ(seen_by_host(job, "clean_error"), "the volume is still mounted");
    EXPECT_EQ(member(show(ben, job), "failure"), "null") << "the rental itself was good";
}

TEST_F(HostWords, AboutWhatAJobHasSentAreShownAndToldAtFourFifths) {
    const JobId job = rent(ben, put_up(), {.what = fmt::format(R"("template_id":"{}")", model)});
    EXPECT_EQ(start_of(job).included_egress_gib.value, 1000);
    get_ready(job);
    EXPECT_EQ(member(show(ben, job), "egress"), "null");
    const auto after = [&](const std::string& bytes) {
        use(job, bytes);
        return member(show(ben, job), "egress.state");
    };
    EXPECT_EQ(after("0"), "within");
    EXPECT_EQ(after("858993459200"), "within");
    EXPECT_EQ(after("858993459201"), "nearly_used");
    // A guard that was put up anew counts from nothing.
    EXPECT_EQ(after("5"), "nearly_used");
    EXPECT_EQ(after("1073741824000"), "nearly_used");
    EXPECT_EQ(after("1073741824001"), "shaped");
    const std::string shown = show(ben, job);
    EXPECT_EQ(member(shown, "egress.used_bytes"), "1073741824001");
    EXPECT_EQ(member(shown, "egress.included_bytes"), "1073741824000");
    EXPECT_EQ(member(shown, "state"), "RUNNING") << "it is never cut";
}

TEST_F(HostWords, NamesWhatATemplateStarts) {
    const JobId served = rent_model(put_up(), "/api/v1/templates/vllm-qwen2-5-7b-instruct");
    const auto command = start_of(served).command;
    ASSERT_TRUE(command);
    EXPECT_EQ(command->front(), "vllm");
    EXPECT_NE(std::find(command->begin(), command->end(), "Qwen/Qwen2.5-7B-Instruct"),
              command->end());
    const JobId shell = rent(ben, put_up());
    EXPECT_FALSE(start_of(shell).command) << "the image knows itself";
}

class OnProcesses : public MarketTest {
protected:
    OnProcesses() : MarketTest(Harness::Options{.flags = {{"allow-process-runtime", "true"}}}) {}
};

TEST_F(OnProcesses, AShellIsRefusedBeforeAnythingIsHeld) {
    const auto machine = put_up();
    database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, machine.machine_id).value();
        row.tier = machines::Tier::inference;
        row.runtime_kind = machines::RuntimeKind::process;
        machines::save({tx, town.harness.random, now()}, row);
    });
    const auto quoted = quote(ben, machine, {.what = fmt::format(R"("template_id":"{}")", model)});
    ASSERT_EQ(quoted.status, 201) << quoted.body;
    const std::string id = member(quoted.body, "quote_id");
    const auto refused = reserve(ben, id, true);
    EXPECT_EQ(refused.status, 422) << refused.body;
    EXPECT_NE(refused.body.find("body.ssh_public_key: must be left out"), std::string::npos);
    EXPECT_EQ(balances(ben).held, Micro{});
    EXPECT_EQ(seen(town.harness, machine.machine_id).state, machines::MachineState::AVAILABLE);
    // Nothing of it has happened: the same quote is good without the key.
    EXPECT_EQ(reserve(ben, id, false).status, 202);
}

}  // namespace
}  // namespace berth::test
