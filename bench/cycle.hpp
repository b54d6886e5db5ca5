// What the ledger benchmarks measure: the money of one job, as the service moves it. A hold, a
// charge and a release, each a transaction of its own, by random renters at random hosts. The
// statements that the ledger sends can be recorded, so that the baselines send the very same.
#pragma once

#include <array>
#include <random>
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
void fill_books(db::Database& database);
void prepare_books(db::Database& database);

struct Cycle {
    JobId job;
    AccountId renter;
    AccountId host;
    std::int64_t fee_bps = usual_fee_bps;
};

void run_step(ledger::Context context, const Cycle& cycle, int step);
Cycle any_cycle(std::mt19937_64& random);

// Cycles a second of `callers` threads that share `cycles`.
struct Load {
    int callers;
    int cycles;
    std::int64_t fee_bps = usual_fee_bps;
};
double cycles_per_second(db::Database& database, const Load& load);

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
    Ticket begin_statement(std::string_view sql, std::span<const db::Param> params) override;

private:
    static constexpr std::size_t params_max = 64;

    template <std::size_t... I>
    Ticket pass_on(std::string_view sql, std::span<const db::Param> params,
                   std::index_sequence<I...>);
    template <std::size_t... I>
    Ticket start_with(std::string_view sql, std::span<const db::Param> params,
                      std::index_sequence<I...>);

    db::Transaction& tx_;
    std::vector<Sent> sent_;
};

}  // namespace berth::bench
