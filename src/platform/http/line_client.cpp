#include "http/line_client.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "base/descriptor.hpp"
#include "base/money.hpp"
#include "http/parse.hpp"
#include "http/socket_address.hpp"
#include "http/stream.hpp"
#include "http/text.hpp"

namespace berth::http {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t answer_head_bytes_max = 64 * 1024;
constexpr int interim_answers_max = 8;                    // 100 Continue and the like
constexpr std::chrono::minutes authorities_kept_for{10};  // then their file is read again
constexpr std::size_t usual_request_head_bytes = 512;

[[noreturn]] void fail_before_sending(std::string_view why) {
    throw TransportError(std::string(why), false);
}

// False when it is too late.
bool wait_until(int socket, short events, steady_clock::time_point deadline) {
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
        if (left.count() <= 0) return false;
        pollfd wanted{socket, events, 0};
        const int ready = ::poll(&wanted, 1, static_cast<int>(left.count()));
        if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    }
}

// So long one call may wait for the other side; the next step up is as good, and is mostly the one
// that the socket has already.
std::chrono::milliseconds rounded_up(steady_clock::duration span) {
    const std::chrono::milliseconds step(span > std::chrono::seconds(2) ? 1000 : 50);
    return (span / step + 1) * step;
}

// OpenSSL cannot be told not to send it.
void block_broken_pipes() {
    thread_local const bool is_blocked = [] {
        sigset_t signals;
        ::sigemptyset(&signals);
        ::sigaddset(&signals, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
        return true;
    }();
    static_cast<void>(is_blocked);
}

}  // namespace

// Where a line leads, as whom, and by whose word.
struct LineClient::Place {
    Address address{};
    std::uint16_t port = 0;
    bool is_tls = false;
    std::string host{};  // as the URL spells it
    std::string ca_file{};

    friend bool operator==(const Place&, const Place&) = default;

    static Place of(const Outbound& request);
};

struct LineClient::Authorities {
    std::string ca_file;
    steady_clock::time_point read_at;
    TlsContext context;
};

struct LineClient::Line {
    Line(Descriptor connected, const TlsContext* tls, const std::string& host)
        : socket(std::move(connected)),
          stream(tls != nullptr ? Stream(socket.number(), *tls, TlsPeer{host, {}})
                                : Stream(socket.number(), nullptr)) {}

    // Without TLS its calls wait, so long at most: one call less for each answer than to wait by
    // poll(). What OpenSSL reads at one go is many calls, and each would wait anew.
    void wait_at_most(std::chrono::milliseconds span) {
        if (std::exchange(waits_for, span) == span) return;
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span);
        const timeval limit{.tv_sec = seconds.count(),
                            .tv_usec = std::chrono::microseconds(span - seconds).count()};
        ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }

    Descriptor socket;
    Stream stream;
    std::chrono::milliseconds waits_for{};
};

struct LineClient::Idle {
    Place place;
    std::unique_ptr<Line> line;
    steady_clock::time_point since;
};

namespace {

struct UrlParts {
    bool is_tls = false;
    std::string_view authority;
    std::string target;
};
UrlParts parts_of(std::string_view url) {
    UrlParts parts;
    parts.is_tls = equal_without_case(url.substr(0, 8), "https://");
    if (!parts.is_tls && !equal_without_case(url.substr(0, 7), "http://"))
        fail_before_sending("the address is neither http nor https");
    url.remove_prefix(parts.is_tls ? 8 : 7);
    const std::size_t end = std::min(url.find_first_of("/?"), url.size());
    parts.authority = url.substr(0, end);
    parts.target = url.substr(end);
    if (!parts.target.starts_with('/')) parts.target.insert(0, "/");
    if (parts.authority.empty() || !is_host(parts.authority) || !is_target(parts.target))
        fail_before_sending("the address cannot be asked for");
    return parts;
}

std::string head_of(const Outbound& request, const UrlParts& url) {
    if (!is_token(request.method)) fail_before_sending("the method cannot be sent");
    std::string head;
    head.reserve(usual_request_head_bytes);
    for (const std::string_view piece :
         {std::string_view(request.method), std::string_view(" "), std::string_view(url.target),
          std::string_view(" HTTP/1.1\r\nHost: "), url.authority,
          std::string_view("\r\nAccept: */*\r\n")})
        head += piece;
    for (const Headers::Field& field : request.headers) {
        if (!is_token(field.name) || !is_field_value(field.value))
            fail_before_sending(fmt::format("the header '{}' cannot be sent", field.name));
        head.append(field.name).append(": ").append(field.value).append("\r\n");
    }
    if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD"))
        head.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
    return head.append("\r\n");
}

}  // namespace

