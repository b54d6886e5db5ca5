#include "relay/open_requests.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace berth::relay {

struct OpenRequests::OpenRequest {
    explicit OpenRequest(const Place& place)
        : job(place.job_),
          credential(place.visitor_.credential),
          loop(place.loop_),
          stoppable(place.stoppable_),
          asks(place.asks_) {}

    JobId job;
    accounts::HeldCredential credential;
    std::shared_ptr<http::Loop> loop;
    std::weak_ptr<Stoppable> stoppable;
    bool asks;

    void stop(Stop why) const {
        loop->post([stoppable = stoppable, why] {
            if (const auto open = stoppable.lock()) open->stop(why);
        });
    }
};

std::unique_ptr<OpenRequests::Place> OpenRequests::enter(JobId job, const Visitor& visitor,
                                                         std::int64_t open_max) {
    const std::lock_guard lock(mutex_);
    std::int64_t& open = by_account_[visitor.account];
    if (open >= open_max) return nullptr;
    std::unique_ptr<Place> place(new Place(*this, job, visitor));
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
    const auto count = by_account_.find(place.visitor_.account);
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
            place.answered_by_ = SteadyClock::now() + why_max;
            next_answer_ = std::min(next_answer_, place.answered_by_);
            wake_.notify_all();
            return;
        }
    }
    OpenRequest(place).stop(Stop::engine_failed);
}

void OpenRequests::start(FindEnded find_ended) {
    const std::lock_guard lock(mutex_);
    find_ended_ = std::move(find_ended);
    running_ = true;
    looks_ = std::thread([this] { run_looks(); });
    clock_ = std::thread([this] { run_clock(); });
}

void OpenRequests::end_in(std::chrono::milliseconds span) {
    const std::lock_guard lock(mutex_);
    end_at_ = SteadyClock::now() + span;
    wake_.notify_all();
}

void OpenRequests::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    if (clock_.joinable()) clock_.join();
    if (looks_.joinable()) looks_.join();
    {
        const std::lock_guard lock(mutex_);
        running_ = false;
    }
    for (const OpenRequest& each : take_unanswered(never)) each.stop(Stop::engine_failed);
}

void OpenRequests::look() { settle(take(false)); }

std::vector<OpenRequests::OpenRequest> OpenRequests::take(bool only_asking) {
    const std::lock_guard lock(mutex_);
    std::vector<OpenRequest> all;
    for (Place* const place : places_) {
        if (!place->loop_ || (only_asking && !place->asks_)) continue;
        all.emplace_back(*place);
        place->asks_ = false;
    }
    return all;
}

// Those that ask, and by now should have been answered.
std::vector<OpenRequests::OpenRequest> OpenRequests::take_unanswered(SteadyClock::time_point now) {
    const std::lock_guard lock(mutex_);
    std::vector<OpenRequest> late;
    next_answer_ = never;
    for (Place* const place : places_) {
        if (place->answered_by_ == never) continue;
        if (place->answered_by_ > now) {
            next_answer_ = std::min(next_answer_, place->answered_by_);
            continue;
        }
        place->answered_by_ = never;
        late.emplace_back(*place);
    }
    return late;
}

void OpenRequests::settle(std::vector<OpenRequest> all) {
    Grounds grounds;
    for (const OpenRequest& each : all) {
        grounds.jobs.insert(each.job);
        grounds.credentials.insert(each.credential);
    }
    Grounds ended;
    try {
        if (!all.empty()) ended = find_ended_(grounds);
    } catch (const std::exception& error) {
        if (const std::int64_t times = failed_looks_.note())
            log(Level::warn, "relay_cannot_look", {{"why", error.what()}, {"times", times}});
    }
    for (const OpenRequest& each : all) {
        if (ended.jobs.contains(each.job))
            each.stop(Stop::job_over);
        else if (ended.credentials.contains(each.credential))
            each.stop(Stop::credential_over);
        else if (each.asks)
            each.stop(Stop::engine_failed);
    }
}

void OpenRequests::stop_all() {
    for (const OpenRequest& each : take(false)) each.stop(Stop::server_stops);
}

void OpenRequests::run_looks() {
    SteadyClock::time_point next = SteadyClock::now() + look_every;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        wake_.wait_until(lock, next, [this] { return stopping_ || asked_; });
        if (stopping_) return;
        asked_ = false;
        lock.unlock();
        const bool all = SteadyClock::now() >= next;
        settle(take(!all));
        if (all) next = SteadyClock::now() + look_every;
        lock.lock();
        wake_.wait_for(lock, look_pause, [this] { return stopping_; });
    }
}

void OpenRequests::run_clock() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        const SteadyClock::time_point next = std::min(end_at_, next_answer_);
        const auto is_sooner = [&] { return stopping_ || std::min(end_at_, next_answer_) < next; };
        // An endless wait is one of its own: not every library adds up the end of time.
        if (next == never)
            wake_.wait(lock, is_sooner);
        else
            wake_.wait_until(lock, next, is_sooner);
        const SteadyClock::time_point now = SteadyClock::now();
        const bool ends = now >= end_at_;
        if (ends) {
            ending_ = true;
            end_at_ = never;
        }
        lock.unlock();
        if (ends) stop_all();
        for (const OpenRequest& each : take_unanswered(now)) each.stop(Stop::engine_failed);
        lock.lock();
    }
}

}  // namespace berth::relay
