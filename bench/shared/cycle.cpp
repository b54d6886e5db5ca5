#include "bench/cycle.hpp"

#include <atomic>
#include <thread>

namespace berth::bench {

void fill_books(db::Database& database) {
    const SystemClock clock;
    SystemRandom random;
    database.write([&](db::Transaction& tx) {
        for (int i = 1; i <= renters + hosts; ++i)
            ledger::deposit({tx, random, clock.now()}, {{numbered_id(static_cast<unsigned>(i))},
                                                        ledger::Asset::usdc,
                                                        funds,
                                                        std::to_string(i)});
    });
}

void prepare_books(db::Database& database) {
    db::migrate(database, ledger::migrations);
    fill_books(database);
}

void run_step(ledger::Context context, const Cycle& cycle, int step) {
    switch (step) {
        case 0:
            return ledger::hold(context, {cycle.job,
                                          cycle.renter,
                                          cycle.host,
                                          {cycle.host.uuid},
                                          ledger::Asset::usdc,
                                          budget,
                                          charge,
                                          cycle.fee_bps});
        case 1: return ledger::capture(context, cycle.job, {charge, 3'600'000});
        case 2: ledger::release(context, cycle.job); return;
        default: check(false, "a cycle has three steps");
    }
}

Cycle any_cycle(std::mt19937_64& random) {
    const auto up_to = [&](int most) {
        return 1 + static_cast<int>(random() % static_cast<unsigned>(most));
    };
    return {{numbered_id(random() >> 2)}, renter_id(up_to(renters)), host_id(up_to(hosts))};
}

double cycles_per_second(db::Database& database, const Load& load) {
    std::atomic<int> left = load.cycles;
    std::vector<std::thread> threads;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < load.callers; ++i) {
        threads.emplace_back([&] {
            const SystemClock clock;
            SystemRandom bytes;
            std::mt19937_64 random{std::random_device{}()};
            while (left-- > 0) {
                Cycle cycle = any_cycle(random);
                cycle.fee_bps = load.fee_bps;
                for (int step = 0; step < steps_of_cycle; ++step)
                    database.write([&](db::Transaction& tx) {
                        run_step({tx, bytes, clock.now()}, cycle, step);
                    });
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    const std::chrono::duration<double> span = std::chrono::steady_clock::now() - begin;
    return load.cycles / span.count();
}

template <std::size_t... I>
db::Transaction::Ticket Recorder::start_with(std::string_view sql,
                                             [[maybe_unused]] std::span<const db::Param> params,
                                             std::index_sequence<I...>) {
    return tx_.start(sql, params[I]...);
}

template <std::size_t... I>
db::Transaction::Ticket Recorder::pass_on(std::string_view sql, std::span<const db::Param> params,
                                          std::index_sequence<I...>) {
    check(params.size() < params_max, "a statement has few parameters");
    std::optional<Ticket> ticket;
    (void)((params.size() == I &&
            (ticket = start_with(sql, params, std::make_index_sequence<I>()), true)) ||
           ...);
    return *ticket;
}
db::Transaction::Ticket Recorder::begin_statement(std::string_view sql,
                                                  std::span<const db::Param> params) {
    Sent sent{std::string(sql), {}};
    for (const db::Param& param : params)
        sent.values.push_back({param.kind, param.null, param.integer, std::string(param.bytes())});
    sent_.push_back(std::move(sent));
    return pass_on(sql, params, std::make_index_sequence<params_max>());
}

}  // namespace berth::bench
