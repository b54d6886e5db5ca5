// What a gate answers by HTTP: links and the renewal of their tickets, calls, an echo for doctors,
// and its health. At the port without TLS there are calls, the echo and the health only.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "gate/board.hpp"
#include "gate/echo.hpp"
#include "gate/siblings.hpp"
#include "gate/tickets.hpp"
#include "http/pool.hpp"

namespace berth::gate {

// What both ports need.
struct EntranceParts {
    std::shared_ptr<Board> board;
    Tickets& tickets;
    Siblings& siblings;
    Tally& tally;
    std::shared_ptr<http::Loop> stream_loop;  // for calls that are another process's
};

class Hall {
public:
    explicit Hall(EntranceParts parts);

    void open_link(const http::Request& request, const http::Reply& reply);
    void renew(const LinkId& link, const http::Request& request, const http::Reply& reply);
    void take_call(const CallId& call, const http::Request& request, const http::Reply& reply);
    void echo(const http::Request& request, const http::Reply& reply);
    void tell_health(const http::Reply& reply);

    std::size_t passed_on() const { return static_cast<std::size_t>(passed_on_->load()); }

private:
    void ask_siblings(const CallId& call, const http::Address& source, const http::Reply& reply);

    const EntranceParts parts_;
    const std::shared_ptr<std::atomic<int>> echoes_ = std::make_shared<std::atomic<int>>(0);
    const std::shared_ptr<std::atomic<int>> passed_on_ = std::make_shared<std::atomic<int>>(0);
    Sources misses_;  // who asks for calls that there are not; on the board's loop
    http::Pool pool_;
};

class Entrance final : public http::Handler {
public:
    Entrance(Hall& hall, bool takes_links) : hall_(hall), takes_links_(takes_links) {}

    std::size_t body_bytes_max(const http::Request& head) override;
    void handle(http::Request request, http::Reply reply) override;

private:
    Hall& hall_;
    const bool takes_links_;
};

}  // namespace berth::gate
