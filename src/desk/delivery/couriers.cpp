#include "delivery/couriers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "events/events.hpp"

namespace berth::delivery {
namespace {

constexpr std::chrono::milliseconds looked_again_in{250};
constexpr std::chrono::minutes seen_for_max{1};  // leases that are held no more, or not due

template <class Key>
std::int64_t count_in(const std::map<Key, std::int64_t>& counts, const Key& key) {
    const auto found = counts.find(key);
    return found == counts.end() ? 0 : found->second;
}

template <class Key>
void count_down(std::map<Key, std::int64_t>& counts, const Key& key) {
    const auto found = counts.find(key);
    if (--found->second == 0) counts.erase(found);
}

// Two spellings of one host are held apart by nobody but its owner.
std::string host_in(const std::string& url) {
    return target_of(url, {.reach = http::Reach::anywhere}, "url").host;
}

}  // namespace

void Couriers::start() {
    require(database_ != nullptr, "couriers have their database before they start");
    listening_ = database_->wakes().listen([this](const WakeKey& key) { wake(key); });
    notes_.start();
    looking_ = std::thread([this] { look_loop(); });
    for (std::size_t i = 0; i < threads_count; ++i)
        threads_.emplace_back([this] { courier_loop(); });
}

void Couriers::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    looker_.notify_all();
    couriers_.notify_all();
    if (looking_.joinable()) looking_.join();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    notes_.stop();
    listening_.reset();
}

std::int64_t Couriers::pass(SteadyClock::time_point now) {
    require(database_ != nullptr, "couriers have their database before they start");
    Found found = database_->read([&](db::Transaction& tx) { return find_due(tx); });
    std::map<WebhookId, Waiting> due;
    for (const DueWebhook& each : go_on_behind(std::move(found)))
        if (may_take(each, {now, now}))
            due.emplace(each.webhook_id,
                        Waiting{each.webhook_id, each.account_id, "", each.lease()});
    for (auto& [id, waiting] : due)
        while (serve(waiting)) waiting.from.reset();
    return std::ssize(due);
}

// What more than one look takes is found by those that follow: nobody waits for ever behind those
// who are always due.
Couriers::Found Couriers::find_due(db::Transaction& tx) {
    From from;
    {
        const std::lock_guard lock(mutex_);
        from = from_;
    }
    return {due_of_all(tx, from.due, clock_->now()), due_asked(tx, from.asked)};
}

std::vector<DueWebhook> Couriers::go_on_behind(Found found) {
    const auto behind = [](const std::vector<DueWebhook>& some) {
        return std::ssize(some) == due_rows_max ? some.back().webhook_id : WebhookId{};
    };
    {
        const std::lock_guard lock(mutex_);
        from_ = {behind(found.due), behind(found.asked)};
    }
    std::move(found.asked.begin(), found.asked.end(), std::back_inserter(found.due));
    return std::move(found.due);
}

double Couriers::oldest_unsent_seconds() const {
    const std::int64_t at = oldest_unsent_;
    if (at == 0) return 0;
    const std::chrono::duration<double> age = clock_->now() - Time{at};
    return std::max(0.0, age.count());
}

// On the thread of whoever committed.
void Couriers::wake(const WakeKey& key) {
    const auto account = events::account_of(key);
    if (!account && key.topic != webhook_topic) return;
    const std::lock_guard lock(mutex_);
    if (account) {
        if (!owners_.contains(*account)) return;
        news_.insert(*account);
    } else {
        asked_ = true;
    }
    looker_.notify_all();
}

void Couriers::look_loop() {
    auto next_look = SteadyClock::now();
    std::unique_lock lock(mutex_);
    while (true) {
        looker_.wait_until(lock, next_look,
                           [this] { return stopping_ || asked_ || !news_.empty(); });
        if (stopping_) return;
        std::set<AccountId> news = std::exchange(news_, {});
        const bool asked = std::exchange(asked_, false);
        lock.unlock();
        const auto now = SteadyClock::now();
        bool failed = false;
        try {
            keep_leases(now);
            look(now, news, asked || now >= next_look);
            if (now >= next_look) next_look = now + look_every;
        } catch (const std::exception& error) {
            failed = true;
            if (const std::int64_t times = failures_.note())
                log(Level::warn, "webhooks_not_looked_at",
                    {{"why", error.what()}, {"times", times}});
        }
        lock.lock();
        if (!failed) continue;
        news_.merge(news);
        next_look = SteadyClock::now();
        looker_.wait_for(lock, looked_again_in, [this] { return stopping_; });
    }
}

// What this process told is looked for by account; everything else once a second.
void Couriers::look(SteadyClock::time_point now, const std::set<AccountId>& news, bool is_full) {
    // Nobody else has the file: who held a webhook was this server, before it was killed.
    if (!has_looked_ && database_->engine() == db::Engine::sqlite)
        database_->write([](db::Transaction& tx) { end_leases(tx); });
    has_looked_ = true;
    const bool counts = now >= counted_at_ + count_every;
    Found found;
    std::vector<DueWebhook> due;
    std::vector<AccountId> owners;
    database_->read([&](db::Transaction& tx) {
        found = is_full ? find_due(tx) : Found{};
        owners = is_full ? accounts_with_webhooks(tx) : std::vector<AccountId>{};
        due.clear();
        if (!is_full || std::ssize(found.due) == due_rows_max)
            for (const AccountId& account : news)
                for (DueWebhook& each : due_of_account(tx, account, clock_->now()))
                    due.push_back(std::move(each));
        if (counts) oldest_unsent_ = oldest_unsent(tx).value_or(Time{}).micros;
    });
    if (counts) counted_at_ = now;
    if (is_full) {
        for (DueWebhook& each : go_on_behind(std::move(found))) due.push_back(std::move(each));
        const std::lock_guard lock(mutex_);
        owners_ = std::set<AccountId>(owners.begin(), owners.end());
        std::erase_if(seen_, [&](const auto& each) { return each.second.at + seen_for_max < now; });
        std::erase_if(slow_until_, [&](const auto& each) { return each.second < now; });
    }
    const Look it{now, SteadyClock::now()};
    std::erase_if(due, [&](const DueWebhook& each) { return !may_take(each, it); });
    put(due);
}

