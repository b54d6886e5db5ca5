#include "http/upstream.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <initializer_list>
#include <utility>

#include "base/check.hpp"
#include "http/lines.hpp"
#include "http/parse.hpp"
#include "http/text.hpp"

namespace berth::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t head_bytes_max = 32 * 1024;
constexpr std::size_t usual_head_bytes = 512;          // of a request
constexpr int interim_heads_max = 8;                   // 100 Continue and the like
constexpr std::size_t outgoing_bytes_max = 64 * 1024;  // to a peer that switched, before a pause
constexpr std::size_t outgoing_bytes_low = 16 * 1024;  // and when the pause is over

bool is_written_here(std::string_view name) {
    return equal_without_case(name, "host") || equal_without_case(name, "content-length") ||
           equal_without_case(name, "transfer-encoding") ||
           equal_without_case(name, "connection") || equal_without_case(name, "upgrade");
}

bool is_sound(const UpstreamRequest& request) {
    if (!is_token(request.method) || !is_target(request.target) || !is_host(request.endpoint.host))
        return false;
    if (!request.switch_to.empty() && !is_token(request.switch_to)) return false;
    return std::all_of(request.headers.begin(), request.headers.end(), [](const auto& field) {
        return is_token(field.name) && is_field_value(field.value);
    });
}

std::string head_of(const UpstreamRequest& request) {
    const Endpoint& endpoint = request.endpoint;
    const bool usual_port = endpoint.port == (endpoint.tls ? 443 : 80);
    std::string head;
    head.reserve(usual_head_bytes);
    const auto put = [&](std::initializer_list<std::string_view> texts) {
        for (const std::string_view text : texts) head += text;
    };
    put({request.method, " ", request.target, " HTTP/1.1\r\nHost: ", endpoint.host});
    if (!usual_port) put({":", std::to_string(endpoint.port)});
    put({"\r\n"});
    for (const Headers::Field& field : request.headers)
        if (!is_written_here(field.name)) put({field.name, ": ", field.value, "\r\n"});
    if (!request.switch_to.empty())
        put({"Connection: Upgrade\r\nUpgrade: ", request.switch_to, "\r\n"});
    if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD"))
        put({"Content-Length: ", std::to_string(request.body.size()), "\r\n"});
    put({"\r\n"});
    return head;
}

}  // namespace

// One request and its answer. The loop's handlers keep it alive; `over_` makes them harmless.
class UpstreamCall::Exchange final : public Timed, public LineUser {
public:
    Exchange(std::shared_ptr<Upstream::Lines> lines, UpstreamRequest request,
             UpstreamReader& reader)
        : lines_(std::move(lines)), request_(std::move(request)), reader_(reader) {
        lines_->enter(*this);
    }
    ~Exchange() override { cancel(); }

    void start();
    void resume();
    void cancel();
    bool send_on(std::string_view bytes);

private:
    using Phase = UpstreamFailure::Phase;
    using Body = AnswerHead::Body;

    void dial();
    void shake_hands();
    void converse();
    void send();
    std::shared_ptr<Exchange> self() {
        return std::static_pointer_cast<Exchange>(shared_from_this());
    }
    void await_input(void (Exchange::*then)());
    void await_room(void (Exchange::*then)());
    void on_input(Line& line, const error_code& error) override;
    void on_late() override;
    void receive();
    void take(std::string_view bytes);
    bool take_head(std::string_view& bytes);
    void take_body(std::string_view bytes);
    AnswerTo asked() const;
    bool switches();
    void pour();
    void pour_and_tell();
    void end_of_input(Transfer::Status status);
    void finish();
    void fail(std::string reason);
    bool body_sent() const;
    bool may_try_again() const;
    void allow(Duration span);

    const std::shared_ptr<Upstream::Lines> lines_;
    UpstreamRequest request_;
    UpstreamReader& reader_;

    std::shared_ptr<Line> line_;
    void (Exchange::*next_)() = nullptr;  // when there is input
    std::string head_;                    // of the request
    std::size_t sent_ = 0;
    bool all_sent_ = false;
    bool has_body_ = false;
    bool paused_ = false;
    bool over_ = false;
    Phase phase_ = Phase::connect;

