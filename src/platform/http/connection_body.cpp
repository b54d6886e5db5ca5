// How a connection reads the body of a request: for whom, how much of it, and how fast it must
// come.
#include <algorithm>
#include <utility>

#include "http/incoming.hpp"
#include "http/text.hpp"

namespace berth::http {

// The handler has seen the head before anything of the body is kept. A body that it does not want
// is left where it is, and the connection ends with the answer; one that came along with the head
// costs nothing more to drop.
void Connection::begin_body(Request request, const Framing& framing, std::string_view& bytes) {
    const std::size_t bytes_max = around_.handler.body_bytes_max(request);
    if (bytes_max == 0 || framing.content_length > bytes_max) {
        const bool here = !framing.chunked && framing.content_length <= bytes.size();
        if (here) bytes.remove_prefix(framing.content_length);
        request.unread = Unread::too_large;
        return dispatch(std::move(request), !here);
    }
    request.held = ByteShare(around_.options.request_bytes, counted_as_);
    request.sink = around_.handler.body_sink(request);
    const BodyCare care = around_.handler.body_care(request);
    const ChunkDecoder::Limits limits{bytes_max, around_.options.header_bytes_max};
    incoming_.reset(new Incoming{std::move(request), framing.content_length, framing.chunked,
                                 ChunkDecoder(limits), bytes_max,
                                 framing.expects_continue && bytes.empty(), care.goes_first});
    const std::uint64_t bytes_told = framing.chunked ? bytes_max : framing.content_length;
    const bool has_room =
        around_.options.request_bytes->has_room(bytes_told, ByteBudget::Claim::small);
    // Who goes first has to show that it may, when that matters.
    input_share_.go_first(care.goes_first && !has_room && bytes.size() <= bytes_told);
    if (incoming_->request.sink || bytes_told > care.unjudged_bytes_max ||
        (care.goes_first && !has_room))
        return ask_for_the_body();
    incoming_->request.body.reserve(std::min<std::uint64_t>(bytes_told, bytes.size()));
    go_on();
}

// What comes meanwhile waits as if it came ahead of time.
void Connection::ask_for_the_body() {
    const Request& request = incoming_->request;
    Request head;
    head.method = request.method;
    head.target = request.target;
    head.headers = request.headers;
    head.client_address = request.client_address;
    head.sink = request.sink;
    head.unread = Unread::not_yet;
    dispatch(std::move(head), true);
}

void Connection::go_on() {
    if (incoming_->request.unread != Unread::nothing) {
        const std::unique_ptr<Incoming> dropped = std::move(incoming_);
        return dispatch(std::move(dropped->request), true);
    }
    phase_ = Phase::body;
    unread_body_ = false;
    input_share_.go_first(false);
    if (incoming_->request.verdict && incoming_->goes_first) incoming_->request.held.go_first();
    if (incoming_->expects_continue) output_.text += "HTTP/1.1 100 Continue\r\n\r\n";
}

bool Connection::take_body(std::string_view& bytes) {
    Request& request = incoming_->request;
    const std::size_t bytes_before = bytes.size();
    bool whole = false;
    if (incoming_->chunked) {
        const ChunkDecoder::Status status = incoming_->decoder.feed(bytes, request.body);
        if (status == ChunkDecoder::Status::bad) return refuse(400);
        if (status == ChunkDecoder::Status::too_large) request.unread = Unread::too_large;
        whole = status == ChunkDecoder::Status::done;
    } else {
        const std::size_t count = std::min<std::uint64_t>(incoming_->bytes_left, bytes.size());
        request.body.append(bytes.substr(0, count));
        bytes.remove_prefix(count);
        incoming_->bytes_left -= count;
        whole = incoming_->bytes_left == 0;
    }
    if (request.sink) {
        incoming_->sunk += request.body.size();
        if (incoming_->sunk > incoming_->bytes_max) request.unread = Unread::too_large;
        request.sink->take(request.body);
        request.body.clear();
    }
    input_share_.shrink(bytes.size());  // what was kept meanwhile is not held twice
    refuse_without_room(request.held.try_resize(request.body.size()));
    const bool unread = request.unread != Unread::nothing;
    if (!whole && !unread) {
        keep_pace(bytes_before - bytes.size());
        return false;
    }
    if (unread) {
        free_text(request.body);
        request.held.drop();
    }
    const std::unique_ptr<Incoming> done = std::move(incoming_);
    dispatch(std::move(done->request), unread);
    return true;
}

void Connection::refuse_without_room(ByteBudget::Taken taken) {
    if (taken == ByteBudget::Taken::no_room) incoming_->request.unread = Unread::no_room;
    if (taken == ByteBudget::Taken::over_share) incoming_->request.unread = Unread::over_share;
}

// A body that stops coming is given up before its whole time is over: it holds memory meanwhile.
void Connection::keep_pace(std::size_t bytes) {
    incoming_->paced_bytes += bytes;
    if (incoming_->paced_bytes < around_.options.body_pace_bytes || stage_ != Stage::body) return;
    incoming_->paced_bytes = 0;
    deadline_ =
        std::min(staged_at_ + around_.options.body_max, Clock::now() + around_.options.body_pace);
}

}  // namespace berth::http
