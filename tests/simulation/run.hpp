// One run of the simulation: the market, the service with its restarts, and what must be so.
#pragma once

#include <fmt/format.h>

#include "simulation/gates.hpp"
#include "simulation/simulation.hpp"

namespace berth::simulation {

struct Template {
    std::string id;
    bool is_model = false;
};

class Simulation {
public:
    explicit Simulation(const Options& options)
        : options_(options),
          dice_(options.seed),
          gates_(world_, model_, tally_, options.seed + 1'000'000),
          players_{world_, model_, timeline_, dice_, tally_, gates_} {}

    Outcome run();

private:
    // The market
    void open();
    void open_machine(const std::string& host);
    void find_templates();
    void come_by(std::size_t renter);
    std::string choose_copied();
    bool list(const std::string& host, const std::string& machine);
    void hear(const HostAgent& agent);
    void check_card(const std::string& machine, const http::Response& quoted);
    void rent(const std::string& renter, HostAgent& agent);
    void reserve(const std::string& renter, HostAgent& agent, const std::string& quote,
                 const Deal& deal);
    void plan(const std::string& renter, HostAgent& agent, const std::string& job);
    void stop(const std::string& renter, HostAgent& agent, const std::string& job);
    void raise(const std::string& renter, const std::string& job);
    void repair(HostAgent& agent);
    void drain_one();
    void trouble_gates();
    bool is_delivered(const std::string& job);

    // The service
    void look();
    void restart();
    void go_back_soon();
    void put_back();
    void come_up();
    void rush();
    void settle_down();

    // What must be so
    void check_ended();
    void check_stuck();
    void check_books();
    void check_days(db::Transaction& tx);
    void check_over();
    void check_events();

    template <class Function>
    void timed(const Function& function) {
        const auto began = std::chrono::steady_clock::now();
        function();
        model_seconds_ +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    }
    void require_that(bool holds, const std::string& sentence) const {
        if (!holds) throw Difference(fmt::format("{}: {}", to_rfc3339(world_.now()), sentence));
    }

    const Options options_;
    World world_;
    PlainModel model_;
    PlainModel copied_model_;
    bool has_copy_ = false;
    Timeline timeline_;
    Dice dice_;
    Tally tally_;
    GateCrew gates_;
    Players players_;
    std::vector<std::unique_ptr<HostAgent>> agents_;
    std::map<std::string, HostAgent*> by_machine_;
    std::map<std::string, std::string> offers_;  // by machine
    std::map<std::string, std::string> cards_;   // by genuine machine
    // The genuine machine, by the one that names its card and has passed a test.
    std::map<std::string, std::string> copied_from_;
    std::map<std::string, MachineId> untested_copies_;  // by the machine whose card is named
    std::vector<std::string> hosts_;
    std::vector<std::string> renters_;
    std::vector<Template> templates_;
    std::int64_t looks_ = 0;
    std::int64_t opened_on_ = 0;
    bool is_open_ = true;
    double model_seconds_ = 0;
};

}  // namespace berth::simulation
