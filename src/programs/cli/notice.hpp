// What a renter must hear of wherever it is looking: that the host takes its machine back.
#pragma once

#include <chrono>
#include <string>

#include "cli/context.hpp"
#include "rentals/types.hpp"

namespace berth::cli {

// In a sentence; empty where nothing of that kind is about to happen.
std::string notice_text(const rentals::Job& job, Time now);

// Says it once, on standard error.
class Notices {
public:
    Notices(Context& context, std::string rental) : context_(context), rental_(std::move(rental)) {}
    void say(const rentals::Job& job);
    void look();  // asks the server; without a person to read it nothing is asked

private:
    Context& context_;
    std::string rental_;
    bool is_said_ = false;
};

// The number of the last event there is: what is read afterwards is no older.
std::string newest_event(Context& context);
// Returns when something happened to the rental, or nothing did for so long; up to which event.
std::string await_event(Context& context, const std::string& rental, const std::string& after,
                        std::chrono::seconds longest);

// While a shell has the terminal: a process beside it, which ends with the one that calls this.
void watch_beside(Context& context, const std::string& rental);

}  // namespace berth::cli