    HeadScanner scanner_;
    std::string answer_head_;
    int interim_heads_ = 0;
    AnswerHead answer_;
    bool head_taken_ = false;
    std::uint64_t body_left_ = 0;
    bool switched_ = false;
    std::string outgoing_;  // for a peer that switched
    bool awaits_room_ = false;
    bool sendable_wanted_ = false;
    ChunkDecoder decoder_{{.body_bytes_max = ~std::size_t{0}, .trailer_bytes_max = 8 * 1024}};
};

void UpstreamCall::Exchange::start() {
    const bool sound = is_sound(request_);
    has_body_ = !request_.body.empty();
    if (sound) head_ = head_of(request_);
    if (sound && !request_.fresh_connection) line_ = lines_->take(request_.endpoint, *this);
    if (line_) return converse();
    asio::post(lines_->io(), [self = self(), sound] {
        if (self->over_) return;
        if (sound) return self->dial();
        self->request_.try_again = false;
        self->fail("the request cannot be sent");
    });
}

void UpstreamCall::Exchange::resume() {
    if (over_ || !std::exchange(paused_, false)) return;
    allow(request_.silence_max);
    await_input(&Exchange::receive);
}

void UpstreamCall::Exchange::cancel() {
    line_.reset();
    if (!std::exchange(over_, true)) lines_->leave(*this);
}

void UpstreamCall::Exchange::dial() {
    allow(request_.connect_max);
    line_ = std::make_shared<Line>(lines_->io(), *this);
    line_->ends_at = SteadyClock::now() + request_.connection_life;
    error_code error;
    const Endpoint& endpoint = request_.endpoint;
    const auto address = asio::ip::make_address(to_string(endpoint.address), error);
    const tcp::endpoint to(address, endpoint.port);
    if (!error) line_->socket.open(to.protocol(), error);
    if (!error) line_->socket.set_option(tcp::no_delay(true), error);
    if (!error) line_->socket.native_non_blocking(true, error);
    if (error) return fail(error.message());
    line_->socket.async_connect(to, [self = self(), line = line_.get()](const error_code& refused) {
        if (self->over_ || self->line_.get() != line) return;
        if (refused) return self->fail(refused.message());
        const Endpoint& peer = self->request_.endpoint;
        const int socket = self->line_->socket.native_handle();
        self->line_->stream = peer.tls
                                  ? std::make_unique<Stream>(socket, self->lines_->tls(),
                                                             TlsPeer{peer.host, peer.key_sha256})
                                  : std::make_unique<Stream>(socket, nullptr);
        self->shake_hands();
    });
}

void UpstreamCall::Exchange::shake_hands() {
    switch (line_->stream->shake_hands().status) {
        case Transfer::Status::done: return converse();
        case Transfer::Status::wants_read: return await_input(&Exchange::shake_hands);
        case Transfer::Status::wants_write: return await_room(&Exchange::shake_hands);
        default: return fail("the TLS handshake failed");
    }
}

// From here on the answer may come at any moment, also before the request is all sent.
void UpstreamCall::Exchange::converse() {
    phase_ = Phase::first_byte;
    allow(request_.first_byte_max);
    await_input(&Exchange::receive);
    send();
}

void UpstreamCall::Exchange::send() {
    const std::string_view head = head_;
    const std::string_view body = request_.body;
    while (sent_ < head.size() + body.size()) {
        const std::size_t of_head = std::min(sent_, head.size());
        const Transfer transfer =
            line_->stream->write(head.substr(of_head), body.substr(sent_ - of_head));
        if (transfer.status == Transfer::Status::wants_write) return await_room(&Exchange::send);
        // With TLS it may wait for input, which receive() will see. A closed connection may still
        // hold an answer that says why: reading finds out.
        if (transfer.status != Transfer::Status::done) return;
        sent_ += transfer.bytes;
    }
    all_sent_ = true;
    free_text(head_);
    free_text(request_.body);
    request_.held.drop();
}

void UpstreamCall::Exchange::await_input(void (Exchange::*then)()) {
    next_ = then;
    line_->await_input();
}

void UpstreamCall::Exchange::await_room(void (Exchange::*then)()) {
    // The line may be another one by then, after a second try.
    line_->socket.async_wait(Line::Socket::wait_write,
                             [self = self(), line = line_.get(), then](const error_code& error) {
                                 if (self->over_ || self->line_.get() != line) return;
                                 if (error) return self->fail(error.message());
                                 (self.get()->*then)();
                             });
}

