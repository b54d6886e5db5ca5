#include "simulation/run.hpp"

#include "base/log.hpp"

namespace berth::simulation {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// Just often enough not to look like an outage.
constexpr Duration look_every = seconds(14);
constexpr int looks_per_round = 8;  // then the worker does everything else too
constexpr Duration settling = hours(2);

}  // namespace

void Simulation::look() {
    if (world_.is_up()) {
        trouble_gates();
        gates_.report([this](const std::string& machine, const std::string& gate) {
            return by_machine_.at(machine)->is_linked_to(gate);
        });
        if (looks_++ % looks_per_round == 0)
            world_.work();
        else
            world_.look();
        timed([&] { model_.looks(players_.moment()); });
        check_ended();
        if (looks_ % looks_per_round == 0) check_stuck();
    }
    players_.later(look_every, [this] { look(); });
}

// Gates fall silent, and machines lose their links.
void Simulation::trouble_gates() {
    if (!is_open_ || options_.trouble_percent == 0) return;
    gates_.perhaps_fail();
    constexpr int lost_one_in = 20;
    Dice& dice = gates_.dice();
    if (dice.between(1, lost_one_in) != 1) return;
    const auto last = static_cast<std::int64_t>(agents_.size()) - 1;
    agents_[static_cast<std::size_t>(dice.between(0, last))]->lose_link(
        dice.seconds(10, dice.chance(60) ? 200 : 1500));
}

// It goes away for a while, and comes back as it was or as it was at the last copy.
void Simulation::restart() {
    if (!is_open_) return;
    players_.later(dice_.seconds(3 * 3600, 9 * 3600), [this] { restart(); });
    tally_.add("restarts");
    check_books();
    const bool goes_back = options_.restores && has_copy_ && dice_.chance(35);
    const bool soon = options_.restores && !goes_back && dice_.chance(50);
    if (soon)
        for (const auto& agent : agents_)
            if (agent->is_present()) hear(*agent);
    world_.go_down();
    if (goes_back) {
        put_back();
    } else {
        world_.keep_copy();
        copied_model_ = model_;
        has_copy_ = true;
    }
    if (soon) return go_back_soon();
    const bool is_long = dice_.chance(30);
    players_.later(dice_.seconds(1, is_long ? 1200 : 40), [this] { come_up(); });
}

// Put back to a copy so young that its heartbeats still look fresh: machines that were rented since
// seem idle, and renters come at once.
void Simulation::go_back_soon() {
    players_.later(dice_.seconds(1, 10), [this] {
        come_up();
        rush();
        players_.later(dice_.seconds(10, 30), [this] {
            world_.go_down();
            put_back();
            players_.later(dice_.seconds(1, 5), [this] {
                come_up();
                rush();
            });
        });
    });
}

void Simulation::put_back() {
    tally_.add("restores");
    world_.put_back_copy();
    model_ = copied_model_;
    for (auto& agent : agents_) agent->note_restored();
}

void Simulation::come_up() {
    world_.come_up();
    world_.work();
    world_.look();
    model_.starts(players_.moment());
    model_.looks(players_.moment());
    for (auto& agent : agents_) agent->nudge();
}

// Every machine that is there is asked for.
void Simulation::rush() {
    for (const auto& agent : agents_) {
        if (!is_open_ || !agent->is_present()) continue;
        tally_.add("rushed for");
        hear(*agent);
        rent(renters_[static_cast<std::size_t>(
                 dice_.between(0, static_cast<std::int64_t>(renters_.size()) - 1))],
             *agent);
    }
}

// Nothing new begins, hosts do their work, and everything comes to its end.
void Simulation::settle_down() {
    is_open_ = false;
    if (!world_.is_up()) return players_.later(minutes(1), [this] { settle_down(); });
    for (auto& agent : agents_) agent->behave();
    gates_.behave();
    for (const auto& [job, bill] : model_.bills())
        if (bill.stage != Stage::over)
            players_.later(dice_.seconds(1, 60), [this, id = job, renter = bill.deal.renter,
                                                  &agent = *by_machine_.at(bill.deal.machine)] {
                stop(renter, agent, id);
            });
}

Outcome Simulation::run() {
    const auto began = std::chrono::steady_clock::now();
    open();
    world_.work();
    world_.look();
    model_.starts(players_.moment());
    players_.later(look_every, [this] { look(); });
    players_.later(dice_.seconds(600, 7200), [this] { drain_one(); });
    players_.later(dice_.seconds(1800, 4 * 3600), [this] { restart(); });
    const Time close = world_.now() + options_.span;
    timeline_.put(close, [this] { settle_down(); });
    const Time end = close + settling;
    while (!timeline_.empty() && timeline_.next() <= end) {
        world_.go_to(std::max(timeline_.next(), world_.now()));
        timeline_.take()();
    }
    check_books();
    check_over();
    check_events();
    Outcome outcome{tally_, model_seconds_, 0};
    outcome.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return outcome;
}

std::string Outcome::text(const Options& options) const {
    const double job_hours = static_cast<double>(tally.billed_ms) / 3'600'000;
    std::string line = fmt::format(
        "seed {}: {:.1f} billed hours in {:.1f} s ({:.0f} a second, model {:.1f} %), "
        "digest {:016x}",
        options.seed, job_hours, seconds, job_hours / seconds, 100 * model_seconds / seconds,
        tally.digest);
    for (const auto& [what, count] : tally.counts) line += fmt::format("; {} {}", what, count);
    return line;
}

Outcome simulate(const Options& options) {
    set_log(Level::error);  // a line for each request would be most of the work
    try {
        return Simulation(options).run();
    } catch (const std::exception& error) {
        throw Difference(fmt::format("seed {}: {}", options.seed, error.what()));
    }
}

}  // namespace berth::simulation
