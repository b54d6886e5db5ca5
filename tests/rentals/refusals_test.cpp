// What is not rented, whoever asks: the rules about time, number and ownership.
#include "rentals/market.hpp"

namespace berth::test {
namespace {

class NotRented : public MarketTest {
protected:
    // The offer's window from now on.
    void offer_between(const machines::Machine& machine, int expected, Duration from,
                       Duration until) {
        const auto edited =
            send(ada, "PATCH", "/api/v1/hosts/machines/" + to_string(machine.machine_id) + "/offer",
                 fmt::format(R"({{"expected_version":"{}","rate_micro_per_hour":"{}",)"
                             R"("included_disk_gib":100,"included_egress_gib":1000,)"
                             R"("available_from":"{}","available_until":"{}"}})",
                             expected, rate, to_rfc3339(now() + from), to_rfc3339(now() + until)));
        ASSERT_EQ(edited.status, 202) << edited.body;
    }
    // The payload of the START that waits for a machine.
    std::string start_of(const machines::Machine& machine) {
        return database().read([&](db::Transaction& tx) {
            const auto commands = town.harness.app->rentals().lifecycle().commands().waiting(
                tx, machine.machine_id, now());
            return commands.empty() ? "" : commands.back().payload.text;
        });
    }
};

TEST_F(NotRented, IsAnOfferThatHasNotBegunOrEndsWithinTheMinute) {
    const auto machine = put_up();
    offer_between(machine, 1, seconds(1), hours(1));
    EXPECT_EQ(error_code(quote(ben, machine, {})), "CONFLICT") << "not begun";
    offer_between(machine, 2, -seconds(1), seconds(59));
    EXPECT_EQ(error_code(quote(ben, machine, {})), "CONFLICT") << "ends too soon";
    offer_between(machine, 3, Duration{}, seconds(60));
    const auto quoted = quote(ben, machine, {});
    ASSERT_EQ(quoted.status, 201) << quoted.body;
    EXPECT_EQ(member(quoted.body, "estimated_total_micro"), "86400000")
        << "of the whole duration, whatever the budget";
    town.harness.clock.advance(seconds(1));
    EXPECT_EQ(error_code(reserve(ben, member(quoted.body, "quote_id"))), "CONFLICT");
}

TEST_F(NotRented, IsAMachineOfOnesOwn) {
    ada = join(R"(["renter","host"])", 10'000'000);
    const auto quoted = quote(ada, put_up(), {});
    ASSERT_EQ(quoted.status, 201) << quoted.body;
    EXPECT_EQ(error_code(reserve(ada, member(quoted.body, "quote_id"))), "CONFLICT");
    EXPECT_EQ(balances(ada).held, Micro{});
}

TEST_F(NotRented, IsAMachineThatWasNeverMeasuredWhateverIsToRunOnIt) {
    const auto machine = put_up();
    database().write([&](db::Transaction& tx) {
        auto row = machines::hold(tx, machine.machine_id).value();
        row.verification_level = machines::VerificationLevel::unverified;
        machines::save({tx, town.harness.random, now()}, row);
        tx.run("UPDATE machines SET vram_bytes = NULL WHERE machine_id = $1", row.machine_id);
    });
    EXPECT_EQ(error_code(quote(ben, machine, {})), "CONFLICT");
}

TEST_F(NotRented, IsMoreThanTenAtOnceThatAreNotReady) {
    std::vector<JobId> jobs;
    for (int i = 0; i < 10; ++i) jobs.push_back(rent(ben, put_up(), {.budget = 1000}));
    const auto quoted = quote(ben, put_up(), {.budget = 1000});
    EXPECT_EQ(error_code(reserve(ben, member(quoted.body, "quote_id"))), "CONFLICT");
    get_ready(jobs.front());
    EXPECT_EQ(reserve(ben, member(quoted.body, "quote_id")).status, 202);
}

TEST_F(NotRented, IsLessThanTheLeastFundedTime) {
    const auto reserved = [&](std::int64_t budget) {
        const auto quoted = quote(ben, put_up(), {.budget = budget});
        EXPECT_EQ(quoted.status, 201) << quoted.body;
        return reserve(ben, member(quoted.body, "quote_id"));
    };
    EXPECT_EQ(reserved(1).status, 202) << "any, unless operators say otherwise";
    town.harness.set("operations.funded_time_min_s", "120");
    EXPECT_EQ(error_code(reserved(119'999)), "CONFLICT");
    EXPECT_EQ(reserved(120'000).status, 202);
}

// Of a template that needs it, when the renter says so, and never otherwise.
TEST_F(NotRented, IsAGatedTemplateWithoutTheTokenThatWasPromised) {
    const std::string more = R"(,"use_hub_token":true})";
    const auto rented = [&](const machines::Machine& machine, const std::string& ending) {
        const auto quoted = quote(ben, machine, {});
        std::string body = reserve_body(member(quoted.body, "quote_id"));
        body.replace(body.size() - 1, 1, ending);
        return send(ben, "POST", "/api/v1/jobs", body);
    };
    const auto open = put_up();
    EXPECT_EQ(rented(open, more).status, 202) << "not gated: there is nothing to send";
    EXPECT_EQ(member(start_of(open), "hub_token"), "null");

    database().write([&](db::Transaction& tx) {
        tx.run("UPDATE templates SET gated = 1 WHERE template_id = $1",
               offers::TemplateId{parse_uuid(classical).value()});
    });
    const auto refused = rented(put_up(), more);
    EXPECT_EQ(error_code(refused), "CONFLICT") << refused.body;
    const auto saved =
        send(ben, "PUT", "/api/v1/account/integrations/huggingface", R"({"token":"hf_abcdef"})");
    ASSERT_EQ(saved.status, 200) << saved.body;
    const auto silent = put_up();
    EXPECT_EQ(rented(silent, "}").status, 202);
    EXPECT_EQ(member(start_of(silent), "hub_token"), "null");
    const auto asked = put_up();
    EXPECT_EQ(rented(asked, more).status, 202);
    EXPECT_EQ(member(start_of(asked), "hub_token"), "hf_abcdef");
}

using LogsOfJobs = MarketTest;

TEST_F(LogsOfJobs, AreShownToTheRenterWithoutSecrets) {
    const JobId job = rent(ben, put_up());
    const auto logs = [&](const Person& who) {
        return send(who, "GET", "/api/v1/jobs/" + to_string(job) + "/logs");
    };
    get_ready(job);
    EXPECT_EQ(member(logs(ben).body, "log_tail"), "null");
    EXPECT_EQ(member(logs(ben).body, "at"), "null");
    tell(job, agent_protocol::JobEventKind::usage,
         R"({"runtime_ms":"1","container_id":"c1","boot_id":"boot-1","log_tail":)"
         R"("Authorization: Bearer sk-abcdefghijklmnopqrstuvwxyz\nServing"})");
    EXPECT_EQ(member(logs(ben).body, "at"), to_rfc3339(now()));
    EXPECT_NE(member(logs(ben).body, "log_tail").find("Serving"), std::string::npos);
    EXPECT_EQ(logs(ben).body.find("abcdefghijklmnop"), std::string::npos) << logs(ben).body;
    EXPECT_EQ(logs(join(R"(["renter"])")).status, 404);
}

}  // namespace
}  // namespace berth::test
