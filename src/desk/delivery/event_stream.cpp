#include "delivery/event_stream.hpp"

#include <fmt/format.h>

#include "base/enum_names.hpp"

namespace berth::delivery {
namespace {

constexpr std::string_view retry_line = "retry: 2000\n";

}  // namespace

std::string frame_of(const events::Event& event) {
    return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.sequence.value, event.type,
                       events::text_of(event));
}

std::string frame_of_place(std::int64_t through) { return fmt::format("id: {}\n\n", through); }

// The first bytes tell the client its place, so that one that is cut off at once goes on there.
void EventStream::start(http::Outlet& outlet) {
    outlet_ = &outlet;
    http::Response head{.status = 200, .content_type = "text/event-stream"};
    head.headers.add("X-Accel-Buffering", "no");  // a proxy in front passes on as we do
    head.close = true;                            // when the stream is over, so is its connection
    outlet.begin(std::move(head));
    const bool has_room = outlet.write(std::string(retry_line) + frame_of_place(listener_.through));
    id_ = hub_.attach(std::move(listener_), outlet.loop(), weak_from_this());
    if (id_ == 0) return end(StreamEnd::server_stops);
    if (has_room) hub_.has_room({&id_, 1});
}

void EventStream::on_room() {
    if (outlet_ != nullptr && id_ != 0) hub_.has_room({&id_, 1});
}

void EventStream::on_gone() {
    outlet_ = nullptr;
    let_go();
}

bool EventStream::write(std::string_view text) {
    return outlet_ != nullptr && outlet_->write(text);
}

void EventStream::end(StreamEnd why) {
    if (outlet_ == nullptr) return;
    static_cast<void>(
        outlet_->write(fmt::format("event: end\ndata: {{\"reason\":\"{}\"}}\n\n", enum_name(why))));
    outlet_->end();
    outlet_ = nullptr;
    let_go();
}

void EventStream::let_go() {
    if (id_ != 0) hub_.detach(id_);
    id_ = 0;
    place_.reset();
}

}  // namespace berth::delivery