// Held by somebody it is left alone until he was not seen to renew his lease for as long as one
// lasts, by the clock of this process alone: what he takes for the time may be anything.
bool Couriers::may_take(const DueWebhook& due, const Look& it) {
    const std::lock_guard lock(mutex_);
    const std::optional<Lease> lease = due.lease();
    if (!lease) {
        seen_.erase(due.webhook_id);
        return true;
    }
    Seen& seen = seen_.try_emplace(due.webhook_id, Seen{*lease, it.ended, it.ended}).first->second;
    if (seen.lease != *lease) seen = {*lease, it.ended, it.ended};
    seen.at = it.ended;
    return it.began - seen.since >= Round::lease_max;
}

// Of targets that are slow to answer.
void Couriers::keep_leases(SteadyClock::time_point now) {
    std::map<WebhookId, LeaseId> due;
    {
        const std::lock_guard lock(mutex_);
        for (auto& [id, serving] : serving_) {
            if (now < serving.kept_at + keep_every) continue;
            serving.kept_at = now;
            due.emplace(id, serving.lease);
        }
    }
    if (due.empty()) return;
    database_->write([&](db::Transaction& tx) {
        for (const auto& [id, lease] : due)
            keep_webhook(tx, id, lease, clock_->now() + Round::lease_max);
    });
}

void Couriers::put(const std::vector<DueWebhook>& due) {
    const std::lock_guard lock(mutex_);
    for (const DueWebhook& each : due) {
        if (known_.insert(each.webhook_id).second)
            waiting_.push_back({each.webhook_id, each.account_id, host_in(each.url), each.lease()});
        else
            again_.insert(each.webhook_id);
    }
    if (!waiting_.empty()) couriers_.notify_one();
}

// The first whose host and account are not busy enough already; nothing when it is time to stop.
// Who takes one and sees another wakes the next courier, so that one event wakes one of them.
std::optional<Couriers::Waiting> Couriers::next(std::unique_lock<std::mutex>& lock) {
    const auto may_go = [this](const Waiting& each) {
        return count_in(at_once_, each.host) < at_once_per_host_max &&
               count_in(at_once_of_account_, each.account) < at_once_per_account_max &&
               (slow_at_once_ < slow_at_once_max || !slow_until_.contains(each.account));
    };
    auto found = waiting_.end();
    couriers_.wait(lock, [&] {
        found = std::find_if(waiting_.begin(), waiting_.end(), may_go);
        return stopping_ || found != waiting_.end();
    });
    if (stopping_) return std::nullopt;
    Waiting taken = std::move(*found);
    waiting_.erase(found);
    ++at_once_[taken.host];
    ++at_once_of_account_[taken.account];
    taken.is_slow = slow_until_.contains(taken.account);
    slow_at_once_ += taken.is_slow ? 1 : 0;
    if (std::any_of(waiting_.begin(), waiting_.end(), may_go)) couriers_.notify_one();
    return taken;
}

void Couriers::let_go(const Waiting& served) {
    count_down(at_once_, served.host);
    count_down(at_once_of_account_, served.account);
    slow_at_once_ -= served.is_slow ? 1 : 0;
}

void Couriers::courier_loop() {
    std::unique_lock lock(mutex_);
    while (std::optional<Waiting> taken = next(lock)) {
        again_.erase(taken->id);
        lock.unlock();
        bool has_more = false;
        try {
            has_more = serve(*taken);
        } catch (const std::exception& error) {
            // Its lease runs out, and it is found again.
            if (const std::int64_t times = failures_.note())
                log(Level::warn, "webhook_not_served", {{"why", error.what()}, {"times", times}});
        }
        taken->from.reset();
        lock.lock();
        let_go(*taken);
        const bool has_news = again_.erase(taken->id) > 0;
        if (has_more || has_news)
            waiting_.push_back(std::move(*taken));
        else
            known_.erase(taken->id);
    }
}

bool Couriers::serve(const Waiting& taken) {
    Round round({.sealer = parts_.sealer,
                 .way = {parts_.client, parts_.rules, parts_.ca_file},
                 .database = *database_,
                 .notes = notes_,
                 .clock = *clock_,
                 .random = *random_,
                 .totals = totals_},
                taken.id, taken.from);
    {
        const std::lock_guard lock(mutex_);
        serving_.insert_or_assign(taken.id, Serving{round.lease(), SteadyClock::now()});
    }
    const auto end = [&] {
        const std::lock_guard lock(mutex_);
        const auto found = serving_.find(taken.id);
        if (found != serving_.end() && found->second.lease == round.lease()) serving_.erase(found);
        if (round.longest_attempt() >= slow_after)
            slow_until_[taken.account] = SteadyClock::now() + slow_for;
    };
    try {
        const bool has_more = round.run();
        end();
        return has_more;
    } catch (...) {
        end();
        throw;
    }
}

}  // namespace berth::delivery