LineClient::Place LineClient::Place::of(const Outbound& request) {
    const UrlParts url = parts_of(request.url);
    const auto address = parse_address(request.dialled_address);
    if (!address) fail_before_sending("it is not said which address to dial");
    Place place{.address = *address,
                .port = static_cast<std::uint16_t>(url.is_tls ? 443 : 80),
                .is_tls = url.is_tls,
                .host = std::string(url.authority),
                .ca_file = request.ca_file};
    const std::size_t colon = url.authority.find_last_of(":]");
    if (colon != std::string_view::npos && url.authority[colon] == ':') {
        place.host.resize(colon);
        const std::string_view digits = url.authority.substr(colon + 1);
        const auto port = digits.empty() ? place.port : parse_decimal(digits);
        if (!port || *port < 1 || *port > 65535)
            fail_before_sending("the port is none that can be dialled");
        place.port = static_cast<std::uint16_t>(*port);
    }
    if (place.host.starts_with('[') && place.host.ends_with(']'))
        place.host = place.host.substr(1, place.host.size() - 2);
    if (place.host.ends_with('.')) place.host.pop_back();  // no certificate spells it
    return place;
}

// One request and its answer over a line.
class LineClient::Conversation {
public:
    Conversation(Line& line, const Outbound& request, steady_clock::time_point deadline)
        : line_(line), request_(request), deadline_(deadline) {}

    // False when the line has ended before anything came back.
    bool hold(std::string_view head);
    Response response() { return std::move(response_); }
    bool may_be_kept() const { return may_be_kept_; }

private:
    using Body = AnswerHead::Body;

    void mind_the_time();
    void wait_for(short events);
    bool send(std::string_view head);
    bool receive();
    bool take_head();
    void take_body();

    Line& line_;
    const Outbound& request_;
    const steady_clock::time_point deadline_;
    std::string input_;
    HeadScanner scanner_;
    AnswerHead answer_;
    Response response_;
    bool may_be_kept_ = false;
};

// Before each call that may wait.
void LineClient::Conversation::mind_the_time() {
    const auto left = deadline_ - steady_clock::now();
    if (left <= steady_clock::duration{}) throw TransportError("there was no answer in time");
    if (!line_.stream.is_tls()) line_.wait_at_most(rounded_up(left));
}

void LineClient::Conversation::wait_for(short events) {
    if (line_.stream.is_tls() && !wait_until(line_.socket.number(), events, deadline_))
        throw TransportError("there was no answer in time");
}

bool LineClient::Conversation::hold(std::string_view head) {
    if (!send(head)) return false;
    int interim = 0;
    do {
        while (!take_head())
            if (!receive()) {
                if (input_.empty() && interim == 0) return false;
                throw TransportError("the connection ended in the middle of the answer");
            }
    } while (answer_.status < 200 && ++interim <= interim_answers_max);
    if (answer_.status < 200) throw TransportError("the answer does not begin");
    response_.status = answer_.status;
    response_.content_type = answer_.headers.find("Content-Type").value_or("");
    response_.headers = std::move(answer_.headers);
    try {
        take_body();
    } catch (const TransportError&) {
        // Who wants but the beginning has the answer: what breaks behind its head breaks the line.
        if (!request_.cuts_response) throw;
    }
    return true;
}

