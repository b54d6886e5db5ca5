#include "http/lines.hpp"

#include <utility>

namespace berth::http {

std::unique_ptr<Line> Upstream::Lines::take(const Endpoint& endpoint) {
    const auto found = waiting_.find(endpoint);
    if (found == waiting_.end()) return nullptr;
    std::unique_ptr<Line> line = std::move(found->second.back());
    found->second.pop_back();
    if (found->second.empty()) waiting_.erase(found);
    --idle_;
    line->socket.cancel();  // the watch over it
    line->reused = true;
    return line;
}

void Upstream::Lines::keep(const Endpoint& endpoint, std::unique_ptr<Line> line) {
    if (closed_ || idle_ >= idle_max_all) return;
    auto& waiting = waiting_[endpoint];
    if (waiting.size() >= idle_max_each) return;
    line->idle_until = SteadyClock::now() + idle_max;
    watch(*line);
    waiting.push_back(std::move(line));
    ++idle_;
    if (!std::exchange(sweeping_, true)) sweep();
}

void Upstream::Lines::close() {
    closed_ = true;
    waiting_.clear();
    idle_ = 0;
    sweep_timer_.cancel();
}

const TlsContext& Upstream::Lines::tls() {
    if (!tls_) tls_ = std::make_unique<TlsContext>(TlsContext::for_clients());
    return *tls_;
}

// Whatever an upstream says while nothing was asked, its connection is of no more use.
void Upstream::Lines::watch(Line& line) {
    line.socket.async_wait(
        Line::Socket::wait_read,
        [self = weak_from_this(), &line](const boost::system::error_code& error) {
            if (error) return;  // it was taken, or is gone
            if (const auto lines = self.lock()) lines->drop(&line);
        });
}

void Upstream::Lines::drop(const Line* line) {
    for (auto each = waiting_.begin(); each != waiting_.end();) {
        idle_ -= std::erase_if(each->second, [&](const auto& one) { return one.get() == line; });
        each = each->second.empty() ? waiting_.erase(each) : std::next(each);
    }
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
