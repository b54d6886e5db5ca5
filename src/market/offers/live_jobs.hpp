// What offers ask of whoever keeps the jobs.
#pragma once

#include "machines/machine.hpp"

namespace berth::offers {

class LiveJobs {
public:
    virtual ~LiveJobs() = default;

    // Until when a job that is not over was promised the machine; none when no such job is.
    virtual std::optional<Time> promised_until(db::Transaction& tx,
                                               const machines::Machine& machine) const = 0;
    // The host takes no custom images any more: a job with one that does not run yet is stopped.
    // The machine is held by this transaction.
    virtual void custom_images_off(const db::Context& context,
                                   machines::Machine& machine) const = 0;
};

}  // namespace berth::offers
