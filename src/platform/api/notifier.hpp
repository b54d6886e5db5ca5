// Requests that wait for news without a thread, a transaction or a connection to the database. A
// waiter is kept by the key it waits for, and goes on when that key is woken in this process, when
// a look at the database (at most once a second, one for all waiters) shows news that another
// process wrote, or when its time is over. To go on promises nothing: the handler looks again.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/wake.hpp"
#include "db/db.hpp"

namespace berth::api {

// One kind of thing that requests wait for. `news` gives the names that have some, whoever wrote
// it. It is asked only while somebody waits. It must be cheap and bounded, and tell what is there
// now, not what was written since some moment: a late commit would slip past that.
struct Topic {
    std::string name;
    std::function<std::vector<std::string>(db::Transaction&)> news;
};

class Notifier {
public:
    using SteadyClock = std::chrono::steady_clock;
    // Held by a waiter that goes on until it is answered or waits again.
    using Turn = std::shared_ptr<void>;

    static constexpr std::chrono::milliseconds look_every{1000};
    // Waiters that go on at one time: news for all of them must not crowd out other requests.
    static constexpr std::size_t turns_max = 256;

    struct Waiter {
        WakeKey key;
        std::uint64_t since;  // moment() before the look that found nothing
        SteadyClock::time_point until;
        std::weak_ptr<const void> client;  // when it has gone, nobody is left to wait for
        std::function<bool(Turn)> go_on;   // false when there is no room; it is called again soon
    };

    Notifier(db::Database& database, std::vector<Topic> topics);
    ~Notifier();  // stops
    Notifier(const Notifier&) = delete;
    Notifier& operator=(const Notifier&) = delete;

    void start();
    void stop();  // all go on, and nobody waits from now on

    // Somebody has committed news for the key.
    void wake(const WakeKey& key);

    // Taken before the handler looks, so that what is woken between its look and its wait counts.
    std::uint64_t moment() const { return moment_; }
    // False when there is no waiting: the key was woken since, or the service stops.
    bool add(Waiter waiter);

    bool open() const { return open_; }  // whether a request may wait at all
    std::size_t waiting() const;

private:
    struct Kept;
    using ByKey = std::unordered_multimap<std::string, std::uint64_t>;

    void release(std::uint64_t id);  // from waiting to ready
    void release_abandoned();
    bool woken_since(std::size_t hash, std::uint64_t moment) const;
    void note_wake(const std::string& key);
    void run();
    void let_go_on(std::unique_lock<std::mutex>& lock);
    void look_loop();
    void look();

    db::Database& database_;
    const std::vector<Topic> topics_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::condition_variable look_now_;
    std::unordered_map<std::uint64_t, Kept> waiters_;
    ByKey by_key_;
    std::multimap<SteadyClock::time_point, std::uint64_t> by_deadline_;
    std::map<std::string, std::size_t, std::less<>> waiting_by_topic_;
    std::deque<std::function<bool(Turn)>> ready_;
    std::size_t turns_ = 0;
    std::uint64_t ids_ = 0;

    // The last wakes, by hash: one that is too old to be here is taken to have happened.
    struct Woken {
        std::uint64_t moment;
        std::size_t hash;
    };
    std::deque<Woken> woken_;
    std::atomic<std::uint64_t> moment_{0};  // changed under the lock

    std::atomic<bool> open_{false};  // changed under the lock
    bool stopping_ = false;
    std::thread thread_;
    std::thread looker_;
};

}  // namespace berth::api
