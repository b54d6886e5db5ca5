#include "http/loop.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "base/check.hpp"

namespace berth::http {

using LoopTimer =
    boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                      boost::asio::wait_traits<std::chrono::steady_clock>,
                                      boost::asio::io_context::executor_type>;

void Loop::after(Duration span, Work work) {
    boost::asio::io_context* io = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (!post_) return;
        io = io_;
    }
    check(io != nullptr, "the loop has timers");
    post([io, span, work = std::move(work)]() mutable {
        const auto timer = std::make_shared<LoopTimer>(io->get_executor(), span);
        timer->async_wait([timer, work = std::move(work)](const boost::system::error_code& error) {
            if (!error) work();
        });
    });
}

boost::asio::io_context& Loop::io() const {
    const std::lock_guard lock(mutex_);
    check(io_ != nullptr, "the loop has sockets");
    return *io_;
}

}  // namespace berth::http
