// Waits on a loop for a socket that somebody else owns. Only files of this folder include it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <utility>

namespace berth::http {

class Watch {
public:
    using Descriptor =
        boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

    explicit Watch(boost::asio::io_context& io) : descriptor_(io.get_executor()) {}
    ~Watch() { stop(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // False when the system has no means for it.
    [[nodiscard]] bool start(int socket) {
        boost::system::error_code error;
        descriptor_.assign(socket, error);
        return !error;
    }
    // What waits is called with an error, later. The socket stays open.
    void stop() {
        if (descriptor_.is_open()) descriptor_.release();
    }
    template <class Handler>
    void await_input(Handler handler) {
        descriptor_.async_wait(Descriptor::wait_read, std::move(handler));
    }
    template <class Handler>
    void await_room(Handler handler) {
        descriptor_.async_wait(Descriptor::wait_write, std::move(handler));
    }
    // The connection is gone, whether there is something to read or not.
    template <class Handler>
    void await_error(Handler handler) {
        descriptor_.async_wait(Descriptor::wait_error, std::move(handler));
    }

private:
    Descriptor descriptor_;
};

}  // namespace berth::http
