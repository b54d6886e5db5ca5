#include "relay/open_requests.hpp"

#include <algorithm>
#include <set>

#include "base/log.hpp"

namespace berth::relay {

struct OpenRequests::OpenRequest {
    JobId job;
    std::shared_ptr<http::Loop> loop;
    std::weak_ptr<Stoppable> stoppable;
    bool asks;

    void stop(Stop why) const {
        loop->post([stoppable = stoppable, why] {
            if (const auto open = stoppable.lock()) open->stop(why);
        });
    }
};

std::unique_ptr<OpenRequests::Place> OpenRequests::enter(JobId job, AccountId account,
                                                         std::int64_t open_max) {
    const std::lock_guard lock(mutex_);
    std::int64_t& open = by_account_[account];
    if (open >= open_max) return nullptr;
    std::unique_ptr<Place> place(new Place(*this, job, account));
    place->at_ = places_.insert(places_.end(), place.get());
    ++open;
    return place;
}

std::size_t OpenRequests::open() const {
    const std::lock_guard lock(mutex_);
    return places_.size();
}

void OpenRequests::leave(Place& place) {
    const std::lock_guard lock(mutex_);
    places_.erase(place.at_);
    const auto count = by_account_.find(place.account_);
    if (--count->second == 0) by_account_.erase(count);
}

bool OpenRequests::attach(Place& place, std::shared_ptr<http::Loop> loop,
                          std::weak_ptr<Stoppable> stoppable) {
    const std::lock_guard lock(mutex_);
    place.loop_ = std::move(loop);
    place.stoppable_ = std::move(stoppable);
    return !ending_;
}

void OpenRequests::ask_why(Place& place) {
    {
        const std::lock_guard lock(mutex_);
        if (running_) {
            place.asks_ = asked_ = true;
            wake_.notify_all();
            return;
        }
    }
    OpenRequest{place.job_, place.loop_, place.stoppable_, true}.stop(Stop::engine_failed);
}

void OpenRequests::start(FindEnded find_ended, std::function<void()> turn) {
    const std::lock_guard lock(mutex_);
    find_ended_ = std::move(find_ended);
    running_ = true;
    thread_ = std::thread([this, turn = std::move(turn)] { run(turn); });
}

void OpenRequests::end_in(std::chrono::milliseconds span) {
    const std::lock_guard lock(mutex_);
    end_at_ = SteadyClock::now() + span;
    asked_ = true;  // so that the thread sees it
    wake_.notify_all();
}

void OpenRequests::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
    {
        const std::lock_guard lock(mutex_);
        running_ = false;
    }
    for (const OpenRequest& each : take(true)) each.stop(Stop::engine_failed);
}

void OpenRequests::look() { settle(take(false)); }

std::vector<OpenRequests::OpenRequest> OpenRequests::take(bool only_asking) {
    const std::lock_guard lock(mutex_);
    std::vector<OpenRequest> all;
    for (Place* const place : places_) {
        if (!place->loop_ || (only_asking && !place->asks_)) continue;
        all.push_back({place->job_, place->loop_, place->stoppable_, place->asks_});
        place->asks_ = false;
    }
    return all;
}

void OpenRequests::settle(std::vector<OpenRequest> all) {
    std::set<JobId> jobs;
    for (const OpenRequest& each : all) jobs.insert(each.job);
    std::vector<JobId> ended;
    try {
        if (!jobs.empty()) ended = find_ended_({jobs.begin(), jobs.end()});
    } catch (const std::exception& error) {
        if (const std::int64_t times = failed_looks_.note())
            log(Level::warn, "relay_cannot_look", {{"why", error.what()}, {"times", times}});
    }
    for (const OpenRequest& each : all) {
        if (std::find(ended.begin(), ended.end(), each.job) != ended.end())
            each.stop(Stop::job_over);
        else if (each.asks)
            each.stop(Stop::engine_failed);
    }
}

void OpenRequests::stop_all() {
    for (const OpenRequest& each : take(false)) each.stop(Stop::server_stops);
}

void OpenRequests::run(const std::function<void()>& turn) {
    SteadyClock::time_point next = SteadyClock::now() + look_every;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        const bool only_asked =
            wake_.wait_until(lock, std::min(next, end_at_), [this] { return stopping_ || asked_; });
        if (stopping_) return;
        asked_ = false;
        const SteadyClock::time_point now = SteadyClock::now();
        const bool ends = now >= end_at_ && !ending_;
        if (ends) {
            ending_ = true;
            end_at_ = SteadyClock::time_point::max();
        }
        lock.unlock();
        if (ends) stop_all();
        settle(take(only_asked && now < next));
        if (now >= next) {
            turn();
            next = SteadyClock::now() + look_every;
        }
        lock.lock();
        wake_.wait_for(lock, look_pause, [this] { return stopping_; });
    }
}

}  // namespace berth::relay
