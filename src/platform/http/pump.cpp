#include "http/pump.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "http/pipes.hpp"
#include "http/watch.hpp"

namespace berth::http {
namespace {

constexpr std::size_t copied_bytes_max = TlsSession::record_bytes_max;  // at a time
constexpr int full_reads_before_splice = 2;
constexpr std::size_t turn_bytes_max = std::size_t{1024} * 1024;  // then others have their turn

std::array<char, copied_bytes_max>& pump_scratch() {
    thread_local std::array<char, copied_bytes_max> bytes;
    return bytes;
}

Transfer splice_outcome(ssize_t result, Transfer::Status when_blocked) {
    if (result > 0) return {Transfer::Status::done, static_cast<std::size_t>(result)};
    if (result == 0) return {Transfer::Status::finished};
    const bool blocked = errno == EAGAIN || errno == EINTR;
    return {blocked ? when_blocked : Transfer::Status::closed};
}

}  // namespace

// Both sockets and what is on its way between them. The loop's handlers keep it alive.
class Pump::Pair : public std::enable_shared_from_this<Pump::Pair> {
public:
    Pair(std::shared_ptr<Loop> loop, Carrier a, Carrier b, PumpOptions options)
        : loop_(std::move(loop)),
          options_(std::move(options)),
          carriers_{std::move(a), std::move(b)} {}

    void start();
    void end(PumpEnd why);

private:
    using Side = std::size_t;  // 0 is a, 1 is b; way 0 goes from a to b
    enum class Ready : std::uint8_t { nothing, input, room };

    struct Way {
        std::string kept;  // read and not written yet
        std::unique_ptr<Pipe> pipe;
        Side awaited_side = 0;
        Ready awaited = Ready::nothing;
        std::uint8_t full_reads = 0;
        bool input_over = false;
        bool done = false;
    };
    struct Watched {
        explicit Watched(boost::asio::io_context& io) : watch(io) {}

        Watch watch;
        bool input = false;  // the loop will call on_ready()
        bool room = false;
        bool ends = false;  // or tell when the connection is gone
    };

    Carrier& from(Side way) { return carriers_[way]; }
    Carrier& to(Side way) { return carriers_[1 - way]; }
    Pace::Way pace_way(Side way) const { return way == 0 ? Pace::Way::from_a : Pace::Way::from_b; }

    void go_on(Side way) {
        ways_[way].awaited = Ready::nothing;
        step(way);
    }
    void step(Side way);
    bool pour(Side way);
    bool put(Side way, std::string_view bytes);
    bool take_in(Side way, std::size_t& turn_bytes);
    bool copy_in(Side way, std::size_t bytes_max, std::size_t& taken);
    bool splice_in(Side way, std::size_t bytes_max, std::size_t& taken);
    bool may_splice(Side way);
    void stop_for(Side way, Side side, Transfer::Status status);
    void finish(Side way);
    void count(Side way, std::size_t bytes);
    void await(Side way, Side side, Ready what);
    void await_leave(Side way, Duration span);
    void await_break(Side side);
    bool is_awaited(Side side) const;
    void on_ready(Side side, Ready what, const boost::system::error_code& error);

