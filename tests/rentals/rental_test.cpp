#include "machines/host_agents.hpp"
#include "rentals/whole_rental.hpp"
#include "server/secrets.hpp"
#include "support/told.hpp"

namespace berth::test::whole_rentals {
namespace {

using agent_protocol::JobEventKind;

TEST_F(Rental, GoesFromQuoteToReceiptAndTheMachineIsRentedAgain) {
    const auto machine = put_up();
    const JobId job = rent(ben, machine);
    EXPECT_EQ(balances(ben).held, Micro{1'000'000});
    EXPECT_EQ(machine_of(job), machines::MachineState::ALLOCATED);
    get_ready(job);
    for (int i = 1; i <= 3; ++i) {
        town.harness.clock.advance(seconds(20));
        EXPECT_EQ(beat(job, i * 20'000), 1u);
    }
    const std::string shown = show(ben, job);
    EXPECT_EQ(member(shown, "state"), "RUNNING");
    EXPECT_EQ(member(shown, "accepted_runtime_ms"), "60000");
    EXPECT_EQ(member(shown, "cumulative_charge_micro"), "60000");
    const auto access = send(ben, "GET", "/api/v1/jobs/" + to_string(job) + "/access");
    EXPECT_EQ(member(access.body, "ssh_command"), "ssh -p 40022 renter@203.0.113.7");
    EXPECT_EQ(member(access.body, "endpoints.0.url"), "null");
    EXPECT_EQ(member(access.body, "endpoints.0.tls_key_sha256"), "null");

    EXPECT_EQ(member(stop(ben, job).body, "state"), "STOPPING");
    EXPECT_EQ(member(stop(ben, job).body, "state"), "STOPPING");
    town.harness.clock.advance(seconds(5));
    EXPECT_EQ(end(job, 65'000), "STOPPED");
    EXPECT_EQ(find(job).live.accepted_ms, 60'000);
    EXPECT_EQ(balances(ben).held, Micro{});
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 60'000});
    EXPECT_EQ(balances(ada).payable, Micro{54'000});

    EXPECT_EQ(machine_of(job), machines::MachineState::CLEANING);
    EXPECT_EQ(stop(ben, job, R"(,"skip_retrieval":true)").status, 202);
    EXPECT_EQ(clean(job), "CLOSED");
    EXPECT_EQ(machine_of(job), machines::MachineState::AVAILABLE);
    const auto receipt = send(ben, "GET", "/api/v1/billing/receipts/" + to_string(job));
    EXPECT_EQ(member(receipt.body, "state"), "CLOSED");
    EXPECT_EQ(member(receipt.body, "charge_micro"), "60000");
    EXPECT_EQ(member(receipt.body, "fee_micro"), "6000");
    EXPECT_EQ(member(receipt.body, "host_micro"), "54000");
    rent(ben, machine);

    // Newest first, as the host reads them.
    const auto page =
        send(ada, "GET", "/api/v1/hosts/machines/" + to_string(find(job).terms.machine_id));
    EXPECT_EQ(member(page.body, "recent_jobs.0.ready"), "false");
    EXPECT_EQ(member(page.body, "recent_jobs.0.earned_micro"), "0");
    EXPECT_EQ(member(page.body, "recent_jobs.1.job_id"), to_string(job));
    EXPECT_EQ(member(page.body, "recent_jobs.1.state"), "CLOSED");
    EXPECT_EQ(member(page.body, "recent_jobs.1.billed_ms"), "60000");
    EXPECT_EQ(member(page.body, "recent_jobs.1.earned_micro"), "54000");
    EXPECT_EQ(member(page.body, "recent_jobs.0.ended_at"), "null");
    EXPECT_NE(member(page.body, "recent_jobs.1.ended_at"), "null");
    EXPECT_EQ(member(page.body, "recent_jobs.1.ready"), "true");
    EXPECT_EQ(member(page.body, "recent_jobs.1.started_at"),
              member(show(ben, job), "meter_started_at"));
    EXPECT_EQ(member(page.body, "recent_jobs.2"), "");
}

TEST_F(Rental, IsReadableAsAReceiptFromItsReservationOn) {
    const JobId job = rent(ben, put_up());
    const std::string path = "/api/v1/billing/receipts/" + to_string(job);
    EXPECT_EQ(member(send(ben, "GET", path).body, "state"), "RESERVED");
    get_ready(job);
    town.harness.clock.advance(seconds(30));
    beat(job, 30'000);
    EXPECT_EQ(member(send(ben, "GET", path).body, "charge_micro"), "30000");
    EXPECT_EQ(member(send(ben, "GET", path).body, "fee_micro"), "3000");
}

TEST_F(Rental, CostsNothingThatWasNeverReady) {
    const JobId job = rent(ben, put_up());
    accept(job);
    town.harness.clock.advance(seconds(60));
    EXPECT_EQ(beat(job, 60'000), 1u);
    EXPECT_EQ(tell(job, JobEventKind::exited, R"({"container_id":"c1","exit_code":1})"), "FAILED");
    EXPECT_EQ(balances(ben).available, Micro{10'000'000});
    EXPECT_EQ(balances(ada).payable, Micro{});
    EXPECT_EQ(member(show(ben, job), "failure.code"), "ENGINE_EXITED");
    EXPECT_EQ(member(show(ben, job), "end_reason"), "never_ready");
    EXPECT_EQ(machine_of(job), machines::MachineState::CLEANING);
    EXPECT_EQ(clean(job), "FAILED");
    EXPECT_EQ(machine_of(job), machines::MachineState::AVAILABLE);
}

TEST_F(Rental, NeverCostsMoreThanItsBudgetWhateverTheAgentSays) {
    const JobId job = rent(ben, put_up(), {.budget = 30'000});
    get_ready(job);
    town.harness.clock.advance(seconds(200));
    beat(job, 9'000'000'000);
    EXPECT_EQ(member(show(ben, job), "cumulative_charge_micro"), "30000");
    pass(seconds(10));
    EXPECT_EQ(state_of(job), JobState::STOPPING);
    EXPECT_EQ(member(show(ben, job), "end_reason"), "funded_expiry");
    EXPECT_EQ(end(job, 9'000'000'000), "STOPPED");
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 30'000});
    EXPECT_EQ(find(job).live.accepted_ms, 30'000);
}

TEST_F(Rental, IsCutAtItsDurationAlsoWhereTheBudgetWouldPayForMore) {
    const JobId job = rent(ben, put_up(), {.budget = 9'000'000, .duration_s = 60});
    get_ready(job);
    town.harness.clock.advance(seconds(200));
    beat(job, 200'000);
    pass(seconds(1));
    EXPECT_EQ(member(show(ben, job), "end_reason"), "duration_limit");
    end(job, 200'000);
    EXPECT_EQ(balances(ada).payable, Micro{54'000});
}

TEST_F(Rental, KeepsItsBudgetVersionsAndRefusesStaleOnes) {
    const JobId job = rent(ben, put_up());
    const std::string path = "/api/v1/jobs/" + to_string(job) + "/budget";
    const auto raise = [&](int version, const std::string& add) {
        return send(
            ben, "POST", path,
            fmt::format(R"({{"add_micro":"{}","expected_budget_version":"{}"}})", add, version));
    };
    const auto raised = raise(1, "500000");
    EXPECT_EQ(raised.status, 202) << raised.body;
    EXPECT_EQ(member(raised.body, "budget_micro"), "1500000");
    const auto stale = raise(1, "500000");
    EXPECT_EQ(error_code(stale), "VERSION_CONFLICT");
    EXPECT_EQ(member(stale.body, "current.budget_version"), "2");
    EXPECT_EQ(error_code(raise(2, "99000000")), "INSUFFICIENT_FUNDS");
    EXPECT_EQ(balances(ben).held, Micro{1'500'000});

    const auto taken = [&](int version, int amount) -> std::optional<Code> {
        machines::CommandAck ack;
        ack.kind = agent_protocol::CommandKind::budget;
        ack.job_id = job;
        ack.ack.result = agent_protocol::AckResult::accepted;
        ack.ack.detail = agent_protocol::OpenObject{
            fmt::format(R"({{"budget_version":"{}","budget_micro":"{}","funded_through":null}})",
                        version, amount)};
        try {
            as_agent(find(job).terms.machine_id,
                     [&](const db::Context& context, machines::Machine& machine) {
                         side().acknowledge(context, machine, ack, some_message);
                     });
        } catch (const Problem& problem) {
            return problem.code;
        }
        return std::nullopt;
    };
    EXPECT_EQ(taken(1, 1'000'000), Code::budget_version_older);
    EXPECT_EQ(taken(2, 1'000'000), Code::budget_funding_mismatch);
    EXPECT_EQ(taken(2, 1'500'000), std::nullopt);
    stop(ben, job);
    EXPECT_EQ(error_code(raise(2, "1")), "STOP_IRREVERSIBLE");
}

TEST_F(Rental, ShowsWhatStartsOfItsTemplateUsuallyTakeOnceFiveWereMeasured) {
    const auto machine = put_up();
    const auto usual = [&] {
        return member(town.harness.ask({.target = "/api/v1/templates/" + classical}).body,
                      "time_to_ready");
    };
    for (const int pull : {500, 100, 300, 900, 200}) {
        EXPECT_EQ(usual(), "null");
        const JobId job = rent(ben, machine);
        accept(job);
        tell(job, JobEventKind::ready,
             fmt::format(R"({{"container_id":"c1","boot_id":"boot-1","endpoints":[{}],)"
                         R"("time_to_ready":{{"pull_ms":"{}","load_ms":"7","probe_ms":"1"}}}})",
                         promised_endpoints(job), pull));
        stop(ben, job, R"(,"skip_retrieval":true)");
        end(job);
        EXPECT_EQ(clean(job), "CLOSED");
    }
    EXPECT_NE(usual().find(R"("pull_ms":"300")"), std::string::npos) << usual();
    town.harness.clock.advance(hours(24 * 31));
    EXPECT_EQ(usual(), "null");
}

TEST_F(Rental, IsNotFundedAnyMoreOnceItsFundingHasEnded) {
    const JobId job = rent(ben, put_up(), {.budget = 30'000});
    get_ready(job);
    const auto raise = [&](int version) {
        return send(
            ben, "POST", "/api/v1/jobs/" + to_string(job) + "/budget",
            fmt::format(R"({{"add_micro":"10000","expected_budget_version":"{}"}})", version));
    };
    town.harness.clock.advance(milliseconds(29'999));
    const auto in_time = raise(1);
    EXPECT_EQ(in_time.status, 202) << in_time.body;
    town.harness.clock.advance(milliseconds(10'001));
    EXPECT_EQ(error_code(raise(2)), "STOP_IRREVERSIBLE");
    EXPECT_EQ(balances(ben).held, Micro{40'000});
    end(job, 40'000);
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 40'000});
}

TEST_F(Rental, IsUsableAndUnbilledAfterANotice) {
    town.harness.set("operations.availability_classes_released", "true");
    const JobId job =
        rent(ben, put_up(R"(,"availability_class":"interruptible","preemption_notice_s":120)",
                         machines::HostMode::idle));
    get_ready(job);
    town.harness.clock.advance(seconds(30));
    beat(job, 30'000);
    town.harness.clock.advance(seconds(10));
    EXPECT_EQ(tell(job, JobEventKind::preempt_notice, R"({"reason":"gaming"})"), "RUNNING");
    town.harness.clock.advance(seconds(60));
    beat(job, 100'000);
    EXPECT_EQ(find(job).live.accepted_ms, 40'000);
    EXPECT_EQ(error_code(send(ben, "POST", "/api/v1/jobs/" + to_string(job) + "/budget",
                              R"({"add_micro":"1","expected_budget_version":"1"})")),
              "CONFLICT");
    pass(seconds(61));
    EXPECT_EQ(member(show(ben, job), "end_reason"), "preempted");
    end(job, 161'000);
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 40'000});
    EXPECT_EQ(untold(town.harness.app->database(), {"rental.preemption_noticed"}), "");
}

TEST_F(Rental, RefusesANoticeOfADedicatedMachine) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    EXPECT_THROW(tell(job, JobEventKind::preempt_notice, R"({"reason":"x"})"), Problem);
    EXPECT_EQ(state_of(job), JobState::RUNNING);
}

TEST_F(Rental, DoesNotBillAnEngineThatIsDown) {
    const auto machine = put_up();
    const auto quoted = quote(ben, machine, {.what = fmt::format(R"("template_id":"{}")", model)});
    ASSERT_EQ(quoted.status, 201) << quoted.body;
    const auto reserved =
        send(ben, "POST", "/api/v1/jobs",
             fmt::format(R"({{"quote_id":"{}"}})", member(quoted.body, "quote_id")));
    const JobId job{parse_uuid(member(reserved.body, "job_id")).value()};
    get_ready(job);
    const auto usage = [&](std::int64_t ms, const std::string& engine) {
        return tell(job, JobEventKind::usage,
                    fmt::format(R"({{"runtime_ms":"{}","container_id":"c1","boot_id":"boot-1",)"
                                R"("engine":"{}"}})",
                                ms, engine));
    };
    town.harness.clock.advance(seconds(30));
    usage(30'000, "down");
    town.harness.clock.advance(seconds(30));
    EXPECT_EQ(member(show(ben, job), "host_status"), "engine_down");
    usage(60'000, "up");
    town.harness.clock.advance(seconds(10));
    usage(70'000, "down");
    EXPECT_EQ(find(job).live.accepted_ms, 40'000);
    for (int i = 0; i < 31; ++i) {
        pass(seconds(10));
        if (state_of(job) == JobState::RUNNING) beat(job, 70'000 + i * 10'000);
    }
    EXPECT_EQ(member(show(ben, job), "end_reason"), "engine_failed");
    end(job, 500'000);
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 40'000});
    // A model leaves nothing to fetch.
    EXPECT_EQ(member(show(ben, job), "retrieval_until"), "null");
}

TEST_F(Rental, AnswersAResendAsBeforeAndRefusesWhatContradictsIt) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    const Time at = now();
    // The same event again, word by word, moves nothing.
    EXPECT_EQ(tell(job, JobEventKind::ready, ready_evidence(job), 1), "RUNNING");
    EXPECT_EQ(find(job).live.meter_started_at, at);
    town.harness.clock.advance(seconds(1));
    try {
        tell(job, JobEventKind::ready, ready_evidence(job, "boot-9"), 1);
        FAIL();
    } catch (const Problem& problem) {
        EXPECT_EQ(problem.code, Code::lease_seq_replay);
    }
}

TEST_F(Rental, KeepsEvidenceThatProvesItself) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    town.harness.clock.advance(seconds(30));
    beat(job, 30'000);
    stop(ben, job);
    end(job, 30'000);
    const auto page = send(ben, "GET", "/api/v1/jobs/" + to_string(job) + "/evidence?limit=100");
    ASSERT_EQ(page.status, 200);
    const auto records = wire::decode<api::Page<Evidence>>(page.body, "page").items;
    EXPECT_GE(records.size(), 7u);
    EXPECT_EQ(find_break(records), std::nullopt);
    EXPECT_EQ(send(ada, "GET", "/api/v1/jobs/" + to_string(job) + "/evidence").status, 200);
    const Person eve = join(R"(["renter"])");
    EXPECT_EQ(send(eve, "GET", "/api/v1/jobs/" + to_string(job) + "/evidence").status, 404);
    EXPECT_EQ(send(eve, "GET", "/api/v1/jobs/" + to_string(job) + "/evidence?cursor=x").status,
              422);
    EXPECT_EQ(send(eve, "GET", "/api/v1/jobs/" + to_string(job)).status, 404);
    EXPECT_EQ(stop(eve, job).status, 404);
}

TEST_F(Rental, KeepsUsageOfEventsWholeAndOfHeartbeatsOnceAMinute) {
    const auto quoted = quote(ben, put_up(), {.what = fmt::format(R"("template_id":"{}")", model)});
    const auto reserved =
        send(ben, "POST", "/api/v1/jobs",
             fmt::format(R"({{"quote_id":"{}"}})", member(quoted.body, "quote_id")));
    const JobId job{parse_uuid(member(reserved.body, "job_id")).value()};
    get_ready(job);
    const auto kept = [&] {
        const auto page =
            send(ben, "GET", "/api/v1/jobs/" + to_string(job) + "/evidence?limit=100");
        const auto records = wire::decode<api::Page<Evidence>>(page.body, "page").items;
        EXPECT_EQ(find_break(records), std::nullopt);
        return std::count_if(records.begin(), records.end(),
                             [](const Evidence& record) { return record.kind == "USAGE"; });
    };
    const auto usage = [&](std::int64_t seconds_run, const std::string& engine) {
        town.harness.clock.advance(seconds(1));
        tell(job, JobEventKind::usage,
             fmt::format(R"({{"runtime_ms":"{}","container_id":"c1","boot_id":"boot-1",)"
                         R"("engine":"{}"}})",
                         seconds_run * 1000, engine));
    };
    for (int second = 1; second <= 5; ++second) usage(second, "up");
    EXPECT_EQ(kept(), 5);
    for (int second = 6; second <= 9; ++second) {
        town.harness.clock.advance(seconds(1));
        beat(job, second * 1000);
    }
    EXPECT_EQ(kept(), 6);
    // Every second counts, whether it is on record or not.
    EXPECT_EQ(find(job).live.accepted_ms, 9'000);
}

TEST_F(Rental, KeepsItsPlaceInTheOrderOfRefusals) {
    const auto machine = put_up();
    const Person poor = join(R"(["renter"])");
    const auto quoted = quote(poor, machine, {});
    ASSERT_EQ(quoted.status, 201) << quoted.body;
    const std::string id = member(quoted.body, "quote_id");
    EXPECT_EQ(error_code(reserve(ben, id)), "NOT_FOUND");
    EXPECT_EQ(error_code(reserve(poor, id)), "INSUFFICIENT_FUNDS");
    EXPECT_EQ(seen(town.harness, machine.machine_id).state, machines::MachineState::AVAILABLE);
    town.harness.clock.advance(seconds(61));
    hear(town.harness, machine.machine_id);
    EXPECT_EQ(error_code(reserve(poor, id)), "QUOTE_EXPIRED");
    const auto fresh = quote(ben, machine, {});
    town.harness.clock.advance(seconds(30));
    const JobId taken = rent(ben, machine);
    EXPECT_EQ(error_code(reserve(ben, member(fresh.body, "quote_id"))), "CONFLICT");
    stop(ben, taken);
    town.harness.set("operations.admission_paused", "true");
    EXPECT_EQ(error_code(reserve(ben, id)), "ADMISSION_PAUSED");
    EXPECT_EQ(error_code(quote(ben, machine, {})), "ADMISSION_PAUSED");
}

TEST_F(Rental, KeepsItsEndpointKeyThroughAnExchangeOfTheSealingKey) {
    const JobId job = rent(ben, put_up());
    const std::string secrets = town.harness.folder.path() + "/secrets";
    const Bytes before = server::load_secrets(secrets, town.harness.random).seal;
    const std::string key =
        open_endpoint_key(crypto::Sealer{crypto::Secret(before)}, find(job).terms);
    std::vector<crypto::Secret> others;
    others.emplace_back(before);
    const crypto::Sealer both{crypto::Secret::make(town.harness.random), std::move(others)};
    crypto::Resealing resealing(both, town.harness.random);
    rentals::reseal(database(), resealing);
    EXPECT_EQ(resealing.renewed, 1);
    EXPECT_EQ(resealing.lost, 0);
    EXPECT_EQ(open_endpoint_key(both, find(job).terms), key);
    rentals::reseal(database(), resealing);
    EXPECT_EQ(resealing.renewed, 1);
}

TEST_F(Rental, RefusesAMachineThatHasGoneSilent) {
    const auto machine = put_up();
    hear(town.harness, machine.machine_id);
    pass(seconds(45));
    const auto quoted = send(ben, "POST", "/api/v1/quotes", quote_body(machine, {}));
    ASSERT_EQ(quoted.status, 201) << quoted.body;
    pass(seconds(50));
    EXPECT_EQ(error_code(reserve(ben, member(quoted.body, "quote_id"))), "CONFLICT");
    EXPECT_EQ(error_code(send(ben, "POST", "/api/v1/quotes", quote_body(machine, {}))), "CONFLICT");
}

}  // namespace
}  // namespace berth::test::whole_rentals