// A closed connection may still hold an answer that says why: reading finds out.
bool LineClient::Conversation::send(std::string_view head) {
    const std::string_view body = request_.body;
    for (std::size_t sent = 0; sent < head.size() + body.size();) {
        mind_the_time();
        const std::size_t of_head = std::min(sent, head.size());
        const Transfer transfer =
            line_.stream.write(head.substr(of_head), body.substr(sent - of_head));
        switch (transfer.status) {
            case Transfer::Status::done: sent += transfer.bytes; break;
            case Transfer::Status::wants_read: wait_for(POLLIN); break;
            case Transfer::Status::wants_write: wait_for(POLLOUT); break;
            case Transfer::Status::finished:
            case Transfer::Status::closed: return sent > 0;
        }
    }
    return true;
}

// False at the end of the connection.
bool LineClient::Conversation::receive() {
    std::array<char, TlsSession::record_bytes_max> bytes;
    for (;;) {
        mind_the_time();
        const Transfer transfer = line_.stream.read(bytes);
        switch (transfer.status) {
            case Transfer::Status::done: input_.append(bytes.data(), transfer.bytes); return true;
            case Transfer::Status::wants_read: wait_for(POLLIN); break;
            case Transfer::Status::wants_write: wait_for(POLLOUT); break;
            case Transfer::Status::finished:
            case Transfer::Status::closed: return false;
        }
    }
}

// True when the input begins with a whole head, which is taken off it.
bool LineClient::Conversation::take_head() {
    const HeadScanner::Status status = scanner_.scan(input_);
    const bool is_whole = status == HeadScanner::Status::complete;
    const std::size_t size = is_whole ? scanner_.head_size() : input_.size();
    if (status == HeadScanner::Status::bad || size > answer_head_bytes_max)
        throw TransportError("the head of the answer is not HTTP, or too long");
    if (!is_whole) return false;
    answer_ = parse_answer_head(std::string_view(input_).substr(0, size),
                                request_.method == "HEAD" ? AnswerTo::head_request : AnswerTo::any);
    if (!answer_.good) throw TransportError("the head of the answer is not HTTP as we read it");
    scanner_.reset();
    input_.erase(0, size);
    return true;
}

// All of it, or as much as is wanted: then the line is of no more use.
void LineClient::Conversation::take_body() {
    ChunkDecoder decoder{{.body_bytes_max = ~std::size_t{0}, .trailer_bytes_max = 8 * 1024}};
    std::string& body = response_.body;
    const bool has_body = answer_.body != Body::none;
    std::uint64_t left = answer_.content_length;
    bool is_whole = !has_body || (answer_.body == Body::length && left == 0);
    while (!is_whole && body.size() <= request_.response_bytes_max) {
        std::string_view bytes = input_;
        if (answer_.body == Body::chunked) {
            const ChunkDecoder::Status status = decoder.feed(bytes, body);
            if (status == ChunkDecoder::Status::bad || status == ChunkDecoder::Status::too_large)
                throw TransportError("the chunks of the answer are broken");
            is_whole = status == ChunkDecoder::Status::done;
        } else {
            const bool is_bounded = answer_.body == Body::length;
            const std::size_t count =
                is_bounded ? std::min<std::uint64_t>(left, bytes.size()) : bytes.size();
            body.append(bytes.substr(0, count));
            bytes.remove_prefix(count);
            left -= is_bounded ? count : 0;
            is_whole = is_bounded && left == 0;
        }
        input_.erase(0, input_.size() - bytes.size());
        if (is_whole || body.size() > request_.response_bytes_max || receive()) continue;
        if (answer_.body != Body::until_close)
            throw TransportError("the connection ended in the middle of the answer");
        return;
    }
    if (body.size() > request_.response_bytes_max) {
        if (!request_.cuts_response) throw AnswerTooLarge();
        body.resize(request_.response_bytes_max);
        return;
    }
    // Nobody asked for what comes behind it.
    may_be_kept_ = is_whole && answer_.keep_alive && input_.empty();
}

LineClient::LineClient() = default;
LineClient::~LineClient() = default;

