// What the ledger benchmarks measure: the money of one job, as the service moves it. A hold, a
// charge and a release, each a transaction of its own, by random renters at random hosts. The
// statements that the ledger sends can be recorded, so that the baselines send the very same.
#pragma once

#include <array>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/time.hpp"
#include "bench/measure.hpp"
#include "db/migrate.hpp"
#include "ledger/ledger.hpp"

namespace berth::bench {

inline constexpr int renters = 1000;
inline constexpr int hosts = 100;
inline constexpr int steps_of_cycle = 3;
inline constexpr Micro funds{1'000'000'000'000};
inline constexpr Micro budget{1'000'003};
inline constexpr Micro charge{600'007};  // for an hour, which is also the rate
inline constexpr std::int64_t usual_fee_bps = 1000;

// Ids with a number in them: pgbench can make the same.
inline Uuid numbered_id(std::uint64_t number) {
    Bytes bytes(8, '\0');
    append_big_endian(bytes, number);
    return uuid_from_bytes(bytes).value();
}
inline AccountId renter_id(int number) { return {numbered_id(static_cast<unsigned>(number))}; }
inline AccountId host_id(int number) {
    return {numbered_id(static_cast<unsigned>(renters + number))};
}

// Renters with money, and hosts that have earned before.
inline void fill_books(db::Database& database) {
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

inline void prepare_books(db::Database& database) {
    db::migrate(database, ledger::migrations);
    fill_books(database);
}

struct Cycle {
    JobId job;
    AccountId renter;
    AccountId host;
    std::int64_t fee_bps = usual_fee_bps;
};

inline void run_step(ledger::Context context, const Cycle& cycle, int step) {
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

inline Cycle any_cycle(std::mt19937_64& random) {
    const auto up_to = [&](int most) {
        return 1 + static_cast<int>(random() % static_cast<unsigned>(most));
    };
    return {{numbered_id(random() >> 2)}, renter_id(up_to(renters)), host_id(up_to(hosts))};
}

// Cycles a second of `callers` threads that share `cycles`.
struct Load {
    int callers;
    int cycles;
    std::int64_t fee_bps = usual_fee_bps;
};
inline double cycles_per_second(db::Database& database, const Load& load) {
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

// A statement that was sent, with its values.
struct Sent {
    std::string sql;
    struct Value {
        db::Param::Kind kind;
        bool null;
        std::int64_t integer;
        std::string bytes;
    };
    std::vector<Value> values;
};

// Passes everything on and remembers it.
class Recorder final : public db::Transaction {
public:
    explicit Recorder(db::Transaction& tx) : tx_(tx) {}

    std::vector<Sent> take() { return std::exchange(sent_, {}); }

    db::Result finish(Ticket ticket) override { return tx_.finish(ticket); }
    void script(std::string_view sql) override { tx_.script(sql); }
    std::uint64_t changes() const override { return tx_.changes(); }
    void touch(const Uuid& id) override { tx_.touch(id); }

protected:
    Ticket begin_statement(std::string_view sql, std::span<const db::Param> params) override {
        Sent sent{std::string(sql), {}};
        for (const db::Param& param : params)
            sent.values.push_back(
                {param.kind, param.null, param.integer, std::string(param.bytes())});
        sent_.push_back(std::move(sent));
        return pass_on(sql, params, std::make_index_sequence<params_max>());
    }

private:
    static constexpr std::size_t params_max = 64;

    template <std::size_t... I>
    Ticket pass_on(std::string_view sql, std::span<const db::Param> params,
                   std::index_sequence<I...>) {
        check(params.size() < params_max, "a statement has few parameters");
        std::optional<Ticket> ticket;
        (void)((params.size() == I &&
                (ticket = start_with(sql, params, std::make_index_sequence<I>()), true)) ||
               ...);
        return *ticket;
    }
    template <std::size_t... I>
    Ticket start_with(std::string_view sql, [[maybe_unused]] std::span<const db::Param> params,
                      std::index_sequence<I...>) {
        return tx_.start(sql, params[I]...);
    }

    db::Transaction& tx_;
    std::vector<Sent> sent_;
};

}  // namespace berth::bench