    const std::shared_ptr<Loop> loop_;
    PumpOptions options_;
    std::array<Carrier, 2> carriers_;
    std::array<Way, 2> ways_;
    std::array<std::unique_ptr<Watched>, 2> watched_;
    bool over_ = false;
};

void Pump::Pair::start() {
    for (Side side = 0; side < 2; ++side) {
        watched_[side] = std::make_unique<Watched>(loop_->io());
        if (!carriers_[side].is_open() || !watched_[side]->watch.start(carriers_[side].socket()))
            return end(PumpEnd::broken);
        carriers_[side].set_up_as_stream();
    }
    // Each as if it waited for its first bytes, until it begins.
    for (Side way = 0; way < 2; ++way) {
        ways_[way].awaited_side = way;
        ways_[way].awaited = Ready::input;
    }
    for (Side way = 0; way < 2 && !over_; ++way) go_on(way);
}

void Pump::Pair::end(PumpEnd why) {
    if (std::exchange(over_, true)) return;
    for (Side side = 0; side < 2; ++side) {
        if (watched_[side]) watched_[side]->watch.stop();
        if (why != PumpEnd::finished && carriers_[side].is_open()) carriers_[side].reset_on_close();
        carriers_[side].close();
        ways_[side] = {};
    }
    if (const auto on_end = std::exchange(options_.on_end, nullptr)) on_end(why);
}

// Goes on with one way as far as it can, and leaves it waiting for one thing.
void Pump::Pair::step(Side way) {
    std::size_t turn_bytes = 0;
    do {
        if (!pour(way)) return;
        if (ways_[way].input_over) return finish(way);
        if (turn_bytes >= turn_bytes_max) return await(way, way, Ready::input);
    } while (take_in(way, turn_bytes));
}

// Sends on what was taken in; false when the way waits.
bool Pump::Pair::pour(Side way) {
    Way& here = ways_[way];
    if (!here.kept.empty()) return put(way, std::exchange(here.kept, {}));
    while (here.pipe && here.pipe->held > 0) {
        const Transfer out =
            splice_outcome(::splice(here.pipe->out.number(), nullptr, to(way).socket(), nullptr,
                                    here.pipe->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK),
                           Transfer::Status::wants_write);
        if (out.status != Transfer::Status::done) {
            stop_for(way, 1 - way, out.status);
            return false;
        }
        here.pipe->held -= out.bytes;
        count(way, out.bytes);
    }
    return true;
}

// Sends them, and keeps what there is no room for; false when the way waits for that.
bool Pump::Pair::put(Side way, std::string_view bytes) {
    while (!bytes.empty()) {
        const Transfer out = to(way).write(bytes);
        if (out.status != Transfer::Status::done) {
            ways_[way].kept.assign(bytes);
            stop_for(way, 1 - way, out.status);
            return false;
        }
        bytes.remove_prefix(out.bytes);
        count(way, out.bytes);
    }
    return true;
}

// Takes some in; false when the way waits or is over.
bool Pump::Pair::take_in(Side way, std::size_t& turn_bytes) {
    const bool spliced = may_splice(way);
    std::size_t bytes_max = spliced ? ways_[way].pipe->bytes_max : copied_bytes_max;
    const bool paced = options_.pace && options_.pace->is_limited();
    if (paced) {
        const auto now = Pace::Clock::now();
        const Pace::Leave leave = options_.pace->take(pace_way(way), bytes_max, now);
        if (leave.bytes == 0) {
            await_leave(way, leave.wait);
            return false;
        }
        bytes_max = leave.bytes;
    }
    std::size_t taken = 0;
    const bool more = spliced ? splice_in(way, bytes_max, taken) : copy_in(way, bytes_max, taken);
    if (paced) options_.pace->give_back(pace_way(way), bytes_max - taken);
    turn_bytes += taken;
    // Little came: small pieces are quicker to copy.
    if (!more && spliced && turn_bytes < copied_bytes_max) ways_[way].full_reads = 0;
    return more;
}

bool Pump::Pair::may_splice(Side way) {
    Way& here = ways_[way];
    if (here.full_reads < full_reads_before_splice || from(way).is_tls() || to(way).is_tls() ||
        !from(way).ahead().empty())
        return false;
    if (!here.pipe) here.pipe = Pipes::of_this_thread().take();
    return here.pipe != nullptr;
}

bool Pump::Pair::copy_in(Side way, std::size_t bytes_max, std::size_t& taken) {
    Way& here = ways_[way];
    const std::span<char> into(pump_scratch().data(), bytes_max);
    const Transfer in = from(way).read(into);
    if (in.status == Transfer::Status::finished) return here.input_over = true;
    if (in.status != Transfer::Status::done) {
        stop_for(way, way, in.status);
        return false;
    }
    taken = in.bytes;
    const bool full = in.bytes == into.size();
    const bool large = full && in.bytes == copied_bytes_max;
    here.full_reads =
        large ? static_cast<std::uint8_t>(std::min(here.full_reads + 1, full_reads_before_splice))
              : std::uint8_t{0};
    if (!put(way, {into.data(), in.bytes})) return false;
    // A plain socket that gave less than was asked for has no more. TLS gives a record at a time.
    if (full || from(way).is_tls() || !from(way).ahead().empty()) return true;
    await(way, way, Ready::input);
    return false;
}

bool Pump::Pair::splice_in(Side way, std::size_t bytes_max, std::size_t& taken) {
    Way& here = ways_[way];
    const Transfer in =
        splice_outcome(::splice(from(way).socket(), nullptr, here.pipe->in.number(), nullptr,
                                bytes_max, SPLICE_F_MOVE | SPLICE_F_NONBLOCK),
                       Transfer::Status::wants_read);
    if (in.status == Transfer::Status::done) {
        here.pipe->held += in.bytes;
        taken = in.bytes;
        return true;
    }
    Pipes::of_this_thread().give_back(std::move(here.pipe));
    if (in.status == Transfer::Status::finished) return here.input_over = true;
    stop_for(way, way, in.status);
    return false;
}

// A transfer at `side` could not go on: the way waits there, or all is over.
void Pump::Pair::stop_for(Side way, Side side, Transfer::Status status) {
    switch (status) {
        case Transfer::Status::wants_read: return await(way, side, Ready::input);
        case Transfer::Status::wants_write: return await(way, side, Ready::room);
        default: return end(PumpEnd::broken);
    }
}

void Pump::Pair::finish(Side way) {
    if (to(way).finish_sending().status == Transfer::Status::wants_write)
        return await(way, 1 - way, Ready::room);
    ways_[way].done = true;
    Pipes::of_this_thread().give_back(std::move(ways_[way].pipe));
    if (ways_[1 - way].done) return end(PumpEnd::finished);
    await_break(way);
}

void Pump::Pair::count(Side way, std::size_t bytes) {
    if (!options_.counters) return;
    (way == 0 ? options_.counters->from_a : options_.counters->from_b)
        .fetch_add(bytes, std::memory_order_relaxed);
}

void Pump::Pair::await(Side way, Side side, Ready what) {
    ways_[way].awaited_side = side;
    ways_[way].awaited = what;
    if (!is_awaited(1 - side)) await_break(1 - side);
    Watched& at = *watched_[side];
    if (std::exchange(what == Ready::input ? at.input : at.room, true)) return;
    auto handler = [self = shared_from_this(), side, what](const boost::system::error_code& error) {
        self->on_ready(side, what, error);
    };
    if (what == Ready::input)
        at.watch.await_input(std::move(handler));
    else
        at.watch.await_room(std::move(handler));
}

void Pump::Pair::await_leave(Side way, Duration span) {
    loop_->after(span, [self = shared_from_this(), way] {
        if (!self->over_) self->step(way);
    });
}

// Nothing is read from a side that has finished, or whose bytes the other side does not take, so
// that nothing else would tell that it is gone while that other side is silent.
void Pump::Pair::await_break(Side side) {
    if (std::exchange(watched_[side]->ends, true)) return;
    watched_[side]->watch.await_error(
        [self = shared_from_this(), side](const boost::system::error_code& stopped) {
            if (self->over_ || stopped) return;
            self->watched_[side]->ends = false;
            if (self->is_awaited(side)) return;  // what waits there sees it, behind what came first
            int error = 0;
            socklen_t size = sizeof error;
            const int socket = self->carriers_[side].socket();
            ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
            if (error != 0) self->end(PumpEnd::broken);
        });
}

bool Pump::Pair::is_awaited(Side side) const {
    return std::any_of(ways_.begin(), ways_.end(), [side](const Way& way) {
        return way.awaited != Ready::nothing && way.awaited_side == side;
    });
}

void Pump::Pair::on_ready(Side side, Ready what, const boost::system::error_code& error) {
    if (over_) return;
    if (error) return end(PumpEnd::broken);
    (what == Ready::input ? watched_[side]->input : watched_[side]->room) = false;
    for (Side way = 0; way < 2 && !over_; ++way) {
        if (ways_[way].awaited == what && ways_[way].awaited_side == side) go_on(way);
    }
}

void Pump::end() const {
    if (!loop_) return;
    loop_->post([pair = pair_] {
        if (const std::shared_ptr<Pair> open = pair.lock()) open->end(PumpEnd::ended);
    });
}

Pump join(const std::shared_ptr<Loop>& loop, Carrier a, Carrier b, PumpOptions options) {
    auto pair = std::make_shared<Pump::Pair>(loop, std::move(a), std::move(b), std::move(options));
    Pump pump(loop, pair);
    loop->post([pair = std::move(pair)] { pair->start(); });
    return pump;
}

}  // namespace berth::http