Response LineClient::send(const Outbound& request) {
    check(!request.take && !request.is_over && request.pinned_key.empty(),
          "a request of the kind that lines are for");
    const Place place = Place::of(request);
    const std::string head = head_of(request, parts_of(request.url));
    const auto deadline = SteadyClock::now() + request.total_max;
    if (place.is_tls) block_broken_pipes();
    std::unique_ptr<Line> line = request.fresh_connection ? nullptr : take(place);
    for (;;) {
        const bool was_used = line != nullptr;
        if (!line) line = dial(place, request, deadline);
        if (request.may_begin && !request.may_begin())
            fail_before_sending("it was given up before it began");
        Conversation conversation(*line, request, deadline);
        if (conversation.hold(head)) {
            if (conversation.may_be_kept()) keep(place, std::move(line));
            return conversation.response();
        }
        if (!was_used) throw TransportError("the connection ended before the answer");
        line.reset();
    }
}

// Whatever came over a line while nothing was asked, it is of no more use. Over TLS that may be a
// word of the protocol's own.
std::unique_ptr<LineClient::Line> LineClient::take(const Place& place) {
    std::vector<Idle> over;  // closed when nobody waits for the lock
    const std::lock_guard lock(mutex_);
    const auto now = SteadyClock::now();
    const auto is_over = [&](const Idle& each) { return now - each.since > idle_for_max; };
    while (!idle_.empty() && is_over(idle_.front())) {
        over.push_back(std::move(idle_.front()));
        idle_.erase(idle_.begin());
    }
    for (std::size_t i = idle_.size(); i-- > 0;) {
        if (idle_[i].place != place) continue;
        Idle found = std::move(idle_[i]);
        idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
        char byte = 0;
        const ssize_t seen = ::recv(found.line->socket.number(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        const bool is_quiet = seen < 0 && (errno == EAGAIN || errno == EINTR);
        if (is_quiet || (seen > 0 && found.line->stream.has_only_tickets()))
            return std::move(found.line);
        over.push_back(std::move(found));
    }
    return nullptr;
}

void LineClient::keep(const Place& place, std::unique_ptr<Line> line) {
    Idle oldest;
    const std::lock_guard lock(mutex_);
    if (idle_.size() >= idle_max) {
        oldest = std::move(idle_.front());
        idle_.erase(idle_.begin());
    }
    idle_.push_back({place, std::move(line), SteadyClock::now()});
}

std::unique_ptr<LineClient::Line> LineClient::dial(const Place& place, const Outbound& request,
                                                   SteadyClock::time_point deadline) {
    deadline = std::min(deadline, SteadyClock::now() + request.connect_max);
    const auto wait = [&](int socket, short events) {
        if (!wait_until(socket, events, deadline)) fail_before_sending("no connection in time");
    };
    const SocketAddress to(place.address, place.port);
    Descriptor socket(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.number() < 0) fail_before_sending(std::strerror(errno));
    const int yes = 1;
    ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (::connect(socket.number(), to.data(), to.size()) != 0) {
        if (errno != EINPROGRESS) fail_before_sending(std::strerror(errno));
        wait(socket.number(), POLLOUT);
        int error = 0;
        socklen_t size = sizeof error;
        ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0) fail_before_sending(std::strerror(error));
    }
    const auto trusted = place.is_tls ? authorities(place.ca_file) : nullptr;
    auto line = std::make_unique<Line>(std::move(socket), trusted ? &trusted->context : nullptr,
                                       place.host);
    const int number = line->socket.number();
    for (;;) {
        const Transfer::Status status = line->stream.shake_hands().status;
        if (status == Transfer::Status::done) break;
        if (status != Transfer::Status::wants_read && status != Transfer::Status::wants_write)
            fail_before_sending("TLS: " + line->stream.fault_of_handshake());
        wait(number, status == Transfer::Status::wants_read ? POLLIN : POLLOUT);
    }
    if (!place.is_tls) ::fcntl(number, F_SETFL, 0);  // from here on its calls wait
    return line;
}

std::shared_ptr<const LineClient::Authorities> LineClient::authorities(const std::string& ca_file) {
    const std::lock_guard lock(mutex_);
    const auto now = SteadyClock::now();
    if (!authorities_ || authorities_->ca_file != ca_file ||
        now - authorities_->read_at > authorities_kept_for) {
        try {
            authorities_ = std::make_shared<const Authorities>(
                Authorities{ca_file, now, TlsContext::for_clients(ca_file)});
        } catch (const std::invalid_argument& error) {
            fail_before_sending(error.what());
        }
    }
    return authorities_;
}

}  // namespace berth::http
