// The doors of http endpoints: TLS, the job's key, and a conversation with the workload that goes
// at the pace of the slower side. Bodies of requests are kept until they are sent, up to a bound
// for each and one for all; answers are passed on as they come. Connections cannot be upgraded.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "host_agent/core/runtime.hpp"
#include "http/server.hpp"

namespace berth::host_agent {

class TlsFront final : public Front {
public:
    // `address`: where it listens.
    explicit TlsFront(std::string address = "0.0.0.0");
    ~TlsFront() override;

    std::string open(const Opening& opening) override;
    void close(std::int64_t port) override;

private:
    struct Opened;

    const std::string address_;
    std::shared_ptr<http::ByteBudget> request_bytes_;
    std::mutex mutex_;
    std::map<std::int64_t, std::unique_ptr<Opened>> doors_;
};

}  // namespace berth::host_agent
