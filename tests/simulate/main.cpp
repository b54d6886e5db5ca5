// simulate --seeds N --days D [--first S] [--machines M] [--renters R] [--jobs J]: many runs of the
// simulation, J at a time, each in a process of its own and with one line at its end. Every run
// that goes wrong is told with its seed.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "simulation/simulation.hpp"

namespace {

using namespace berth;
using Given = std::map<std::string, long>;

// What a run leaves for the summary, in memory that the processes share.
struct Result {
    bool is_done;
    double hours;
    double seconds;
    double model_seconds;
};

// In the process of this run: whether all was right.
bool run(const simulation::Options& options, Result& result) {
    try {
        const auto outcome = simulation::simulate(options);
        result = {.is_done = true,
                  .hours = static_cast<double>(outcome.tally.billed_ms) / 3'600'000,
                  .seconds = outcome.seconds,
                  .model_seconds = outcome.model_seconds};
        fmt::print("{}\n", outcome.text(options));
    } catch (const simulation::Difference& difference) {
        fmt::print("FAILED {}\n", difference.what());
    }
    std::fflush(stdout);
    return result.is_done;
}

class Runs {
public:
    explicit Runs(Given given)
        : given_(std::move(given)), count_(static_cast<std::size_t>(given_["--seeds"])) {
        void* memory = mmap(nullptr, sizeof(Result) * (count_ + 1), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("there is no memory for the results");
        results_ = static_cast<Result*>(memory);
    }

    int all() {
        const auto began = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < count_; ++i) {
            if (seeds_.size() == static_cast<std::size_t>(given_["--jobs"])) await_one();
            begin(i);
        }
        while (!seeds_.empty()) await_one();
        const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
        summarise(wall.count());
        return failed_ == 0 ? 0 : 1;
    }

private:
    void begin(std::size_t number) {
        const simulation::Options options{
            .seed = static_cast<std::uint64_t>(given_["--first"]) + number,
            .machines = static_cast<int>(given_["--machines"]),
            .renters = static_cast<int>(given_["--renters"]),
            .span = std::chrono::hours(24 * given_["--days"])};
        const pid_t child = fork();
        if (child < 0) throw std::runtime_error("there is no process for a run");
        if (child == 0) _exit(run(options, results_[number]) ? 0 : 1);
        seeds_[child] = options.seed;
    }

    void await_one() {
        int status = 0;
        const pid_t child = wait(&status);
        if (WIFSIGNALED(status))
            fmt::print("FAILED seed {}: ended by signal {}\n", seeds_[child], WTERMSIG(status));
        if (status != 0) ++failed_;
        seeds_.erase(child);
    }

    void summarise(double wall) const {
        Result sum{};
        for (std::size_t i = 0; i < count_; ++i) {
            sum.hours += results_[i].hours;
            sum.seconds += results_[i].seconds;
            sum.model_seconds += results_[i].model_seconds;
        }
        rusage used{};
        getrusage(RUSAGE_CHILDREN, &used);
        fmt::print(
            "{} seeds of {} days with {} machines and {} renters: {}; {:.0f} billed hours "
            "in {:.0f} s ({} s of CPU), model {:.1f} %\n",
            count_, given_.at("--days"), given_.at("--machines"), given_.at("--renters"),
            failed_ == 0 ? "no difference" : fmt::format("{} FAILED", failed_), sum.hours, wall,
            used.ru_utime.tv_sec + used.ru_stime.tv_sec,
            sum.seconds > 0 ? 100 * sum.model_seconds / sum.seconds : 0.0);
    }

    Given given_;
    std::size_t count_;
    Result* results_ = nullptr;
    std::map<pid_t, std::uint64_t> seeds_;  // of the runs that go on
    int failed_ = 0;
};

}  // namespace

int main(int count, char** words) {
    Given given{{"--seeds", 1},      {"--days", 1},      {"--first", 1},
                {"--machines", 200}, {"--renters", 500}, {"--jobs", 0}};
    given["--jobs"] = std::max(1U, std::thread::hardware_concurrency());
    for (int i = 1; i < count; i += 2) {
        if (i + 1 == count || !given.contains(words[i]) || std::atol(words[i + 1]) < 1) {
            std::fputs(
                "usage: simulate [--seeds N] [--days D] [--first S] [--machines M] "
                "[--renters R] [--jobs J]\n",
                stderr);
            return 2;
        }
        given[words[i]] = std::atol(words[i + 1]);
    }
    return Runs(given).all();
}
