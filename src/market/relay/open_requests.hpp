// The requests that are being relayed, and what ends them from outside: their job leaves RUNNING,
// their key or session ends, or the server goes down. One thread looks once a second at the jobs
// and credentials that have any, for all of them together, whoever ended them and wherever. Another
// one never waits for the database: it says what cannot wait for a look.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "accounts/credentials.hpp"
#include "base/ids.hpp"
#include "base/log_limiter.hpp"
#include "http/loop.hpp"

namespace berth::relay {

// Why a request that is being relayed is told to end.
enum class Stop {
    job_over,
    credential_over,
    server_stops,
    engine_failed,  // the answer to ask_why(): the job goes on, for all that is known
};

// Told on its own loop.
class Stoppable {
public:
    virtual ~Stoppable() = default;
    virtual void stop(Stop why) = 0;
};

class OpenRequests {
    using SteadyClock = std::chrono::steady_clock;
    static constexpr SteadyClock::time_point never = SteadyClock::time_point::max();

public:
    static constexpr std::chrono::milliseconds look_every{1000};
    static constexpr std::chrono::milliseconds look_pause{10};  // after a look that was asked for
    // Whoever asks why is answered by then, with or without a look.
    static constexpr std::chrono::milliseconds why_max{2000};

    // What open requests stand on: it ends, and so do they.
    struct Grounds {
        std::set<JobId> jobs;  // RUNNING
        std::set<accounts::HeldCredential> credentials;
    };
    // Gives those that are over; called from the thread that looks.
    using FindEnded = std::function<Grounds(const Grounds&)>;

    struct Visitor {
        AccountId account;
        accounts::HeldCredential credential;
    };

    // A place among the open ones. It is given back with the object.
    class Place {
    public:
        ~Place() { requests_.leave(*this); }
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;

        // From now on it can be told to stop; false when it must at once.
        [[nodiscard]] bool attach(std::shared_ptr<http::Loop> loop,
                                  std::weak_ptr<Stoppable> stoppable) {
            return requests_.attach(*this, std::move(loop), std::move(stoppable));
        }
        // The engine failed: stop() follows, and tells whether that was because the job ended.
        void ask_why() { requests_.ask_why(*this); }

    private:
        friend class OpenRequests;
        Place(OpenRequests& requests, JobId job, const Visitor& visitor)
            : requests_(requests), job_(job), visitor_(visitor) {}

        OpenRequests& requests_;
        const JobId job_;
        const Visitor visitor_;
        std::list<Place*>::iterator at_;
        // under the lock of the open requests.
        std::shared_ptr<http::Loop> loop_;
        std::weak_ptr<Stoppable> stoppable_;
        bool asks_ = false;                            // and no look has begun since
        SteadyClock::time_point answered_by_ = never;  // of one that asks
    };

    ~OpenRequests() { stop(); }

    // Null when the account has that many already.
    std::unique_ptr<Place> enter(JobId job, const Visitor& visitor, std::int64_t open_max);
    std::size_t open() const;

    void start(FindEnded find_ended);
    // What is still open after this long is told that the server stops, and so is what comes later.
    void end_in(std::chrono::milliseconds span);
    void stop();

    void look();  // now, on this thread

private:
    struct OpenRequest;

    void leave(Place& place);
    bool attach(Place& place, std::shared_ptr<http::Loop> loop, std::weak_ptr<Stoppable> stoppable);
    void ask_why(Place& place);
    std::vector<OpenRequest> take(bool only_asking);
    std::vector<OpenRequest> take_unanswered(SteadyClock::time_point now);
    void settle(std::vector<OpenRequest> all);
    void stop_all();
    void run_looks();
    void run_clock();

    FindEnded find_ended_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::list<Place*> places_;
    std::unordered_map<AccountId, std::int64_t> by_account_;
    SteadyClock::time_point end_at_ = never;
    SteadyClock::time_point next_answer_ = never;  // the first of those that ask
    bool asked_ = false;
    bool ending_ = false;
    bool running_ = false;
    bool stopping_ = false;
    LogLimiter failed_looks_{std::chrono::seconds(10)};
    std::thread looks_;
    std::thread clock_;  // keeps to the times above, whatever the database does
};

}  // namespace berth::relay
