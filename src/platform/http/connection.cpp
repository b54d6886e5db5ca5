#include "http/connection.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "http/incoming.hpp"
#include "http/respond.hpp"
#include "http/text.hpp"

namespace berth::http {
namespace {

constexpr std::size_t coalesced_bytes_max = 64 * 1024;      // answers gathered into one write
constexpr std::size_t copied_body_bytes_max = 1024;         // shorter bodies are copied to the text
constexpr std::size_t idle_text_bytes_max = 512;            // what a waiting connection may keep
constexpr std::size_t dropped_bytes_max = 8 * 1024 * 1024;  // of what nobody will look at
constexpr std::chrono::seconds linger_max{2};
constexpr std::size_t streamed_bytes_max = 32 * 1024;  // waiting to be sent, before a pause
constexpr std::size_t streamed_start_bytes = 2048;     // a head, and a body that is short
constexpr std::size_t held_bytes_max = 16 * 1024;      // waiting to be sent together
constexpr std::size_t streamed_bytes_low = 8 * 1024;   // and when the pause is over
constexpr int streamed_unsent_bytes_max = 128 * 1024;  // kept by the system beyond that
constexpr std::size_t watched_bytes_max = 64 * 1024;   // of requests that come ahead of time
constexpr int turn_requests_max = 16;                  // before other connections have their turn

Wants wants_of(Transfer::Status status) {
    switch (status) {
        case Transfer::Status::wants_read: return Wants::input;
        case Transfer::Status::wants_write: return Wants::room;
        default: return Wants::end;
    }
}

}  // namespace

Connection::Connection(Surroundings& around, Stream stream, const Address& peer, Token token)
    : around_(around),
      stream_(std::move(stream)),
      peer_(peer),
      peer_text_(to_string(peer)),
      token_(token),
      deadline_(Clock::now() + around.options.header_max),
      input_share_(around.options.request_bytes, around.admission.counted_as(peer)) {}

// The answer that is being streamed, and where its source writes it.
struct Connection::Streamed final : Outlet {
    Streamed(Connection& connection_, Response response)
        : connection(connection_),
          headers(std::move(response.headers)),
          source(std::move(response.source)) {}

    void begin(Response head) override {
        if (!done) connection.begin_stream(std::move(head));
    }
    bool write(std::string_view bytes) override { return !done && connection.write_stream(bytes); }
    void hold() override { held = true; }
    void release() override {
        if (std::exchange(held, false) && !done) connection.stream_changed();
    }
    void resume_input() override {
        if (!done) connection.resume_input();
    }
    void end() override;
    void abort() override;
    Upstream& upstream() override { return connection.around_.upstream; }
    const std::shared_ptr<Loop>& loop() override { return connection.around_.loop; }

