// What must not hold up a job, a thread or a renter: outages of weeks, machines that leave, hosts
// that answer slowly or with more than a name.
#include <future>

#include "rentals/market.hpp"
#include "support/eventually.hpp"

namespace berth::test {
namespace {

using agent_protocol::JobEventKind;

class Stuck : public MarketTest {};

TEST_F(Stuck, NoJobIsAfterAnOutageOfManyMidnights) {
    const Person rich = join(R"(["renter"])", 9'000'000'000);
    const JobId job = rent(rich, put_up(), {.budget = 8'000'000'000, .duration_s = 31'536'000});
    get_ready(job);
    town.harness.clock.advance(seconds(40));
    beat(job, 40'000);
    pass(seconds(1));
    town.harness.clock.advance(hours(24 * 40));
    pass(seconds(290));
    EXPECT_EQ(state_of(job), JobState::RUNNING);
    pass(seconds(20));
    EXPECT_EQ(state_of(job), JobState::CLOSED);
    EXPECT_EQ(member(show(rich, job), "end_reason"), "host_lost");
    EXPECT_EQ(balances(rich).available, Micro{9'000'000'000 - 40'000});
}

// With workers apart from the processes that listen, these may be away alone.
TEST_F(Stuck, NoHostIsLostWhileNobodyListens) {
    const JobId running = rent(ben, put_up(), {.budget = 3'000'000});
    get_ready(running);
    const JobId reserved = rent(ben, put_up());
    pass(seconds(1));
    pass_unheard(seconds(900));
    EXPECT_EQ(state_of(running), JobState::RUNNING);
    EXPECT_EQ(state_of(reserved), JobState::RESERVED);
    EXPECT_NE(machine_of(running), machines::MachineState::QUARANTINED);
    pass(seconds(1));
    const Time back = town.harness.clock.now() - seconds(1);
    EXPECT_EQ(member(show(ben, running), "state_deadline"), to_rfc3339(back + seconds(300)));
    pass(seconds(290));
    EXPECT_EQ(state_of(running), JobState::RUNNING);
    pass(seconds(20));
    EXPECT_EQ(member(show(ben, running), "end_reason"), "host_lost");
}

TEST_F(Stuck, NoJobIsBehindOneThatCannotGoOn) {
    const JobId broken = rent(ben, put_up());
    get_ready(broken);
    const JobId sound = rent(ben, put_up());
    get_ready(sound);
    database().write([&](db::Transaction& tx) {
        tx.run("UPDATE jobs SET meter_started_at = NULL, deadline_at = 0 WHERE job_id = $1",
               broken);
    });
    pass(seconds(310));
    EXPECT_EQ(state_of(broken), JobState::RUNNING);
    EXPECT_EQ(state_of(sound), JobState::CLOSED);
}

TEST_F(Stuck, NoJobIsWhoseMachineLeftBeforeItSaidStopped) {
    const JobId job = rent(ben, put_up());
    get_ready(job);
    town.harness.clock.advance(seconds(40));
    beat(job, 40'000);
    const MachineId machine = find(job).terms.machine_id;
    as_agent(machine, [&](const db::Context& context, machines::Machine& row) {
        machines::apply(context, row, machines::MachineEvent::quarantine,
                        {.cause = machines::QuarantineCause::operator_});
        town.harness.app->rentals().put_aside(context, row);
    });
    ASSERT_EQ(state_of(job), JobState::STOPPING);
    const auto retired = send(ada, "DELETE", "/api/v1/hosts/machines/" + to_string(machine));
    ASSERT_EQ(retired.status, 204) << retired.body;
    pass(seconds(301));
    EXPECT_EQ(state_of(job), JobState::CLOSED);
    EXPECT_EQ(balances(ben).held, Micro{});
    EXPECT_EQ(balances(ben).available, Micro{10'000'000 - 40'000});
}

TEST_F(Stuck, NoRenterIsGivenACommandThatAHostWrote) {
    const JobId job = rent(ben, put_up());
    accept(job);
    const auto ready = [&](const std::string& host) {
        return tell(job, JobEventKind::ready,
                    fmt::format(R"({{"container_id":"c1","boot_id":"boot-1","endpoints":[{},)"
                                R"({{"kind":"ssh","name":"more","host":"{}","port":40022}}]}})",
                                promised_endpoints(job), host));
    };
    for (const std::string host :
         {"example.org;reboot", "$(reboot)", "a b", "-oProxyCommand", "x\\u001b[2J", "[::1]'"})
        EXPECT_THROW(ready(host), Problem) << host;
    EXPECT_EQ(state_of(job), JobState::STARTING);
    EXPECT_EQ(ready("host-1.example.org"), "RUNNING");
}

// Answers when it is let to.
class SlowHost final : public http::Client {
public:
    http::Response send(const http::Outbound&) override {
        ++asked;
        until.wait();
        return {};
    }
    bool waits_for(int probes) {
        return support::eventually([&] { return asked == probes; });
    }
    std::atomic<int> asked{0};
    std::promise<void> go;

private:
    std::shared_future<void> until = go.get_future().share();
};

class SlowProbe : public ::testing::Test {
protected:
    Prober::Answers ask(const Prober::Asked& of) {
        return prober.ask_all(of, {{{"127.0.0.1", 8080, {}}, "/", "key"}});
    }
    void start(const Prober::Asked& of) {
        started.push_back(std::async(std::launch::async, [this, of] { return ask(of); }));
    }
    JobId new_job() { return JobId::make(Time{}, random); }
    AccountId new_owner() { return AccountId::make(Time{}, random); }
    void expect_all_answered() {
        host.go.set_value();
        for (auto& each : started)
            EXPECT_EQ(each.get().addresses, std::vector<std::string>{"127.0.0.1"});
    }

    SeededRandom random;
    SlowHost host;
    const Prober prober{host, http::Reach::anywhere};
    std::vector<std::future<Prober::Answers>> started;
};

TEST_F(SlowProbe, TakesOneThreadOfAJobAndNoMore) {
    const Prober::Asked of{new_job(), new_owner()};
    start(of);
    EXPECT_TRUE(host.waits_for(1));
    EXPECT_TRUE(ask(of).fault.has_value());
    expect_all_answered();
    EXPECT_FALSE(ask(of).fault.has_value());
}

// A host with many machines that all keep us waiting has a few threads of ours; the host beside it
// is asked all the same.
TEST_F(SlowProbe, TakesFewThreadsOfAnOwner) {
    const AccountId owner = new_owner();
    constexpr int few = static_cast<int>(Prober::at_once_of_owner_max);
    for (int i = 0; i < few; ++i) start({new_job(), owner});
    EXPECT_TRUE(host.waits_for(few));
    EXPECT_TRUE(ask({new_job(), owner}).fault.has_value());
    EXPECT_EQ(host.asked, few);
    start({new_job(), new_owner()});
    EXPECT_TRUE(host.waits_for(few + 1));
    expect_all_answered();
    EXPECT_FALSE(ask({new_job(), owner}).fault.has_value());
}

TEST_F(SlowProbe, TakesFewThreadsInAll) {
    constexpr int all = static_cast<int>(Prober::at_once_max);
    for (int i = 0; i < all; ++i) start({new_job(), new_owner()});
    EXPECT_TRUE(host.waits_for(all));
    EXPECT_TRUE(ask({new_job(), new_owner()}).fault.has_value());
    EXPECT_EQ(host.asked, all);
    expect_all_answered();
    EXPECT_FALSE(ask({new_job(), new_owner()}).fault.has_value());
}

}  // namespace
}  // namespace berth::test
