// A bounded set of connections, opened when needed and lent to one thread at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "db/db.hpp"

namespace berth::db {

struct PoolLimits {
    std::size_t connections_max;
    Duration wait_max;
};

template <class Connection>
class Pool {
public:
    using Connect = std::function<std::unique_ptr<Connection>()>;

    // While one lives the connection is the holder's alone. A connection that broke is dropped
    // instead of going back.
    class Lease {
    public:
        Lease(Pool& pool, std::unique_ptr<Connection> connection)
            : pool_(pool), connection_(std::move(connection)) {}
        ~Lease() { pool_.give_back(std::move(connection_)); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;

        Connection& operator*() const { return *connection_; }
        Connection* operator->() const { return connection_.get(); }
        void drop() { connection_.reset(); }

    private:
        Pool& pool_;
        std::unique_ptr<Connection> connection_;
    };

    // `connect` throws Unavailable when it cannot; it is called without the pool's lock.
    Pool(PoolLimits limits, Connect connect) : limits_(limits), connect_(std::move(connect)) {}

    Lease take() {
        std::unique_lock lock(mutex_);
        const bool in_time = freed_.wait_for(lock, limits_.wait_max, [&] {
            return !idle_.empty() || open_ < limits_.connections_max;
        });
        if (!in_time) throw Unavailable("every database connection is busy");
        if (!idle_.empty()) {
            // The one used last is the likeliest to be alive and warm.
            std::unique_ptr<Connection> connection = std::move(idle_.back());
            idle_.pop_back();
            return Lease(*this, std::move(connection));
        }
        ++open_;
        lock.unlock();
        try {
            return Lease(*this, connect_());
        } catch (...) {
            give_back(nullptr);
            throw;
        }
    }

    // Closes the connections nobody uses: when one is found dead the others probably are too.
    void close_idle() {
        std::vector<std::unique_ptr<Connection>> closing;
        {
            const std::lock_guard lock(mutex_);
            closing.swap(idle_);
            open_ -= closing.size();
        }
        freed_.notify_all();
    }

private:
    void give_back(std::unique_ptr<Connection> connection) {
        {
            const std::lock_guard lock(mutex_);
            if (connection)
                idle_.push_back(std::move(connection));
            else
                --open_;
        }
        freed_.notify_one();
    }

    const PoolLimits limits_;
    const Connect connect_;
    std::mutex mutex_;
    std::condition_variable freed_;
    std::vector<std::unique_ptr<Connection>> idle_;
    std::size_t open_ = 0;  // lent, idle or being opened
};

}  // namespace berth::db
