// The service in a simulation: the real App on SQLite in memory, one thread, a clock that jumps.
// It can be stopped, started anew, and put back to a copy of its database.
#pragma once

#include <memory>
#include <stdexcept>

#include "api/caller.hpp"
#include "rentals/rentals.hpp"
#include "server/features.hpp"
#include "support/endpoints_double.hpp"
#include "support/harness.hpp"

namespace berth::simulation {

// What must not be. Its sentence says where.
class Difference : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Everybody is who they say: signatures, keys and sessions are tested elsewhere.
class Passes final : public api::Authenticator {
public:
    api::Caller identify(const http::Request& request, db::Transaction& tx, Time now) override;
    void note_use(const api::Caller&, db::Transaction&, Time) override {}
};

struct Ask {
    std::string who;  // "renter ID", "host ID", "machine ID", "gate ID"
    std::string method = "POST";
    std::string target;
    std::string body = "{}";
    std::string key = {};  // Idempotency-Key
};

class World {
public:
    World();

    http::Response ask(const Ask& ask);
    Time now() const { return harness_->clock.now(); }
    void go_to(Time at) { harness_->clock.advance(at - now()); }
    std::string new_id() { return harness_->new_id(); }

    // What the worker does every second, and everything else that it does.
    void look();
    void work();

    bool is_up() const { return harness_->app != nullptr; }
    void go_down();
    void come_up();
    // While it is down.
    void keep_copy();
    void put_back_copy();

    test::Harness& harness() { return *harness_; }
    db::Database& database() { return harness_->app->database(); }

private:
    server::Overrides overrides();
    std::string file(const std::string& name) const;

    Passes passes_;
    const test::EndpointsDouble endpoints_;
    std::unique_ptr<test::Harness> harness_;
    std::unique_ptr<rentals::DeadlineWorker> deadlines_;
};

}  // namespace berth::simulation
