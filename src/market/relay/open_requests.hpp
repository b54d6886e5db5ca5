// The requests that are being relayed, and what ends them from outside: their job leaves RUNNING,
// or the server goes down. One thread looks once a second at the jobs that have any, for all of
// them together, whoever ended the job and wherever; it also writes what was counted.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/seldom.hpp"
#include "http/loop.hpp"

namespace berth::relay {

// Why a request that is being relayed is told to end.
enum class Stop {
    job_over,
    server_stops,
    engine_failed,  // the answer to ask_why(): the job goes on
};

// Told on its own loop.
class Stoppable {
public:
    virtual ~Stoppable() = default;
    virtual void stop(Stop why) = 0;
};

class OpenRequests {
public:
    static constexpr std::chrono::milliseconds look_every{1000};
    static constexpr std::chrono::milliseconds look_pause{10};  // after a look that was asked for

    // Gives those of the jobs that are not RUNNING; called from the thread of the open requests.
    using FindEnded = std::function<std::vector<JobId>(const std::vector<JobId>&)>;

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
        Place(OpenRequests& requests, JobId job, AccountId account)
            : requests_(requests), job_(job), account_(account) {}

        OpenRequests& requests_;
        const JobId job_;
        const AccountId account_;
        std::list<Place*>::iterator at_;
        // under the lock of the open requests.
        std::shared_ptr<http::Loop> loop_;
        std::weak_ptr<Stoppable> stoppable_;
        bool asks_ = false;
    };

    ~OpenRequests() { stop(); }

    // Null when the account has that many already.
    std::unique_ptr<Place> enter(JobId job, AccountId account, std::int64_t open_max);
    std::size_t open() const;

    // `turn` is called once a second, on the same thread.
    void start(FindEnded find_ended, std::function<void()> turn);
    // What is still open after this long is told that the server stops, and so is what comes later.
    void end_in(std::chrono::milliseconds span);
    void stop();

    void look();  // now, on this thread

private:
    using SteadyClock = std::chrono::steady_clock;
    struct OpenRequest;

    void leave(Place& place);
    bool attach(Place& place, std::shared_ptr<http::Loop> loop, std::weak_ptr<Stoppable> stoppable);
    void ask_why(Place& place);
    std::vector<OpenRequest> take(bool only_asking);
    void settle(std::vector<OpenRequest> all);
    void stop_all();
    void run(const std::function<void()>& turn);

    FindEnded find_ended_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::list<Place*> places_;
    std::unordered_map<AccountId, std::int64_t> by_account_;
    SteadyClock::time_point end_at_ = SteadyClock::time_point::max();
    bool asked_ = false;
    bool ending_ = false;
    bool running_ = false;
    bool stopping_ = false;
    Seldom failed_looks_{std::chrono::seconds(10)};
    std::thread thread_;
};

}  // namespace berth::relay
