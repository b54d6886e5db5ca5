// The lane of webhooks: threads that carry events to their targets, and one that finds out which
// webhooks have something to send. There is no row for an event and a webhook: a webhook has its
// place in the stream, and whoever compares that with the stream's head loses nothing. News of this
// process comes at once; once a second all places are compared with all heads, which finds what
// other processes told and what is to be tried again.
//
// A webhook is held by a lease while it is served, so that any number of processes may have
// couriers and one request is in flight to it at most. Whoever sees that a lease is not renewed
// takes it over; no clock is compared with that of another process. A target that is slow keeps no
// more than a few of the threads, and so does an account.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/log_limiter.hpp"
#include "delivery/round.hpp"

namespace berth::delivery {

// Woken after a commit that made a webhook or changed one, or asked it for something; its name is
// the webhook's id.
inline constexpr std::string_view webhook_topic = "webhook";

class Couriers {
    using SteadyClock = std::chrono::steady_clock;

public:
    static constexpr std::size_t threads_count = 16;
    static constexpr std::int64_t at_once_per_host_max = 4;
    // However many names it has for slow targets, one account leaves most couriers to the others.
    static constexpr std::int64_t at_once_per_account_max = 4;
    // However many accounts have such targets: those of whom one kept a courier waiting for long
    // share half of the couriers for a while.
    static constexpr std::int64_t slow_at_once_max = threads_count / 2;
    static constexpr std::chrono::seconds slow_after{2};
    static constexpr std::chrono::minutes slow_for{15};
    static constexpr std::chrono::seconds look_every{1};
    static constexpr std::chrono::seconds count_every{15};
    static constexpr std::chrono::seconds keep_every{3};

    struct Parts {
        const crypto::Sealer& sealer;
        const TargetRules& rules;
        http::Client& client;
        std::string ca_file;
    };
    explicit Couriers(Parts parts) : parts_(std::move(parts)) {}
    ~Couriers() { stop(); }

    void connect(db::Database& database, const Clock& clock, Random& random) {  // before anything
        database_ = &database;
        notes_.connect(database);
        clock_ = &clock;
        random_ = &random;
    }
    void start();
    void stop();  // waits for requests in flight

    // Everything that is due, once, on this thread; how many webhooks were served. For tests and
    // simulations, in the place of start().
    std::int64_t pass(SteadyClock::time_point now = SteadyClock::now());

    const CourierTotals& totals() const { return totals_; }
    double oldest_unsent_seconds() const;

private:
    // A round that lasts, until its lease is kept again.
    struct Serving {
        LeaseId lease;
        SteadyClock::time_point kept_at;
    };
    struct Waiting {
        WebhookId id;
        AccountId account;
        std::string host;
        std::optional<Lease> from;  // who had it, and was not seen to renew his lease
        bool is_slow = false;       // and counted so while it is served
    };
    // At the database, which takes its time.
    struct Look {
        SteadyClock::time_point began;
        SteadyClock::time_point ended;
    };
    // A lease as it was when it was first seen so, and when it was last.
    struct Seen {
        Lease lease;
        SteadyClock::time_point since;
        SteadyClock::time_point at;
    };

    // All that is due, and where the next look goes on when that is more than one look takes.
    struct Found {
        std::vector<DueWebhook> due;
        std::vector<DueWebhook> asked;
    };
    struct From {
        WebhookId due;
        WebhookId asked;
    };

    void wake(const WakeKey& key);
    Found find_due(db::Transaction& tx);
    std::vector<DueWebhook> go_on_behind(Found found);
    void look_loop();
    void look(SteadyClock::time_point now, const std::set<AccountId>& news, bool is_full);
    void keep_leases(SteadyClock::time_point now);
    void courier_loop();
    std::optional<Waiting> next(std::unique_lock<std::mutex>& lock);
    void put(const std::vector<DueWebhook>& due);
    bool may_take(const DueWebhook& due, const Look& it);
    void let_go(const Waiting& served);
    bool serve(const Waiting& taken);

    const Parts parts_;
    db::Database* database_ = nullptr;
    const Clock* clock_ = nullptr;
    Random* random_ = nullptr;
    db::Wakes::Listening listening_;
    PlaceNotes notes_;
    CourierTotals totals_;
    std::atomic<std::int64_t> oldest_unsent_{0};  // its time; 0: all is sent

    std::mutex mutex_;  // guards what follows
    std::condition_variable looker_;
    std::condition_variable couriers_;
    std::deque<Waiting> waiting_;
    std::set<WebhookId> known_;                    // waiting or being served
    std::set<WebhookId> again_;                    // there was news while it was served
    std::map<std::string, std::int64_t> at_once_;  // by host
    std::map<AccountId, std::int64_t> at_once_of_account_;
    std::map<AccountId, SteadyClock::time_point> slow_until_;
    std::int64_t slow_at_once_ = 0;
    From from_;
    std::map<WebhookId, Serving> serving_;
    std::map<WebhookId, Seen> seen_;  // leases, of this process and of others
    std::set<AccountId> owners_;      // of webhooks, when it was last looked
    std::set<AccountId> news_;
    bool asked_ = false;
    bool stopping_ = false;

    // Of the looking thread.
    bool has_looked_ = false;
    SteadyClock::time_point counted_at_{};
    LogLimiter failures_{std::chrono::seconds(10)};
    std::thread looking_;
    std::vector<std::thread> threads_;
};

}  // namespace berth::delivery
