#include "api/notifier.hpp"

#include "base/check.hpp"
#include "base/log.hpp"

namespace berth::api {
namespace {

constexpr std::size_t woken_max = 1024;
constexpr std::chrono::milliseconds no_room_pause{5};

std::string joined(const WakeKey& key) {
    std::string text(key.topic);
    text += '\0';
    text += key.name;
    return text;
}

}  // namespace

struct Notifier::Kept {
    Waiter waiter;
    ByKey::iterator by_key;
    std::multimap<SteadyClock::time_point, std::uint64_t>::iterator by_deadline;
};

Notifier::Notifier(db::Database& database, std::vector<Topic> topics)
    : database_(database), topics_(std::move(topics)) {}

Notifier::~Notifier() { stop(); }

void Notifier::start() {
    check(!thread_.joinable(), "a notifier starts once");
    open_ = true;
    thread_ = std::thread([this] { run(); });
    looker_ = std::thread([this] { look_loop(); });
}

void Notifier::stop() {
    {
        const std::lock_guard lock(mutex_);
        open_ = false;
        stopping_ = true;
        while (!waiters_.empty()) release(waiters_.begin()->first);
    }
    changed_.notify_all();
    look_now_.notify_all();
    if (thread_.joinable()) thread_.join();
    if (looker_.joinable()) looker_.join();
}

std::size_t Notifier::waiting() const {
    const std::lock_guard lock(mutex_);
    return waiters_.size();
}

void Notifier::wake(const WakeKey& key) {
    const std::lock_guard lock(mutex_);
    note_wake(joined(key));
}

bool Notifier::add(Waiter waiter) {
    std::string key = joined(waiter.key);
    const std::lock_guard lock(mutex_);
    if (!open_ || woken_since(std::hash<std::string>{}(key), waiter.since)) return false;
    const std::uint64_t id = ++ids_;
    std::size_t& of_topic = waiting_by_topic_[std::string(waiter.key.topic)];
    if (of_topic++ == 0) look_now_.notify_all();
    const bool is_first = by_deadline_.empty() || waiter.until < by_deadline_.begin()->first;
    const auto by_key = by_key_.emplace(std::move(key), id);
    const auto by_deadline = by_deadline_.emplace(waiter.until, id);
    waiters_.emplace(id, Kept{std::move(waiter), by_key, by_deadline});
    if (is_first) changed_.notify_all();
    return true;
}

void Notifier::release(std::uint64_t id) {
    const auto found = waiters_.find(id);
    Kept& kept = found->second;
    --waiting_by_topic_.find(kept.waiter.key.topic)->second;
    by_key_.erase(kept.by_key);
    by_deadline_.erase(kept.by_deadline);
    ready_.push_back(std::move(kept.waiter.go_on));
    waiters_.erase(found);
}

// Their handlers end at once: nothing waits for a client that has gone.
void Notifier::release_abandoned() {
    std::vector<std::uint64_t> abandoned;
    for (const auto& [id, kept] : waiters_)
        if (kept.waiter.client.expired()) abandoned.push_back(id);
    for (const std::uint64_t id : abandoned) release(id);
    if (!abandoned.empty()) changed_.notify_all();
}

bool Notifier::woken_since(std::size_t hash, std::uint64_t moment) const {
    const std::uint64_t forgotten = moment_ - woken_.size();  // moments up to it are not kept
    if (moment < forgotten) return true;
    for (auto woken = woken_.rbegin(); woken != woken_.rend() && woken->moment > moment; ++woken)
        if (woken->hash == hash) return true;
    return false;
}

void Notifier::note_wake(const std::string& key) {
    woken_.push_back({++moment_, std::hash<std::string>{}(key)});
    if (woken_.size() > woken_max) woken_.pop_front();
    for (auto found = by_key_.find(key); found != by_key_.end(); found = by_key_.find(key))
        release(found->second);
    if (!ready_.empty()) changed_.notify_all();
}

// Lets the woken and those whose time is over go on, until the service stops and all have gone.
void Notifier::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_ || !ready_.empty()) {
        const auto now = SteadyClock::now();
        while (!by_deadline_.empty() && by_deadline_.begin()->first <= now)
            release(by_deadline_.begin()->second);
        if (!ready_.empty() && turns_ < turns_max) {
            let_go_on(lock);
        } else if (!ready_.empty() || by_deadline_.empty()) {
            changed_.wait(lock);  // for a turn that ends, or for a waiter
        } else {
            // A copy: the waiter may be gone, and its deadline with it, before the wait is over.
            const auto first = by_deadline_.begin()->first;
            changed_.wait_until(lock, first);
        }
    }
}

void Notifier::let_go_on(std::unique_lock<std::mutex>& lock) {
    auto go_on = std::move(ready_.front());
    ready_.pop_front();
    ++turns_;
    lock.unlock();
    Turn turn(this, [](void* self) {
        auto& notifier = *static_cast<Notifier*>(self);
        {
            const std::lock_guard end(notifier.mutex_);
            --notifier.turns_;
        }
        notifier.changed_.notify_all();
    });
    const bool gone = go_on(std::move(turn));
    if (gone) go_on = nullptr;
    lock.lock();
    if (gone) return;
    ready_.push_front(std::move(go_on));
    changed_.wait_for(lock, no_room_pause);
}

void Notifier::look_loop() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        look_now_.wait(lock, [this] { return stopping_ || !waiters_.empty(); });
        if (stopping_) return;
        lock.unlock();
        try {
            look();
        } catch (const std::exception& error) {
            log(Level::warn, "waiters_not_looked_after", {{"why", error.what()}});
        }
        lock.lock();
        look_now_.wait_for(lock, look_every, [this] { return stopping_; });
    }
}

void Notifier::look() {
    std::vector<const Topic*> wanted;
    {
        const std::lock_guard lock(mutex_);
        release_abandoned();
        for (const Topic& topic : topics_) {
            const auto found = waiting_by_topic_.find(topic.name);
            if (found != waiting_by_topic_.end() && found->second > 0) wanted.push_back(&topic);
        }
    }
    for (const Topic* topic : wanted) {
        const auto names = database_.read(topic->news);
        const std::lock_guard lock(mutex_);
        for (const std::string& name : names)
            if (const std::string key = joined({topic->name, name}); by_key_.contains(key))
                note_wake(key);
    }
}

}  // namespace berth::api
