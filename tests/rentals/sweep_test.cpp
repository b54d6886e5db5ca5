// The sweep of deadlines: what is not due is put back without a lock, what is due happens.
#include "rentals/market.hpp"

namespace berth::test {
namespace {

// Counts the transactions that change something, and lets a test come in between.
class CountedDatabase final : public db::Database {
public:
    explicit CountedDatabase(db::Database& real) : real_(real) {}
    db::Engine engine() const override { return real_.engine(); }
    std::uint64_t changes() const override { return real_.changes(); }
    bool is_touched(const Uuid& id) const override { return real_.is_touched(id); }

    int writes = 0;
    std::function<void()> before_write;

protected:
    void run_write(const Work& work) override {
        ++writes;
        if (before_write) std::exchange(before_write, nullptr)();
        real_.write(work);
    }
    void run_read(const Work& work) override { real_.read(work); }

private:
    db::Database& real_;
};

class Sweep : public MarketTest {
protected:
    void SetUp() override {
        side().note_listening(database(), now());
        ben = join(R"(["renter"])", 40'000'000);
    }
    // With so much money that nothing is told of it before its host is lost.
    JobId running(const std::string& offer = "",
                  machines::HostMode mode = machines::HostMode::dedicated) {
        const JobId job = rent(ben, put_up(offer, mode), {.budget = 1'500'000});
        get_ready(job);
        return job;
    }
    void make_due(JobId job) {
        database().write([&](db::Transaction& tx) {
            tx.run("UPDATE jobs SET deadline_at = $2 WHERE job_id = $1", job, now() - seconds(1));
        });
    }
    std::int64_t look(std::int64_t share = 0) {
        side().note_listening(database(), now());
        DeadlineWorker worker({town.harness.app->rentals().lifecycle(), counted, town.harness.clock,
                               town.harness.random},
                              share);
        return worker.look();
    }
    Time due_at(JobId job) { return find(job).live.deadline_at.value(); }

    CountedDatabase counted{database()};
};

TEST_F(Sweep, OfJobsThatGoOnIsOneWriteForAll) {
    std::vector<JobId> jobs;
    for (int i = 0; i < 18; ++i) jobs.push_back(running());
    side().note_listening(database(), now());
    town.harness.clock.advance(seconds(10));
    for (const JobId& job : jobs) make_due(job);
    EXPECT_EQ(look(), 18);
    EXPECT_EQ(counted.writes, 1);
    for (const JobId& job : jobs) {
        EXPECT_EQ(state_of(job), JobState::RUNNING);
        EXPECT_EQ(due_at(job), find(job).live.seen_at.value() + host_lost_after);
    }
    EXPECT_EQ(look(), 0);
    EXPECT_EQ(counted.writes, 1) << "nothing is written where nothing is due";
}

TEST_F(Sweep, LocksOnlyWhatIsDue) {
    side().note_listening(database(), now());
    const JobId lost = running();
    town.harness.clock.advance(seconds(150));
    side().note_listening(database(), now() - seconds(140));
    for (int i = 13; i >= 0; --i) side().note_listening(database(), now() - seconds(10 * i));
    const JobId heard = running();
    for (int i = 1; i <= 16; ++i) {
        town.harness.clock.advance(seconds(10));
        side().note_listening(database(), now());
    }
    beat(heard, 1000);
    make_due(lost);
    make_due(heard);
    EXPECT_EQ(look(), 2);
    EXPECT_EQ(counted.writes, 2 + 2) << "for each job, and to tell of two machines not heard";
    EXPECT_EQ(state_of(lost), JobState::CLOSED);
    EXPECT_EQ(member(show(ben, lost), "end_reason"), "host_lost");
    EXPECT_EQ(state_of(heard), JobState::RUNNING);
    EXPECT_EQ(due_at(heard), now() + host_lost_after);
}

// Between the look and the write a job may come to a deadline that is earlier than the one that was
// found for it.
TEST_F(Sweep, PutsNothingBackThatChangedMeanwhile) {
    town.harness.set("operations.availability_classes_released", "true");
    const JobId job = running(R"(,"availability_class":"interruptible","preemption_notice_s":30)",
                              machines::HostMode::idle);
    side().note_listening(database(), now());
    town.harness.clock.advance(seconds(10));
    make_due(job);
    counted.before_write = [&] { tell(job, agent_protocol::JobEventKind::preempt_notice, "{}"); };
    look();
    EXPECT_LE(due_at(job), now()) << "it is looked at again at once";
    look();
    EXPECT_EQ(due_at(job), now() + seconds(30));
    pass(seconds(31));
    EXPECT_EQ(state_of(job), JobState::STOPPING);
}

TEST_F(Sweep, IsSharedWithoutHarm) {
    const JobId job = running();
    side().note_listening(database(), now());
    town.harness.clock.advance(seconds(10));
    make_due(job);
    EXPECT_EQ(look(1), 0) << "the first part is for the first";
    EXPECT_EQ(look(0), 1);
}

}  // namespace
}  // namespace berth::test
