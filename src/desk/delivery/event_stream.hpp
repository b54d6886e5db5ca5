// One stream of events as a client has it: server-sent events, as the HTML standard has them. All
// of it happens on the connection's I/O thread.
#pragma once

#include <memory>
#include <string>

#include "delivery/hub.hpp"
#include "http/source.hpp"

namespace berth::delivery {

class EventStream final : public http::Source, public std::enable_shared_from_this<EventStream> {
public:
    EventStream(Hub& hub, std::unique_ptr<Hub::Place> place, Hub::Listener listener)
        : hub_(hub), place_(std::move(place)), listener_(std::move(listener)) {}

    void start(http::Outlet& outlet) override;
    void on_room() override;
    void on_gone() override;

    // False when there is no room for more; the hub hears when there is.
    bool write(std::string_view text);
    void end(StreamEnd why);

private:
    void let_go();

    Hub& hub_;
    std::unique_ptr<Hub::Place> place_;
    Hub::Listener listener_;
    http::Outlet* outlet_ = nullptr;  // null before it began and after it is over
    std::uint64_t id_ = 0;
};

// An event of ours as one of the stream; a place that moved on, which dispatches nothing.
std::string frame_of(const events::Event& event);
std::string frame_of_place(std::int64_t through);

}  // namespace berth::delivery
