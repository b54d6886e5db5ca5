// What the sweep of deadlines costs while nothing happens: a hundred thousand running jobs, each of
// which comes due every 300 s because its host was last heard then, and goes on because it was
// heard since. Five minutes of looks, one a second, on SQLite; ours is the share of one core in
// percent.
#include <fmt/format.h>

#include "bench/agents.hpp"
#include "bench/service.hpp"
#include "rentals/deadline_worker.hpp"
#include "rentals/rentals.hpp"
#include "rentals/store.hpp"
#include "server/app.hpp"

namespace {

using namespace berth;
using rentals::JobRow;

constexpr int jobs_total = 100'000;
constexpr int jobs_of_write = 1'000;
constexpr int period_s = 300;
constexpr double goal_percent = 5;

class TurnedClock final : public Clock {
public:
    Time now() const override { return now_; }
    void advance(Duration span) { now_ = now_ + span; }

private:
    Time now_ = SystemClock().now();
};

JobRow running_job(const Clock& clock, Random& random, int number) {
    JobRow job;
    const Time now = clock.now();
    job.terms.job_id = job.live.job_id = JobId::make(now, random);
    job.terms.renter_id = AccountId::make(now, random);
    job.terms.host_id = AccountId::make(now, random);
    job.terms.machine_id = MachineId::make(now, random);
    job.terms.quote_id = rentals::QuoteId::make(now, random);
    job.terms.image_digest = "sha256:" + std::string(64, 'a');
    job.terms.rate = Micro{400'000};
    job.terms.duration_limit_s = 31'536'000;
    job.terms.available_until = now + std::chrono::hours(24 * 365);
    job.terms.created_at = now;
    job.live.state = rentals::JobState::RUNNING;
    job.live.budget = Micro{1'000'000'000'000};
    job.live.lease_seq = 1000;
    job.live.waiting_since = now;
    job.live.meter_started_at = job.live.reported_at = now;
    // Its heartbeats are no part of what is measured; it is as if each had just come.
    job.live.seen_at = now + std::chrono::hours(1);
    job.live.boot_id = job.live.container_id = std::string(36, 'b');
    job.live.deadline_at =
        now + std::chrono::microseconds(std::int64_t{period_s} * 1'000'000 * number / jobs_total);
    return job;
}

void add_all(db::Database& database, const Clock& clock, Random& random) {
    for (int first = 0; first < jobs_total; first += jobs_of_write)
        database.write([&](db::Transaction& tx) {
            for (int i = first; i < first + jobs_of_write; ++i)
                rentals::add_job(tx, running_job(clock, random, i));
        });
}

void measure() {
    const bench::Folder folder;
    TurnedClock clock;
    SystemRandom random;
    server::App app(server::load_settings(bench::service_sources(folder, {})), clock, random);
    db::Database& database = app.database();
    add_all(database, clock, random);
    rentals::DeadlineWorker worker({app.rentals().lifecycle(), database, clock, random});
    std::int64_t looked_at = 0;
    const double before = bench::process_seconds();
    for (int second = 0; second < period_s; ++second) {
        clock.advance(std::chrono::seconds(1));
        database.write([&](db::Transaction& tx) {
            rentals::note_listening(tx, clock.now(), rentals::outage_after);
        });
        looked_at += worker.look();
    }
    const double percent = (bench::process_seconds() - before) / period_s * 100;
    if (looked_at != jobs_total)
        throw std::runtime_error(fmt::format("{} jobs were looked at", looked_at));
    fmt::print("BENCH sweep ours={:.2f}% baseline=goal:{:.0f}% ratio={:.2f}\n", percent,
               goal_percent, goal_percent / percent);
}

}  // namespace

int main() {
    try {
        measure();
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
    return 0;
}