// The reader may let go of this meanwhile.
void UpstreamCall::Exchange::on_input(Line&, const error_code& error) {
    const std::shared_ptr<Exchange> kept = self();
    if (error) return fail(error.message());
    (this->*next_)();
}

void UpstreamCall::Exchange::receive() {
    std::vector<char>& scratch = lines_->scratch();
    const Transfer transfer = line_->stream->read(scratch);
    switch (transfer.status) {
        case Transfer::Status::done: take({scratch.data(), transfer.bytes}); break;
        case Transfer::Status::wants_read:
        case Transfer::Status::wants_write: break;
        default: return end_of_input(transfer.status);
    }
    if (over_) return;
    // Over TLS a write may have waited for input.
    if (!outgoing_.empty() && !awaits_room_) pour_and_tell();
    if (over_) return;
    reader_.on_pause();
    if (!over_ && !paused_) await_input(&Exchange::receive);
}

void UpstreamCall::Exchange::take(std::string_view bytes) {
    // The head as a whole has as long as a silence: it must not come by a byte now and then.
    if (phase_ != Phase::answer || head_taken_) allow(request_.silence_max);
    phase_ = Phase::answer;
    while (!head_taken_) {
        if (!take_head(bytes)) return;
        if (head_taken_) allow(request_.silence_max);
    }
    take_body(bytes);
}

// True when a whole head was taken off the front of `bytes`, and there may be more in them.
bool UpstreamCall::Exchange::take_head(std::string_view& bytes) {
    // A head that comes at once is read where it lies.
    const std::size_t before = answer_head_.size();
    if (before > 0) answer_head_.append(bytes.substr(0, head_bytes_max + 1));
    const std::string_view head = before > 0 ? std::string_view(answer_head_) : bytes;
    const HeadScanner::Status status = scanner_.scan(head);
    const bool complete = status == HeadScanner::Status::complete;
    const std::size_t size = complete ? scanner_.head_size() : head.size();
    if (status == HeadScanner::Status::bad || size > head_bytes_max) {
        fail("the head of the answer is not HTTP, or too long");
        return false;
    }
    if (!complete) {
        if (before == 0) answer_head_ = bytes;
        return false;
    }
    answer_ = parse_answer_head(head.substr(0, size), asked());
    free_text(answer_head_);
    scanner_.reset();
    bytes.remove_prefix(size - before);
    const bool interim = answer_.status < 200 && answer_.status != switching_status;
    if (!answer_.good || (answer_.status == switching_status && !switches()) ||
        (interim && ++interim_heads_ > interim_heads_max)) {
        fail("the head of the answer is not HTTP as we read it");
        return false;
    }
    if (interim) return !bytes.empty();
    head_taken_ = true;
    body_left_ = answer_.content_length;
    reader_.on_head({answer_.status, std::move(answer_.headers)});
    return !over_;
}

AnswerTo UpstreamCall::Exchange::asked() const {
    if (!request_.switch_to.empty()) return AnswerTo::upgrade;
    return request_.method == "HEAD" ? AnswerTo::head_request : AnswerTo::any;
}

// To what it was asked to, and not before it heard all of the question.
bool UpstreamCall::Exchange::switches() {
    const auto to = answer_.headers.find("Upgrade");
    if (!all_sent_ || !to || !equal_without_case(*to, request_.switch_to)) return false;
    switched_ = true;
    request_.silence_max = request_.switched_silence_max;
    return true;
}

// After the end there is nobody to send it to, of which the reader has heard or will.
bool UpstreamCall::Exchange::send_on(std::string_view bytes) {
    if (over_ || !switched_) return true;
    if (!paused_) allow(request_.silence_max);
    outgoing_ += bytes;
    if (!awaits_room_) pour();
    sendable_wanted_ = outgoing_.size() >= outgoing_bytes_max;
    return !sendable_wanted_;
}

// A closed connection is found by reading.
void UpstreamCall::Exchange::pour() {
    while (!outgoing_.empty()) {
        const Transfer transfer = line_->stream->write(outgoing_, {});
        if (transfer.status == Transfer::Status::wants_write) {
            awaits_room_ = true;
            return await_room(&Exchange::pour_and_tell);
        }
        if (transfer.status != Transfer::Status::done) return;
        outgoing_.erase(0, transfer.bytes);
    }
}

