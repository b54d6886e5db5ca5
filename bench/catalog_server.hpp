// A server whose catalog is full: machines with offers in a real database, read by the real
// follower, served over HTTP by the real route. What is measured is asked by wrk from outside.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "api/service.hpp"
#include "bench/agents.hpp"
#include "bench/cycle.hpp"
#include "bench/measure.hpp"
#include "catalog/catalog.hpp"
#include "http/server.hpp"
#include "machines/machine.hpp"
#include "offers/offers.hpp"
#include "offers/templates.hpp"

namespace berth::bench {

inline constexpr std::int64_t usual_offers = 100'000;
inline constexpr std::string_view selective_query =
    "?model=rtx%204090&max_rate_micro_per_hour=150000&continent=europe&sort=tflops_desc";

// Ids with a number in them, as pgbench can make them too.
inline constexpr std::uint64_t machines_begin = 1'000'000;
inline constexpr std::uint64_t offers_begin = 2'000'000;
inline MachineId numbered_machine(std::size_t number) {
    return {numbered_id(machines_begin + number)};
}
inline machines::OfferId numbered_offer(std::size_t number) {
    return {numbered_id(offers_begin + number)};
}

// Machines as hosts bring them: eight models, every continent, prices of three digits. They were
// heard far in the future, so that none falls silent while it is measured; those with real keys
// were heard now, and are expected to go on.
class Seed {
public:
    enum class Keys { none, real };
    enum class Ids { random, numbered };

    Seed(db::Database& database, std::int64_t offers, Keys keys = Keys::none,
         Ids ids = Ids::random);

    const std::vector<MachineId>& machines() const { return machines_; }
    AccountId owner() const { return owner_; }

private:
    std::int64_t up_to(std::int64_t most);
    void add(db::Transaction& tx);

    db::Database& database_;
    const Keys keys_;
    const Ids ids_;
    SystemRandom random_;
    std::mt19937_64 dice_{1};
    Time now_ = SystemClock().now();
    AccountId owner_;
    std::vector<MachineId> machines_;
};

class CatalogServer {
public:
    // A SQLite database of its own, unless another one is given.
    explicit CatalogServer(std::int64_t offers, const std::string& url = "");

    // Reads the catalog and listens.
    void start();

    std::string page(std::string_view query = "");
    std::string url(std::string_view query = "") const;

    catalog::Catalog& catalog() { return catalog_; }
    db::Database& database() { return *database_; }
    const Clock& clock() const { return clock_; }

private:
    Folder folder_;
    const SystemClock clock_;
    SystemRandom random_;
    std::unique_ptr<db::Database> database_;
    std::unique_ptr<Seed> seed_;
    settings::Live live_;
    api::Metrics metrics_;
    api::Router router_;
    catalog::Catalog catalog_{machines::Settings{}};
    api::Service service_;
    std::unique_ptr<http::Server> server_;
};

inline double pages_per_second(const std::string& url) { return wrk_rate("-t1 -c64 -d3s " + url); }

}  // namespace berth::bench
