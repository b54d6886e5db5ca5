#include "http/loop_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <utility>

namespace berth::http {

struct LoopThread::State {
    boost::asio::io_context io{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stays{
        io.get_executor()};
    std::thread thread;
};

LoopThread::LoopThread()
    : state_(std::make_unique<State>()),
      loop_(std::make_shared<Loop>(
          [io = &state_->io](Loop::Work work) { boost::asio::post(*io, std::move(work)); },
          &state_->io)) {
    state_->thread = std::thread([io = &state_->io] {
        // Neither OpenSSL nor splice() can be told not to send it.
        sigset_t signals;
        ::sigemptyset(&signals);
        ::sigaddset(&signals, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
        io->run();
    });
}

LoopThread::~LoopThread() {
    state_->io.stop();
    state_->thread.join();
    loop_->close();
}

}  // namespace berth::http
