// The doors of http endpoints: TLS, the job's key, and a conversation with the workload that goes
// at the pace of the slower side. Bodies of requests are kept until they are sent, up to a bound
// for each and one for all; answers are passed on as they come, and websockets both ways.
//
// All that strangers send is read by a process without rights (front_process.hpp). This side has
// the listening sockets and the folder of each job, starts the process when a door is opened, and
// starts another with the same doors when it dies: meanwhile who comes waits.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/descriptor.hpp"
#include "host_agent/access/front_order.hpp"
#include "host_agent/core/runtime.hpp"

namespace berth::host_agent {

class TlsFront final : public Front {
public:
    struct Options {
        std::string address = "0.0.0.0";        // where it listens
        std::string program;                    // berth-agent itself
        std::function<void(pid_t)> begun = {};  // for the process, whenever one was started
    };
    explicit TlsFront(Options options);
    ~TlsFront() override;

    std::string open(const Opening& opening) override;
    void close(std::int64_t port) override;

    pid_t process() const;  // that speaks with strangers; 0 while there is none

private:
    struct Door {
        Descriptor listener;
        FrontOrder order;
    };

    void start_process();
    std::string tell(const FrontOrder& order, int listener);
    void shut(std::int64_t port);
    void watch();
    void look(bool has_ended, bool is_missing);

    const Options options_;
    mutable std::mutex mutex_;
    std::map<std::int64_t, Door> doors_;
    Descriptor socket_;  // to the process; closed by watch() alone
    pid_t process_ = 0;
    Descriptor changed_;  // an eventfd: there is a process, or the end
    bool ending_ = false;
    std::thread watching_;
};

}  // namespace berth::host_agent
