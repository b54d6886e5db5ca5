#include "http/lines.hpp"

#include <algorithm>
#include <utility>

namespace berth::http {

void Line::await_input() {
    if (std::exchange(awaits_input, true)) return;
    socket.async_wait(Socket::wait_read,
                      [line = weak_from_this()](const boost::system::error_code& error) {
                          const std::shared_ptr<Line> self = line.lock();
                          if (!self) return;
                          self->awaits_input = false;
                          self->user->on_input(*self, error);
                      });
}

std::shared_ptr<Line> Upstream::Lines::take(const Endpoint& endpoint, LineUser& user) {
    const auto found = waiting_.find(endpoint);
    if (found == waiting_.end() || found->second.empty()) return nullptr;
    std::shared_ptr<Line> line = std::move(found->second.back());
    found->second.pop_back();
    --idle_;
    line->user = &user;
    line->reused = true;
    return line;
}

void Upstream::Lines::keep(const Endpoint& endpoint, std::shared_ptr<Line> line) {
    if (closed_ || idle_ >= idle_max_all) return;
    auto& waiting = waiting_[endpoint];
    if (waiting.size() >= idle_max_each) return;
    line->idle_until = SteadyClock::now() + idle_max;
    line->user = this;
    line->await_input();
    waiting.push_back(std::move(line));
    ++idle_;
    if (!std::exchange(sweeping_, true)) sweep();
}

void Upstream::Lines::close() {
    closed_ = true;
    waiting_.clear();
    idle_ = 0;
    sweep_timer_.cancel();
    late_timer_.cancel();
}

void Upstream::Lines::enter(Timed& timed) {
    timed.place = timed_.size();
    timed_.push_back(&timed);
}

void Upstream::Lines::leave(Timed& timed) {
    timed_[timed.place] = timed_.back();
    timed_[timed.place]->place = timed.place;
    timed_.pop_back();
}

void Upstream::Lines::arm(SteadyClock::time_point deadline) {
    look_at_ = deadline;
    late_timer_.expires_at(deadline);
    late_timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
        if (error) return;
        if (const auto lines = self.lock()) lines->look();
    });
}

void Upstream::Lines::look() {
    look_at_ = Timed::never;
    const SteadyClock::time_point now = SteadyClock::now();
    SteadyClock::time_point next = Timed::never;
    std::vector<std::weak_ptr<Timed>> late;
    for (Timed* const each : timed_) {
        if (each->deadline <= now)
            late.push_back(each->weak_from_this());
        else
            next = std::min(next, each->deadline);
    }
    if (next != Timed::never) expect(next);
    for (const std::weak_ptr<Timed>& each : late)
        if (const auto timed = each.lock(); timed && timed->deadline <= now) timed->on_late();
}

const TlsContext& Upstream::Lines::tls() {
    if (!tls_) tls_ = std::make_unique<TlsContext>(TlsContext::for_clients());
    return *tls_;
}

// Whatever an upstream says while nothing was asked, its connection is of no more use.
void Upstream::Lines::on_input(Line& line, const boost::system::error_code&) {
    for (auto& [endpoint, waiting] : waiting_)
        idle_ -= std::erase_if(waiting, [&](const auto& one) { return one.get() == &line; });
}

void Upstream::Lines::sweep() {
    const SteadyClock::time_point now = SteadyClock::now();
    for (auto each = waiting_.begin(); each != waiting_.end();) {
        auto& queue = each->second;
        while (!queue.empty() && queue.front()->idle_until <= now) {
            queue.pop_front();
            --idle_;
        }
        each = queue.empty() ? waiting_.erase(each) : std::next(each);
    }
    sweeping_ = !waiting_.empty();
    if (!sweeping_) return;
    sweep_timer_.expires_after(idle_max / 4);
    sweep_timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
        if (error) return;
        if (const auto lines = self.lock()) lines->sweep();
    });
}

}  // namespace berth::http
