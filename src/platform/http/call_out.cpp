#include "http/call_out.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "http/parse.hpp"
#include "http/socket_address.hpp"
#include "http/text.hpp"
#include "http/watch.hpp"

namespace berth::http {
namespace {

constexpr std::size_t call_head_bytes_max = 8 * 1024;

// A peer that is known by its key needs no authorities, which take a while to read.
const TlsContext& tls_for_calls(bool pinned) {
    static const TlsContext by_key = TlsContext::for_pins();
    if (pinned) return by_key;
    static const TlsContext by_authority = TlsContext::for_clients();
    return by_authority;
}

bool is_sound_call(const CallOut& call) {
    if (call.target.empty()) return true;
    if (!is_target(call.target) || !is_token(call.switch_to) || !is_host(call.endpoint.host))
        return false;
    return std::all_of(call.headers.begin(), call.headers.end(), [](const Headers::Field& field) {
        return is_token(field.name) && is_field_value(field.value);
    });
}

std::string call_head(const CallOut& call) {
    if (call.target.empty()) return {};
    std::string head = "GET " + call.target + " HTTP/1.1\r\nHost: " + call.endpoint.host + ":" +
                       std::to_string(call.endpoint.port) +
                       "\r\nConnection: Upgrade\r\nUpgrade: " + call.switch_to + "\r\n";
    for (const Headers::Field& field : call.headers)
        head += field.name + ": " + field.value + "\r\n";
    return head + "\r\n";
}

// One call on its way. The loop's handlers keep it alive.
class Calling : public std::enable_shared_from_this<Calling> {
public:
    Calling(std::shared_ptr<Loop> loop, CallOut call, std::function<void(Called)> done)
        : loop_(std::move(loop)), call_(std::move(call)), done_(std::move(done)) {}

    void start();

private:
    using Failure = Called::Failure;

    void on_connected();
    void shake_hands();
    void send();
    void receive();
    void take_head(std::string_view fresh);
    void fail(Failure failure, std::string reason);
    void end(Called called);
    void go_on_after(Transfer::Status status, void (Calling::*then)(), Failure otherwise);
    auto when_ready(void (Calling::*then)()) {
        return [self = shared_from_this(), then](const boost::system::error_code& error) {
            if (self->over_) return;
            if (error) return self->fail(Failure::closed, error.message());
            (self.get()->*then)();
        };
    }

    const std::shared_ptr<Loop> loop_;
    const CallOut call_;
    std::function<void(Called)> done_;
    Carrier carrier_;
    std::unique_ptr<Watch> watch_;
    std::string head_;  // of the request
    std::size_t sent_ = 0;
    std::string answer_;
    HeadScanner scanner_;
    int status_ = 0;
    bool over_ = false;
};

void Calling::start() {
    watch_ = std::make_unique<Watch>(loop_->io());
    if (!is_sound_call(call_)) return fail(Failure::unsound, "the call cannot be sent");
    head_ = call_head(call_);
    loop_->after(call_.total_max, [self = weak_from_this()] {
        if (const auto open = self.lock()) open->fail(Failure::timed_out, "not done in time");
    });
    const SocketAddress place(call_.endpoint.address, call_.endpoint.port);
    carrier_ = Carrier(
        Descriptor(::socket(place.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
    if (!carrier_.is_open()) return fail(Failure::refused, std::strerror(errno));
    if (::connect(carrier_.socket(), place.data(), place.size()) != 0 && errno != EINPROGRESS)
        return fail(Failure::refused, std::strerror(errno));
    if (!watch_->start(carrier_.socket()))
        return fail(Failure::refused, "the loop has no means for it");
    watch_->await_room(when_ready(&Calling::on_connected));
}

void Calling::on_connected() {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(carrier_.socket(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0)
        return fail(error == ETIMEDOUT ? Failure::timed_out : Failure::refused,
                    std::strerror(error));
    carrier_.set_up_as_stream();
    if (call_.endpoint.tls)
        carrier_.start_tls(tls_for_calls(!call_.endpoint.key_sha256.empty()),
                           {call_.endpoint.host, call_.endpoint.key_sha256});
    shake_hands();
}

void Calling::shake_hands() {
    const Transfer::Status status = carrier_.shake_hands().status;
    if (status != Transfer::Status::done)
        return go_on_after(status, &Calling::shake_hands, Failure::tls);
    if (head_.empty()) return end({.carrier = std::move(carrier_)});
    send();
}

void Calling::send() {
    while (sent_ < head_.size()) {
        const Transfer out = carrier_.write(std::string_view(head_).substr(sent_));
        if (out.status != Transfer::Status::done)
            return go_on_after(out.status, &Calling::send, Failure::closed);
        sent_ += out.bytes;
    }
    receive();
}

void Calling::receive() {
    std::array<char, TlsSession::record_bytes_max> into;
    while (!over_) {
        const Transfer in = carrier_.read(into);
        if (in.status != Transfer::Status::done)
            return go_on_after(in.status, &Calling::receive, Failure::closed);
        take_head({into.data(), in.bytes});
    }
}

void Calling::take_head(std::string_view fresh) {
    answer_ += fresh;
    const HeadScanner::Status status = scanner_.scan(answer_);
    const bool complete = status == HeadScanner::Status::complete;
    const std::size_t size = complete ? scanner_.head_size() : answer_.size();
    if (status == HeadScanner::Status::bad || size > call_head_bytes_max)
        return fail(Failure::unsound, "the head of the answer is not HTTP, or too long");
    if (!complete) return;
    const AnswerHead head =
        parse_answer_head(std::string_view(answer_).substr(0, size), AnswerTo::upgrade);
    if (!head.good) return fail(Failure::unsound, "the head of the answer is not HTTP");
    status_ = head.status;
    const auto to = head.headers.find("Upgrade");
    if (head.status != switching_status || !to || !equal_without_case(*to, call_.switch_to))
        return fail(Failure::not_switched,
                    "the answer is " + std::to_string(head.status) + " and no switch");
    carrier_.put_back(std::string_view(answer_).substr(size));
    end({.carrier = std::move(carrier_), .status = status_});
}

void Calling::go_on_after(Transfer::Status status, void (Calling::*then)(), Failure otherwise) {
    if (status == Transfer::Status::wants_read) return watch_->await_input(when_ready(then));
    if (status == Transfer::Status::wants_write) return watch_->await_room(when_ready(then));
    fail(otherwise, otherwise == Failure::tls ? "the TLS handshake failed, or it has another key"
                                              : "it closed the connection");
}

void Calling::fail(Failure failure, std::string reason) {
    end({.failure = failure, .status = status_, .reason = std::move(reason)});
}

void Calling::end(Called called) {
    if (std::exchange(over_, true)) return;
    watch_->stop();
    carrier_.close();
    std::exchange(done_, nullptr)(std::move(called));
}

}  // namespace

void call_out(const std::shared_ptr<Loop>& loop, CallOut call, std::function<void(Called)> done) {
    auto calling = std::make_shared<Calling>(loop, std::move(call), std::move(done));
    loop->post([calling = std::move(calling)] { calling->start(); });
}

}  // namespace berth::http
