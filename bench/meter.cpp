// What it costs to meter: 100,000 running jobs on SQLite, and one heartbeat for each, which accepts
// usage, keeps it as evidence and grants a lease, as the route of heartbeats does it. JSON and
// signatures are not counted. Processor time against 20 s of one core.
#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "base/log.hpp"
#include "bench/service.hpp"
#include "machines/machine.hpp"
#include "rentals/rentals.hpp"
#include "rentals/store.hpp"
#include "server/app.hpp"
#include "server/features.hpp"

namespace {

using namespace berth;

constexpr int jobs_total = 100'000;
constexpr int callers = 64;
constexpr int jobs_per_write = 2'000;
constexpr double goal_seconds = 20;
constexpr Duration since_last = std::chrono::seconds(20);

// The moment at which all of it happens.
class Still final : public Clock {
public:
    Time now() const override { return now_; }
    void pass(Duration span) { now_ = now_ + span; }

private:
    Time now_ = SystemClock().now();
};

double process_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Running {
    MachineId machine;
    JobId job;
};

rentals::JobRow new_job(const machines::Machine& machine, JobId id, Time now, Random& random) {
    rentals::JobRow row;
    row.terms.job_id = row.live.job_id = id;
    row.terms.renter_id = AccountId::make(now, random);
    row.terms.host_id = machine.owner;
    row.terms.machine_id = machine.machine_id;
    row.terms.quote_id = rentals::QuoteId::make(now, random);
    row.terms.offer_id = machine.offer_id;
    row.terms.offer_version = 1;
    row.terms.image_digest = "image";
    row.terms.rate = Micro{400'000};
    row.terms.fee_bps = 1000;
    row.terms.duration_limit_s = 86'400;
    row.terms.available_until = now + std::chrono::hours(240);
    row.terms.start_deadline_s = 900;
    row.terms.fence = machine.fence;
    row.terms.created_at = row.live.waiting_since = now;
    row.live.state = rentals::JobState::RUNNING;
    row.live.budget = Micro{100'000'000};
    row.live.lease_seq = 1;
    row.live.lease_until = now + std::chrono::seconds(90);
    row.live.accepted_at = row.live.meter_started_at = row.live.reported_at = row.live.seen_at =
        now;
    row.live.boot_id = "boot";
    row.live.container_id = "container";
    row.live.deadline_at = now + std::chrono::seconds(300);
    return row;
}

std::vector<Running> begin_jobs(db::Database& database, Time now, Random& random) {
    std::vector<Running> all;
    while (static_cast<int>(all.size()) < jobs_total)
        database.write([&](db::Transaction& tx) {
            for (int i = 0; i < jobs_per_write; ++i) {
                machines::Machine machine;
                machine.machine_id = MachineId::make(now, random);
                machine.version = 1;
                machine.owner = AccountId::make(now, random);
                machine.enrolled_at = machine.changed_at = now;
                machine.state = machines::MachineState::ALLOCATED;
                machine.agent_version = "1.0.0";
                machine.boot_id = "boot";
                machine.manifest_hash = "sha256:0";
                machine.offer_id = machines::OfferId::make(now, random);
                machine.job_id = JobId::make(now, random);
                machines::add(tx, machine, "{}", {});
                rentals::add_job(tx, new_job(machine, *machine.job_id, now, random));
                all.push_back({machine.machine_id, *machine.job_id});
            }
        });
    return all;
}

class Round {
public:
    Round(server::App& app, const Still& clock, Random& random)
        : app_(app), clock_(clock), random_(random) {}

    // Processor seconds for a heartbeat of each; throws when one got no lease.
    double run(const std::vector<Running>& all) {
        std::atomic<std::size_t> next{0};
        std::atomic<int> leases{0};
        const double before = process_seconds();
        std::vector<std::thread> threads;
        for (int i = 0; i < callers; ++i)
            threads.emplace_back([&] {
                for (std::size_t at = next++; at < all.size(); at = next++)
                    leases += static_cast<int>(beat(all[at]));
            });
        for (std::thread& thread : threads) thread.join();
        const double spent = process_seconds() - before;
        if (leases != jobs_total) throw std::runtime_error("a lease was not granted");
        return spent;
    }

private:
    std::size_t beat(const Running& running) {
        agent_protocol::Heartbeat beat;
        beat.boot_id = {"boot"};
        agent_protocol::JobReport report;
        report.job_id = running.job;
        report.lease_seq = {1};
        report.container_id = wire::Text<1, 128>{"container"};
        report.runtime_ms = {
            std::chrono::duration_cast<std::chrono::milliseconds>(since_last).count()};
        beat.jobs.value = {report};
        const machines::SignedMessage message{std::string(600, 'x'),          std::string(200, 'x'),
                                              std::string(90, 'x'),           "berth.example",
                                              "/api/v1/host-agent/heartbeat", std::string(44, 'x')};
        return app_.database().write([&](db::Transaction& tx) {
            const db::Context context{tx, random_, clock_.now()};
            auto machine = machines::hold(tx, running.machine).value();
            const auto leases =
                app_.rentals().host_agent_side().heartbeat(context, machine, beat, message);
            machines::note_heard(
                tx,
                {.machine_id = running.machine, .last_healthy_at = context.now, .boot_id = "boot"});
            return leases.size();
        });
    }

    server::App& app_;
    const Still& clock_;
    Random& random_;
};

}  // namespace

int main() {
    set_log(Level::error);
    const bench::Folder folder;
    Still clock;
    SystemRandom random;
    server::App app(server::load_settings(bench::service_sources(folder)), clock, random);
    const auto all = begin_jobs(app.database(), clock.now(), random);
    clock.pass(since_last);
    const double spent = Round(app, clock, random).run(all);
    fmt::print("BENCH meter ours={:.1f} baseline=goal-cpu-seconds:{:.0f} ratio={:.2f}\n", spent,
               goal_seconds, goal_seconds / spent);
}