    Connection& connection;
    Headers headers;
    std::shared_ptr<Source> source;
    bool begun = false;
    bool done = false;
    bool room_wanted = false;
    bool held = false;          // more is about to be written
    bool switched = false;      // to another protocol, whose bytes go both ways
    bool input_paused = false;  // the source has enough of them
    TellSource told = TellSource::nothing;
};

Connection::~Connection() {
    let_go();
    if (!streamed_) return;
    streamed_->done = true;
    streamed_->source->on_gone();
}

Wants Connection::on_ready(Readiness what) {
    if (phase_ == Phase::streaming) {
        if (what == Readiness::input) watch();
        return settle();
    }
    if (!output_.empty()) {
        if (flush() && !turn_is_over_) proceed_with_kept();
        return settle();
    }
    if (turn_is_over_) return wants_;
    if (phase_ == Phase::lingering) return linger();
    if (phase_ != Phase::handling) return read_input();
    if (what == Readiness::input) watch_for_the_end();
    return phase_ == Phase::closed ? wants_ = Wants::end : wants_;
}

Wants Connection::on_changed() {
    let_go();
    turn_is_over_ = false;
    if (is_switched() && !streamed_->input_paused && !input_.empty()) give_input({});
    proceed_with_kept();
    return settle();
}

bool Connection::is_watching() const {
    if (phase_ == Phase::streaming) return !streamed_->input_paused;
    // Of a body whose head is being judged little is kept.
    const std::size_t kept_max = incoming_ ? ByteShare::small_bytes_max : watched_bytes_max;
    return phase_ == Phase::handling && presence_ && input_.size() < kept_max;
}

std::optional<Connection::Clock::time_point> Connection::idle_since() const {
    if (phase_ != Phase::head || !input_.empty() || !output_.empty()) return std::nullopt;
    return staged_at_;
}

Wants Connection::on_answer(std::uint32_t request, Response response) {
    if (phase_ != Phase::handling || request != token_.request) return wants_;
    put_answer(std::move(response));
    proceed_with_kept();
    return settle();
}

Wants Connection::on_drain() {
    const bool idle = phase_ == Phase::head && input_.empty() && output_.empty();
    if (idle) phase_ = Phase::closed;
    return idle ? wants_ = Wants::end : wants_;
}

// One read for each time the socket is ready: what it leaves behind makes it ready again.
Wants Connection::read_input() {
    const Transfer transfer = stream_.read(around_.scratch);
    if (transfer.status != Transfer::Status::done) return wants_ = wants_of(transfer.status);
    proceed_with({around_.scratch.data(), transfer.bytes});
    return settle();
}

// The last answer is out. Closing a socket with unread input would reset the connection and could
// take the answer from the client, so that input is read and dropped for a while.
Wants Connection::linger() {
    const Transfer transfer = stream_.read(around_.scratch);
    if (transfer.status != Transfer::Status::done) return wants_ = wants_of(transfer.status);
    dropped_bytes_ += transfer.bytes;
    return wants_ = dropped_bytes_ > dropped_bytes_max ? Wants::end : Wants::input;
}

// A client that finished sending while its answer streams has gone: nothing else tells.
void Connection::watch() {
    if (is_switched() && streamed_->input_paused) return;
    const Transfer transfer = stream_.read(around_.scratch);
    const bool open = transfer.status == Transfer::Status::wants_read ||
                      transfer.status == Transfer::Status::wants_write;
    if (transfer.status != Transfer::Status::done) {
        if (!open) phase_ = Phase::closed;
    } else if (is_switched()) {
        give_input({around_.scratch.data(), transfer.bytes});
    } else {
        keep_ahead({around_.scratch.data(), transfer.bytes});
    }
}

// What comes ahead of time is kept up to a bound. While an answer streams, more of it is read all
// the same and dropped, and the connection ends with that answer: the end of a client stands behind
// everything that it sent, and whoever sends much must not have its engine work for nobody.
void Connection::keep_ahead(std::string_view fresh) {
    const std::size_t size = input_.size() + fresh.size();
    if (phase_ != Phase::streaming || (!unread_body_ && size <= watched_bytes_max)) {
        if (make_room(size)) input_.append(fresh);
        return;
    }
    free_text(input_);
    input_share_.drop();
    unread_body_ = true;
    dropped_bytes_ += fresh.size();
    if (dropped_bytes_ > dropped_bytes_max) phase_ = Phase::closed;
}

bool Connection::is_switched() const { return phase_ == Phase::streaming && streamed_->switched; }

// What came before the switch is the source's too, and first.
void Connection::give_input(std::string_view fresh) {
    const std::string kept = std::exchange(input_, {});
    input_share_.drop();
    const std::shared_ptr<Source> source = streamed_->source;
    bool more = true;
    in_call_ = true;
    for (const std::string_view bytes : {std::string_view(kept), fresh})
        if (!bytes.empty() && streamed_) more = source->on_input(bytes);
    in_call_ = false;
    if (streamed_) streamed_->input_paused = !more;
    let_go();
}

void Connection::resume_input() {
    if (std::exchange(streamed_->input_paused, false)) around_.changed(token_);
}

// A client that finished sending may still read: it gets its answer, but nothing takes long for it.
void Connection::watch_for_the_end() {
    watch();
    if (phase_ != Phase::closed) return;
    phase_ = Phase::handling;
    presence_.reset();
}

// Sends what there is to send and finds what to wait for.
Wants Connection::settle() {
    bool sent = flush();
    if (phase_ == Phase::streaming && streamed_->room_wanted &&
        output_.left() <= streamed_bytes_low) {
        tell_room();
        sent = flush();
    }
    if (sent && phase_ == Phase::last_answer) end();
    if (sent && phase_ == Phase::handing_over && !unread_body_) return wants_ = Wants::hand_over;
    // What came ahead of time was too much and is dropped: what follows would make no sense.
    if (sent && phase_ == Phase::handing_over) phase_ = Phase::closed;
    if (phase_ == Phase::closed) return wants_ = Wants::end;
    renew_deadline();
    if (!output_.empty()) return wants_;  // as flush() has set it
    if (output_.text.capacity() > idle_text_bytes_max) free_text(output_.text);
    // A source that has more is told of the room in the next turn of the loop: others come between.
    if (phase_ == Phase::streaming && streamed_->room_wanted) return wants_ = Wants::room;
    const bool answering = phase_ == Phase::handling || phase_ == Phase::streaming || turn_is_over_;
    return wants_ = answering ? Wants::answer : Wants::input;
}

void Connection::proceed_with(std::string_view fresh) {
    if (input_.empty()) {
        proceed(fresh);
        if (!fresh.empty() && make_room(fresh.size())) input_.assign(fresh);
    } else if (make_room(input_.size() + fresh.size())) {
        input_.append(fresh);
        proceed_with_kept();
    }
}

void Connection::proceed_with_kept() {
    if (input_.empty()) return;
    std::string_view bytes = input_;
    proceed(bytes);
    input_share_.shrink(bytes.size());
    if (bytes.empty())
        free_text(input_);
    else
        input_.erase(0, input_.size() - bytes.size());
}

// Takes requests off the front of `bytes`, one at a time, for as long as they are whole and their
// answers come at once. Answers gather in the output, which is sent when it is full or at the end.
// A peer that sends many at once gets its answers over several turns of the loop.
void Connection::proceed(std::string_view& bytes) {
    const std::uint32_t request_max = token_.request + turn_requests_max;
    while (phase_ == Phase::head || phase_ == Phase::body) {
        if (!output_.takes_more() && !flush()) return;
        if (token_.request == request_max && !bytes.empty()) {
            turn_is_over_ = true;
            return around_.changed(token_);
        }
        const bool taken = phase_ == Phase::head ? take_head(bytes) : take_body(bytes);
        if (!taken) return;
    }
}

bool Connection::take_head(std::string_view& bytes) {
    if (bytes.empty()) return false;
    const HeadScanner::Status status = scanner_.scan(bytes);
    const std::size_t size =
        status == HeadScanner::Status::complete ? scanner_.head_size() : bytes.size();
    if (status == HeadScanner::Status::bad) return refuse(400);
    if (size > around_.options.header_bytes_max) return refuse(431);
    if (status == HeadScanner::Status::incomplete) return false;

    ParsedHead parsed = parse_head(bytes.substr(0, size));
    bytes.remove_prefix(size);
    scanner_.reset();
    if (parsed.refusal != 0) return refuse(parsed.refusal);

    Request& request = parsed.request;
    const Address client = client_address(peer_, request.headers, around_.trusted_proxies);
    request.client_address = client == peer_ ? peer_text_ : to_string(client);
    if (client == peer_ && request.headers.find("X-Forwarded-For") &&
        !contains(around_.trusted_proxies, peer_))
        around_.admission.note_unbelieved(peer_text_);
    counted_as_ = around_.admission.counted_as(client);
    keep_alive_ = parsed.framing.keep_alive;
    version_1_0_ = parsed.framing.version_1_0;
    head_request_ = request.method == "HEAD";
    if (parsed.framing.chunked || parsed.framing.content_length > 0)
        begin_body(std::move(request), parsed.framing, bytes);
    else
        dispatch(std::move(request));
    return true;
}

// Always false, as is told to whoever asks whether a request was taken.
bool Connection::refuse(int status) {
    append_bare(output_.text, status, around_.admission.refuse_request(status, peer_text_));
    incoming_.reset();
    unread_body_ = true;
    phase_ = Phase::last_answer;
    return false;
}

// False when the budget has no room for that much unfinished input. What came is dropped then, and
// the connection ends: with the answer in progress, or with a bare refusal.
bool Connection::make_room(std::size_t input_bytes) {
    const ByteBudget::Taken taken = input_share_.try_resize(input_bytes);
    if (taken == ByteBudget::Taken::all) return true;
    free_text(input_);
    if (phase_ == Phase::head || phase_ == Phase::body) return refuse(503);
    unread_body_ = true;
    if (incoming_) refuse_without_room(taken);
    return false;
}

void Connection::dispatch(Request request, bool unread_body) {
    unread_body_ = unread_body;
    if (!presence_) presence_ = std::make_shared<char>();
    request.client = presence_;
    phase_ = Phase::handling;
    ++token_.request;
    std::optional<Response> answer =
        around_.answers->ask(around_.handler, std::move(request), token_);
    if (answer) put_answer(std::move(*answer));
}

void Connection::put_answer(Response response) {
    if (incoming_ && response.status == go_on_status) {
        incoming_->request.verdict = std::move(response.verdict);
        return go_on();
    }
    incoming_.reset();
    if (response.source) return start_stream(std::move(response));
    if (response.hand_over) return begin_hand_over(std::move(response));
    keep_alive_ = keep_alive_ && !response.close;
    const bool close = !keep_alive_ || unread_body_ || around_.draining;
    phase_ = close ? Phase::last_answer : Phase::head;
    const std::string_view body = response.shared_body ? *response.shared_body : response.body;
    const HeadOptions options{around_.date_line, body.size(), close, version_1_0_};
    if (!append_head(output_.text, response, options)) return answer_unsound(response.status);
    if (head_request_ || !status_has_body(response.status)) return;
    if (body.size() <= copied_body_bytes_max) {
        output_.text += body;
    } else {
        output_.body = std::move(response.body);
        output_.shared_body = std::move(response.shared_body);
    }
}

void Connection::answer_unsound(int status) {
    log(Level::error, "response_unsound", {{"status", status}});
    append_bare(output_.text, 500, around_.admission.refuse_request(500, peer_text_));
    phase_ = Phase::last_answer;
}

// What the client sent behind its request stays in input_, for the next owner.
void Connection::begin_hand_over(Response response) {
    const HeadOptions options{.date_line = around_.date_line, .body_bytes = 0, .switched = true};
    const bool can_switch = !version_1_0_ && !head_request_ && !unread_body_;
    if (!can_switch || !append_head(output_.text, response, options))
        return answer_unsound(response.status);
    hand_over_ = std::make_unique<std::function<void(HandedOver&)>>(std::move(response.hand_over));
    phase_ = Phase::handing_over;
}

Connection::GivenAway Connection::give_away() {
    check(phase_ == Phase::handing_over && output_.empty(), "the answer is sent");
    phase_ = Phase::closed;
    input_share_.drop();
    return {std::move(stream_), std::move(input_), std::move(*hand_over_)};
}

void Connection::start_stream(Response response) {
    phase_ = Phase::streaming;
    stream_.bound_unsent(streamed_unsent_bytes_max);
    streamed_ = std::make_unique<Streamed>(*this, std::move(response));
    const std::shared_ptr<Source> source = streamed_->source;
    in_call_ = true;
    source->start(*streamed_);
    in_call_ = false;
    let_go();
}

void Connection::begin_stream(Response head) {
    check(!streamed_->begun, "an answer begins once");
    streamed_->begun = true;
    streamed_->switched = head.status == switching_status;
    // Of what came ahead some was dropped: what follows would make no sense to the source.
    if (streamed_->switched && unread_body_) return finish_stream(Phase::closed, TellSource::gone);
    for (const Headers::Field& field : streamed_->headers)
        if (!head.headers.find(field.name)) head.headers.add(field.name, field.value);
    // An HTTP/1.0 client knows the end of the body by the end of the connection.
    keep_alive_ = keep_alive_ && !version_1_0_ && !streamed_->switched && !head.close;
    const bool close = !keep_alive_ || unread_body_ || around_.draining;
    const HeadOptions options{.date_line = around_.date_line,
                              .body_bytes = 0,
                              .close = close,
                              .version_1_0 = version_1_0_,
                              .streamed = true,
                              .switched = streamed_->switched};
    std::string& text = output_.growing_text();
    text.reserve(text.size() + streamed_start_bytes);
    if (!append_head(text, head, options)) {
        log(Level::error, "response_unsound", {{"status", head.status}});
        append_bare(output_.text, 500, around_.admission.refuse_request(500, peer_text_));
        unread_body_ = true;
        return finish_stream(Phase::last_answer, TellSource::gone);
    }
    if (head_request_ || !status_has_body(head.status))
        return finish_stream(close ? Phase::last_answer : Phase::head, TellSource::gone);
    if (streamed_->switched) around_.changed(token_);  // hands over what came ahead of time
    const std::string_view body = head.shared_body ? *head.shared_body : head.body;
    if (body.empty())
        stream_changed();
    else
        static_cast<void>(write_stream(body));
}

bool Connection::write_stream(std::string_view bytes) {
    check(streamed_->begun, "an answer begins before its body");
    if (phase_ == Phase::closed) return false;
    if (!bytes.empty() && (version_1_0_ || streamed_->switched))
        output_.growing_text() += bytes;
    else if (!bytes.empty())
        append_chunk(output_.growing_text(), bytes);
    stream_changed();
    if (phase_ == Phase::streaming && output_.left() < streamed_bytes_max) return true;
    streamed_->room_wanted = true;
    return false;
}

// The source keeps its outlet until the call it is in has returned, and so does this.
void Connection::finish_stream(Phase next, TellSource told) {
    streamed_->done = true;
    if (phase_ != Phase::closed) phase_ = next;  // a write may have found the client gone
    let_go();
    over_ = std::move(streamed_);
    over_->told = told;
    stream_changed();
}

void Connection::let_go() {
    const std::unique_ptr<Streamed> over = std::move(over_);
    if (over && over->told == TellSource::gone) over->source->on_gone();
}

void Connection::Streamed::end() {
    if (done) return;
    check(begun, "an answer begins before it ends");
    if (!connection.version_1_0_ && !switched) connection.output_.growing_text() += last_chunk;
    const bool close =
        !connection.keep_alive_ || connection.unread_body_ || connection.around_.draining;
    connection.finish_stream(close ? Phase::last_answer : Phase::head);
}

void Connection::Streamed::abort() {
    if (done) return;
    if (connection.version_1_0_) connection.stream_.reset_on_close();
    connection.output_.clear();
    connection.finish_stream(Phase::closed);
}

void Connection::tell_room() {
    streamed_->room_wanted = false;
    stage_ = Stage::handling;  // the peer did take a good part: it gets time for the next
    const std::shared_ptr<Source> source = streamed_->source;
    in_call_ = true;
    source->on_room();
    in_call_ = false;
    let_go();
}

// Sends at once what was written outside of a call; the rest is settled when the source is done.
void Connection::stream_changed() {
    if (in_call_) return;
    if (streamed_ && streamed_->held && output_.left() < held_bytes_max) return;
    const bool sent = flush();
    renew_deadline();
    if (!sent || phase_ != Phase::streaming) around_.changed(token_);
}

// True when nothing is left to send; otherwise wants_ says what sending waits for.
bool Connection::flush() {
    while (!output_.empty()) {
        const std::string_view text = output_.text;
        const std::string_view body = output_.body_view();
        const std::size_t text_sent = std::min(output_.sent, text.size());
        const Transfer transfer =
            stream_.write(text.substr(text_sent), body.substr(output_.sent - text_sent));
        if (transfer.status == Transfer::Status::closed) {
            phase_ = Phase::closed;
            output_.clear();
            return false;
        }
        if (transfer.status != Transfer::Status::done) {
            wants_ = wants_of(transfer.status);
            return false;
        }
        output_.sent += transfer.bytes;
        if (output_.sent == text.size() + body.size()) output_.clear();
    }
    return true;
}

void Connection::end() {
    const bool expected = !keep_alive_ || around_.draining;
    const bool quiet = expected && !unread_body_ && input_.empty();
    phase_ = quiet ? Phase::closed : Phase::lingering;
    if (!quiet) stream_.finish_sending();
    free_text(input_);
    input_share_.drop();
}

Connection::Stage Connection::stage() const {
    // A source that waits for room waits for the peer, also when the system has all that it wrote.
    if (!output_.empty() || (streamed_ && streamed_->room_wanted)) return Stage::writing;
    switch (phase_) {
        case Phase::head: return input_.empty() && token_.request > 0 ? Stage::idle : Stage::head;
        case Phase::body: return Stage::body;
        case Phase::handling:
        case Phase::streaming: return Stage::handling;
        default: return Stage::lingering;
    }
}

// A deadline belongs to a stage of a request: progress within the stage does not move it, so that a
// peer cannot hold on by dripping bytes.
void Connection::renew_deadline() {
    const Stage now_in = stage();
    if (now_in == stage_ && token_.request == staged_request_) return;
    stage_ = now_in;
    staged_at_ = Clock::now();
    staged_request_ = token_.request;
    const ServerOptions& options = around_.options;
    const auto allow = [this](Duration span) { deadline_ = staged_at_ + span; };
    switch (stage_) {
        case Stage::head: return allow(options.header_max);
        case Stage::body: return allow(std::min(options.body_max, options.body_pace));
        case Stage::handling: deadline_ = Clock::time_point::max(); return;
        case Stage::writing: return allow(options.write_max);
        case Stage::idle: return allow(options.idle_max);
        case Stage::lingering: return allow(linger_max);
    }
}

bool Connection::Output::takes_more() const {
    return body_view().empty() && text.size() < coalesced_bytes_max;
}

std::string& Connection::Output::growing_text() {
    if (sent == 0) return text;
    text.erase(0, sent);  // while an answer streams there is no body
    sent = 0;
    return text;
}

void Connection::Output::clear() {
    text.clear();
    free_text(body);
    shared_body.reset();
    sent = 0;
}

}  // namespace berth::http