void UpstreamCall::Exchange::pour_and_tell() {
    awaits_room_ = false;
    pour();
    if (outgoing_.size() > outgoing_bytes_low || !std::exchange(sendable_wanted_, false)) return;
    reader_.on_sendable();
}

void UpstreamCall::Exchange::take_body(std::string_view bytes) {
    bool whole = answer_.body == Body::none;
    bool broken = false;
    std::string_view piece;
    if (answer_.body == Body::until_close) {
        piece = std::exchange(bytes, {});
    } else if (answer_.body == Body::length) {
        piece = bytes.substr(0, std::min<std::uint64_t>(body_left_, bytes.size()));
        bytes.remove_prefix(piece.size());
        body_left_ -= piece.size();
        whole = body_left_ == 0;
    } else if (answer_.body == Body::chunked) {
        std::string& decoded = lines_->decoded();
        decoded.clear();
        const ChunkDecoder::Status status = decoder_.feed(bytes, decoded);
        broken = status == ChunkDecoder::Status::bad || status == ChunkDecoder::Status::too_large;
        whole = status == ChunkDecoder::Status::done;
        piece = decoded;
    }
    if (!piece.empty()) {
        paused_ = !reader_.on_bytes(piece);
        if (over_) return;
        if (paused_) deadline = never;
    }
    if (broken) return fail("the chunks of the answer are broken");
    if (!whole) return;
    if (!bytes.empty()) answer_.keep_alive = false;  // nobody asked for these
    finish();
}

void UpstreamCall::Exchange::end_of_input(Transfer::Status status) {
    const bool proper = status == Transfer::Status::finished;
    if (proper && head_taken_ && answer_.body == Body::until_close) return finish();
    fail(head_taken_ ? "the connection ended in the middle of the answer"
                     : "the connection ended before the answer");
}

void UpstreamCall::Exchange::finish() {
    const bool reusable = answer_.keep_alive && all_sent_ && answer_.body != Body::until_close &&
                          SteadyClock::now() < line_->ends_at;
    if (reusable) lines_->keep(request_.endpoint, std::move(line_));
    cancel();
    reader_.on_end();
}

bool UpstreamCall::Exchange::body_sent() const {
    return has_body_ && (all_sent_ || sent_ > head_.size());
}

// A silence says nothing about the connection, and is not tried again.
bool UpstreamCall::Exchange::may_try_again() const {
    const bool was_idle = line_ && line_->reused && phase_ == Phase::first_byte;
    return request_.try_again && (phase_ == Phase::connect || was_idle) && !body_sent();
}

void UpstreamCall::Exchange::fail(std::string reason) {
    if (may_try_again()) {
        request_.try_again = false;
        phase_ = Phase::connect;
        head_ = head_of(request_);
        sent_ = 0;
        all_sent_ = false;
        return dial();
    }
    const bool reused = line_ && line_->reused;
    cancel();
    reader_.on_failure({phase_, body_sent(), reused, std::move(reason)});
}

void UpstreamCall::Exchange::on_late() {
    if (over_) return;
    if (phase_ != Phase::connect) request_.try_again = false;
    fail(phase_ == Phase::connect      ? "no connection in time"
         : phase_ == Phase::first_byte ? "no answer in time"
                                       : "the answer stopped coming");
}

void UpstreamCall::Exchange::allow(Duration span) {
    deadline = SteadyClock::now() + span;
    lines_->expect(deadline);
}

UpstreamCall::~UpstreamCall() { exchange_->cancel(); }

void UpstreamCall::resume() { exchange_->resume(); }

bool UpstreamCall::send(std::string_view bytes) { return exchange_->send_on(bytes); }

Upstream::Upstream(asio::io_context& io) : lines_(std::make_shared<Lines>(io)) {}

Upstream::~Upstream() { lines_->close(); }

std::unique_ptr<UpstreamCall> Upstream::start(UpstreamRequest request, UpstreamReader& reader) {
    auto exchange = std::make_shared<UpstreamCall::Exchange>(lines_, std::move(request), reader);
    exchange->start();
    return std::make_unique<UpstreamCall>(std::move(exchange));
}

std::size_t Upstream::idle_connections() const { return lines_->idle(); }

}  // namespace berth::http
