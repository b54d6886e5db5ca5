// One relayed request: what the client sent goes to the engine as it is, what the engine answers
// goes back as it comes, each at the pace of the slower, and either side's end ends the other.
//
// An error is told in the envelope of every route while nothing was sent; after that in one last
// event of a stream, and by a connection that breaks off where there are no events.
#pragma once

#include <chrono>
#include <memory>

#include "api/envelope.hpp"
#include "relay/counters.hpp"
#include "relay/dialler.hpp"
#include "relay/event_stream.hpp"
#include "relay/open_requests.hpp"

namespace berth::relay {

class RelayedRequest final : public http::Source,
                             public http::UpstreamReader,
                             public Stoppable,
                             public std::enable_shared_from_this<RelayedRequest> {
public:
    struct Parts {
        Dialler& dialler;
        Counters& counters;
        std::unique_ptr<OpenRequests::Place> place;
        JobId job;
        RequestId request_id;
        http::UpstreamRequest request;
    };
    explicit RelayedRequest(Parts parts);

    void start(http::Outlet& outlet) override;
    void on_room() override;
    void on_gone() override;

    void on_head(http::UpstreamHead head) override;
    bool on_bytes(std::string_view bytes) override;
    void on_pause() override;
    void on_end() override;
    void on_failure(const http::UpstreamFailure& failure) override;

    void stop(Stop why) override;

private:
    using SteadyClock = std::chrono::steady_clock;
    enum class Stage : std::uint8_t { waiting, passing, over };
    enum class Outcome : std::uint8_t { good, failed };

    void refuse_answer(int status, std::string_view why);
    void break_off(const Problem& problem);
    void refuse(const Problem& problem);
    void finish(Outcome outcome);
    static Duration since(SteadyClock::time_point moment);

    Parts parts_;
    http::Outlet* outlet_ = nullptr;
    std::unique_ptr<Conversation> conversation_;
    Stage stage_ = Stage::waiting;
    bool has_events_ = false;
    bool body_sent_ = false;  // some of the request's, so that another try may do it twice
    int engine_status_ = 0;
    SteadyClock::time_point began_{};
    SteadyClock::time_point first_byte_{};
    Tally tally_;
    UsageFinder usage_;
    EventStream event_stream_;
};

// The media type under which an answer reaches a client, by the one that the engine gave: one of
// four constants, so that a host's page cannot become one of ours.
std::string_view relayed_type(std::string_view given);

}  // namespace berth::relay
