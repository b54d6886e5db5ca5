// The events of one job on their way to the server, and when they are tried. Those that must arrive
// are in the job's record, and sent with the same bytes until they are answered; those told in
// passing are here alone. It locks nothing: the job does.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "host_agent/job/job_context.hpp"

namespace berth::host_agent {

struct Outgoing {
    std::string kind;
    std::string body;
    bool is_durable = true;
    std::optional<bool> is_engine_down{};  // that it says so, or that it is not
};

class Outbox {
public:
    using Moment = std::chrono::steady_clock::time_point;

    Outbox(const JobContext& context, JobId job, std::vector<Unsent>& unsent)
        : context_(context), job_(job), unsent_(unsent) {}

    void add(const std::string& kind, const std::string& evidence);
    void add_fleeting(const std::string& kind, const std::string& evidence,
                      std::optional<bool> is_engine_down = {});
    // Of those that must arrive.
    bool has(const std::string& kind) const;
    std::optional<std::string> body_of(const std::string& kind) const;  // as it is sent
    void drop(const std::string& kind);
    // Whether this may be told now and is not on its way.
    bool lacks_engine(bool is_down, Moment now) const;

    std::optional<Outgoing> next(Moment now) const;
    std::optional<Moment> next_try() const;
    // No answer came, or one that says to come later.
    void back_off();
    // What an answer made of an event.
    enum class Fate {
        waits,      // it is tried again, or was dropped meanwhile
        restamped,  // the same, and its bytes have changed
        heard,      // one told in passing
        taken,
        refused,  // it is not sent again
    };
    Fate answered(const Outgoing& outgoing, int status, const std::string& code);

private:
    std::string event_body(const std::string& kind, const std::string& evidence) const;
    bool restamp(Unsent& event) const;  // whether it changed

    const JobContext& context_;
    const JobId job_;
    std::vector<Unsent>& unsent_;
    std::deque<Outgoing> fleeting_;
    Moment try_at_{};
    Duration patience_{};
};

}  // namespace berth::host_agent
