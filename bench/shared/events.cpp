#include "bench/events.hpp"

#include <atomic>
#include <thread>

#include "events/events.hpp"
#include "rentals/market.hpp"

namespace berth::bench {

class RentalMill::Town final : public test::MarketTest {
public:
    explicit Town(Hosts hosts)
        : MarketTest(test::Harness::Options{.flags = {{"rate-account-per-minute", "1000000000"},
                                                      {"rate-quotes-per-minute", "1000000000"},
                                                      {"starts-open-max", "100000"},
                                                      {"unbilled-starts-per-hour", "0"}}}) {
        for (int i = 0; i < callers; ++i) {
            if (hosts == Hosts::many) ada = join(R"(["host"])");
            renters_.push_back(join(R"(["renter"])", 10'000'000));
            machines_.push_back(put_up());
        }
    }
    void TestBody() override {}

    double grind(int times) {
        std::atomic<int> left = times;
        std::vector<std::thread> threads;
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t caller = 0; caller < callers; ++caller)
            threads.emplace_back([&, caller] {
                while (left-- > 0) rent_once(renters_[caller], machines_[caller]);
            });
        for (std::thread& thread : threads) thread.join();
        const std::chrono::duration<double> span = std::chrono::steady_clock::now() - begin;
        return times / span.count();
    }

private:
    void rent_once(const Person& renter, const machines::Machine& machine) {
        const JobId job = rent(renter, machine);
        get_ready(job);
        stop(renter, job);
        end(job);
        stop(renter, job, R"(,"skip_retrieval":true)");
        if (clean(job) != "CLOSED") throw std::runtime_error("a rental did not end");
    }

    std::vector<Person> renters_;
    std::vector<machines::Machine> machines_;
};

RentalMill::RentalMill(Hosts hosts) : town_(std::make_unique<Town>(hosts)) {}
RentalMill::~RentalMill() = default;
double RentalMill::grind(int times) { return town_->grind(times); }

void measure_telling(std::string_view name, int times) {
    constexpr int rounds = 5;
    RentalMill mill(RentalMill::Hosts::many);
    std::vector<double> told;
    std::vector<double> silent;
    mill.grind(RentalMill::callers);
    for (int round = 0; round < rounds; ++round) {
        told.push_back(mill.grind(times));
        events::set_muted(true);
        silent.push_back(mill.grind(times));
        events::set_muted(false);
    }
    print(name, told, "tells-nothing", silent);
}

}  // namespace berth::bench
